"""Take a kernel off its board, or let it return.

Its lines come and go in the same transaction, and therefore everywhere at once: boards, overall standings, history and
exports all read Entry. Its owner may retract it until the standing is final.
An organiser with the reviewer role or above may retract other entrants' kernels at any time and undo that, except for
kernels of their own or their team.
"""

from datetime import datetime
from typing import Final

from django.db import transaction

from leaderboard.accounts.logins import lock_accounts
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import Phase, Stage, phase_at
from leaderboard.errors import UserError
from leaderboard.review.permissions import check_reviewer, may_review
from leaderboard.standings.models import Retraction
from leaderboard.standings.publish import lock_entrants, retraction_of, withdraw_kernel
from leaderboard.standings.read.windows import stage_at
from leaderboard.submissions.models import Submission
from leaderboard.submissions.permissions import may_dispose

BY_OWNER: Final = "retracted by its owner"


def may_retract(actor: User, submission: Submission, now: datetime) -> bool:
    if may_review(actor, submission):
        return True
    board = submission.board
    is_over = phase_at(board.competition.schedule, now) in (Phase.FINAL, Phase.OPEN)
    is_final = is_over and stage_at(board, submission.created_at) is Stage.CONTEST
    return may_dispose(actor, submission) and not is_final


def usual_reason(actor: User, submission: Submission) -> str:
    """Return the default reason; an organiser must write their own."""
    return BY_OWNER if may_dispose(actor, submission) else ""


@transaction.atomic
def retract(*, submission: Submission, actor: User, reason: str, now: datetime) -> int:
    """Retract all runs of this submission's kernel and return the number of lines.

    The same code does not rank again.
    """
    if not may_retract(actor, submission, now):
        text = "only its owner, until the standing is final, or a reviewer may retract it"
        raise UserError("actor", actor.get_username(), text, status=403)
    check_reason(reason)
    lock_entrants([submission.entrant_id])
    if retraction_of(submission) is not None:
        return 0
    lines = withdraw_kernel(submission)
    if not lines:
        raise UserError("submission", submission.pk, "has no line on its board that could be retracted", status=409)
    _write(Retraction.RETRACT, submission, actor, reason, now, before=lines, after=0)
    return lines


@transaction.atomic
def restore(*, submission: Submission, actor: User, reason: str, now: datetime) -> bool:
    """Allow the kernel on its board again; pipeline then publishes its lines. False: it was already allowed."""
    check_reviewer(actor, submission, "put a retracted kernel back")
    check_reason(reason)
    owners = User.objects.filter(submissions__entrant=submission.entrant_id, submissions__board=submission.board_id)
    lock_accounts(owner.account_id for owner in owners)
    lock_entrants([submission.entrant_id])
    if retraction_of(submission) is None:
        return False
    _write(Retraction.RESTORE, submission, actor, reason, now)
    return True


def _write(
    act: str, submission: Submission, actor: User, reason: str, now: datetime, *, before: int = 0, after: int = 0
) -> None:
    Retraction.objects.create(
        board_id=submission.board_id,
        entrant_id=submission.entrant_id,
        code_digest=submission.kernel,
        submission=submission,
        act=act,
        actor=actor,
        reason=reason,
        created_at=now,
    )
    sides = {"before": {"lines": before}, "after": {"lines": after}}
    record(f"{act}_entry", submission, actor=actor, reason=reason, now=now, **sides)
