"""Instructions of the supervisor: the account of each process, the order, and no secret."""

import configparser
from pathlib import Path

from deploy.embedded import Server
from deploy.parties import Party
from deploy.processes import (
    Program,
    code_version,
    runner_program,
    service_programs,
    site_programs,
    supervisor_conf,
)

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
    module = tmp_path / "room" / "module.py"
    module.write_text("x = 1\n")
    first = code_version(tmp_path, ("room",))
    (tmp_path / "room" / "module.pyc").write_bytes(b"bytecode")
    assert code_version(tmp_path, ("room",)) == first
    module.write_text("x = 2\n")
    assert code_version(tmp_path, ("room",)) != first
