"""`photofinish admin` as a process of its own, on a running site: from the import of a set to an open competition."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.web.live_site import live_site
from tests.web.organise.test_set_pages import FILES

pytestmark = pytest.mark.slow


def test_admin_imports_edits_publishes_and_closes(transactional_db, stage, tmp_path) -> None:
    from django.utils import timezone

    from leaderboard.accounts.tokens import issue_token
    from leaderboard.competitions.models import Board, Competition

    _, token = issue_token(owner=stage.olga, name="cli", scopes=("read", "review"), now=timezone.now())
    for name, text in FILES.items():
        (tmp_path / "course" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "course" / name).write_text(text)

    def admin(*arguments: str, code: int = 0) -> Any:
        told = os.environ | {"PHOTOFINISH_URL": site.address, "PHOTOFINISH_TOKEN": token, "HOME": str(tmp_path)}
        command = [sys.executable, "-m", "leaderboard.cli.start", "admin", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=told, stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if "--json" in arguments else done.stdout + done.stderr

    with live_site() as site:
        course = str(tmp_path / "course")
        assert "is not imported; --yes imports it" in admin("import", course)
        assert not Competition.objects.filter(slug="course").exists()
        done = admin("import", course, "--hardware", "H200", "--yes", "--json")
        assert (done["applied_at"] is None, done["sets"][0]["problems"][0]["hardware"]) == (False, ["H200"])
        assert "course" in admin("competitions")
        assert "scale\tH200" in admin("boards", "course")
        assert admin("edit", "course", "max_team_size=3", "--json")["max_team_size"] == 3
        assert "Course is public." in admin("publish", "course")
        refused = admin("edit", "course", "max_team_size=0", code=2)
        assert "max_team_size" in refused
        assert "closed at" in admin("close-board", "course", "scale", "H200", "--reason", "a test")
        assert "is created" in admin("create", "spring", "Spring", "deadline=2030-01-01T00:00:00Z")
        assert "there is a competition" in admin("create", "spring", "Spring", code=4)
        assert json.loads(admin("call", "organise/spring/standing"))["frozen"] is False
        assert "is deleted" in admin("delete", "spring", "--reason", "a test", "--yes")
        (tmp_path / "course" / "c/scale/task.yml").write_text("files: 3")
        assert "refused" in admin("import", course, code=1)
    assert Board.objects.get(slug="scale").closes_at is not None
    assert not Competition.objects.filter(slug="spring").exists()
