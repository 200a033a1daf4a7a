"""`runner enrol` on this host, with the real doctor and a real site; the token that it leaves works at once."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.utils import timezone

from leaderboard.judging.enrolment import make_code
from leaderboard.judging.models import Runner
from tests.web.live_site import live_site

pytestmark = [pytest.mark.docker, pytest.mark.django_db(transaction=True)]


def test_enrolled_host_drains_with_its_new_token(tmp_path: Path) -> None:
    _, code = make_code(name="tex", hardware="cpu", actor=None, now=timezone.now())
    file = tmp_path / "etc" / "enrolled.env"
    known = {name: value for name, value in os.environ.items() if not name.startswith(("RUNNER_", "PHOTOFINISH_"))}
    known |= {"RUNNER_STATE": str(tmp_path / "state"), "RUNNER_LOCKS": str(tmp_path), "RUNNER_HARDWARE": "cpu"}

    def run(*arguments: str, **more: str) -> str:
        command = [sys.executable, "-c", "from runner.commands.main import run; run()", *arguments]
        done = subprocess.run(command, env=known | more, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    with live_site() as site:
        assert "Enrolled as runner tex for cpu" in run("enrol", site.address, code, "--file", str(file))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        written = dict(line.split("=", 1) for line in file.read_text().splitlines())
        assert "Runner tex claims nothing from now on" in run("drain", **written)
    tex = Runner.objects.get(name="tex")
    assert tex.standing == "draining"
    assert {"device", "Docker Engine", "freezer"} <= {line["name"] for line in tex.enrolment.checks}
