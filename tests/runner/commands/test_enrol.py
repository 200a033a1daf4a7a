"""`runner enrol` examines the host, keeps a new token in a file of mode 600, and repeats a request that was lost."""

import hashlib
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runner.commands import main
from runner.host import doctor
from runner.host.doctor import OK, UNFIT, Check
from tests.runner.fake_site import FakeSite


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """This host, whose doctor finds what a test says."""
    monkeypatch.setenv("RUNNER_HARDWARE", "cpu")
    monkeypatch.setenv("RUNNER_STATE", str(tmp_path))
    monkeypatch.delenv("RUNNER_TOKEN", raising=False)

    def find(result: str) -> None:
        lines = [Check("device", result, "cpu", "Without it nothing can be judged.", "Load the driver.")]
        monkeypatch.setattr(doctor, "examine", lambda *_: iter(lines))

    find(OK)
    return find


def enrol(site: FakeSite, file: Path, url: str = "") -> Any:
    return CliRunner().invoke(main.app, ["enrol", url or site.url, "pfe_code", "--file", str(file)])


@pytest.mark.usefixtures("host")
def test_enrolled_host_keeps_the_token_and_sends_its_digest(site: FakeSite, tmp_path: Path) -> None:
    file = tmp_path / "etc" / "enrolled.env"
    result = enrol(site, file)
    assert result.exit_code == 0, result.output
    assert "Enrolled as runner tex for cpu" in result.output
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    known = dict(line.split("=", 1) for line in file.read_text().splitlines())
    token = known["RUNNER_TOKEN"]
    assert (known["PHOTOFINISH_URL"], known["RUNNER_HARDWARE"]) == (site.url, "cpu")
    [asked] = site.enrolments
    assert asked["token_digest"] == hashlib.sha256(token.encode()).hexdigest()
    assert token not in str(asked)
    assert token not in result.output
    assert [*asked["checks"]] == [{"name": "device", "result": "ok", "found": "cpu"}]


def test_unfit_host_spends_no_code(site: FakeSite, host: Callable[[str], None], tmp_path: Path) -> None:
    host(UNFIT)
    result = enrol(site, tmp_path / "enrolled.env")
    assert result.exit_code == 1
    assert "Load the driver" in result.output
    assert site.enrolments == []
    assert not (tmp_path / "enrolled.env").exists()


@pytest.mark.usefixtures("host")
def test_refused_code_leaves_no_file(site: FakeSite, tmp_path: Path) -> None:
    site.refuse_enrolment = 403
    result = enrol(site, tmp_path / "enrolled.env")
    assert result.exit_code == 2
    assert "the site knows no such code" in " ".join(result.stderr.split())
    assert not (tmp_path / "enrolled.env").exists()


@pytest.mark.usefixtures("host")
def test_lost_answer_is_asked_for_again_with_the_same_token(
    site: FakeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.commands.enrol.PATIENCE_S", 0.0)
    file = tmp_path / "enrolled.env"
    site.down = True
    result = enrol(site, file)
    assert result.exit_code == 2
    assert "repeat the command" in " ".join(result.stderr.split())
    kept = file.read_text()
    site.down = False
    assert enrol(site, file).exit_code == 0
    assert file.read_text() == kept


@pytest.mark.usefixtures("host")
def test_foreign_file_and_open_address_are_refused(site: FakeSite, tmp_path: Path) -> None:
    file = tmp_path / "runner.env"
    file.write_text("RUNNER_TOKEN=pfr_mine\nBROKER_URL=unix:///x\n")
    result = enrol(site, file)
    assert result.exit_code == 2
    assert "is not of this enrolment" in " ".join(result.stderr.split())
    assert "pfr_mine" in file.read_text()
    assert "travel in the clear" in " ".join(enrol(site, file, "http://far.example").stderr.split())
    assert site.enrolments == []
