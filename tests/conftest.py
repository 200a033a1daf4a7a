"""One PostgreSQL for the test run and a Valkey for each of its processes, started before Django reads its settings.

Workers of pytest-xdist inherit PostgreSQL's address, where pytest-django gives each a copy of one migrated database.
Queues have the same names in all workers, so each worker starts its own Valkey.
Both die with this process, however it ends.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

import pytest

from deploy.embedded import Postgres, Valkey

if TYPE_CHECKING:
    import docker

SANDBOX_IMAGE = os.environ.get("SANDBOX_IMAGE", "photofinish-sandbox:latest")
COSTS = Path(__file__).with_name("costs.json")  # seconds by test function, of those that take at least LONG_S
LONG_S = 0.25
OF_MODELS = ("django_content_type", "auth_permission")
WAITED = "waited_s"  # property of a test's report
LATE = ("timed", "docker")  # marks, the latest first
IMAGE_LOCK = "PHOTOFINISH_TEST_IMAGE_LOCK"  # tests/tools/test_run.py
collect_ignore = ["tools/test_run.py"]  # a program


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-costs", action="store_true", help="record the tests' times in tests/costs.json")


def pytest_configure(config: pytest.Config) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a command in the background, or below nohup, ignores
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these signals, and so would the programs that tests start and stop
    if "PYTEST_XDIST_WORKER" not in os.environ:
        _start_servers(config)
        if config.getoption("write_costs"):
            config.pluginmanager.register(CostWriter())
    _start_queue(config)
    if "PYTEST_XDIST_WORKER" not in os.environ and config.getoption("numprocesses", None):
        migrating = threading.Thread(target=migrated_database)  # while the workers collect the tests
        migrating.start()
        config.add_cleanup(migrating.join)
    import django
    from django.contrib.auth.hashers import PBKDF2PasswordHasher

    PBKDF2PasswordHasher.iterations = 1  # quick, and a site in another process can check these passwords
    django.setup()  # pytest-django would do it before this, when the servers' addresses are not known yet
    _list_static_files_once()
    _empty_used_tables_only()


def _empty_used_tables_only() -> None:
    """After a test with real commits, delete the rows of the tables that have some: TRUNCATE of all takes 0.5 s.

    Triggers of append-only tables and foreign keys do not act meanwhile (_allow_emptying). The rows that a migration
    makes for each model stay: to make them again takes a quarter of a second.
    """
    from django.core.management.commands import flush
    from django.db.backends.postgresql.operations import DatabaseOperations

    def deletes(operations: DatabaseOperations, style: Any, tables: Sequence[str], **_: bool) -> list[str]:
        names = [operations.quote_name(table) for table in tables if table not in OF_MODELS]
        filled = (f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})" for name in names)
        with operations.connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join(filled))
            acts = [f"DELETE FROM {name}" for (name,) in cursor.fetchall()]
        return ["SET LOCAL session_replication_role = replica", *acts] if acts else []

    DatabaseOperations.sql_flush = deletes
    flush.emit_post_migrate_signal = lambda *_, **__: None


def _allow_emptying(state: Path, url: str) -> None:
    """Let the tables' owner, whose address is `url`, switch triggers off in a transaction of its own."""
    import psycopg

    owner = urlsplit(url)
    superuser = f"postgres:{quote((state / 'postgres' / 'superuser.password').read_text().strip(), safe='')}@"
    with psycopg.connect(urlunsplit(owner._replace(netloc=superuser)), autocommit=True) as connection:
        connection.execute(f"GRANT SET ON PARAMETER session_replication_role TO {owner.username}")


def _list_static_files_once() -> None:
    """Share WhiteNoise's list of static files among the test clients: making it takes longer than a page."""
    from whitenoise.middleware import WhiteNoiseMiddleware

    found: dict[str, Any] = {}
    look = WhiteNoiseMiddleware.add_files_from_finders

    def look_once(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            before = dict(middleware.files)
            look(middleware)
            found.update(middleware.files.items() - before.items())
        middleware.files.update(found)

    WhiteNoiseMiddleware.add_files_from_finders = look_once


def _start_servers(config: pytest.Config) -> None:
    state = Path(tempfile.mkdtemp(prefix="pf-test-"))
    config.add_cleanup(lambda: shutil.rmtree(state, ignore_errors=True))
    state.chmod(0o711)  # the servers have users of their own when we are root
    judge_lock = state / "judge.lock"
    judge_lock.touch()
    (state / "reports").mkdir()
    postgres = Postgres(state, durable=False)
    config.add_cleanup(postgres.stop)
    _allow_emptying(state, postgres.url)
    os.environ.update(
        DJANGO_SETTINGS_MODULE="leaderboard.settings",  # here, not in pyproject.toml: that would load them before us
        DATABASE_URL=postgres.url,
        SECRET_KEY=secrets.token_urlsafe(48),
        ALLOWED_HOSTS="127.0.0.1,localhost,testserver",
        SITE_URL="http://127.0.0.1:8000",
        DEBUG="0",
        MAIL_URL=(state / "mailbox").as_uri(),  # of sites in processes of their own; tests have Django's outbox
        LOG_LEVEL="WARNING",
        REPORT_STORE=f"file://{state}/reports",
        WEB_DRAIN_S="0",  # tests about the end of a web process set it themselves
        REMEASURE_AFTER_S="0",  # tests about the wait set it themselves
        PHOTOFINISH_TEST_JUDGE_LOCK=str(judge_lock),
        PHOTOFINISH_TEST_MIGRATED=str(state / "migrated"),
        PHOTOFINISH_TEST_SITE_DATABASE_URL=postgres.site_url,  # its role owns nothing; DATABASE_URL's owns the tables
    )


def _start_queue(config: pytest.Config) -> None:
    state = Path(tempfile.mkdtemp(prefix="pf-test-"))
    config.add_cleanup(lambda: shutil.rmtree(state, ignore_errors=True))
    state.chmod(0o711)
    valkey = Valkey(state)
    config.add_cleanup(valkey.stop)
    os.environ.update(BROKER_URL=valkey.url, PHOTOFINISH_TEST_RUNNER_BROKER_URL=valkey.runner_url)
    from django.conf import settings

    settings.BROKER_URL = valkey.url  # a worker of pytest-xdist has read the controller's by now


@pytest.fixture(autouse=True)
def _no_flood() -> None:
    """Requests of other tests do not count; this matters only where the test's process has the site's web layer."""
    if limits := sys.modules.get("leaderboard.web.limits"):
        limits.floods.clear()


def migrated_database() -> str:
    """Return the name of a database with all migrations applied, a template that nothing connects to."""
    import psycopg

    url, name = os.environ["DATABASE_URL"], "photofinish_migrated"
    with open(os.environ["PHOTOFINISH_TEST_MIGRATED"], "a+") as done:
        fcntl.flock(done, fcntl.LOCK_EX)
        if not os.path.getsize(done.name):
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f"DROP DATABASE IF EXISTS {name}")  # of a migration that failed
                connection.execute(f"CREATE DATABASE {name}")
            environment = {**os.environ, "DATABASE_URL": urlunsplit(urlsplit(url)._replace(path=f"/{name}"))}
            command = [sys.executable, "-m", "leaderboard.manage", "migrate", "--verbosity", "0"]
            subprocess.run(command, env=environment, check=True)
            done.write("done")
    return name


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules and tests that stay until the end, and let it look less often.

    A judge in this process would unfreeze them: each of its collections would look at a million objects, for half a
    second.
    """
    gc.collect()
    gc.freeze()
    gc.freeze = gc.unfreeze = lambda: None
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    from django.conf import settings

    settings.DATABASES["default"]["TEST"]["TEMPLATE"] = migrated_database()


def docker_problem() -> str:
    """Why tests with real containers cannot run here; empty when they can."""
    import docker

    try:
        client = docker.from_env(timeout=10)
    except docker.errors.DockerException as error:
        return f"the Docker engine does not answer ({error})"
    try:
        client.images.get(SANDBOX_IMAGE)
    except docker.errors.ImageNotFound:
        return f"there is no image {SANDBOX_IMAGE}"
    finally:
        client.close()
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test marked `docker` needs engine and image: without them it fails where CI=true and is skipped at home.

    Tests with containers run late, as their image may still be built. In either group long tests run first, so
    that no process is left with one at the end. A `timed` test runs last, alone on the machine: two judges would
    share the cores that each of them measures. Those of a module stay together, as they may share a site.
    """
    costs = json.loads(COSTS.read_text())
    for item in items:
        if item.get_closest_marker("docker"):
            item.fixturenames.insert(0, "_docker_or_out")  # type: ignore[attr-defined]
        if function_of(item.nodeid) in costs:
            item.add_marker("slow")

    def order(item: pytest.Item) -> tuple[bool, bool, float]:
        timed, docker = (item.get_closest_marker(mark) is not None for mark in LATE)
        return timed, docker, 0.0 if timed else -costs.get(function_of(item.nodeid), 0.0)

    items.sort(key=order)


def function_of(nodeid: str) -> str:
    return nodeid.partition("[")[0]


class CostWriter:
    """Plugin of the controlling process that keeps the longest time of each test function, without its waits for the
    image and for other tests."""

    def __init__(self) -> None:
        self.took_s: dict[str, float] = defaultdict(float)  # by test, from its set-up to its tear-down

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took_s[report.nodeid] += report.duration
        if report.when == "setup":
            self.took_s[report.nodeid] -= sum(value for name, value in report.user_properties if name == WAITED)

    def pytest_sessionfinish(self) -> None:
        longest: dict[str, float] = {}
        for nodeid, seconds in self.took_s.items():
            longest[function_of(nodeid)] = max(longest.get(function_of(nodeid), 0.0), round(seconds, 2))
        long = {name: seconds for name, seconds in sorted(longest.items()) if seconds >= LONG_S}
        COSTS.write_text(json.dumps(long, indent=1) + "\n")


@pytest.fixture(scope="session")
def _docker_problem() -> str:
    return docker_problem()


@pytest.fixture
def _docker_or_out(request: pytest.FixtureRequest) -> Iterator[None]:
    if image := os.environ.get(IMAGE_LOCK):
        with open(image) as lock:
            await_lock(request, lock, fcntl.LOCK_SH)
    if problem := request.getfixturevalue("_docker_problem"):
        way_out = f"{problem}: run `make test`, which sets both up"
        if os.environ.get("CI") == "true":
            pytest.fail(way_out)
        pytest.skip(way_out)
    with open(os.environ["PHOTOFINISH_TEST_JUDGE_LOCK"]) as lock:
        await_lock(request, lock, fcntl.LOCK_EX if request.node.get_closest_marker("timed") else fcntl.LOCK_SH)
        yield


def await_lock(request: pytest.FixtureRequest, file: IO[str], kind: int) -> None:
    """Wait for a lock of this kind, which is no time of this test."""
    left_s, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    began = time.monotonic()
    fcntl.flock(file, kind)
    request.node.user_properties.append((WAITED, time.monotonic() - began))
    signal.setitimer(signal.ITIMER_REAL, left_s)


@pytest.fixture(scope="session")
def docker_client(_docker_problem: str) -> Iterator[docker.DockerClient]:
    import docker

    client = docker.from_env()
    yield client
    client.close()
