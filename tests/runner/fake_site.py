"""A small site for the runner's tests: a real HTTP server that keeps the wire's rules and lets a test bend them."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from runner.wire import Enrolment, Event, Health, Job, Report

TOKEN = "pfr_rex-and-nobody-else"


@dataclass
class Attempt:
    """The site's knowledge of one attempt."""

    job: Job
    stale: bool = False
    cancel: bool = False
    renewals: int = 0
    events: list[Event] = field(default_factory=list)
    report: Report | None = None
    released: int = 0
    report_calls: int = 0


class FakeSite:
    """Fake site: tests add jobs with `offer` and read the runner's calls from `attempts`."""

    def __init__(self) -> None:
        self.token = TOKEN
        self.other_tokens: set[str] = set()  # of further runners
        self.down = False
        self.refuse_reports_as = 0
        self.lease_s = 60.0
        self.renew_s = 0.1
        self.hellos: list[dict[str, Any]] = []
        self.set_aside = ""  # why the last report took the runner out; until the next hello it gets no work
        self.claims = 0
        self.claimed_with: list[dict[str, Any]] = []
        self.health: list[Health] = []
        self.knows_health = True
        self.enrolments: list[dict[str, Any]] = []
        self.refuse_enrolment = 0
        self.draining = False
        self.bell_s = 5.0  # how long a call of `bell` waits
        self.bell_status = 200
        self.bells_waiting = 0
        self.holds: list[str] = []  # answers to `drain`, one per call
        self.attempts: dict[str, Attempt] = {}
        self._queue: list[Job] = []
        self._guard = threading.Lock()
        site = self

        class Handler(_Handler):
            pass

        Handler.site = site
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def offer(self, attempt_id: str, source: str, token: int = 1, *, mode: str = "ranked", **changes: Any) -> Attempt:
        job = Job(attempt_id, token, self.lease_s, "cpu", mode, "s-1", "kernel.py", source, {}, "sha256:0", **changes)
        with self._guard:
            self._queue.append(job)
            self.attempts[attempt_id] = Attempt(job)
        return self.attempts[attempt_id]

    def await_that(self, true: Callable[[], object], within_s: float = 30.0) -> None:
        give_up_at = time.monotonic() + within_s
        while not true():
            assert time.monotonic() < give_up_at, "what the test waits for did not happen"
            time.sleep(0.01)

    def await_work(self) -> tuple[int, dict[str, Any]]:
        self.bells_waiting += 1
        give_up_at = time.monotonic() + self.bell_s
        while self.bell_status == 200 and not self._queue and time.monotonic() < give_up_at:
            time.sleep(0.01)
        self.bells_waiting -= 1
        return self.bell_status, {"rung": bool(self._queue)}

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
        if path == "bell":
            return self.await_work()
        with self._guard:
            if path == "hello":
                self.hellos.append(body)
                self.set_aside = ""
                return 200, {"runner": "rex", "hardware": "cpu", "lease_s": self.lease_s, "renew_s": self.renew_s}
            if path == "claim":
                self.claims += 1
                self.claimed_with.append(body)
                idle = self.set_aside or self.draining or not self._queue
                return (204, None) if idle else (200, self._queue.pop(0).to_json())
            if path == "enrol":
                self.enrolments.append(Enrolment.from_json(body).to_json())
                if self.refuse_enrolment:
                    return self.refuse_enrolment, {"detail": "code: the site knows no such code"}
                return 200, {"runner": "tex", "hardware": body["hardware"]}
            if path == "health" and not self.knows_health:
                return 404, {"detail": "not found"}
            if path == "health":
                self.health.append(Health.from_json(body))
                return 200, {"runner": "rex"}
            if path == "drain":
                self.draining = body["draining"]
                holds = self.holds.pop(0) if self.holds else ""
                return 200, {"runner": "rex", "draining": self.draining, "holds": holds}
            _, attempt_id, act = path.split("/")
            attempt = self.attempts[attempt_id]
            if act == "report" and attempt.report is not None:
                attempt.report_calls += 1
                return 200, {"recorded": False}
            if attempt.stale or body["token"] != attempt.job.token:
                return 409, {"detail": "the lease is lost", "code": "stale"}
            return getattr(self, f"_{act}")(attempt, body)

    def _renew(self, attempt: Attempt, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        attempt.renewals += 1
        return 200, {"expires_in_s": self.lease_s, "cancel": attempt.cancel}

    def _release(self, attempt: Attempt, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        attempt.released += 1
        return 200, {"released": True}

    def _events(self, attempt: Attempt, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        events = [Event.from_json(item) for item in body["events"]]
        attempt.events += events
        return 200, {"accepted": len(events)}

    def _report(self, attempt: Attempt, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        attempt.report_calls += 1
        if self.refuse_reports_as and body["reason"] != "report_refused":
            return self.refuse_reports_as, {"detail": "report: not like this"}
        attempt.report = Report.from_json(body)
        self.set_aside = attempt.report.set_aside
        return 200, {"recorded": True}


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Some tests kill a client in the middle of a call, which is no error here."""


class _Handler(BaseHTTPRequestHandler):
    site: FakeSite
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.site.down:
            self.close_connection = True
            return
        known = {f"Bearer {token}" for token in (self.site.token, *self.site.other_tokens)}
        if self.headers["Authorization"] not in known and not self.path.endswith("/enrol"):
            self._send(401, {"detail": "this token is unknown"})
            return
        self._send(*self.site.answer(self.path.removeprefix("/api/runner/v1/"), json.loads(body)))

    def _send(self, status: int, answer: dict[str, Any] | None) -> None:
        text = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if self.site.draining:
            self.send_header("Photofinish-Runner", "draining")
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        pass
