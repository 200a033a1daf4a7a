"""Pages of a class: joining, the grid with its files, rosters by paste, assignments, extensions, the start-up check."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from leaderboard.classes import assignments, people
from leaderboard.classes.models import Assignment, Course, Extension, Planted, RosterLine, Seat, Work
from leaderboard.competitions.access import issue_codes
from leaderboard.competitions.models import Competition
from tests.web.test_pages_are_strict import check

PAGE = "/classes/kernels-101"
DAY = timedelta(days=1)


@pytest.fixture
def course(stage) -> Course:
    stage.now = timezone.now() - timedelta(hours=3)
    return people.make_course(competition=stage.board.competition, actor=stage.olga, now=stage.now)


@pytest.fixture
def assignment(stage, course: Course) -> Assignment:
    return assignments.add_assignment(
        course=course, boards=[stage.board], actor=stage.olga, now=stage.now, title="Softmax", tier=1,
        due_at=timezone.now() + 7 * DAY,
    )  # fmt: skip


def read(client, address: str = PAGE, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, address
    check(answer)
    return answer.content.decode()


def test_a_teacher_pastes_a_roster_and_a_student_joins_by_it(stage, course: Course, browser) -> None:
    olga = browser(stage.olga)
    answer = olga.post(f"{PAGE}/roster", {"text": "ada,Ada\nb d,Ben"})
    assert answer.status_code == 400
    assert "Line 2: login “b d” is neither" in answer.content.decode()
    assert not RosterLine.objects.exists()
    file = SimpleUploadedFile("roster.csv", "login;name;section\nada;Ada Ω;Monday\nben;Ben;".encode())
    assert olga.post(f"{PAGE}/roster", {"text": "", "file": file}).status_code == 302
    assert "Roster: 2 added" in read(olga, f"{PAGE}/roster")
    ada = browser(stage.ada)
    assert "You are expected" in read(ada, "/classes")
    assert ada.post(f"{PAGE}/join").url == f"{PAGE}/mine"
    assert "No assignment yet" in read(ada, f"{PAGE}/mine")
    assert ada.get(PAGE).url == f"{PAGE}/mine"
    assert browser(stage.cleo).post(f"{PAGE}/join").status_code == 404


def test_a_student_joins_by_code_on_the_page_of_classes(stage, course: Course, browser) -> None:
    Competition.objects.update(visibility="closed")
    course.competition.refresh_from_db()
    [issued] = issue_codes(competition=course.competition, count=1, actor=stage.olga, now=stage.now)
    cleo = browser(stage.cleo)
    assert cleo.post("/classes/join", {"code": "pfi_wrong"}).status_code == 400
    assert cleo.post("/classes/join", {"code": issued.text}).url == f"{PAGE}/mine"
    assert Seat.objects.get().account == stage.cleo


def test_a_student_starts_an_assignment_and_the_grid_shows_it(
    stage, course: Course, assignment: Assignment, browser
) -> None:
    people.import_roster(course=course, text="ada,=Ada,Monday\nben,Ben", actor=stage.olga, now=stage.now)
    for user in (stage.ada, stage.ben):
        people.join_by_roster(course=course, user=user, now=stage.now)
    ada, start = browser(stage.ada), f"{PAGE}/assignments/{assignment.pk}/start"
    assert "Choose a problem and start." in read(ada, f"{PAGE}/mine")
    assert ada.post(start, {"board": stage.board.pk, "model": "", "machine": "pasted"}).status_code == 400
    sent = {"board": stage.board.pk, "model": "open/writer", "machine": "pasted"}
    assert ada.post(start, sent).url == f"/matches/{Work.objects.get().match_id}"
    assert ada.post(start, sent).status_code == 409
    assert "Commit your prediction" in read(ada, f"{PAGE}/mine")
    assert "Close the match" not in read(ada, f"/matches/{Work.objects.get().match_id}")
    olga = browser(stage.olga)
    page = read(olga)
    assert f'href="/matches/{Work.objects.get().match_id}"' in page
    assert "fast<sub>p</sub> of the class" in page
    monday = course.sections.get()
    assert ">Ben<" not in read(olga, f"{PAGE}?section={monday.pk}")
    rows = list(csv.DictReader(io.StringIO(olga.get(f"{PAGE}/grid.csv").content.decode())))
    assert [(row["student"], row["stage"]) for row in rows] == [("'=Ada", "none"), ("Ben", "none")]
    assert olga.get(f"{PAGE}/grid.json").json()["rows"][1]["match"] is None
    assert olga.get(f"{PAGE}/grid.xml").status_code == 404


def test_a_teacher_assigns_extends_and_plants(stage, course: Course, browser) -> None:
    people.import_roster(course=course, text="ada,Ada", actor=stage.olga, now=stage.now)
    seat = people.join_by_roster(course=course, user=stage.ada, now=stage.now)
    olga, due = browser(stage.olga), timezone.now() + 7 * DAY
    sent = {"title": "One", "tier": 1, "boards": [stage.board.pk], "due_at": f"{due:%Y-%m-%dT%H:%M}"}
    sent |= {"group_size": 1}
    assert olga.post(f"{PAGE}/assignments", sent | {"due_at": ""}).status_code == 400
    assert olga.post(f"{PAGE}/assignments", sent).url == PAGE
    made = Assignment.objects.get()
    address = f"{PAGE}/assignments/{made.pk}"
    Assignment.objects.update(due_at=(to_the_second := due.replace(second=59, microsecond=0)))
    assert olga.post(address, sent | {"title": "Only one"}).status_code == 302
    assert [(one.title, one.due_at) for one in Assignment.objects.all()] == [("Only one", to_the_second)]
    until = f"{due + DAY:%Y-%m-%dT%H:%M}"
    assert olga.post(f"{address}/extend", {"seat": seat.pk, "until": "", "reason": "Ill"}).status_code == 400
    assert olga.post(f"{address}/extend", {"seat": seat.pk, "until": until, "reason": "Ill"}).url == address
    assert "Ill" in read(olga, address)
    assert "extended from" in read(browser(stage.ada), f"{PAGE}/mine")
    assert olga.post(f"{PAGE}/extensions/{Extension.objects.get().pk}/withdraw").url == address
    own = stage.submit(stage.olga, mode="test")
    stage.judge(own, outcome="wrong")
    assert olga.post(f"{PAGE}/planted", {"submission": 999_999, "must_fail": "yes"}).status_code == 404
    assert olga.post(f"{PAGE}/planted", {"submission": own.pk, "must_fail": "yes"}).status_code == 302
    assert "plant a right kernel that must pass" in read(olga)
    assert olga.post(f"{PAGE}/planted/{Planted.objects.get().pk}/remove").status_code == 302
    assert olga.post(f"{PAGE}/seats/{seat.pk}", {"name": "A. L.", "section": "Friday"}).status_code == 302
    assert "A. L." in read(olga, f"{PAGE}/seats/{seat.pk}")
    assert olga.post(f"{PAGE}/seats/{seat.pk}/end").status_code == 302
    assert "Nobody has joined yet" in read(olga, f"{PAGE}/roster")


def test_classes_are_made_from_nothing_and_from_a_competition(stage, browser) -> None:
    olga = browser(stage.olga)
    assert "Level 1: one operator" in read(olga, "/classes/new?level=1")
    sent = {"name": "Mine", "slug": "mine", "stuck_days": 4, "boards": [stage.board.pk]}
    assert olga.post("/classes/new", sent | {"slug": "No Slug"}).status_code == 400
    assert olga.post("/classes/new", sent).url == "/classes/mine"
    assert "No student yet" in read(olga, "/classes/mine")
    assert olga.post("/classes/make", {"competition": "kernels-101"}).url == PAGE
    assert olga.post("/classes/make", {"competition": "kernels-101"}).url == "/classes"
    assert browser(stage.ada).post("/classes/make", {"competition": "kernels-101"}).status_code == 404


def test_a_teacher_changes_the_settings_of_a_class(stage, course: Course, browser) -> None:
    people.import_roster(course=course, text="ada,Ada,Monday", actor=stage.olga, now=stage.now)
    people.join_by_roster(course=course, user=stage.ada, now=stage.now)
    olga = browser(stage.olga)
    assert f'href="{PAGE}/settings"' in read(olga)
    refused = olga.post(f"{PAGE}/settings", {"stuck_days": "90"})
    assert (refused.status_code, "less than or equal to 60" in refused.content.decode()) == (400, True)
    assert olga.post(f"{PAGE}/settings", {"stuck_days": "5"}).status_code == 302
    assert 'value="5"' in read(olga, f"{PAGE}/settings")
    assert ">Monday<" in read(olga, f"{PAGE}/settings")
    assert olga.post(f"{PAGE}/sections/{course.sections.get().pk}/remove").url == f"{PAGE}/settings"
    assert Seat.objects.get().section is None
