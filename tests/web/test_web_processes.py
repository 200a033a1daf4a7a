"""Several web processes behave as one site: limits, streams, readiness, replacement, and the end of the host."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from tests.runner.conftest import is_alive
from tests.web.live_site import LiveSite, web_processes

PASSWORD = "hurdle-Rail-99"
KEY = "0123456789abcdefghijklmnopqrstuv"
TWO = {"WEB_PROCESSES": "2"}


@pytest.fixture
def stage(transactional_db: None):
    from django.utils import timezone

    from tests.leaderboard.stage import make_stage

    stage = make_stage()
    stage.now = timezone.now()
    return stage


def token_of(user) -> dict[str, str]:
    from django.utils import timezone

    from leaderboard.accounts.tokens import issue_token

    _, text = issue_token(owner=user, name="stream", scopes=("read",), now=timezone.now())
    return {"Authorization": f"Bearer {text}"}


def children(site: LiveSite) -> list[int]:
    """Return the web processes; the parent also has multiprocessing's resource tracker."""
    listed = Path(f"/proc/{site.process.pid}/task/{site.process.pid}/children").read_text().split()
    found = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in listed}
    return [pid for pid, command in found.items() if b"spawn_main" in command]


def until(true, within_s: float = 90.0) -> None:
    give_up_at = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < give_up_at
        time.sleep(0.05)


def get(address: str, **asked) -> httpx.Response:
    """Ask on a connection of its own, which any of the processes may accept."""
    return httpx.get(address, trust_env=False, timeout=20, **asked)


class Follower(threading.Thread):
    """A client of event streams that comes back after a stream's end, with the id of its last event."""

    def __init__(self, address: str, headers: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self._address, self._headers = address, headers
        self.heard: list[tuple[str, str]] = []
        self.hints: list[int] = []
        self.begun = threading.Event()

    def run(self) -> None:
        last = ""
        while "done" not in dict(self.heard):
            asked = {**self._headers, "Last-Event-ID": last}
            with httpx.stream("GET", self._address, headers=asked, trust_env=False, timeout=30) as answer:
                assert answer.status_code == 200
                for line in answer.iter_lines():
                    self.begun.set()
                    name, _, value = line.partition(": ")
                    if name == "id":
                        last = value
                    elif name == "event":
                        self.heard.append((value, last))
                    elif name == "retry":
                        self.hints.append(int(value))
            time.sleep(0.1)


def test_limits_hold_over_two_web_processes(stage) -> None:
    from leaderboard.web.limits import SIGN_IN_HERE, STREAM_USER, share

    stage.ada.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt")  # the live site's hasher, not the tests'
    stage.ada.save()
    token = token_of(stage.ada)
    with web_processes(**TWO, METRICS_TOKEN=KEY) as site:
        until(lambda: len(children(site)) == 2)

        cookies = dict(get(f"{site.address}/sign-in").cookies)
        form = {"username": "ada", "password": "wrong", "csrfmiddlewaretoken": cookies["csrftoken"]}

        def guess(_: int) -> int:
            sent = {"data": form, "cookies": cookies, "trust_env": False, "timeout": 20}
            return httpx.post(f"{site.address}/sign-in", **sent).status_code

        def call(_: int) -> int:
            return get(f"{site.address}/api/v1/submissions/999/events", headers=token).status_code

        with ThreadPoolExecutor(2) as guessers:
            guesses = Counter(guessers.map(guess, range(SIGN_IN_HERE.most + 6)))
        if (left_s := 60 - time.time() % 60) < 30:
            time.sleep(left_s)  # all calls belong to one window
        with ThreadPoolExecutor(8) as crowd:
            calls = Counter(crowd.map(call, range(STREAM_USER.most + 30)))
        metrics = get(f"{site.address}/metrics", headers={"Authorization": f"Bearer {KEY}"}).text
    assert guesses == {200: SIGN_IN_HERE.most, 429: 6}, "guesses have one count for the whole site"
    assert STREAM_USER.most // 2 < calls[404] <= STREAM_USER.most, "each of the two processes counts its half"
    assert set(calls) == {404, 429}
    counted = re.findall(r'^photofinish_request_seconds_count\{.*status="404".*\} ([0-9.]+)$', metrics, re.MULTILINE)
    assert sum(map(float, counted)) == calls[404], "metrics add both processes up"
    assert share(STREAM_USER.most) == STREAM_USER.most, "a single process has the whole limit"


def test_streams_hear_every_process_and_outlive_their_own(stage) -> None:
    """Two web processes are replaced in turn while six clients follow a submission."""
    submission, headers = stage.submit(), token_of(stage.ada)
    with web_processes(**TWO, WEB_DRAIN_S="0.5") as site:
        until(lambda: len(children(site)) == 2)
        before = children(site)
        address = f"{site.address}/api/v1/submissions/{submission.pk}/events"
        followers = [Follower(address, headers) for _ in range(6)]
        for follower in followers:
            follower.start()
        assert all(follower.begun.wait(20) for follower in followers)
        site.process.send_signal(signal.SIGHUP)
        until(lambda: len(children(site)) == 2 and not set(before) & set(children(site)), within_s=90)
        assert get(f"{site.address}/readyz").json()["ok"]
        stage.judge(submission)
        for follower in followers:
            follower.join(20)
    for follower in followers:
        states = [event for event, _ in follower.heard if event != "queue"]
        assert states == ["state", "state", "state", "done"], "no event is missed or repeated"
        assert follower.hints, "its process left"
        assert all(500 <= hint <= 3000 for hint in follower.hints)


def test_a_host_that_stops_finishes_its_requests_and_says_so_first(stage) -> None:
    from django.db import connection, transaction

    patient = {"LOCK_TIMEOUT_S": "15", "STATEMENT_TIMEOUT_S": "15"}
    with web_processes(**TWO, **patient, WEB_DRAIN_S="2") as site, ThreadPoolExecutor(1) as visitor:
        until(lambda: len(children(site)) == 2)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE competitions_board IN ACCESS EXCLUSIVE MODE")
            slow = visitor.submit(get, f"{site.address}/boards")
            time.sleep(0.5)
            site.process.terminate()
            until(lambda: get(f"{site.address}/readyz").status_code == 503, within_s=2)
            announced = get(f"{site.address}/readyz")
            alive = get(f"{site.address}/healthz")
            time.sleep(2.5)  # past the drain: the processes wait for this request alone
            with pytest.raises(httpx.ConnectError):
                get(f"{site.address}/healthz")
            assert site.process.poll() is None
        assert slow.result(20).status_code == 200
        assert site.process.wait(20) == 0
    assert announced.json() == {"ok": False, "process": "stops"}
    assert (alive.status_code, alive.headers["Connection"]) == (200, "close")


def test_a_killed_process_is_replaced_and_a_killed_parent_leaves_no_orphan(stage) -> None:
    with web_processes(**TWO) as site:
        until(lambda: len(children(site)) == 2)
        victim, other = children(site)
        os.kill(victim, signal.SIGKILL)
        answers = {get(f"{site.address}/healthz").status_code for _ in range(20)}
        until(lambda: len(children(site)) == 2 and victim not in children(site), within_s=40)  # no wait for its answer
        present = children(site)
        site.process.kill()
        until(lambda: not any(is_alive(pid) for pid in present))
    assert answers == {200}
    assert other in present


def test_a_wrong_number_of_processes_ends_the_start_with_a_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "leaderboard.serve"],
        env={**os.environ, "WEB_PROCESSES": "0"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (1, "WEB_PROCESSES=0 is outside 1 … 64")
