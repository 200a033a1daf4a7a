"""An erased student leaves rosters, seats, reasons of extensions, and the audit of a class."""

import pytest
from allauth.account.models import EmailAddress
from django.db import connection

from leaderboard import pipeline
from leaderboard.audit.models import Row
from leaderboard.classes import assignments, people
from leaderboard.classes.models import Assignment, Course, Extension, RosterLine, Seat
from tests.leaderboard.classes.test_assignments import DAY
from tests.leaderboard.stage import NOON, Stage

ILLNESS = "A broken wrist"


@pytest.fixture
def course(stage: Stage) -> Course:
    return people.make_course(competition=stage.board.competition, actor=stage.olga, now=NOON)


def made(stage: Stage, course: Course) -> Assignment:
    told = {"title": "One", "tier": 1, "due_at": NOON + 7 * DAY}
    return assignments.add_assignment(course=course, boards=[stage.board], actor=stage.olga, now=NOON, **told)


def extended(stage: Stage, assignment: Assignment, seat: Seat, reason: str) -> Extension:
    until = NOON + 9 * DAY
    return assignments.extend(assignment=assignment, seat=seat, until=until, reason=reason, actor=stage.olga, now=NOON)


def test_erasure_takes_the_student_off_the_class(stage: Stage, course: Course) -> None:
    EmailAddress.objects.create(user=stage.ada, email="Ada@Example.org", verified=True)
    EmailAddress.objects.create(user=stage.ada, email="ben@example.org", verified=False)
    text = "ada,Ada L.,Monday\nada@example.org,A. Lovelace\nben@example.org,Ben\ncleo,Cleo"
    people.import_roster(course=course, text=text, actor=stage.olga, now=NOON)
    other = people.make_class(slug="other", name="Other", boards=[], actor=stage.olga, now=NOON)
    people.import_roster(course=other, text="ADA,Ada", actor=stage.olga, now=NOON)
    seats = [people.join_by_roster(course=course, user=user, now=NOON) for user in (stage.ada, stage.cleo)]
    for seat, reason in zip(seats, (ILLNESS, "A trip"), strict=True):
        extended(stage, made(stage, course) if seat is seats[0] else Assignment.objects.get(), seat, reason)
    pipeline.close_account(account=stage.ada, erase=True, now=NOON)
    assert sorted(RosterLine.objects.values_list("login", flat=True)) == ["ben@example.org", "cleo"]
    assert sorted(Extension.objects.values_list("reason", flat=True)) == ["", "A trip"]
    assert Seat.objects.get(account=stage.ada).name == ""


def test_closing_without_erasure_keeps_the_student_on_the_class(stage: Stage, course: Course) -> None:
    people.import_roster(course=course, text="ada,Ada L.", actor=stage.olga, now=NOON)
    seat = people.join_by_roster(course=course, user=stage.ada, now=NOON)
    extended(stage, made(stage, course), seat, ILLNESS)
    pipeline.close_account(account=stage.ada, erase=False, now=NOON)
    assert Extension.objects.get().reason == ILLNESS
    assert RosterLine.objects.get().login == "ada"


def test_audit_of_a_class_has_no_text_about_a_student(stage: Stage, course: Course) -> None:
    """The audit is never changed: a name or a reason in it would outlive the erasure."""
    people.import_roster(course=course, text="ada,Ada Lovelace,Monday\nzoe@example.org,Zoe", actor=stage.olga, now=NOON)
    seat = people.join_by_roster(course=course, user=stage.ada, now=NOON)
    extension = extended(stage, made(stage, course), seat, ILLNESS)
    extended(stage, extension.assignment, seat, f"{ILLNESS}, and a cold")
    assignments.withdraw_extension(extension=extension, actor=stage.olga, now=NOON)
    people.change_seat(seat=seat, name="A. Lovelace", section="", actor=stage.olga, now=NOON)
    people.remove_line(line=course.roster.get(seat=None), actor=stage.olga, now=NOON)
    acts = {"extend_assignment", "withdraw_extension", "change_seat", "remove_roster_line"}
    assert acts <= set(Row.objects.values_list("act", flat=True))
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(audit_row::text, ' ') FROM audit_row")
        [text] = cursor.fetchone()
    assert not [word for word in (ILLNESS, "Lovelace", "zoe@") if word in text]
