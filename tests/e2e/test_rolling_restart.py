"""An upgrade under load: two web hosts behind a balancer and two runners are restarted in turn.

No request fails, although no client repeats one, and no attempt is lost or judged twice.
"""

import itertools
import json
import signal
import subprocess
import threading
import time
from collections import Counter
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2e.balancer import Balancer, balanced
from tests.e2e.conftest import Stage, await_that, free_port, slow_judge

pytestmark = [pytest.mark.slow, pytest.mark.timeout(480)]

PAGES = ("/", "/boards", "/competitions", "/api/v1/boards", "/submissions")
EVERY_S = 0.4
SUBMIT_S = 1.2  # each starts a process that judges it
KNOCK_S = 0.03


class Load:
    """Visitors and competitors, each on a connection of its own; a failed request is kept and not repeated.

    Another visitor opens a connection for each request, so often that the balancer may err at no moment.
    """

    def __init__(self, url: str, tokens: list[str], boards: list[str]) -> None:
        self._url, self._ended, self._began = url, threading.Event(), time.monotonic()
        self.sent: list[int] = []
        self.answers: Counter[int] = Counter()
        self.failures: list[str] = []
        places = itertools.cycle(itertools.product(boards, tokens))
        self._threads = [
            *(threading.Thread(target=self._act, args=(self._read, EVERY_S)) for _ in range(2)),
            threading.Thread(target=self._act, args=(lambda client: self._submit(client, *next(places)), SUBMIT_S)),
            threading.Thread(target=self._knock),
        ]
        for thread in self._threads:
            thread.start()

    def note(self, step: str) -> None:
        """Print a line of the drill's timeline, for docs/reliability.md (`pytest -s`)."""
        done = f"{sum(self.answers.values())} requests, {len(self.sent)} submissions, {len(self.failures)} failures"
        print(f"{time.monotonic() - self._began:5.1f} s  {step}: {done}")

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(30)

    def _act(self, ask, every_s: float) -> None:
        with httpx.Client(base_url=self._url, trust_env=False, timeout=30, follow_redirects=True) as client:
            while not self._ended.wait(every_s):
                try:
                    answer = ask(client)
                except httpx.HTTPError as error:
                    self.failures.append(f"{time.monotonic():.1f} {type(error).__name__}: {error}")
                    continue
                self.answers[answer.status_code] += 1
                if answer.is_error:
                    self.failures.append(f"{answer.request.url}: {answer.status_code} {answer.text[:200]}")

    def _knock(self) -> None:
        address = urlsplit(self._url)
        while not self._ended.wait(KNOCK_S):
            connection = HTTPConnection(str(address.hostname), address.port, timeout=30)
            try:
                connection.request("GET", "/healthz")
                self.answers[connection.getresponse().status] += 1
            except (OSError, HTTPException) as error:
                self.failures.append(f"{time.monotonic():.1f} a new connection: {type(error).__name__}: {error}")
            finally:
                connection.close()

    def _read(self, client: httpx.Client) -> httpx.Response:
        return client.get(PAGES[sum(self.answers.values()) % len(PAGES)])

    def _submit(self, client: httpx.Client, board: str, token: str) -> httpx.Response:
        code = f"def custom_kernel(data):\n    return data  # {len(self.sent)}\n"
        sent = {"board": board, "hardware": "cpu", "mode": "ranked", "filename": "kernel.py", "code": code}
        answer = client.post("/api/v1/submissions", json=sent, headers={"Authorization": f"Bearer {token}"})
        if answer.status_code == 201:
            self.sent.append(answer.json()["id"])
        return answer


def begin_host(stage: Stage, port: int) -> subprocess.Popen[bytes]:
    told = {"WEB_PROCESSES": "2", "WEB_DRAIN_S": "2"}
    return stage.begin(f"web-{port}", "leaderboard.serve", "--port", str(port), **told)


def await_host(balancer: Balancer, port: int, is_ready: bool = True) -> None:
    await_that(lambda: balancer.is_ready(port) is is_ready, within_s=90)


def begin_runner(stage: Stage, name: str, token: str) -> subprocess.Popen[bytes]:
    """Start a runner that shares its device with the other runner."""
    locks = str(stage.folder / f"locks-{name}")
    return stage.begin_runner(
        name, token, RUNNER_JUDGE_COMMAND=slow_judge(0.5), RUNNER_DRAIN_S="20", RUNNER_LOCKS=locks
    )


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    assert process.wait(60) == 0


def test_an_upgrade_under_load_fails_no_request_and_loses_no_attempt(empty_stage: Stage) -> None:
    stage = empty_stage
    stage.environment |= {
        "LEASE_S": "20",
        "RENEW_S": "1",
        "SUBMISSIONS_PER_HOUR": "10000",
        "UNFINISHED_AT_ONCE": "9999",
    }
    stage.begin("sweeper", "leaderboard.manage", "sweep", "--forever")
    tokens = [account["token"] for account in json.loads((stage.folder / "accounts.json").read_text()).values()]
    keys = {name: stage.manage("create_runner", name, "--hardware", "cpu").strip() for name in ("rex", "tex")}
    ports = [free_port(), free_port()]

    with balanced(int(stage.url.rpartition(":")[2]), ports) as balancer:
        hosts = {port: begin_host(stage, port) for port in ports}
        for port in ports:
            await_host(balancer, port)
        runners = {name: begin_runner(stage, name, key) for name, key in keys.items()}
        boards = [board["slug"] for board in httpx.get(f"{stage.url}/api/v1/boards", trust_env=False).json()]
        load = Load(stage.url, [token for token in tokens if token], boards)
        try:
            await_that(lambda: stage.rows("SELECT count(*) FROM judging_result")[0][0] >= 2, within_s=90)
            load.note("load runs, two submissions are judged")
            for name, port in zip(("web-1", "web-2"), ports, strict=True):
                end(hosts[port])
                load.note(f"{name} has ended")
                await_host(balancer, port, is_ready=False)
                hosts[port] = begin_host(stage, port)
                await_host(balancer, port)
                load.note(f"{name} is ready again")
            hosts[ports[0]].send_signal(signal.SIGHUP)
            load.note("web-1 replaces its processes (SIGHUP)")
            for name, key in keys.items():
                end(runners[name])
                load.note(f"runner {name} has ended")
                runners[name] = begin_runner(stage, name, key)
            judged = len(load.sent)
            await_that(lambda: len(load.sent) >= judged + 5)
        finally:
            load.end()
        load.note("load has ended")
        unfinished = "SELECT count(*) FROM judging_attempt WHERE state <> 'done'"
        await_that(lambda: stage.rows(unfinished) == [(0,)], within_s=150, every_s=0.5)

    load.note("all submissions are judged")
    print(f"answers by status: {dict(load.answers)}; connections of the hosts: {list(balancer.taken.values())}")
    assert load.failures == []
    assert min(balancer.taken.values()) > 2, "both hosts served"
    rows = stage.rows("SELECT submission_id, outcome, is_current, losses FROM judging_attempt ORDER BY submission_id")
    assert rows == [(number, "passed", True, 0) for number in sorted(load.sent)]
    assert stage.rows("SELECT count(*), count(DISTINCT attempt_id) FROM judging_result") == [(len(rows), len(rows))]
