"""The commands of docs/operate.md for point-in-time recovery: a base backup, archived WAL, a restore to a time."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import psycopg
import pytest
import yaml

from deploy import parties
from deploy.embedded import PLAIN_ENVIRONMENT, Running, Server, postgres_url, prepare_postgres, wait_until
from deploy.parties import CHECKOUT

SCRIPT = CHECKOUT / "deploy" / "production" / "archive-wal.sh"


class Archiving(Running):
    """A server that archives its WAL by the options of wal.yaml."""

    def __init__(self, state: Path, wal: Path) -> None:
        server = prepare_postgres(state, durable=True)
        self.data = Path(server.command[server.command.index("-D") + 1])
        hba = self.data / "pg_hba.conf"
        hba.write_text(hba.read_text() + "local replication all scram-sha-256\n")
        script = wal.parent / SCRIPT.name
        shutil.copy(SCRIPT, script)  # the checkout may be closed to the server's user
        command = yaml.safe_load((CHECKOUT / "deploy/production/wal.yaml").read_text())["services"]["database"][
            "command"
        ]
        options = [option for option in command if option.startswith("archive_")]
        assert [option.partition("=")[0] for option in options] == [
            "archive_mode",
            "archive_timeout",
            "archive_command",
        ]
        options[2] = options[2].replace("sh /etc/photofinish/archive-wal.sh", f"WAL_ARCHIVE={wal} sh {script}")
        told = [part for option in options for part in ("-c", option)]
        self.run(Server([*server.command, *told], server.party, server.socket, server.log), state)

    def run(self, server: Server, state: Path) -> None:
        password = parties.kept_secret(state / "postgres" / "superuser.password", server.party)
        self.url = postgres_url("postgres", password, server.socket.parent, "postgres")
        self._start(server, lambda process: wait_until(self.is_ready, server, process))

    def is_ready(self) -> bool:
        try:
            with psycopg.connect(self.url, connect_timeout=5) as db:
                (in_recovery,) = db.execute("SELECT pg_is_in_recovery()").fetchone() or (True,)
                return not in_recovery
        except psycopg.OperationalError:
            return False

    def execute(self, text: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url, autocommit=True) as db:
            done = db.execute(text)
            return done.fetchall() if done.description else []

    def programs(self) -> Path:
        return Path(self.server.command[0]).parent


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="pf-pitr-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[[], Archiving]]:
    wal, running = folder / "wal", []
    parties.own_folder(wal, parties.party(parties.DATABASE))

    def begin() -> Archiving:
        running.append(Archiving(folder / "state", wal))
        return running[-1]

    yield begin
    for server in running:
        server.stop()


def test_a_base_backup_and_its_wal_give_the_database_of_any_time(folder: Path, start: Callable[[], Archiving]) -> None:
    server = start()
    server.execute("CREATE TABLE entry (name text)")
    server.execute("INSERT INTO entry VALUES ('before the base backup')")
    base = folder / "base.tar"
    with base.open("wb") as target:
        subprocess.run(
            [server.programs() / "pg_basebackup", "-d", server.url, "-D", "-", "-Ft", "-X", "fetch", "-c", "fast"],
            stdout=target, env=PLAIN_ENVIRONMENT, check=True, timeout=60,
        )  # fmt: skip
    server.execute("INSERT INTO entry VALUES ('after it')")
    ((moment,),) = server.execute("SELECT clock_timestamp()")
    assert isinstance(moment, datetime)
    time.sleep(0.05)
    server.execute("DELETE FROM entry")  # the accident
    server.execute("SELECT pg_switch_wal()")
    finished = server.execute("SELECT pg_walfile_name(pg_switch_wal())")[0][0]
    deadline = time.monotonic() + 20
    while str(server.execute("SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver")[0][0]) < str(finished):
        assert time.monotonic() < deadline, server.server.log.read_text()[-2000:]
        server.execute("SELECT pg_switch_wal()")
        time.sleep(0.1)
    server.stop()

    shutil.move(server.data, folder / "accident")
    owner = server.server.party
    parties.own_folder(server.data, owner)
    subprocess.run(["tar", "-x", "-f", base, "-C", server.data], check=True)
    with (server.data / "postgresql.auto.conf").open("a") as conf:
        conf.write(f"restore_command = 'cp {folder}/wal/%f %p'\n")
        conf.write(f"recovery_target_time = '{moment.isoformat()}'\nrecovery_target_action = 'promote'\n")
    (server.data / "recovery.signal").touch()
    for path in (server.data, *server.data.rglob("*")):
        os.chown(path, owner.uid, owner.gid)
    recovered = start()
    assert recovered.execute("SELECT name FROM entry ORDER BY 1") == [("after it",), ("before the base backup",)]


def test_an_archived_file_is_never_replaced_by_another(tmp_path: Path) -> None:
    def archive(text: str) -> int:
        (tmp_path / "segment").write_text(text)
        command = ["sh", str(SCRIPT), str(tmp_path / "segment"), "000000010000000000000001"]
        environment = {"PATH": os.environ["PATH"], "WAL_ARCHIVE": str(tmp_path / "wal")}
        return subprocess.run(command, env=environment, capture_output=True, check=False).returncode

    assert archive("one") != 0  # the folder is not there: PostgreSQL keeps the file and tries again
    (tmp_path / "wal").mkdir()
    assert [archive("one"), archive("one")] == [0, 0]
    assert archive("two") != 0
    assert [path.read_text() for path in (tmp_path / "wal").iterdir()] == ["one"]
