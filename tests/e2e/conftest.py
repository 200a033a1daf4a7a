"""A complete live site from real processes: database, queue, web server, sweeper; runners as a test asks."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from runner.host.accelerators import epoch, fingerprint
from tests.conftest import migrated_database
from tests.runner.judge.suspects import steady

LIBRARY = Path("problems/library")
SMALLER = {  # timed cases of the boards that tests race on, so that the real judge times them quickly
    "softmax": {"{rows: 1531,": "{rows: 153,", "  - {rows: 1024, cols: 4096, seed: 42}\n": ""},
    "vectoradd": {"{size: 5000011,": "{size: 500009,"},
}
LEASE_S = 3.0


def await_that(true: Callable[[], Any], within_s: float = 30.0, every_s: float = 0.05) -> Any:
    give_up_at = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < give_up_at, "what the test waits for did not happen"
        time.sleep(every_s)
    return found


@dataclass
class Stage:
    """A separate live site: database, queue, web server, sweeper; and the runners that a test starts."""

    folder: Path
    url: str
    database: str
    environment: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def manage(self, *arguments: str) -> str:
        quick = () if arguments[0] == "shell" else ("--skip-checks",)  # which import every page of the site
        command = [sys.executable, "-m", "leaderboard.manage", *arguments, *quick]
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

    def begin_runner(self, name: str, token: str, **changes: str) -> subprocess.Popen[bytes]:
        """The daemon, with the real judge unless `changes` names another RUNNER_JUDGE_COMMAND."""
        state = self.folder / name
        state.mkdir(exist_ok=True)
        return self.begin(
            name,
            "runner.daemon.worker",
            PHOTOFINISH_URL=self.url,
            RUNNER_TOKEN=token,
            RUNNER_STATE=str(state),
            **{"RUNNER_DRAIN_S": "0", "RUNNER_LOCKS": str(self.folder / "locks"), **changes},
        )

    def photofinish(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "leaderboard.cli.start", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)

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


@contextmanager
def made_database(template: str) -> Iterator[str]:
    """A database beside the test run's own, for as long as the context lasts; its name."""
    server, name = os.environ["DATABASE_URL"], f"e2e_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield name
    with psycopg.connect(server, autocommit=True) as connection:
        give_up_at = time.monotonic() + 60
        while True:
            try:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
                return
            except psycopg.errors.InsufficientPrivilege:  # the server's own vacuum is in it, for some seconds
                assert time.monotonic() < give_up_at
                time.sleep(0.5)


def url_of(database: str) -> str:
    parts = conninfo_to_dict(os.environ["DATABASE_URL"]).items()
    return make_conninfo(**{**{key: str(value) for key, value in parts if value is not None}, "dbname": database})


@dataclass(frozen=True)
class Founded:
    """A database with the library's first competition and its sample accounts, to be copied; and the accounts'
    credentials."""

    database: str
    accounts: str


def smaller_library(folder: Path) -> Path:
    """Copy the first set of the library with the sizes of SMALLER; return its file."""
    shutil.copytree(LIBRARY / "kernels101", folder / "kernels101")
    for problem, sizes in SMALLER.items():
        task = folder / "kernels101" / problem / "task.yml"
        text = task.read_text()
        for size, smaller in sizes.items():
            assert size in text
            text = text.replace(size, smaller)
        task.write_text(text)
    return Path(shutil.copy(LIBRARY / "kernels101.yaml", folder))


@pytest.fixture(scope="session")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Founded]:
    with made_database(migrated_database()) as database:
        stage = Stage(tmp_path_factory.mktemp("founded"), "", url_of(database), dict(os.environ))
        stage.environment["DATABASE_URL"] = stage.database
        library = smaller_library(tmp_path_factory.mktemp("library"))
        stage.manage("import_problems", str(library), "--hardware", "cpu", "--admission", "none", "--publish")
        yield Founded(database, stage.manage("sample_accounts"))


@pytest.fixture
def database(founded: Founded) -> Iterator[str]:
    """A fresh copy."""
    with made_database(founded.database) as name:
        yield url_of(name)


def slow_judge(takes_s: float) -> str:
    """Return the command of slow_judge.py, for RUNNER_JUDGE_COMMAND."""
    return json.dumps([sys.executable, str(Path(__file__).with_name("slow_judge.py")), str(takes_s), _known()])


@cache
def _known() -> str:
    """Return the path of a file of what a slow judge reports, which lasts as long as the test run."""
    host, file = fingerprint("cpu"), Path(os.environ["PHOTOFINISH_TEST_JUDGE_LOCK"]).with_name(f"judge-{os.getpid()}")
    ready = {"fingerprint": host, "epoch": epoch(host), "images": []}
    file.write_text(json.dumps({"ready": ready, "evidence": steady(0.8)}))
    return str(file)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def made_stage(folder: Path, database: str, founded: Founded) -> Iterator[Stage]:
    """A stage on which no process runs yet."""
    url = f"http://127.0.0.1:{free_port()}"
    broker = os.environ["BROKER_URL"]
    environment = {
        **os.environ,
        "DATABASE_URL": database,
        "BROKER_URL": broker if broker.startswith("amqps:") else f"{broker}?db=3",  # a separate queue
        "SITE_URL": url,
        "LEASE_S": str(LEASE_S),
        "RENEW_S": "0.5",
        "SWEEP_EVERY_S": "0.5",
        "PHOTOFINISH_URL": url,
        "XDG_CONFIG_HOME": str(folder / "config"),
    }
    stage = Stage(folder, url, database, environment)
    (folder / "accounts.json").write_text(founded.accounts)
    environment["PHOTOFINISH_TOKEN"] = json.loads(founded.accounts)["ada"]["token"]
    try:
        yield stage
    finally:
        stage.end()


def begin_site(stage: Stage) -> None:
    port = stage.url.rpartition(":")[2]
    stage.begin("site", "uvicorn", "leaderboard.asgi:application", "--port", port, "--log-level", "warning")
    stage.begin("sweeper", "leaderboard.manage", "sweep", "--forever")
    await_that(lambda: _answers(f"{stage.url}/api/v1/boards"), within_s=60, every_s=0.1)


@pytest.fixture
def empty_stage(tmp_path: Path, database: str, founded: Founded) -> Iterator[Stage]:
    with made_stage(tmp_path, database, founded) as stage:
        yield stage


@pytest.fixture
def stage(empty_stage: Stage) -> Stage:
    begin_site(empty_stage)
    return empty_stage


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, founded: Founded) -> Iterator[Stage]:
    """A site with a runner, for all tests of a module."""
    with (
        made_database(founded.database) as name,
        made_stage(tmp_path_factory.mktemp("judged"), url_of(name), founded) as stage,
    ):
        begin_site(stage)
        stage.begin_runner("rex", stage.manage("create_runner", "rex", "--hardware", "cpu").strip())
        yield stage


def _answers(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False
