"""Classes over /api/v1: made, filled, assigned, extended, checked; a student's own work."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from leaderboard.classes.models import Extension, Planted, Seat, Work
from leaderboard.competitions.access import issue_codes
from leaderboard.competitions.models import Competition, Role
from tests.web.api.test_api_of_matches import get, post

PATH = "/classes/kernels-101"
DAY = timedelta(days=1)
BOARD = {"board": "softmax", "hardware": "cpu"}


@pytest.fixture
def teacher(stage, tool):
    """Return the client of ben, who owns the competition and has made it a class."""
    stage.now = timezone.now() - timedelta(hours=3)
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.OWNER)
    client = tool(stage.ben, "review", "read")
    made = post(client, "/classes/make", competition="kernels-101", stuck_days=4)
    assert (made["slug"], made["role"], made["stuck_days"], made["assignments"]) == ("kernels-101", "teacher", 4, [])
    return client


def assigned(teacher, **told: Any) -> dict[str, Any]:
    due = (timezone.now() + 7 * DAY).isoformat()
    return post(teacher, f"{PATH}/assignments", **{"title": "One", "tier": 1, "boards": [BOARD], "due_at": due} | told)


def joined(stage, teacher, tool, text: str = "ada,Ada,Monday") -> Any:
    post(teacher, f"{PATH}/roster", 200, text=text)
    client = tool(stage.ada)
    assert post(client, f"{PATH}/join")["role"] == "student"
    return client


def test_class_is_listed_for_its_staff_and_students(stage, teacher, tool) -> None:
    ada = joined(stage, teacher, tool)
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.REVIEWER)
    roles = [get(client, "/classes")[0]["role"] for client in (teacher, tool(stage.cleo), ada)]
    assert roles == ["teacher", "grader", "student"]
    assert post(ada, f"{PATH}/join")["role"] == "student", "joining twice is joining once"
    post(teacher, "/classes/make", 409, competition="kernels-101")
    post(ada, "/classes/make", 403, competition="kernels-101")
    assert post(teacher, f"{PATH}/settings", 200, stuck_days=9)["stuck_days"] == 9
    assert post(teacher, f"{PATH}/settings", 400, stuck_days=0)["errors"][0]["field"] == "stuck_days"
    assert "teacher" not in str(post(tool(stage.cleo, "review"), f"{PATH}/settings", 403, stuck_days=3)["errors"])


def test_student_joins_by_code_over_the_api(stage, teacher, tool) -> None:
    Competition.objects.update(visibility="closed")
    competition = Competition.objects.get(slug="kernels-101")
    [issued] = issue_codes(competition=competition, count=1, actor=stage.ben, now=stage.now)
    cleo = tool(stage.cleo)
    assert post(cleo, "/classes/join", 400, code="pfi_wrong")["errors"][0]["field"] == "code"
    assert post(cleo, "/classes/join", code=issued.text)["slug"] == "kernels-101"
    assert Seat.objects.get().account == stage.cleo


def test_roster_is_imported_listed_and_exported(stage, teacher, tool) -> None:
    refused = post(teacher, f"{PATH}/roster", 400, text="b d,Ben")
    assert "line 1: login “b d”" in refused["detail"]
    joined(stage, teacher, tool, "ada,=Ada,Monday\nzoe@example.org,Zoe,Friday")
    rows = get(teacher, f"{PATH}/roster")
    assert [(row["login"], row["section"], row["seat"] is None) for row in rows] == [
        ("ada", "Monday", False),
        ("zoe@example.org", "Friday", True),
    ]
    answer = teacher.get(f"/api/v1{PATH}/roster?format=csv")
    assert [row["name"] for row in csv.DictReader(io.StringIO(answer.content.decode()))] == ["'=Ada", "Zoe"]
    sections = get(teacher, f"{PATH}/sections")
    assert [(one["name"], one["students"], one["expected"]) for one in sections] == [("Friday", 0, 1), ("Monday", 1, 0)]
    assert post(teacher, f"{PATH}/roster/remove", 404, login="nobody")["errors"][0]["field"] == "login"
    assert post(teacher, f"{PATH}/roster/remove", 409, login="ADA")["errors"][0]["field"] == "login"
    done = teacher.post(f"/api/v1{PATH}/roster/remove", {"login": "zoe@example.org"}, content_type="application/json")
    assert done.status_code == 204
    seat = rows[0]["seat"]
    assert post(teacher, f"{PATH}/seats/{seat}", 200, name="Ada L.")["section"] == "Monday"
    sent = {"name": "monday"}
    done = teacher.post(f"/api/v1{PATH}/sections/remove", sent, content_type="application/json")
    assert (done.status_code, get(teacher, f"{PATH}/roster")[0]["section"]) == (204, "")
    assert teacher.post(f"/api/v1{PATH}/seats/{seat}/end").status_code == 204
    assert get(teacher, f"{PATH}/roster") == []


def test_assignment_is_added_changed_and_extended(stage, teacher, tool) -> None:
    ada, made = joined(stage, teacher, tool), assigned(teacher)
    assert (made["boards"], made["group_size"]) == ([BOARD], 1)
    assert post(teacher, f"{PATH}/assignments/{made['id']}", 200, title="Softmax")["boards"] == [BOARD]
    assert [one["title"] for one in get(ada, PATH)["assignments"]] == ["Softmax"]
    path, until = f"{PATH}/assignments/{made['id']}/extensions", (timezone.now() + 9 * DAY).isoformat()
    given = post(teacher, path, 200, student="ada", until=until, reason="Ill")
    assert get(teacher, path) == [given]
    [own] = get(ada, f"{PATH}/mine")
    assert own["due_at"] == given["until"]
    refused = post(teacher, path, 404, student="cleo", until=until, reason="Ill")
    assert refused["errors"][0]["field"] == "student"
    assert teacher.post(f"/api/v1{PATH}/extensions/{given['id']}/withdraw").status_code == 204
    assert not Extension.objects.exists()


@pytest.mark.parametrize(
    ("told", "status", "field"),
    [
        ({"title": ""}, 400, "title"),
        ({"tier": 4}, 400, "tier"),
        ({"boards": []}, 400, "boards"),
        ({"boards": [{"board": "nothing", "hardware": "cpu"}]}, 404, "boards"),
        ({"boards": ["softmax"]}, 400, "boards"),
        ({"due_at": "soon"}, 400, "due_at"),
        ({"group_size": 3}, 400, "group_size"),
    ],
)
def test_wrong_assignment_names_its_field(teacher, told: dict[str, Any], status: int, field: str) -> None:
    due = (timezone.now() + DAY).isoformat()
    body = {"title": "One", "tier": 1, "boards": [BOARD], "due_at": due} | told
    assert post(teacher, f"{PATH}/assignments", status, **body)["errors"][0]["field"].startswith(field)


def test_student_starts_work_and_the_grid_shows_it(stage, teacher, tool) -> None:
    ada, made = joined(stage, teacher, tool), assigned(teacher)
    path = f"{PATH}/assignments/{made['id']}/work"
    refused = post(ada, path, 404, board="nothing", hardware="cpu", model="m")
    assert refused["errors"][0]["field"] == "boards"
    match = post(ada, path, **BOARD, model="open/writer")
    assert (match["model"], match["human"]) == ("open/writer", "ada")
    post(ada, path, 409, **BOARD, model="open/writer")
    post(tool(stage.cleo), path, 404, **BOARD, model="open/writer")
    [row] = get(teacher, f"{PATH}/grid")
    assert (row["student"], row["stage"], row["match"]) == ("Ada", "none", Work.objects.get().match_id)
    assert get(ada, f"{PATH}/mine") == [row]
    assert get(teacher, f"{PATH}/grid?section=monday") == [row]
    assert get(teacher, f"{PATH}/grid?section=friday", 404)["errors"][0]["field"] == "section"
    get(ada, f"{PATH}/grid", 403)
    get(tool(stage.ada, "review"), f"{PATH}/grid", 404)


def test_grid_pages_by_students(stage, teacher, tool) -> None:
    joined(stage, teacher, tool, "ada,Ada\ncleo,Cleo")
    post(tool(stage.cleo), f"{PATH}/join")
    assigned(teacher)
    assigned(teacher, title="Two")
    first = teacher.get(f"/api/v1{PATH}/grid?limit=1")
    assert [row["student"] for row in first.json()] == ["Ada", "Ada"]
    following = first.headers["Link"].split(">")[0].removeprefix("<")
    assert [row["student"] for row in teacher.get(following).json()] == ["Cleo", "Cleo"]


def test_start_up_check_waits_for_both_verdicts(stage, teacher, tool) -> None:
    assigned(teacher)
    [check] = get(teacher, f"{PATH}/check")
    assert (check["ready"], check["missing"]) == (False, "plant a wrong kernel that must fail")
    wrong, right = stage.submit(stage.ben, mode="test"), stage.submit(stage.ben, mode="test")
    stage.judge(wrong, outcome="wrong")
    planted = post(teacher, f"{PATH}/check", submission=wrong.pk, must_fail=True)
    assert (planted["submission"], planted["outcome"], planted["right"]) == (wrong.pk, "wrong", True)
    assert post(teacher, f"{PATH}/check", submission=right.pk, must_fail=False)["right"] is None
    stage.judge(right)
    assert [one["ready"] for one in get(teacher, f"{PATH}/check")] == [True]
    assert post(teacher, f"{PATH}/check", 404, submission=999_999, must_fail=True)["errors"][0]["field"] == "submission"
    assert teacher.post(f"/api/v1{PATH}/planted/{planted['id']}/remove").status_code == 204
    assert Planted.objects.count() == 1
