"""A small site for the command line's tests: a real HTTP server that follows /api/v1 in docs/http.md."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "pf_ada-and-nobody-else"
NOTHING = {"detail": "This does not exist, or you have no access to it.", "errors": []}

PASSED = {
    "id": "7",
    "board": "softmax",
    "hardware": "cpu",
    "mode": "ranked",
    "filename": "kernel.py",
    "created_at": "2026-01-02T03:04:05Z",
    "status": "done",
    "outcome": "passed",
    "reason": "",
    "message": "",
    "score_us": 1234.5,
    "ratio": 0.5,
    "half_width": 0.004,
    "flags": [],
    "cases": [],
    "logs": {},
    "published": True,
    "rank": 2,
    "review": None,
    "url": "/submissions/7",
}
WRONG = {
    **PASSED,
    "outcome": "wrong",
    "reason": "mismatch",
    "message": "case cols=4096 rows=512: expected 0.25 at [3, 7], got 0.5",
    "score_us": None,
    "ratio": None,
    "rank": None,
    "cases": [{"name": "secret 2", "good": False, "reason": "nan", "message": "NaN at [0, 0]"}],
}
STEPS = [
    ("state", {"state": "building", "message": "", "data": {}}),
    ("progress", {"state": "checking", "message": "", "data": {"done": 1, "total": 9}}),
    ("state", {"state": "timing", "message": "", "data": {}}),
]


class FakeSite:
    """Fake site: a test sets the verdict and the behaviour of the stream of events."""

    def __init__(self) -> None:
        self.boards: list[dict[str, Any]] = [
            {"slug": "softmax", "title": "Softmax", "hardware": ["cpu"], "deadline": None, "open": True},
            {"slug": "matmul", "title": "Matmul", "hardware": ["cpu", "h200"], "deadline": None, "open": False},
        ]
        self.entries: list[dict[str, Any]] = [
            {
                "rank": 1,
                "user": "cleo",
                "ratio": 0.4,
                "half_width": 0.004,
                "score_us": 900.0,
                "submitted_at": "2026-01-01T00:00:00Z",
            },
            {
                "rank": 2,
                "user": "ada",
                "ratio": 0.5,
                "half_width": None,
                "score_us": 1234.5,
                "submitted_at": "2026-01-02T03:04:05Z",
            },
        ]
        self.competitions: list[dict[str, Any]] = []
        self.quota: list[dict[str, Any]] | None = None  # None: a site that knows no such call
        self.verdict: dict[str, Any] = PASSED
        self.username = "ada"
        self.steps = STEPS
        self.break_stream_after = 0  # events per connection; 0: never broken
        self.no_stream = 0  # the status that refuses streams
        self.hang = False
        self.answer_with: tuple[int, bytes, dict[str, str]] | None = None
        self.fail_reads = 0
        self.sent: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.resumed_after: list[str] = []
        self.tokens: list[str] = []
        self.keys: list[str] = []  # Idempotency-Key of each POST that had one
        self.polls = 0
        self.problem: dict[str, Any] = {}
        self.logins: list[tuple[int, dict[str, Any]]] = []  # answers to the questions for a token, in order
        self.acts: list[tuple[str, dict[str, Any]]] = []  # further POSTs: path, body
        self.act_answer: dict[str, Any] = {}
        self.act_answers: list[dict[str, Any]] = []  # before `act_answer`, in order
        self.act: Callable[[str, dict[str, Any], str], tuple[int, object]] | None = None  # batches: path, body, key
        self.more: dict[str, object] = {}  # path → answer of further GETs
        self.refusals: list[tuple[int, dict[str, Any]]] = []  # of submissions, in order
        self.machines: list[dict[str, Any]] = []
        self.after = ""  # cursor of the next page of the answer at hand
        site = self

        class Handler(_Handler):
            pass

        Handler.site = site
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def get(self, path: str, query: dict[str, list[str]]) -> tuple[int, object]:
        if path in self.more:
            return 200, self.more[path]
        if path == "/status":
            at = "2026-01-01T00:00:00Z"
            return 200, {"at": at, "ok": True, "summary": "Everything works", "machines": self.machines}
        if path.endswith("/problem") and self.problem:
            return 200, self.problem
        if path == "/me":
            return 200, {"username": self.username, "token": {"name": "laptop", "scopes": ["read", "submit"]}}
        if path == "/boards":
            return 200, self.boards
        if path == "/quota" and self.quota is not None:
            return 200, [row for row in self.quota if row["board"] == query.get("board", [row["board"]])[0]]
        if path == "/submissions":
            wanted = query.get("board", [self.verdict["board"]])[0]
            return 200, [row for row in [self.verdict] if row["board"] == wanted][: int(query["limit"][0])]
        if path == f"/submissions/{self.verdict['id']}":
            self.polls += 1
            return 200, self.verdict if self.polls > 2 or not self.no_stream else {**self.verdict, "status": "timing"}
        parts = path.split("/")
        if parts[1] == "competitions":
            return self.competition(parts[2]) if parts[2:] else (200, self.competitions)
        known = next((board for board in self.boards if path.startswith("/boards") and board["slug"] == parts[2]), None)
        if known is None:
            return 404, NOTHING
        if parts[-1] == "entries":
            if parts[3] not in known["hardware"]:
                return 404, NOTHING
            start, most = int(query.get("cursor", ["0"])[0]), min(1_000, int(query["limit"][0]))
            self.after = str(start + most) if start + most < len(self.entries) else ""
            return 200, self.entries[start : start + most]
        return 200, known

    def competition(self, slug: str) -> tuple[int, object]:
        found = next((one for one in self.competitions if one["slug"] == slug), None)
        return (404, NOTHING) if found is None else (200, found)

    def enter(self, slug: str, body: dict[str, str]) -> tuple[int, object]:
        self.sent.append(body)
        status, found = self.competition(slug)
        if isinstance(found, dict) and status == 200 and body["rules_digest"] != found["rules_digest"]:
            return 409, {"detail": "rules_digest: the rules have to be accepted", "errors": []}
        return status, {**found, "you": {"entrant": "ada", "accepted": True}} if isinstance(found, dict) else found

    def cancel(self, submission_id: str) -> tuple[int, object]:
        if submission_id != self.verdict["id"]:
            return 404, NOTHING
        if self.verdict["status"] == "done":
            return 409, {"detail": "submission: already done", "errors": []}
        self.verdict = {**self.verdict, "status": "cancelled"}
        return 200, self.verdict


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up early is no error here."""


class _Handler(BaseHTTPRequestHandler):
    site: FakeSite

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        path = parts.path.removeprefix("/api/v1")
        if self._bent(path):
            return
        if path.endswith("/events"):
            self._send(self.site.no_stream, {"detail": "no streams here"}) if self.site.no_stream else self._stream()
        else:
            self.site.after = ""
            status, answer = self.site.get(path, parse_qs(parts.query))
            link = f'<{parts.path}?cursor={self.site.after}>; rel="next"'
            headers = {"Content-Type": "application/json"} | ({"Link": link} if self.site.after else {})
            self._raw(status, answer if isinstance(answer, bytes) else json.dumps(answer).encode(), headers)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if key := self.headers.get("Idempotency-Key"):
            self.site.keys.append(key)
        if self._bent(self.path):
            return
        path = self.path.removeprefix("/api/v1")
        if path == "/login/device":
            self.site.acts.append((path, json.loads(body)))
            device = {"device_code": "pfd_secret", "user_code": "BCDF-GHJK", "interval": 1, "expires_in": 60}
            page = {
                "verification_uri": f"{self.site.url}/device",
                "verification_uri_complete": f"{self.site.url}/device",
            }
            self._send(201, device | page)
            return
        if path == "/login/device/token":
            self._send(*self.site.logins.pop(0))
            return
        if path.startswith("/batches") and self.site.act:
            self._send(*self.site.act(path, json.loads(body), key or ""))
            return
        if path.startswith("/batches") or not path.endswith(("/submissions", "/cancel", "/enter")):
            self.site.acts.append((path, json.loads(body)))
            self._send(200, self.site.act_answers.pop(0) if self.site.act_answers else self.site.act_answer)
            return
        if self.path.endswith("/cancel"):
            self._send(*self.site.cancel(self.path.split("/")[-2]))
            return
        if self.path.endswith("/enter"):
            self._send(*self.site.enter(self.path.split("/")[-2], json.loads(body)))
            return
        self.site.sent.append(json.loads(body))
        sent = self.site.sent[-1]
        if self.site.refusals:
            self._send(*self.site.refusals.pop(0))
            return
        chosen = {name: sent[name] or self.site.verdict[name] for name in ("board", "hardware")}
        answer = {"id": self.site.verdict["id"], "status": "queued", "url": "/submissions/7", **chosen}
        self._send(201, {**answer, "mode": sent["mode"], "notes": self.site.notes})

    def _bent(self, path: str) -> bool:
        """Whether the test asked for another answer, or the token is not ada's."""
        self.site.tokens.append(self.headers.get("Authorization", ""))
        if self.site.fail_reads:
            self.site.fail_reads -= 1
            self.close_connection = True
            return True
        if self.site.answer_with is not None:
            status, content, headers = self.site.answer_with
            self._raw(status, content, headers)
            return True
        is_open = "board" in path or path.endswith("/status") or "/login/" in path
        if not is_open and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._send(401, {"detail": "This token is unknown or revoked. Create a new token at /tokens."})
            return True
        return False

    def _stream(self) -> None:
        after = self.headers.get("Last-Event-ID", "")
        self.site.resumed_after.append(after)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        events = [*self.site.steps, ("done", self.site.verdict)][int(after or 0) :]
        if self.site.hang:
            events = events[:1]
        for number, (kind, data) in enumerate(events, start=int(after or 0) + 1):
            if self.site.break_stream_after and number > int(after or 0) + self.site.break_stream_after:
                return
            self.wfile.write(f": ping\n\nid: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()
        if self.site.hang:
            threading.Event().wait(20)

    def _send(self, status: int, answer: object) -> None:
        self._raw(status, json.dumps(answer).encode(), {"Content-Type": "application/json"})

    def _raw(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass
