"""`make up` shows each sample's verdict as it comes, and Ctrl-C ends the watching alone."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

WATCH = """
import sys
from pathlib import Path
from deploy import samples, up
from deploy.parties import myself
from deploy.site import Site

samples.LOOK_EVERY_S = 0.1
state, port = Path(sys.argv[1]), int(sys.argv[2])
site = Site(state, Path.cwd(), Path(sys.executable), myself(), port)
up.watch_samples(site)
print("the end", flush=True)
"""


class FakeSite(ThreadingHTTPServer):
    """Lists the submissions that a test puts there; takes none."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.refusals: list[int] = []  # statuses of the next answers
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: FakeSite

    def do_GET(self) -> None:
        if self.server.refusals:
            self.send_response(self.server.refusals.pop(0))
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        parts = urlsplit(self.path)
        number = re.fullmatch(r"/api/v1/submissions/([0-9]+)", parts.path)
        answer: Any = self.server.rows[int(number[1])] if number else self.server.rows
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def site() -> Iterator[FakeSite]:
    from deploy.parties import CHECKOUT
    from deploy.samples import LIBRARY, plan

    site = FakeSite()
    for number, sample in enumerate(sample for sample in plan(CHECKOUT / LIBRARY) if sample.account == "ada"):
        row = {"id": number, "filename": sample.path.name, "board": sample.board, "status": "queued", "outcome": None}
        site.rows.append(row)
    yield site
    site.shutdown()
    site.server_close()


@pytest.fixture
def watching(site: FakeSite, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "sample-tokens.json").write_text(json.dumps({"ada": "a token"}))
    process = subprocess.Popen(
        [sys.executable, "-c", WATCH, str(tmp_path), str(site.server_address[1])],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    yield process
    process.kill()
    process.communicate()


def read_until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    read = ""
    for line in process.stdout:
        read += line
        if text in line:
            return read
    raise AssertionError(f"{text!r} is not in {read!r}")


def judged(row: dict[str, Any], ratio: float) -> None:
    row |= {"status": "done", "outcome": "passed", "reason": "", "ratio": ratio, "rank": 1, "review": None}


@pytest.mark.timeout(60)
def test_make_up_prints_each_verdict_as_it_comes(site: FakeSite, watching: subprocess.Popen[str]) -> None:
    read_until(watching, "2 submissions are judged")
    judged(site.rows[0], 0.25)
    read_until(watching, "passed, speedup 4.000×, rank 1")
    judged(site.rows[1], 0.5)
    read_until(watching, "passed, speedup 2.000×, rank 1")
    read_until(watching, "the end")
    assert watching.wait(10) == 0


@pytest.mark.timeout(60)
def test_a_busy_site_is_asked_again(site: FakeSite, watching: subprocess.Popen[str]) -> None:
    read_until(watching, "2 submissions are judged")
    site.refusals = [429, 503, 504]
    judged(site.rows[0], 0.25)
    judged(site.rows[1], 0.5)
    read_until(watching, "the end")
    assert not site.refusals
    assert watching.wait(10) == 0


@pytest.mark.timeout(60)
def test_ctrl_c_while_samples_are_judged_leaves_the_site_up_and_says_so(
    site: FakeSite, watching: subprocess.Popen[str]
) -> None:
    read_until(watching, "2 submissions are judged")
    watching.send_signal(signal.SIGINT)
    assert f"the site stays up at http://127.0.0.1:{site.server_address[1]}" in read_until(watching, "make down")
    read_until(watching, "the end")
    assert watching.wait(10) == 0
