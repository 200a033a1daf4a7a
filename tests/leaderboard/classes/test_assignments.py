"""Assignments name boards and due times; extensions lengthen them; planted submissions check a board beforehand."""

from datetime import timedelta
from typing import Any

import pytest

from leaderboard.classes import assignments, people
from leaderboard.classes.models import Assignment, Course, Extension, Planted, Rubric, Seat
from leaderboard.competitions.models import Competition
from leaderboard.errors import UserError
from tests.leaderboard.stage import NOON, Stage, make_board

DAY = timedelta(days=1)


@pytest.fixture
def course(stage: Stage) -> Course:
    return people.make_course(competition=stage.board.competition, actor=stage.olga, now=NOON)


def add(course: Course, stage: Stage, **settings: Any) -> Assignment:
    usual = {"title": "Softmax", "tier": 1, "due_at": NOON + 7 * DAY, "boards": [stage.board]}
    return assignments.add_assignment(course=course, actor=stage.olga, now=NOON, **usual | settings)


def seat_for(course: Course, stage: Stage) -> Seat:
    people.import_roster(course=course, text="ada,Ada", actor=stage.olga, now=NOON)
    return people.join_by_roster(course=course, user=stage.ada, now=NOON)


def test_add_assignment_keeps_its_boards(stage: Stage, course: Course) -> None:
    assignment = add(course, stage)
    assert list(assignment.boards.all()) == [stage.board]
    assert assignment.graders_each == 1
    other = make_board("other")
    later = NOON + 9 * DAY
    assignments.edit_assignment(
        assignment=assignment, boards=[stage.board, other], actor=stage.olga, now=NOON, due_at=later
    )
    assignment.refresh_from_db()
    assert assignment.due_at == later
    assert assignment.boards.count() == 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"title": " "}, "name the assignment"),
        ({"title": "softmax"}, "of this title"),
        ({"tier": 4}, "1 .one operator."),
        ({"due_at": None}, "until when"),
        ({"due_at": NOON + 4_000 * DAY}, "due_at"),
        ({"boards": []}, "choose 1 to 50"),
        ({"group_size": 3}, "at level 3 a group"),
        ({"tier": 3, "group_size": 7}, "at level 3 a group"),
        ({"graders_each": 3}, "1 or 2 graders"),
        ({"moderate_from": 0}, "1 to 100 points"),
        ({"colour": "red"}, "no setting"),
    ],
)
def test_add_assignment_names_what_is_wrong(stage: Stage, course: Course, settings: dict[str, Any], said: str) -> None:
    add(course, stage)
    with pytest.raises(UserError, match=said):
        add(course, stage, **{"title": "Another"} | settings)
    assert Assignment.objects.count() == 1


def test_boards_and_rubrics_of_another_class_are_refused(stage: Stage, course: Course) -> None:
    foreign = make_board("foreign", competition=Competition.objects.create(slug="else", name="Else"))
    with pytest.raises(UserError, match="no board of this class"):
        add(course, stage, boards=[foreign])
    theirs = Course.objects.create(competition=foreign.competition, created_at=NOON)
    rubric = Rubric.objects.create(course=theirs, name="Theirs", criteria=[])
    with pytest.raises(UserError, match="belongs to another class"):
        add(course, stage, rubric=rubric)
    with pytest.raises(UserError, match="only a owner"):
        assignments.add_assignment(course=course, boards=[stage.board], actor=stage.ada, now=NOON, title="Mine")


def test_settings_of_grading_stay_once_it_began(stage: Stage, course: Course) -> None:
    assignment = add(course, stage)
    Assignment.objects.update(grading_began_at=NOON)
    common: dict[str, Any] = {"assignment": assignment, "boards": [stage.board], "actor": stage.olga, "now": NOON}
    for changed in ({"graders_each": 2}, {"due_at": NOON + 9 * DAY}):
        with pytest.raises(UserError, match="grading has begun"):
            assignments.edit_assignment(**common, **changed)


def test_an_extension_lengthens_the_time_of_one_student(stage: Stage, course: Course) -> None:
    assignment, seat = add(course, stage), seat_for(course, stage)
    common: dict[str, Any] = {"assignment": assignment, "seat": seat, "actor": stage.olga, "now": NOON}
    with pytest.raises(UserError, match="not after the due time"):
        assignments.extend(until=NOON + DAY, reason="Ill", **common)
    with pytest.raises(UserError, match="reason"):
        assignments.extend(until=NOON + 8 * DAY, reason=" ", **common)
    assignments.extend(until=NOON + 8 * DAY, reason="Ill", **common)
    found = assignments.extend(until=NOON + 10 * DAY, reason="Still ill", **common)
    assert Extension.objects.count() == 1
    assert assignments.due_for(assignment, [found]) == NOON + 10 * DAY
    assert assignments.due_for(assignment, []) == assignment.due_at
    assignments.withdraw_extension(extension=found, actor=stage.olga, now=NOON)
    assert not Extension.objects.exists()


def test_extensions_stay_once_grading_began(stage: Stage, course: Course) -> None:
    assignment, seat = add(course, stage), seat_for(course, stage)
    common: dict[str, Any] = {"assignment": assignment, "seat": seat, "reason": "Ill", "actor": stage.olga, "now": NOON}
    extension = assignments.extend(until=NOON + 8 * DAY, **common)
    Assignment.objects.update(grading_began_at=NOON)
    for act in (
        lambda: assignments.extend(until=NOON + 9 * DAY, **common),
        lambda: assignments.withdraw_extension(extension=extension, actor=stage.olga, now=NOON),
    ):
        with pytest.raises(UserError, match="grading has begun, so works and due times stay"):
            act()
    assert Extension.objects.get().until == NOON + 8 * DAY


def test_lateness_begins_at_the_due_time() -> None:
    assert assignments.lateness(NOON, NOON - timedelta(seconds=1)) is None
    assert assignments.lateness(NOON, NOON + DAY) == DAY


def test_start_up_needs_a_wrong_kernel_that_fails_and_a_right_one_that_passes(stage: Stage, course: Course) -> None:
    add(course, stage)
    common: dict[str, Any] = {"course": course, "actor": stage.olga, "now": NOON}

    def missing() -> str:
        [board] = assignments.start_up(course)
        return board.missing

    assert missing() == "plant a wrong kernel that must fail"
    wrong = stage.submit(stage.olga, mode="test")
    assignments.plant(submission=wrong, must_fail=True, **common)
    assert missing() == "wait for the verdict on a wrong kernel that must fail"
    stage.judge(wrong, outcome="wrong")
    assert missing() == "plant a right kernel that must pass"
    right = stage.submit(stage.olga, mode="test")
    assignments.plant(submission=right, must_fail=False, **common)
    stage.judge(right)
    assert missing() == ""
    unbuilt = stage.submit(stage.olga, mode="test")
    stage.judge(unbuilt, outcome="build_error")
    planted = assignments.plant(submission=unbuilt, must_fail=True, **common)
    assert "not the expected one" in missing()
    assignments.unplant(planted=planted, actor=stage.olga, now=NOON)
    assert missing() == ""


def test_plant_takes_submissions_of_staff_on_boards_of_the_class(stage: Stage, course: Course) -> None:
    common: dict[str, Any] = {"course": course, "must_fail": True, "actor": stage.olga, "now": NOON}
    with pytest.raises(UserError, match="sent by a student"):
        assignments.plant(submission=stage.submit(stage.ada), **common)
    foreign = make_board("foreign", competition=Competition.objects.create(slug="else", name="Else"))
    with pytest.raises(UserError, match="no board of this class"):
        assignments.plant(submission=stage.submit(stage.olga, board=foreign), **common)
    mine = stage.submit(stage.olga)
    assignments.plant(submission=mine, **common)
    with pytest.raises(UserError, match="planted already"):
        assignments.plant(submission=mine, **common)
    assert Planted.objects.count() == 1
