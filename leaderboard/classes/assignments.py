"""Assignments of a class: boards to choose from, due times with extensions, and the check before students start.

A due time is the first moment at which a hand-in is late. A late hand-in is taken and shown as late with its delay; the
teacher decides its consequence. A group is a team of the competition, and the latest extension of a member counts for
all of it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Count, Max, Q

from leaderboard.accounts.models import User
from leaderboard.audit.record import changed, record
from leaderboard.classes.models import (
    MOST_ASSIGNMENTS,
    MOST_BOARDS,
    MOST_IN_A_GROUP,
    MOST_PLANTED,
    REASON_CHARS,
    TIERS,
    Assignment,
    Course,
    Extension,
    Planted,
    Rubric,
    Seat,
)
from leaderboard.classes.permissions import check_teacher, is_grader
from leaderboard.competitions.checks import check_not_far, check_text
from leaderboard.competitions.models import Board
from leaderboard.entrants.names import clean_text
from leaderboard.errors import UserError
from leaderboard.standings.read.status import SubmissionStatus, statuses_of
from leaderboard.submissions.models import Submission

TITLE_CHARS: Final = 128
WRONG: Final = ("wrong", "policy")  # outcomes of a planted kernel that must fail
EDITABLE: Final = ("title", "tier", "due_at", "group_size", "rubric", "graders_each", "moderate_from")


@transaction.atomic
def add_assignment(
    *, course: Course, boards: Collection[Board], actor: User, now: datetime, **settings: Any
) -> Assignment:
    """Add an assignment; `settings` are EDITABLE, with at least title, tier and due_at."""
    check_teacher(actor, course, "add an assignment")
    if course.assignments.count() >= MOST_ASSIGNMENTS:
        raise UserError("title", settings.get("title"), f"a class has at most {MOST_ASSIGNMENTS} assignments", 409)
    assignment = Assignment(course=course, created_at=now)
    _set(assignment, settings, boards, now)
    record("add_assignment", assignment, actor=actor, now=now, after=_values(assignment))
    return assignment


@transaction.atomic
def edit_assignment(
    *, assignment: Assignment, boards: Collection[Board], actor: User, now: datetime, **settings: Any
) -> Assignment:
    """Change an assignment. Once grading begins, due time, group size and rubric stay."""
    check_teacher(actor, assignment.course, "change an assignment")
    assignment = Assignment.objects.select_for_update(of=("self",)).select_related("course").get(pk=assignment.pk)
    before = _values(assignment)
    if assignment.grading_began_at is not None:
        for name in ("due_at", "rubric", "graders_each", "moderate_from", "group_size"):
            if name in settings and settings[name] != getattr(assignment, name):
                raise UserError(name, settings[name], "stays as it is, because grading has begun", status=409)
    size = settings.get("group_size", assignment.group_size)
    if (size == 1) != (assignment.group_size == 1) and assignment.works.exists():
        text = "stays 1 or a group, because a student has begun; add another assignment"
        raise UserError("group_size", size, text, status=409)
    present = Count("entrant__memberships", filter=Q(entrant__memberships__left_at=None))
    largest = assignment.works.annotate(size=present).aggregate(Max("size"))["size__max"] or 0
    if size < min(assignment.group_size, largest):
        text = f"a team of {largest} works on it and could not hand in; leave the size as it is, or raise it"
        raise UserError("group_size", size, text, status=409)
    _set(assignment, settings, boards, now)
    old, new = changed(before, _values(assignment))
    if new:
        record("edit_assignment", assignment, actor=actor, now=now, before=old, after=new)
    return assignment


def lock_before_grading(assignment: Assignment) -> Assignment:
    """Return the assignment as it is now, locked against the beginning of its grading. Raise UserError after that."""
    rows = Assignment.objects.select_for_update(of=("self",), no_key=True)
    assignment = rows.select_related("course__competition").get(pk=assignment.pk)
    if assignment.grading_began_at is not None:
        text = "its grading has begun, so works and due times stay as they are"
        raise UserError("assignment", assignment.title, text, status=409)
    return assignment


def _set(assignment: Assignment, settings: Mapping[str, Any], boards: Collection[Board], now: datetime) -> None:
    """Check the settings and save the assignment."""
    unknown = next((name for name in settings if name not in EDITABLE), None)
    if unknown is not None:
        raise UserError(unknown, None, f"is no setting of an assignment; these are: {', '.join(EDITABLE)}")
    due_at = assignment.due_at
    for name, value in settings.items():
        setattr(assignment, name, value)
    assignment.title = clean_text("title", assignment.title, most=TITLE_CHARS)
    if not assignment.title:
        raise UserError("title", "", "name the assignment")
    if assignment.tier not in TIERS:
        raise UserError("tier", assignment.tier, "give 1 (one operator), 2 (fusion) or 3 (a block)")
    if assignment.due_at is None:
        raise UserError("due_at", None, "say until when it is due")
    if assignment.due_at != due_at:
        check_not_far("due_at", assignment.due_at, now)
    _check_grading(assignment)
    if not 1 <= len(boards) <= MOST_BOARDS:
        raise UserError("boards", len(boards), f"choose 1 to {MOST_BOARDS} boards of the class")
    foreign = next((board for board in boards if board.competition_id != assignment.course.competition_id), None)
    if foreign is not None:
        raise UserError("boards", str(foreign), "is no board of this class; add it to the competition first")
    try:
        with transaction.atomic():
            assignment.save()
    except IntegrityError:
        raise UserError(
            "title", assignment.title, "there is an assignment of this title; choose another", 409
        ) from None
    assignment.boards.set(boards)


def _check_grading(assignment: Assignment) -> None:
    most = MOST_IN_A_GROUP
    if assignment.group_size != 1 and not (assignment.tier == TIERS[-1] and 2 <= assignment.group_size <= most):
        text = f"give 1, or at level 3 a group of 2 to {most}"
        raise UserError("group_size", assignment.group_size, text)
    if assignment.graders_each not in (1, 2):
        raise UserError("graders_each", assignment.graders_each, "give 1 or 2 graders for each work")
    if assignment.moderate_from is not None and not 1 <= assignment.moderate_from <= 100:
        text = "give 1 to 100 points, or leave it empty: then no difference is moderated"
        raise UserError("moderate_from", assignment.moderate_from, text)
    if assignment.moderate_from is not None and assignment.graders_each == 1:
        text = "needs two graders, because it is their difference; leave it empty or give graders_each 2"
        raise UserError("moderate_from", assignment.moderate_from, text)
    rubric: Rubric | None = assignment.rubric
    if rubric is not None and rubric.course_id not in (None, assignment.course_id):
        raise UserError("rubric", str(rubric), "belongs to another class; choose one of this class or of the site")


def _values(assignment: Assignment) -> dict[str, Any]:
    values = {name: getattr(assignment, name) for name in EDITABLE if name != "rubric"}
    return values | {"rubric": assignment.rubric_id, "boards": sorted(map(str, assignment.boards.all()))}


@transaction.atomic
def extend(
    *, assignment: Assignment, seat: Seat, until: datetime, reason: str, actor: User, now: datetime
) -> Extension:
    """Give a student a later due time of their own, or change it. An extension never shortens the time."""
    check_teacher(actor, assignment.course, "extend a due time")
    assignment = lock_before_grading(assignment)
    if seat.course_id != assignment.course_id:
        raise UserError("seat", seat.pk, "is no student of this class", status=404)
    if until <= assignment.due_at:
        raise UserError("until", until, f"is not after the due time, {assignment.due_at:%Y-%m-%d %H:%M} UTC")
    check_not_far("until", until, now)
    check_text("reason", reason, least=1, most=REASON_CHARS)
    known = Extension.objects.filter(assignment=assignment, seat=seat).first()
    before = {} if known is None else {"until": known.until}
    values = {"until": until, "reason": reason.strip(), "by": actor.account, "created_at": now}
    extension, _ = Extension.objects.update_or_create(assignment=assignment, seat=seat, defaults=values)
    after = {"until": until, "seat": seat.pk}  # not the reason: the audit keeps it for good, a student may be ill
    record("extend_assignment", extension, actor=actor, now=now, before=before, after=after)
    return extension


@transaction.atomic
def withdraw_extension(*, extension: Extension, actor: User, now: datetime) -> None:
    check_teacher(actor, extension.assignment.course, "withdraw an extension")
    lock_before_grading(extension.assignment)
    before = {"until": extension.until, "seat": extension.seat_id}
    record("withdraw_extension", extension, actor=actor, now=now, before=before)
    extension.delete()


def due_for(assignment: Assignment, extensions: Iterable[Extension]) -> datetime:
    """Return the due time under these extensions, which are of the student, or of all members of a group."""
    return max((assignment.due_at, *(one.until for one in extensions if one.assignment_id == assignment.pk)))


def lateness(due_at: datetime, handed_in_at: datetime) -> timedelta | None:
    """Return by how much a hand-in is late; None: it is in time."""
    return handed_in_at - due_at if handed_in_at >= due_at else None


@transaction.atomic
def plant(*, course: Course, submission: Submission, must_fail: bool, actor: User, now: datetime) -> Planted:
    """Register a submission of the class's staff whose verdict is known beforehand."""
    check_teacher(actor, course, "plant a submission")
    if submission.board.competition_id != course.competition_id:
        raise UserError("submission", submission.pk, "is on no board of this class", status=404)
    if not is_grader(submission.owner, course):
        raise UserError("submission", submission.pk, "was sent by a student; the class's staff sends planted ones", 409)
    if course.planted.count() >= MOST_PLANTED:
        raise UserError("submission", submission.pk, f"there are {MOST_PLANTED} already; remove one", status=409)
    values = {"course": course, "board": submission.board, "must_fail": must_fail, "created_at": now}
    planted, is_new = Planted.objects.get_or_create(submission=submission, defaults=values)
    if not is_new:
        raise UserError("submission", submission.pk, "is planted already", status=409)
    after = {"submission": submission.pk, "must_fail": must_fail}
    record("plant_submission", planted, actor=actor, now=now, after=after)
    return planted


@transaction.atomic
def unplant(*, planted: Planted, actor: User, now: datetime) -> None:
    check_teacher(actor, planted.course, "remove a planted submission")
    before = {"submission": planted.submission_id, "must_fail": planted.must_fail}
    record("unplant_submission", planted, actor=actor, now=now, before=before)
    planted.delete()


@dataclass(frozen=True)
class Check:
    """A planted submission beside its verdict. `is_right` None: it is not judged yet."""

    planted: Planted
    status: SubmissionStatus
    is_right: bool | None


@dataclass(frozen=True)
class BoardCheck:
    """The start-up check of a board: right once a wrong kernel failed and a right kernel passed."""

    board: Board
    checks: tuple[Check, ...]

    @property
    def missing(self) -> str:
        """The next thing that the teacher has to do; "": the board is ready."""
        if any(one.is_right is False for one in self.checks):
            return "a verdict is not the expected one: do not start before you know why"
        for must_fail, kind in ((True, "a wrong kernel that must fail"), (False, "a right kernel that must pass")):
            of_kind = [one for one in self.checks if one.planted.must_fail is must_fail]
            if not of_kind:
                return f"plant {kind}"
            if not any(one.is_right for one in of_kind):
                return f"wait for the verdict on {kind}"
        return ""


def start_up(course: Course) -> list[BoardCheck]:
    """Return the check of each board that an assignment of the class allows."""
    boards = Board.objects.filter(
        pk__in=Assignment.boards.through.objects.filter(assignment__course=course).values("board")
    )
    found: dict[int, list[Check]] = {}
    for check in checks_of(course.planted.select_related("submission", "board__problem").order_by("pk")):
        found.setdefault(check.planted.board_id, []).append(check)
    return [
        BoardCheck(board, tuple(found.get(board.pk, ())))
        for board in boards.select_related("problem", "competition").defer("version")
    ]


def checks_of(planted: Iterable[Planted]) -> list[Check]:
    """Return planted submissions beside their verdicts."""
    found = list(planted)
    statuses = statuses_of(one.submission for one in found)
    return [
        Check(one, status, _is_right(status, must_fail=one.must_fail))
        for one in found
        for status in (statuses[one.submission_id],)
    ]


def _is_right(status: SubmissionStatus, *, must_fail: bool) -> bool | None:
    """Return whether the verdict is the expected one. A failure of the judge itself is no verdict.

    A wrong kernel that does not even build shows nothing about the check of outputs, so that it counts as unexpected.
    """
    if not status.outcome or status.outcome == "infra_error":
        return None
    return status.outcome in (WRONG if must_fail else ("passed",))
