"""Instructions of the supervisor: the account of each process, the order, restarts, and no secret."""

import configparser
import sys
from pathlib import Path
from typing import Any

import pytest

from deploy import up
from deploy.embedded import Server
from deploy.parties import Party, myself
from deploy.processes import (
    Program,
    Supervisor,
    process_version,
    runner_program,
    service_programs,
    site_programs,
    supervisor_conf,
)
from deploy.site import Site

SITE = Party("photofinish-site", 990, 990)
ROOT = Party("myself", 0, 0)
PYTHON = Path("/opt/venv/bin/python")


def programs() -> list[Program]:
    server = Server(["/usr/bin/server", "-D", "/data"], Party("photofinish-db", 991, 991), Path("/s"), Path("/log"))
    return [
        *service_programs(server, server),
        *site_programs(PYTHON, Path("/code"), Path("/secrets/site.env"), SITE, 8001, "v1"),
        runner_program(PYTHON, Path("/code"), Path("/secrets/runner.env"), ROOT, "cpu", "v1 image"),
    ]


def sections(*, root: bool = True) -> configparser.ConfigParser:
    parsed = configparser.ConfigParser()
    parsed.read_string(supervisor_conf(Path("/state/supervisor"), Path("/state/s.sock"), programs(), root=root))
    return parsed


def test_each_party_has_its_own_user() -> None:
    conf = sections()
    users = {
        name: conf[f"program:{name}"]["user"] for name in ("database", "site", "site-worker", "sweeper", "runner-cpu")
    }
    assert users == {"database": "991", "site": "990", "site-worker": "990", "sweeper": "990", "runner-cpu": "0"}


def test_without_root_everything_stays_with_the_caller() -> None:
    conf = sections(root=False)
    assert not [section for section in conf.sections() if "user" in conf[section]]


def test_servers_start_before_the_site_and_the_runner_last() -> None:
    conf = sections()
    order = sorted(
        (int(conf[section]["priority"]), section.removeprefix("program:"))
        for section in conf.sections()
        if section.startswith("program:")
    )
    names = [name for _, name in order]
    assert set(names[:2]) == {"broker", "database"}
    assert names[-1] == "runner-cpu"


def test_every_process_is_started_again_when_it_dies() -> None:
    conf = sections()
    restarts = [conf[section]["autorestart"] for section in conf.sections() if section.startswith("program:")]
    assert restarts == ["true"] * 6


def test_postgres_is_asked_to_disconnect_its_clients() -> None:
    assert sections()["program:database"]["stopsignal"] == "INT"


def test_secrets_are_handed_over_by_file() -> None:
    command = sections()["program:site"]["command"]
    assert "deploy.launch /secrets/site.env" in command
    assert "--port 8001" in command


def test_the_site_has_time_to_leave() -> None:
    from leaderboard.serve import FINISHED_WITHIN_S

    assert int(sections()["program:site"]["stopwaitsecs"]) > FINISHED_WITHIN_S


def test_the_site_listens_on_this_machine_only() -> None:
    assert "--host 127.0.0.1" in sections()["program:site"]["command"]


def test_a_folder_with_blanks_and_percent_signs_survives() -> None:
    program = Program("p", ["/a b/100%/run", "x"], ROOT, Path("/a b/100%"), 1)
    parsed = configparser.ConfigParser()
    parsed.read_string(supervisor_conf(Path("/s"), Path("/s/s"), [program], root=True))
    assert parsed["program:p"]["command"] == "'/a b/100%/run' x"
    assert parsed["program:p"]["directory"] == "/a b/100%"


def test_the_version_follows_the_code_and_not_its_bytecode(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    module, settings = tmp_path / "room" / "module.py", tmp_path / "site.env"
    module.write_text("x = 1\n")
    settings.touch()
    first = process_version(tmp_path, ("room",), settings)
    (tmp_path / "room" / "module.pyc").write_bytes(b"bytecode")
    assert process_version(tmp_path, ("room",), settings) == first
    module.write_text("x = 2\n")
    assert process_version(tmp_path, ("room",), settings) != first


class Applied(Exception):
    """The programs that `make up` would run."""


class FakeSupervisor:
    def log(self, name: str) -> bytes:
        return b""

    def pid(self, name: str) -> str:
        return "7"

    def apply(self, programs: list[Program]) -> None:
        raise Applied(programs)


def test_a_changed_setting_restarts_the_processes_that_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path, tmp_path, PYTHON, myself(), 8000)
    site.secrets.mkdir()
    monkeypatch.setattr(up, "write_runner_environment", lambda *given: None)

    def versions(hosts: str, engine: str) -> list[str]:
        site.env_file.write_text(f"ALLOWED_HOSTS={hosts}\nSECRET_KEY=random\n")
        site.runner_env_file.write_text(f"DOCKER_HOST={engine}\nRUNNER_TOKEN=random\n")
        supervisor: Any = FakeSupervisor()
        with pytest.raises(Applied) as applied:
            up._start(site, supervisor, [], "redis://nowhere", "an image")
        return [program.version for program in applied.value.args[0]]

    before = versions("localhost", "unix:///a")
    assert versions("localhost", "unix:///a") == before
    site_changed, runner_changed = versions("kernels.example.org", "unix:///a"), versions("localhost", "unix:///b")
    assert [new == old for new, old in zip(site_changed, before, strict=True)] == [False, False, False, True]
    assert [new == old for new, old in zip(runner_changed, before, strict=True)] == [True, True, True, False]


def test_a_server_of_ours_returns_to_a_supervisor_that_ran_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where BROKER_URL was given to the last `make up`, and is not to this one."""
    (tmp_path / "valkey").mkdir()
    broker = Server(["sleep", "60"], myself(), tmp_path / "socket", tmp_path / "log")
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/photofinish")
    monkeypatch.delenv("BROKER_URL", raising=False)
    monkeypatch.setattr(up, "prepare_valkey", lambda state: broker)
    monkeypatch.setattr(up, "wait_until", lambda *given: None)
    supervisor = Supervisor(tmp_path / "supervisor", Path(sys.executable))
    supervisor.apply([Program("site", ["sleep", "60"], myself(), Path("/"), 20)])
    try:
        up._services(Site(tmp_path, tmp_path, PYTHON, myself(), 8000), supervisor)
        (line,) = supervisor.status()
        assert line.split()[:2] in (["broker", "STARTING"], ["broker", "RUNNING"])
    finally:
        supervisor.stop()
