"""`photofinish class` as a process of its own, on a running site: from a roster to a student's work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from leaderboard.classes.rubrics import default_criteria
from tests.web.classes.test_grading_pages import course, work  # noqa: F401  fixtures
from tests.web.live_site import live_site

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from leaderboard.accounts.models import User
    from leaderboard.classes.models import Work
    from tests.leaderboard.stage import Stage

pytestmark = pytest.mark.slow


def commands(address: str, folder: Path, people: Sequence[User]) -> Callable[..., Any]:
    """Return `photofinish class` as a function of a person and arguments; it returns its JSON, or all its output."""
    from leaderboard.accounts.tokens import issue_token

    scopes = ("read", "submit", "review")
    tokens = {one: issue_token(owner=one, name="cli", scopes=scopes, now=timezone.now())[1] for one in people}

    def photofinish(user: Any, *arguments: str, code: int = 0) -> Any:
        told = os.environ | {
            "PHOTOFINISH_URL": address,
            "PHOTOFINISH_TOKEN": tokens[user],
            "HOME": str(folder),
            "COLUMNS": "250",
        }
        command = [sys.executable, "-m", "leaderboard.cli.start", "class", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=told, cwd=folder, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return json.loads(done.stdout) if "--json" in arguments else done.stdout + done.stderr

    return photofinish


def test_class_is_led_by_command(transactional_db: None, stage: Stage, tmp_path: Path) -> None:
    from leaderboard.classes import people
    from leaderboard.competitions.models import Role

    now = timezone.now()
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.OWNER)
    people.make_course(competition=stage.board.competition, actor=stage.ben, now=now)
    wrong, right = stage.submit(stage.ben, mode="test"), stage.submit(stage.ben, mode="test")
    stage.judge(wrong, outcome="wrong")
    stage.judge(right)
    (tmp_path / "roster.csv").write_text("login,name,section\nada,Ada,Monday\n")

    due, later = ((now + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M") for days in (7, 9))
    with live_site() as site:
        photofinish = commands(site.address, tmp_path, (stage.ada, stage.ben))
        assert "kernels-101" in photofinish(stage.ben, "list")
        assert "1 added" in photofinish(stage.ben, "roster", "kernels-101", "--import", "roster.csv")
        assert "joined" in photofinish(stage.ada, "join", "--roster", "kernels-101")
        assert "Monday" in photofinish(stage.ben, "roster", "kernels-101", "--csv")
        assign = ("assign", "kernels-101", "--title", "One", "--level", "1", "--due", due, "--board", "softmax")
        made = str(photofinish(stage.ben, *assign, "--json")["id"])
        assert "is no student of this class" in photofinish(
            stage.ben, "extend", "kernels-101", made, "nobody", "--until", later, "--reason", "?", code=2
        )
        photofinish(stage.ben, "extend", "kernels-101", made, "ada", "--until", later, "--reason", "Ill")
        assert "Ill" in photofinish(stage.ben, "extend", "kernels-101", made)
        assert "plant" in photofinish(stage.ben, "check", "kernels-101", "--must-fail", str(wrong.pk), code=1)
        assert "ready" in photofinish(stage.ben, "check", "kernels-101", "--must-pass", str(right.pk))
        photofinish(stage.ben, "check", "kernels-101", "--remove", str(right.pk), code=1)
        match = photofinish(stage.ada, "work", "kernels-101", made, "--model", "acme/coder-7b", "--json")
        [own] = photofinish(stage.ada, "show", "kernels-101", "--json")["work"]
        assert (own["match"], own["due_at"][:16]) == (match["id"], later)
        assert "Ada" in photofinish(stage.ben, "grid", "kernels-101", "--section", "monday")
        assert "does not exist" in photofinish(stage.ada, "grid", "kernels-101", code=2)
        assert "withdrawn" in photofinish(stage.ben, "extend", "kernels-101", made, "ada", "--withdraw")
        assert "5 days" in photofinish(stage.ben, "settings", "kernels-101", "--stuck-days", "5")


def test_grades_are_given_by_command(transactional_db: None, stage: Stage, work: Work, tmp_path: Path) -> None:  # noqa: F811
    one, place = str(work.assignment_id), str(work.pk)
    levels = [part for criterion in default_criteria() for part in ("--score", f"{criterion['key']}=3")]
    criteria = [one | {"levels": [level["description"] for level in one["levels"]]} for one in default_criteria()]
    (tmp_path / "rubric.json").write_text(json.dumps(criteria))
    with live_site() as site:
        photofinish = commands(site.address, tmp_path, (stage.ada, stage.ben, stage.cleo, stage.olga))
        saved = photofinish(stage.olga, "grading", "rubrics", "kernels-101", "--save", "rubric.json", "--name", "Own")
        assert "version 1" in saved
        assert "depth 30 %" in photofinish(stage.olga, "grading", "rubrics", "kernels-101")
        photofinish(stage.ben, "grading", "begin", "kernels-101", one, code=4)
        assert "has begun" in photofinish(stage.olga, "grading", "begin", "kernels-101", one)
        assert "First <line>" in photofinish(stage.ben, "grading", "show", "kernels-101", place)
        score = ("grading", "score", "kernels-101", place)
        assert "is not CRITERION=LEVEL" in photofinish(stage.ben, *score, "--score", "depth", code=2)
        assert "draft is saved" in photofinish(stage.ben, *score, "--score", "depth=1", "--draft")
        remark = ("grading", "remark", "kernels-101", place, "--section", "hand", "--line", "2", "--text", "Which?")
        made = photofinish(stage.ben, *remark, "--json")
        photofinish(stage.ben, "grading", "unremark", "kernels-101", str(made["id"]))
        photofinish(stage.ben, *score, *levels, "--text", "Good")
        assert "to moderate" in photofinish(stage.cleo, *score, *levels[:-1], "honesty=0", "--score", "depth=0")
        moderated = photofinish(
            stage.olga, "grading", "moderate", "kernels-101", place, *levels, "--text", "Read again."
        )
        assert "moderated, 75.0 points" in moderated
        assert "released" in photofinish(stage.olga, "grading", "release", "kernels-101", one)
        assert "75.0" in photofinish(stage.ben, "grades", "kernels-101", one)
        assert "level" in photofinish(stage.ben, "grades", "kernels-101", one, "--csv").partition("\n")[0]
        assert "moderated by olga" in photofinish(stage.ada, "grade", "kernels-101", one)
        text = "Line 1 of section hand names a mechanism."
        sent = photofinish(stage.ada, "appeal", "kernels-101", one, "--text", text, "--json")
        photofinish(stage.olga, "grading", "answer", "kernels-101", str(sent["id"]), "--text", "It stays.")
        assert "It stays." in photofinish(stage.ada, "grade", "kernels-101", one)
