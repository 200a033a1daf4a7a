"""Students start work as matches; the grid shows the stage of each, hand-ins with their delay, and who is stuck."""

from datetime import timedelta
from typing import Any

import pytest

from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.classes import assignments, grading, people, progress
from leaderboard.classes.models import Assignment, Course, Work
from leaderboard.classes.work import start_work
from leaderboard.competitions.models import Competition
from leaderboard.entrants import teams
from leaderboard.errors import UserError
from leaderboard.judging.models import Result
from leaderboard.matches import acts as matches
from leaderboard.matches.models import HandIn, Prediction
from leaderboard.submissions.intake import Upload
from tests.leaderboard.stage import NOON, SOURCE, Stage, make_board

DAY = timedelta(days=1)
DIGEST = "sha256:" + "0" * 64


@pytest.fixture
def course(stage: Stage) -> Course:
    """Return a class of ada and ben."""
    Competition.objects.update(max_team_size=6)
    stage.board.competition.refresh_from_db()
    made = people.make_course(competition=stage.board.competition, actor=stage.olga, now=NOON)
    people.import_roster(course=made, text="ada,Ada,Monday\nben,Ben,Friday", actor=stage.olga, now=NOON)
    for user in (stage.ada, stage.ben):
        people.join_by_roster(course=made, user=user, now=NOON)
    return made


@pytest.fixture
def assignment(stage: Stage, course: Course) -> Assignment:
    return assignments.add_assignment(
        course=course, boards=[stage.board], actor=stage.olga, now=NOON, title="Softmax", tier=1, due_at=NOON + 7 * DAY
    )


def begin(stage: Stage, assignment: Assignment, user: User, **changes: Any) -> Work:
    usual = {"board": stage.board, "model": "open/writer-9b", "machine": "pasted", "now": stage.later(1)}
    return start_work(assignment=assignment, user=user, **usual | changes)


def send(stage: Stage, work: Work, user: User, **told: Any) -> Result:
    """Send the next version of the human side, and judge it."""
    match, now = work.match, stage.later(60)
    if not Prediction.objects.filter(match=match).exists():
        why = "It moves each row twice, so memory bounds it."
        matches.predict(match=match, author=user, bound="memory", speedup=2.0, why=why, now=now)
    stage.sent += 1
    data = SOURCE + f"KERNEL = {stage.sent}\n".encode()
    words: dict[str, Any] = {}
    if matches.number_of_next(match, "human") > 1:
        words = {"reason": "Wider loads.", "expected": 2.0}
    upload = Upload(board="", hardware="", mode="", filename="kernel.py", data=data)
    version = matches.send_version(match=match, upload=upload, author=user, now=now, **words)
    return stage.judge(version.submission, **told)


def lines(course: Course, now: Any, **chosen: Any) -> dict[str, progress.Line]:
    return {line.seat.name: line for line in progress.grid(course, now=now, **chosen)}


def test_start_work_opens_one_match_a_student(stage: Stage, assignment: Assignment) -> None:
    work = begin(stage, assignment, stage.ada)
    assert work.match.board == stage.board
    assert work.match.human == work.entrant
    with pytest.raises(UserError, match="begun it already"):
        begin(stage, assignment, stage.ada)
    with pytest.raises(UserError, match="only students"):
        begin(stage, assignment, stage.cleo)
    with pytest.raises(UserError, match="no board of this assignment"):
        begin(stage, assignment, stage.ben, board=make_board("other"))
    Assignment.objects.update(grading_began_at=NOON)  # the act reads it anew
    with pytest.raises(UserError, match="grading has begun"):
        begin(stage, assignment, stage.ben)


def test_work_of_an_assignment_closes_once_its_grading_has_begun(stage: Stage, assignment: Assignment) -> None:
    """Regression: an early press of *Close* left a student without a match that took versions, for good."""
    work = begin(stage, assignment, stage.ada)
    with pytest.raises(UserError, match="once the grading has begun"):
        matches.close(match=work.match, actor=stage.ada, now=NOON)
    send(stage, work, stage.ada)
    grading.begin(assignment=assignment, actor=stage.olga, now=NOON + 8 * DAY)
    assert matches.close(match=work.match, actor=stage.ada, now=NOON + 9 * DAY).closed_at
    assert Row.objects.get(act="close_match").actor_id == stage.ada.pk


def test_works_before_their_grading_do_not_count_among_the_open_matches(
    stage: Stage, assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a student with MOST_OPEN works could neither begin the next assignment nor close a match."""
    monkeypatch.setattr(matches, "MOST_OPEN", 1)
    usual: dict[str, Any] = {"course": assignment.course, "boards": [stage.board], "actor": stage.olga, "now": NOON}
    usual |= {"tier": 1, "due_at": NOON + 7 * DAY}
    second, third = (assignments.add_assignment(**usual, title=title) for title in ("Sums", "Scans"))
    work = begin(stage, assignment, stage.ada)
    send(stage, work, stage.ada)
    begin(stage, second, stage.ada)
    grading.begin(assignment=assignment, actor=stage.olga, now=NOON + 8 * DAY)
    with pytest.raises(UserError, match="close one"):
        begin(stage, third, stage.ada)
    matches.close(match=work.match, actor=stage.ada, now=NOON + 9 * DAY)
    begin(stage, third, stage.ada)


def test_a_group_works_as_a_team_with_the_latest_extension(stage: Stage, course: Course) -> None:
    assignment = assignments.add_assignment(
        course=course,
        boards=[stage.board],
        actor=stage.olga,
        now=NOON,
        title="A block",
        tier=3,
        due_at=NOON + 7 * DAY,
        group_size=2,
    )
    with pytest.raises(UserError, match="make or join a team first"):
        begin(stage, assignment, stage.ada)
    team = teams.create_team(user=stage.ada, competition=course.competition, name="Warp Drive", now=NOON)
    invite = teams.invite(entrant=team, username="ben", actor=stage.ada, now=NOON)
    teams.accept_invite(invite_id=invite.pk, user=stage.ben, now=NOON)
    work = begin(stage, assignment, stage.ada)
    until = NOON + 9 * DAY
    seat = course.seats.get(name="Ben")
    assignments.extend(assignment=assignment, seat=seat, until=until, reason="Ill", actor=stage.olga, now=NOON)
    found = lines(course, stage.now)
    assert {line.cells[0].work for line in found.values()} == {work}
    assert {line.cells[0].due_at for line in found.values()} == {until}
    alone = assignments.add_assignment(
        course=course, boards=[stage.board], actor=stage.olga, now=NOON, title="Alone", tier=1, due_at=NOON + 7 * DAY
    )
    with pytest.raises(UserError, match="everybody works alone"):
        begin(stage, alone, stage.ada)


def test_an_assignment_with_work_stays_for_single_students_or_for_groups(stage: Stage, course: Course) -> None:
    common: dict[str, Any] = {"boards": [stage.board], "actor": stage.olga, "now": NOON}
    told: dict[str, Any] = {"title": "A block", "tier": 3, "due_at": NOON + 7 * DAY}
    assignment = assignments.add_assignment(course=course, **common, **told)
    for size in (2, 1):
        assignments.edit_assignment(assignment=assignment, group_size=size, **common)
    begin(stage, Assignment.objects.get(), stage.ada)
    with pytest.raises(UserError, match="a student has begun"):
        assignments.edit_assignment(assignment=assignment, group_size=2, **common)


def test_the_grid_shows_the_stage_of_each_student(stage: Stage, course: Course, assignment: Assignment) -> None:
    work = begin(stage, assignment, stage.ada)
    assert lines(course, stage.now)["Ada"].cells[0].stage == "none"
    send(stage, work, stage.ada, outcome="wrong", reason="mismatch")
    send(stage, work, stage.ada, ratio=1.2, score_us=1200.0)
    assert lines(course, stage.now)["Ada"].cells[0].stage == "correct"
    send(stage, work, stage.ada, ratio=0.5, score_us=500.0)
    found = lines(course, stage.now)
    assert found["Ada"].cells[0].stage == "faster"
    assert found["Ben"].cells[0].stage == "none"
    assert found["Ben"].last_at is None
    assert found["Ada"].last_at == Work.objects.get().match.versions.last().created_at
    HandIn.objects.create(match=work.match, by=stage.ada, at=NOON + 8 * DAY, document={}, digest=DIGEST)
    cell = lines(course, stage.now)["Ada"].cells[0]
    assert (cell.stage, cell.late_by) == ("handed in", DAY)
    friday = course.sections.get(name="Friday")
    assert list(lines(course, stage.now, section=friday)) == ["Ben"]


def test_a_student_without_progress_is_stuck_until_the_due_time(
    stage: Stage, course: Course, assignment: Assignment
) -> None:
    work = begin(stage, assignment, stage.ada)
    send(stage, work, stage.ada, ratio=1.2, score_us=1200.0)

    def said(now: Any) -> str:
        return lines(course, now)["Ada"].cells[0].stuck

    assert said(NOON + 2 * DAY) == ""
    assert said(NOON + 4 * DAY) == "no progress for 3 days"
    assert said(NOON + 8 * DAY) == ""
    stage.now = NOON + 3 * DAY
    send(stage, work, stage.ada, ratio=1.19, score_us=1190.0)  # no progress
    assert said(NOON + 4 * DAY) == "no progress for 3 days"
    send(stage, work, stage.ada, ratio=0.6, score_us=600.0)
    assert said(NOON + 4 * DAY) == ""


def test_a_student_with_the_same_error_three_times_is_stuck(
    stage: Stage, course: Course, assignment: Assignment
) -> None:
    work = begin(stage, assignment, stage.ada)
    for count in (17, 3):
        send(stage, work, stage.ada, outcome="wrong", reason="mismatch", message=f"{count} elements differ")
    assert not lines(course, stage.now)["Ada"].stuck
    stage.judge(stage.submit(stage.ada, mode="test"), outcome="wrong", reason="mismatch", message="4 elements differ")
    assert [cell.stuck for cell in lines(course, stage.now)["Ada"].stuck] == ["the same error 3 times: mismatch"]
    send(stage, work, stage.ada, outcome="build_error", reason="", message="expected ;")
    assert not lines(course, stage.now)["Ada"].stuck


def test_an_assignment_that_waits_for_an_earlier_one_makes_nobody_stuck(
    stage: Stage, course: Course, assignment: Assignment
) -> None:
    assignments.add_assignment(
        course=course, boards=[stage.board], actor=stage.olga, now=NOON, title="Next", tier=1, due_at=NOON + 20 * DAY
    )
    first, second = lines(course, NOON + 4 * DAY)["Ada"].cells
    assert first.stuck
    assert not second.stuck
    assert lines(course, NOON + 8 * DAY)["Ada"].cells[1].stuck


def test_curves_are_of_people_and_of_models(stage: Stage, course: Course, assignment: Assignment) -> None:
    assert progress.curves(lines(course, stage.now).values()) == {}
    work = begin(stage, assignment, stage.ada)
    begin(stage, assignment, stage.ben)
    send(stage, work, stage.ada, ratio=0.5, score_us=500.0)
    upload = Upload(board="", hardware="", mode="", filename="", data=SOURCE + b"KERNEL = 'machine'\n")
    exchange = matches.Exchange("Write it.", "Here.")
    version = matches.send_answer(
        match=work.match, upload=upload, operator=stage.ada, exchange=exchange, now=stage.later(60)
    )
    stage.judge(version.submission, ratio=0.8, score_us=800.0)
    found = progress.curves(lines(course, stage.now).values())
    shares = {name: [(round(step.p, 1), step.share) for step in steps] for name, steps in found.items()}
    assert shares["people"][0] == (0.0, 0.5)  # of two works, one is solved
    assert shares["people"][-1] == (2.0, 0.0)
    assert shares["models"][-1][0] == 1.2
    assert shares["the better of both"] == shares["people"]


def test_the_grid_of_many_students_takes_a_fixed_number_of_queries(
    stage: Stage, course: Course, assignment: Assignment, django_assert_max_num_queries: Any
) -> None:
    for user in (stage.ada, stage.ben):
        send(stage, begin(stage, assignment, user), user, outcome="wrong", reason="mismatch")
    with django_assert_max_num_queries(20):
        assert len(progress.grid(course, now=stage.now)) == 2
