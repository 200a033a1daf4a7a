"""Parts of set-up: addresses, environment files, commands, files sent as samples, the Docker engine."""

import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from deploy import docker_engine
from deploy.bootstrap import inputs_digest
from deploy.console import SetupError
from deploy.docker_engine import SYSTEM_FOLDERS
from deploy.embedded import postgres_url, valkey_accounts
from deploy.launch import environment_text, read_environment
from deploy.parties import myself, others_may_enter, others_may_read, socket_folder, useradd_command
from deploy.samples import ACCOUNTS, plan, submit_command, verdict
from deploy.site import Site, choose_port, port_is_free, remember_port


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_a_database_address_gives_its_parts_back(password: str) -> None:
    parts = conninfo_to_dict(postgres_url("photofinish", password, Path("/a folder/with=signs&more")))
    assert parts["password"] == password
    assert parts["host"] == "/a folder/with=signs&more"


@given(
    st.dictionaries(
        st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), st.text(st.characters(codec="ascii", min_codepoint=32))
    )
)
def test_an_environment_file_gives_its_values_back(values: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "environment"
        path.write_text(environment_text(values))
        assert read_environment(path) == values


def test_an_environment_file_cannot_carry_a_second_line() -> None:
    with pytest.raises(ValueError, match="TOKEN"):
        environment_text({"TOKEN": "a\nPATH=/tmp"})


def test_accounts_of_the_broker_hold_digests_not_passwords() -> None:
    lines = "\n".join(valkey_accounts({"site": "one secret", "runner": "another secret"}))
    assert "secret" not in lines
    assert "user default off" in lines


def test_a_system_user_gets_no_shell_and_no_home() -> None:
    command = useradd_command("photofinish-db")
    assert "/usr/sbin/nologin" in command
    assert "--no-create-home" in command


def test_a_private_folder_is_closed_to_others(tmp_path: Path) -> None:
    inner = tmp_path / "closed" / "inner"
    inner.mkdir(parents=True)
    file = inner / "file"
    file.write_text("x")
    file.chmod(0o644)
    (tmp_path / "closed").chmod(0o700)
    assert not others_may_enter(inner)
    assert not others_may_read(file)


def test_everyone_may_read_the_root_folder() -> None:
    assert others_may_enter(Path("/"))


def test_a_short_socket_path_stays_where_it_is(tmp_path: Path) -> None:
    assert socket_folder(Path("/state/run"), "valkey.sock") == Path("/state/run")


def test_new_dependencies_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("a")
    (tmp_path / "constraints.txt").write_text("b")
    first = inputs_digest(tmp_path)
    (tmp_path / "constraints.txt").write_text("c")
    second = inputs_digest(tmp_path)
    assert second != first
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "server.txt").write_text("d")
    assert inputs_digest(tmp_path) != second


def test_the_port_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "8123")
    site = Site(tmp_path, tmp_path, Path("python"), myself(), choose_port(tmp_path))
    monkeypatch.delenv("PORT")
    assert choose_port(tmp_path) == 8000
    remember_port(site)
    assert choose_port(tmp_path) == 8123


@pytest.mark.parametrize("port", ["http", "0", "65536", "-1"])
def test_a_port_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("PORT", port)
    with pytest.raises(SetupError, match=f"PORT='{port}'"):
        choose_port(tmp_path)


def test_a_taken_port_is_seen() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not port_is_free(port)
    assert port_is_free(port)


def test_five_accounts_enter_softmax_and_somebody_is_wrong(tmp_path: Path) -> None:
    for board in ("softmax", "vectoradd"):
        for folder, names in {"accepted": "abcd", "slow": "s", "wrong": "w"}.items():
            files = tmp_path / board / "submissions" / folder
            files.mkdir(parents=True)
            for name in names:
                (files / f"{name}.py").touch()
    samples = plan(tmp_path)
    entrants = [sample.account for sample in samples if sample.board == "softmax" and sample.folder == "accepted"]
    assert entrants == list(ACCOUNTS)
    assert {sample.folder for sample in samples} == {"accepted", "slow", "wrong"}
    assert len({(sample.account, sample.board, sample.path.name) for sample in samples}) == len(samples)


def test_no_token_stands_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "softmax" / "submissions" / "accepted").mkdir(parents=True)
    (tmp_path / "softmax" / "submissions" / "accepted" / "a.py").touch()
    command = submit_command(Path("photofinish"), plan(tmp_path)[0])
    assert command[:2] == ["photofinish", "submit"]
    assert not [part for part in command if part.startswith("pf_")]


def test_verdicts_read_well() -> None:
    passed = {"status": "done", "outcome": "passed", "reason": "", "ratio": 0.5, "rank": 1, "review": None}
    wrong = {"status": "done", "outcome": "wrong", "reason": "nan", "ratio": None, "rank": None, "review": None}
    held = {**passed, "rank": None, "review": "under_review"}
    assert verdict(passed) == ("passed", "2.000×", "1")
    assert verdict(wrong) == ("wrong (nan)", "-", "-")
    assert verdict(held) == ("passed, under review", "2.000×", "-")
    assert verdict({"status": "queued", "outcome": None}) == ("queued", "-", "-")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder that alone has programs, for a caller who is not root: a `docker` that reaches no engine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(docker_engine, "is_root", lambda: False)
    monkeypatch.setattr(docker_engine, "SYSTEM_FOLDERS", f":{tmp_path / 'sbin'}")
    program(folder / "docker", 'echo "Is the docker daemon running?" >&2; exit 1')
    return folder


def program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_who_installs_the_engine_learns_to_join_its_group(programs: Path) -> None:
    refusal = "permission denied while trying to connect to the Docker daemon socket"
    engine = programs.parent / "engine"
    program(programs / "docker", f'[ -e {engine} ] && echo "{refusal}" >&2; exit 1')
    program(programs / "sudo", f'case "$*" in *install*) : > {engine};; esac')
    program(programs / "apt-get", "exit 0")
    with pytest.raises(SetupError, match=r"sudo usermod -aG docker \$USER, then sign in again"):
        docker_engine.ensure_docker()


def test_stopped_engine_outside_the_users_path_is_not_missing(programs: Path) -> None:
    assert {"/usr/sbin", "/sbin", "/usr/local/sbin"} < set(SYSTEM_FOLDERS.split(":"))
    program(programs.parent / "sbin" / "dockerd", "exit 0")
    with pytest.raises(SetupError, match="does not run and we may not start it: sudo systemctl start docker"):
        docker_engine.ensure_docker()
