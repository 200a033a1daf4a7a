"""The embedded PostgreSQL and Valkey: password needed, no TCP, restart-safe, closed to foreign users."""

import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from deploy.console import SetupError
from deploy.embedded import Postgres, Valkey
from deploy.parties import is_root

needs_root = pytest.mark.skipif(not is_root(), reason="only root can give each server a user of its own")


@pytest.fixture(scope="module")
def state() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pf-embedded-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def postgres(state: Path) -> Iterator[Postgres]:
    server = Postgres(state, durable=False)
    yield server
    server.stop()


@pytest.fixture
def valkey(state: Path) -> Iterator[Valkey]:
    server = Valkey(state)
    yield server
    server.stop()


def test_data_survives_a_crash_and_a_second_start(state: Path) -> None:
    first = Postgres(state, durable=True)
    with psycopg.connect(first.url) as db:
        db.execute("CREATE TABLE kept (n int)")
        db.execute("INSERT INTO kept VALUES (7)")
    first.process.kill()
    first.process.wait(10)
    _wait_for_orphans(state)

    second = Postgres(state, durable=True)
    try:
        assert second.url == first.url
        with psycopg.connect(second.url) as db:
            assert db.execute("SELECT n FROM kept").fetchone() == (7,)
    finally:
        second.stop()


def _wait_for_orphans(state: Path) -> None:
    """The postmaster's children notice its death by themselves; their shared memory must be free first."""
    deadline = time.monotonic() + 10
    while str(state / "postgres").encode() in _all_command_lines() and time.monotonic() < deadline:
        time.sleep(0.05)


def _all_command_lines() -> bytes:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, check=True).stdout


def test_postgres_refuses_a_wrong_password(postgres: Postgres) -> None:
    socket_folder = str(postgres.server.socket.parent)
    for password in ("", "wrong"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(host=socket_folder, user="photofinish", password=password, dbname="photofinish")


def test_postgres_listens_on_its_socket_only(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url) as db:
        assert db.execute("SHOW listen_addresses").fetchone() == ("",)
        assert db.execute("SHOW server_version_num").fetchone()[0].startswith("18")  # type: ignore[index]


def test_the_sites_role_is_no_superuser(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url) as db, pytest.raises(psycopg.errors.InsufficientPrivilege):
        db.execute("COPY (SELECT 1) TO PROGRAM 'true'")


def test_a_second_server_on_the_same_data_is_refused(state: Path, postgres: Postgres) -> None:
    with pytest.raises(SetupError, match="already runs"):
        Postgres(state, durable=False)


def test_valkey_refuses_the_default_user_and_a_wrong_password(valkey: Valkey) -> None:
    path = str(valkey.server.socket)
    with pytest.raises(redis.exceptions.AuthenticationError):
        redis.Redis(unix_socket_path=path).ping()
    with pytest.raises(redis.exceptions.AuthenticationError):
        redis.Redis(unix_socket_path=path, username="site", password="wrong").ping()


def test_a_runner_reaches_gpu_queues_only(valkey: Valkey) -> None:
    runner = redis.from_url(valkey.runner_url)
    assert runner.rpush("dramatiq:gpu.cpu", "doorbell") == 1
    for forbidden in (
        lambda: runner.rpush("dramatiq:default", "a message for the site"),
        lambda: runner.get("dramatiq:gpu.cpu"),
        lambda: runner.config_get("*"),
        lambda: runner.flushall(),
        lambda: runner.eval("return redis.call('lpop', 'dramatiq:default')", 0),
        lambda: runner.srem("dramatiq:__acks__.1c9e.site", "a message that the site's worker has not done yet"),
        lambda: runner.delete("dramatiq:__acks__.1c9e.site.DQ"),
        lambda: runner.eval("return redis.call('del', KEYS[1])", 1, "dramatiq:__acks__.1c9e.site"),
    ):
        with pytest.raises((redis.exceptions.NoPermissionError, redis.exceptions.ResponseError)):
            forbidden()


def test_dramatiq_works_for_both_accounts(valkey: Valkey) -> None:
    """This holds even if a worker of the site died with a message in hand: a runner's account may not touch that."""
    from dramatiq import Message, Worker, actor
    from dramatiq.brokers.redis import RedisBroker

    dead = "dramatiq:__acks__.dead.site"
    observer = redis.from_url(valkey.url)
    observer.zadd("dramatiq:__heartbeats__", {"dead": 1})
    observer.sadd(dead, "a chore")
    site, runner = RedisBroker(url=valkey.url), RedisBroker(url=valkey.runner_url, maintenance_chance=1_000_000)
    heard: list[str] = []
    ring = actor(heard.append, queue_name="gpu.cpu", actor_name="doorbell", broker=runner)
    site.declare_queue("gpu.cpu")
    site.enqueue(Message("gpu.cpu", "doorbell", ("attempt 1",), {}, {}))
    worker = Worker(runner, worker_threads=1, worker_timeout=50)
    worker.start()
    try:
        runner.join(ring.queue_name, timeout=10_000)
    finally:
        worker.stop()
        site.close()
        runner.close()
    assert heard == ["attempt 1"]
    assert observer.smembers(dead) == {b"a chore"}
    assert observer.zscore("dramatiq:__heartbeats__", "dead") is not None, "the site's own worker will see to it"


def test_secrets_are_private_files(state: Path, postgres: Postgres, valkey: Valkey) -> None:
    secrets = [*state.glob("*/*.password"), state / "valkey" / "valkey.conf", state / "postgres/data/postgresql.conf"]
    assert len(secrets) == 7
    assert {stat.S_IMODE(path.stat().st_mode) for path in secrets} == {0o600}
    assert stat.S_IMODE((state / "postgres" / "data").stat().st_mode) == 0o700


@needs_root
def test_each_server_has_a_user_of_its_own(state: Path, postgres: Postgres, valkey: Valkey) -> None:
    uids = {Path(f"/proc/{server.process.pid}").stat().st_uid for server in (postgres, valkey)}
    assert len(uids) == 2
    assert not uids & {0, 65534}


@needs_root
def test_other_users_can_neither_read_data_nor_secrets(state: Path, postgres: Postgres, valkey: Valkey) -> None:
    for path in (state / "postgres" / "data" / "PG_VERSION", *state.glob("*/*.password")):
        for uid in (65533, postgres.server.party.uid, valkey.server.party.uid):
            if uid == path.stat().st_uid:
                continue
            done = subprocess.run(
                ["cat", str(path)], user=uid, group=uid, extra_groups=[], capture_output=True, cwd="/"
            )
            assert b"Permission denied" in done.stderr


def test_a_deep_state_folder_gets_a_short_socket_path() -> None:
    top = Path(tempfile.mkdtemp(prefix="pf-deep-"))
    deep = top / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    for folder in (top, *top.rglob("*")):
        folder.chmod(0o711)
    server = Valkey(deep)
    try:
        assert len(os.fsencode(server.server.socket)) <= 100
        assert redis.from_url(server.url).ping()
    finally:
        server.stop()
        shutil.rmtree(top)
        shutil.rmtree(server.server.socket.parent)


@needs_root
def test_a_state_folder_that_servers_cannot_enter_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(SetupError, match="PHOTOFINISH_STATE"):
        Valkey(tmp_path)
