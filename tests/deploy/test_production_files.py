"""`deploy.production.setup`: files that a public site starts with, and sentences for faults."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.launch import read_environment
from deploy.parties import CHECKOUT
from deploy.production import setup

URL = "https://photofinish.example"


def made(folder: Path) -> Path:
    assert setup.main(["files", URL, "--into", str(folder)]) == 0
    return folder


def test_setup_files_writes_settings_that_pass_every_check_of_a_public_site(tmp_path: Path) -> None:
    site = read_environment(made(tmp_path / "etc") / "site.env")
    done = subprocess.run(
        [sys.executable, "-m", "leaderboard.manage", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=CHECKOUT, env={"PATH": os.environ["PATH"], **site}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_setup_files_closes_each_file_with_a_secret_to_all_but_its_owner(tmp_path: Path) -> None:
    etc = made(tmp_path / "etc")
    files = [*etc.glob("*.env"), *(etc / "secrets").iterdir(), etc / "tls" / "privkey.pem"]
    assert len(files) == 5 + len(setup.SECRETS) + 1
    assert {path.name for path in files if path.stat().st_mode & 0o077} == set()
    assert {
        secret
        for secret in (etc / "secrets").iterdir()
        if secret.read_text().strip() in (etc / "valkey.acl").read_text()
    } == set()


def test_setup_files_gives_each_process_only_its_own_secrets(tmp_path: Path) -> None:
    etc = made(tmp_path / "etc")
    holders = {
        path.name: sorted(env.stem for env in etc.glob("*.env") if path.read_text().strip() in env.read_text())
        for path in (etc / "secrets").iterdir()
    }
    assert holders == {
        "site-key": ["site"],
        "site": ["site"],
        "broker-site": ["site"],
        "owner": ["owner"],
        "postgres": ["owner", "postgres"],
        "broker-runner": ["runner"],
    }


def test_setup_files_can_run_again_and_keeps_what_the_operator_wrote(tmp_path: Path) -> None:
    etc = made(tmp_path / "etc")
    with (etc / "site.env").open("a") as file:
        file.write("SUBMISSIONS_PER_HOUR=7\n")
    with (etc / "valkey.acl").open("a") as file:
        file.write("user h200 off\n")
    before = {path: path.read_bytes() for path in etc.rglob("*") if path.is_file()}
    assert {path: path.read_bytes() for path in made(etc).rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "url", ["http://photofinish.example", "photofinish.example", "https://a.example/site", "https://[::1", ""]
)
def test_setup_files_refuses_an_address_without_tls_or_with_a_path(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert setup.main(["files", url, "--into", str(tmp_path / "etc")]) == 1
    assert f"{url!r} is not the address of a site" in capsys.readouterr().err
    assert not (tmp_path / "etc").exists()


def test_setup_database_names_the_settings_that_it_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OWNER_URL", raising=False)
    assert setup.main(["database"]) == 1
    assert "OWNER_URL are needed; `setup files` writes them" in capsys.readouterr().err


@pytest.mark.parametrize(
    "path", ["production/site.Dockerfile", "production/systemd/photofinish-site.service", "processes.py"]
)
def test_every_start_of_the_site_leaves_forwarded_addresses_to_trusted_proxies(path: str) -> None:
    words = re.findall(r"[\w.:-]+", (CHECKOUT / "deploy" / path).read_text())
    assert "leaderboard.serve" in words
    assert "uvicorn" not in words
    options = (CHECKOUT / "leaderboard" / "serve.py").read_text()
    assert "proxy_headers=False" in options
    assert 'lifespan="on"' in options, "the role of the database is checked at start-up"
