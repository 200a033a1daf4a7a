"""Start the work of an assignment, a match of the student or the student's team on one of its boards; hand it in."""

from datetime import datetime

from django.db import IntegrityError, transaction

from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.classes.assignments import lock_before_grading
from leaderboard.classes.models import Assignment, Work
from leaderboard.classes.permissions import seat_of
from leaderboard.competitions.models import Board
from leaderboard.entrants.enter import entrant_of
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.permissions import lock_entrant, members_of
from leaderboard.errors import UserError
from leaderboard.matches import worklog
from leaderboard.matches.acts import open_match
from leaderboard.matches.models import HandIn, Match


@transaction.atomic
def start_work(*, assignment: Assignment, board: Board, user: User, model: str, machine: str, now: datetime) -> Work:
    """Open a match against a model for an assignment. A student, or a team, has a single work for each assignment."""
    course = assignment.course
    if seat_of(user, course) is None:
        raise UserError("assignment", assignment.title, f"only students of {course} start it", status=403)
    assignment = lock_before_grading(assignment)
    if not assignment.boards.filter(pk=board.pk).exists():
        raise UserError("board", str(board), "is no board of this assignment; choose one of its own")
    _check_group(assignment, entrant_of(user, course.competition))
    match = open_match(board=board, opener=user, model=model, machine=machine, now=now)
    try:
        with transaction.atomic():
            work = Work.objects.create(assignment=assignment, entrant=match.human, match=match, created_at=now)
    except IntegrityError:
        text = "you or your team have begun it already; go on in its match"
        raise UserError("assignment", assignment.title, text, status=409) from None
    record("start_work", work, actor=user, now=now, after={"match": match.pk})
    return work


def _check_group(assignment: Assignment, entrant: Entrant | None) -> None:
    """Raise UserError unless the entrant fits: alone, or a team that is not too large."""
    slug, is_team = assignment.course.competition.slug, entrant is not None and entrant.is_team
    if assignment.group_size == 1 and is_team:
        text = f"everybody works alone on it, and you are in a team; leave it first at /competitions/{slug}/team"
        raise UserError("assignment", assignment.title, text, status=409)
    if assignment.group_size == 1:
        return
    if entrant is None or not is_team:
        text = f"a group works on it: make or join a team first at /competitions/{slug}/team"
        raise UserError("assignment", assignment.title, text, status=409)
    _check_size(assignment, entrant)


def _check_size(assignment: Assignment, entrant: Entrant) -> None:
    if members_of(entrant).count() > assignment.group_size:
        text = (
            f"a group has at most {assignment.group_size} members, and {entrant.name} has more; its captain removes "
            f"members at /competitions/{entrant.competition.slug}/team; once teams do not change any more, a teacher "
            "may raise the size"
        )
        raise UserError("assignment", assignment.title, text, status=409)


@transaction.atomic
def hand_in(*, match: Match, author: User, now: datetime) -> HandIn:
    """Hand a worklog in, unless its team has outgrown the assignment: its members at this moment are the authors."""
    entrant = lock_entrant(match.human)  # so that nobody joins or leaves meanwhile
    work = Work.objects.filter(match=match).select_related("assignment").first()
    if work is not None:
        _check_size(work.assignment, entrant)
    return worklog.hand_in(match=match, author=author, now=now)
