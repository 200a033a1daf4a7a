"""A small faithful `popcorn`: its calls over HTTP, as observed, with the sentences that it would print.

It sends no User-Agent and no content type of the file's part, follows no redirect, writes the leaderboard and the mode
in lower case, reads an error from the string `detail` alone, and polls until a job failed or the submission is done.
Newer versions then look at the runs: a ranked submission needs a public run with a score and a secret run that passed.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx

PATIENCE_S = 60
FAILED = ("failed", "timed_out", "hacked")


class Failed(Exception):
    """The client ends with this text."""


class Popcorn:
    def __init__(self, api_url: str, cli_id: str = "", admin_token: str = "", poll_s: float = 0.2) -> None:
        headers = {"X-Popcorn-Cli-Id": cli_id} if cli_id else {}
        headers |= {"Authorization": f"Bearer {admin_token}"} if admin_token else {}
        self._http = httpx.Client(headers=headers, trust_env=False, timeout=60, follow_redirects=False)
        del self._http.headers["User-Agent"]
        self._url = api_url
        self._poll_s = poll_s
        self.log: list[str] = []

    def call(self, method: str, path: str, **sent: Any) -> Any:
        answer = self._http.request(method, f"{self._url}{path}", **sent)
        if not answer.is_success:
            raise Failed(f"Server returned status {answer.status_code}: {_detail(answer.text)}")
        return answer.json()

    def leaderboards(self) -> list[tuple[str, str]]:
        found = self.call("GET", "/leaderboards")
        assert all(isinstance(board["task"], dict) for board in found)
        assert all(isinstance(board[name], str) for board in found for name in ("name", "description"))
        return [(board["name"], board["description"]) for board in found]

    def gpus(self, leaderboard: str) -> list[str]:
        return list(self.call("GET", f"/gpus/{leaderboard}"))

    def submit(self, code: bytes, leaderboard: str, gpu: str, mode: str, filename: str = "kernel.py") -> dict[str, Any]:
        """Send, poll, and return the details of a finished submission. Raises Failed."""
        path = f"/submission/{leaderboard.lower()}/{gpu}/{mode.lower()}"
        accepted = self.call("POST", path, **multipart(code, filename))
        pk = accepted["details"]["id"]
        assert type(pk) is int
        self.log.append(f"Submission {pk} accepted. {_queue(accepted.get('runner_queue'))}")
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = self.show(pk)
            job = found["job"] or {}
            status = job.get("status") or ("done" if found["done"] else "pending")
            self.log.append(f"Submission {pk} status: {status} {_queue(found.get('runner_queue'))}")
            if status in FAILED:
                error = job.get("error") or "No error details were provided"
                raise Failed("\n\n".join([f"Submission {pk} {status}: {error}", *_diagnostics(found, mode)]))
            if found["done"]:
                _check_completion(found, mode, gpu)
                return dict(found)
            time.sleep(self._poll_s)
        raise Failed(f"Timed out waiting for submission {pk}")

    def stream(self, code: bytes, leaderboard: str, gpu: str, mode: str) -> list[str]:
        """Send, follow the stream, and return the reports. Raises Failed."""
        path = f"{self._url}/{leaderboard.lower()}/{gpu}/{mode.lower()}"
        with self._http.stream("POST", path, **multipart(code)) as answer:
            if not answer.is_success:
                raise Failed(f"Server returned status {answer.status_code}: {_detail(answer.read().decode())}")
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            deadline = time.monotonic() + PATIENCE_S
            for kind, text in events(answer.iter_raw()):
                data = json.loads(text)
                assert time.monotonic() < deadline
                if kind == "status":
                    self.log.append(data.get("message", text))
                elif kind == "result":
                    return list(data["reports"])
                elif kind == "error":
                    raise Failed(f"Server processing error: {data.get('detail', 'Unknown server error')}")
        raise Failed("Stream ended unexpectedly without a final result or error event.")

    def join(self, code: str) -> list[str]:
        return list(self.call("POST", "/user/join", json={"code": code})["leaderboards"])

    def admin(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        return dict(self.call(method, f"/admin/{path}", **sent))

    def list(self, leaderboard: str, limit: int = 50) -> list[dict[str, Any]]:
        found = self.call("GET", f"/user/submissions?leaderboard={leaderboard}&limit={limit}")
        assert all(type(one["id"]) is int and isinstance(one["runs"], list) for one in found)
        return list(found)

    def show(self, pk: int) -> dict[str, Any]:
        return dict(self.call("GET", f"/user/submissions/{pk}"))

    def delete(self, pk: int) -> bool:
        return bool(self.call("DELETE", f"/user/submissions/{pk}")["status"] == "ok")

    def close(self) -> None:
        self._http.close()


def multipart(code: bytes, filename: str = "kernel.py") -> dict[str, Any]:
    head = f'--popped\r\nContent-Disposition: form-data; name="file"; filename="{filename}"\r\n\r\n'
    body = head.encode() + code + b"\r\n--popped--\r\n"
    return {"content": body, "headers": {"Content-Type": "multipart/form-data; boundary=popped"}}


def events(chunks: Iterator[bytes]) -> Iterator[tuple[str, str]]:
    """Split a stream at empty lines of LF alone, as the client does; skip comments."""
    kept = ""
    for chunk in chunks:
        kept += chunk.decode()
        while "\n\n" in kept:
            message, _, kept = kept.partition("\n\n")
            fields = dict(line.split(":", 1) for line in message.split("\n") if line and not line.startswith(":"))
            if "event" in fields and "data" in fields:
                yield fields["event"].strip(), fields["data"].strip()


def _detail(text: str) -> str:
    """Return the string `detail` of an error, else the raw text."""
    try:
        detail = json.loads(text)["detail"]
    except (ValueError, KeyError, TypeError):
        return text
    return detail if isinstance(detail, str) else text


def _check_completion(found: dict[str, Any], mode: str, gpu: str) -> None:
    """Raise Failed unless the runs of a finished submission are those of a success in this mode."""
    if mode.lower() != "leaderboard":
        if any(run["mode"] == mode.lower() and not run["secret"] and not run["passed"] for run in found["runs"]):
            raise Failed(f"Submission {found['id']} {mode} failed")
        return
    here = [run for run in found["runs"] if run["runner"].lower() == gpu.lower()]
    ranked = [run for run in here if run["mode"] == "leaderboard" and run["passed"]]
    has_score = any(not run["secret"] and _is_score(run["score"]) for run in ranked)
    if has_score and any(run["secret"] for run in ranked) and all(run["passed"] for run in here if run["secret"]):
        return
    error = (found["job"] or {}).get("error")
    raise Failed(f"Submission {found['id']}: {error or 'no score on the leaderboard'}")


def _is_score(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and value.replace(".", "", 1).isdigit())


def _diagnostics(found: dict[str, Any], mode: str) -> Iterator[str]:
    for run in found["runs"]:
        if not run["secret"] and not run["passed"] and mode.lower() in ("leaderboard", run["mode"]):
            told = run.get("diagnostics") or {}
            yield from [text for name in ("stderr", "stdout") if (text := (told.get(name) or "").strip())][:1]


def _queue(queue: dict[str, Any] | None) -> str:
    return f"{queue['runner']} {queue['gpu']} queue: {queue['queued_jobs']} queued jobs" if queue else ""
