"""`make manage`: management commands with the settings of the site that `make up` set up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from deploy.launch import environment_text
from tests.web.live_site import database_url

TOP = Path(__file__).parents[2]


def control(state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "PHOTOFINISH_STATE": str(state)}
    command = [sys.executable, "-m", "deploy.control", *arguments]
    return subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, timeout=60)


def test_manage_without_settings_names_the_way_that_works() -> None:
    command = [sys.executable, "-m", "leaderboard.manage", "import_problems", "my problems"]
    done = subprocess.run(command, cwd=TOP, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "SECRET_KEY is not set" in done.stderr
    assert "make manage ARGS=" in done.stderr


def test_make_manage_says_that_there_is_no_site_yet(tmp_path: Path) -> None:
    done = control(tmp_path, "manage", "import_problems", "x")
    assert (done.returncode, done.stderr) == (1, "error: this site was never set up here: make up\n")


@pytest.mark.django_db(transaction=True)
def test_make_manage_runs_a_command_on_the_sites_database(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    names = ("SECRET_KEY", "BROKER_URL", "SITE_URL")
    settings = {name: os.environ[name] for name in names} | {"DATABASE_URL": database_url(), "PATH": os.environ["PATH"]}
    (folder / "site.env").write_text(environment_text(settings))
    done = control(tmp_path, "manage", "import_problems", "problems/library/kernels101.yaml", "--admission", "none")
    assert done.returncode == 0, done.stderr
    assert "Kernels 101: created" in done.stdout
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM competitions_board")
        assert cursor.fetchone()[0] > 0
    denied = control(tmp_path, "manage", "migrate", "--check")
    assert (denied.returncode, denied.stderr) == (1, "error: this site was never set up here: make up\n")
    (folder / "owner.env").write_text((folder / "site.env").read_text())
    assert control(tmp_path, "manage", "migrate", "--check").returncode == 0, "with the settings of the tables' owner"
    missing = control(tmp_path, "manage", "import_problems", "/nowhere")
    assert missing.returncode != 0
    assert "Traceback" not in missing.stderr
    assert "/nowhere" in missing.stderr
