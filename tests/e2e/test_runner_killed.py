"""kill -9 of a runner in the middle of an attempt; real processes all round: database, broker, site, sweeper, runner.

The attempt becomes lost when its lease expires, a new attempt finishes on a fresh runner, exactly one result ranks,
and the first runner's report, should it still arrive, is refused as stale.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from runner.client import SiteClient
from runner.errors import StaleLease
from runner.wire import Event, Job, Report
from tests.runner.conftest import is_alive

pytestmark = pytest.mark.slow

JUDGE = str(Path(__file__).with_name("slow_judge.py"))
SET = "problems/library/kernels101.yaml"
LEASE_S = 3.0


def await_that(true: Callable[[], Any], within_s: float = 30.0) -> Any:
    give_up_at = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < give_up_at, "what the test waits for did not happen"
        time.sleep(0.05)
    return found


@dataclass
class Stage:
    """A live site of its own: database, queue, web server, sweeper; and the runners that a test starts."""

    folder: Path
    url: str
    database: str
    environment: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "leaderboard.manage", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begin(self, name: str, *arguments: str, **changes: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                env={**self.environment, **changes},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def begin_runner(self, name: str, token: str, judge_takes_s: float) -> subprocess.Popen[bytes]:
        state = self.folder / name
        state.mkdir()
        return self.begin(
            name,
            "runner.worker",
            PHOTOFINISH_URL=self.url,
            RUNNER_TOKEN=token,
            RUNNER_STATE=str(state),
            RUNNER_LOCKS=str(self.folder / "locks"),
            RUNNER_JUDGE_COMMAND=json.dumps([sys.executable, JUDGE, str(judge_takes_s)]),
        )

    def photofinish(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "leaderboard.cli.main", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database) as connection:
            return connection.execute(query).fetchall()  # type: ignore[call-overload]

    def attempts(self) -> list[tuple[Any, ...]]:
        return self.rows("SELECT state, outcome, is_current FROM judging_attempt ORDER BY id")

    def end(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def database() -> Iterator[str]:
    """A fresh database beside the test run's own."""
    server, name = os.environ["DATABASE_URL"], f"e2e_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    parts = {key: str(value) for key, value in conninfo_to_dict(server).items() if value is not None}
    yield make_conninfo(**{**parts, "dbname": name})
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def stage(tmp_path: Path, database: str) -> Iterator[Stage]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    broker = os.environ["BROKER_URL"]
    environment = {
        **os.environ,
        "DATABASE_URL": database,
        "BROKER_URL": f"{broker}{'&' if '?' in broker else '?'}db=3",  # a queue of our own
        "SITE_URL": url,
        "LEASE_S": str(LEASE_S),
        "RENEW_S": "0.5",
        "SWEEP_EVERY_S": "0.5",
        "PHOTOFINISH_URL": url,
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    stage = Stage(tmp_path, url, database, environment)
    stage.manage("migrate", "--verbosity", "0")
    stage.manage("sync_problems", SET)
    accounts = json.loads(stage.manage("sample_accounts"))
    environment["PHOTOFINISH_TOKEN"] = accounts["ada"]["token"]
    stage.begin("site", "uvicorn", "leaderboard.asgi:application", "--port", str(port), "--log-level", "warning")
    stage.begin("sweeper", "leaderboard.manage", "sweep", "--forever")
    await_that(lambda: stage.photofinish("boards").returncode == 0)
    yield stage
    stage.end()


def test_killed_runner_costs_one_attempt_and_nothing_else(stage: Stage, tmp_path: Path) -> None:
    rex = stage.manage("create_runner", "rex", "--hardware", "cpu").strip()
    fresh = stage.manage("create_runner", "rex-2", "--hardware", "cpu").strip()
    kernel = tmp_path / "kernel.py"
    kernel.write_text("def custom_kernel(data):\n    return data\n")

    # Given: rex is in the middle of ada's ranked submission, and has kept it longer than one lease.
    runner = stage.begin_runner("rex", rex, judge_takes_s=600)
    sent = stage.photofinish("submit", str(kernel), "--board", "softmax", "--mode", "ranked", "--no-wait")
    assert sent.returncode == 0, sent.stderr
    submission = sent.stdout.strip()
    zombie = await_that(lambda: _job(tmp_path / "rex"))
    time.sleep(LEASE_S * 1.5)
    assert stage.attempts() == [("checking", "", True)]

    # When: it dies at once, without a word.
    runner.kill()
    runner.wait()
    await_that(lambda: not is_alive(zombie["pid"]), within_s=2)
    await_that(lambda: len(stage.attempts()) == 2)

    # Then: a fresh runner finishes a new attempt; one result, one entry, one pass for ada.
    stage.begin_runner("rex-2", fresh, judge_takes_s=0.2)
    shown = stage.photofinish("show", submission)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert stage.attempts() == [("lost", "", False), ("done", "passed", True)]
    assert stage.rows("SELECT count(*) FROM judging_result") == [(1,)]
    entries = json.loads(stage.photofinish("board", "softmax", "--json").stdout)
    assert [(entry["rank"], entry["user"], entry["score_us"]) for entry in entries] == [(1, "ada", 800.0)]

    # And: whatever the dead one still says is refused, and changes nothing.
    client = SiteClient(stage.url, rex)
    job = Job(zombie["attempt_id"], zombie["token"], LEASE_S, "cpu", "ranked", submission, "kernel.py", "", {}, "")
    with pytest.raises(StaleLease):
        client.renew(job)
    with pytest.raises(StaleLease):
        client.send_events(job, [Event(seq=9, kind="progress")])
    with pytest.raises(StaleLease):
        client.report(Report(job.attempt_id, job.token, "passed", score_us=1.0, ratio=0.9))
    client.close()
    assert stage.rows("SELECT count(*) FROM judging_result") == [(1,)]
    assert json.loads(stage.photofinish("board", "softmax", "--json").stdout) == entries


def _job(state: Path) -> dict[str, Any] | None:
    path = state / "job.json"
    return json.loads(path.read_text()) if path.exists() else None
