"""Confirmations in review: a kernel that failed waits for a person, and a person settles undecided runs.

A kernel took first place and failed its confirmation on fresh seeds: a person looks at all its runs. A person settles a
confirmation whose runs were undecided: asks for new runs, or closes it with a reason.

Neither moves a line: the record stays as it is until new runs decide, and a failed kernel waits in the review
queue. A reviewer decides, and never on a pair in which they or their team have a part.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.models import Board, Competition
from leaderboard.confirmations.ask import ask_confirmation
from leaderboard.confirmations.models import UNSETTLED, Confirmation
from leaderboard.errors import UserError
from leaderboard.judging.models import Attempt, Result
from leaderboard.judging.verdicts import kernel_runs
from leaderboard.review.case import log, states
from leaderboard.review.case.open import open_case
from leaderboard.review.models import Case, Finding
from leaderboard.review.permissions import check_reviewer

SAID: Final = "settle a confirmation"

logger = structlog.get_logger(__name__)


def unsettled(competition: Competition) -> QuerySet[Confirmation]:
    """Return the confirmations that wait for a person: not closed, and the newest of their pair."""
    later = Confirmation.objects.filter(
        candidate=OuterRef("candidate"), incumbent=OuterRef("incumbent"), pk__gt=OuterRef("pk")
    )
    waiting = Confirmation.objects.filter(board__competition=competition, outcome__in=UNSETTLED, closed_at=None)
    return waiting.exclude(Exists(later))


@transaction.atomic
def ask_again(*, asked: Confirmation, actor: User, reason: str, now: datetime) -> Confirmation:
    """Ask for new runs of the same pair, by the board's current version."""
    asked = _taken(asked, actor, reason)
    return ask_confirmation(
        candidate=asked.candidate, incumbent=asked.incumbent, cause=asked.cause, actor=actor, reason=reason, now=now
    )


@transaction.atomic
def close_confirmation(*, asked: Confirmation, actor: User, reason: str, now: datetime) -> Confirmation:
    asked = _taken(asked, actor, reason)
    asked.closed_by, asked.closed_at, asked.close_reason = actor, now, reason.strip()
    asked.save(update_fields=["closed_by", "closed_at", "close_reason"])
    told = {"outcome": asked.outcome}
    record(
        act="close_confirmation",
        target=asked,
        actor=actor,
        reason=reason,
        now=now,
        before=told | {"closed": False},
        after=told | {"closed": True},
    )
    return asked


def _taken(asked: Confirmation, actor: User, reason: str) -> Confirmation:
    """Lock the confirmation's board as ask_confirmation does, to order concurrent acts. Raises UserError."""
    # Reports lock accounts before the board. That is no deadlock: after the board, settling locks no account. It only
    # names the actor, which takes FOR KEY SHARE at commit, and every lock on an account is FOR NO KEY UPDATE.
    Board.objects.select_for_update(no_key=True).get(pk=asked.board_id)
    parts = ("candidate__board__competition", "candidate__owner", "incumbent__board__competition", "incumbent__owner")
    asked = Confirmation.objects.select_related("board__competition", *parts).get(pk=asked.pk)
    for submission in (asked.candidate, asked.incumbent):
        check_reviewer(actor, submission, SAID)
    check_reason(reason)
    if not unsettled(asked.board.competition).filter(pk=asked.pk).exists():
        said = "it waits for nobody: it is decided, closed, or was asked for again"
        raise UserError("confirmation", asked.pk, said, status=409)
    return asked


def hold_failed_record(asked: Confirmation, *, now: datetime) -> list[Result]:
    """Hold the candidate's kernel for a person, even if it was cleared before; a rejection stays.

    Return the results that wait now. A reviewer who clears a result then knows of the failure: it causes no further
    hold.
    """
    held = []
    for run in kernel_runs(asked.candidate):
        Attempt.objects.select_for_update().get(pk=run.attempt_id)  # against a concurrent decision
        decided = Case.objects.filter(result=run).exclude(state__in=(*states.HELD, *states.STANDS))
        if run.ratio is None or decided.exists():
            continue
        sentence = f"it passed once and failed when its first place was confirmed on fresh seeds: {asked.message}"
        figures = {"confirmation": asked.pk}
        finding = {"sentence": sentence, "figures": figures, "created_at": now}
        Finding.objects.get_or_create(result=run, rule=log.RECORD_FAILED, defaults=finding)
        if log.project(open_case(result=run, now=now)).state in states.HELD:
            held.append(run)
    if held:
        logger.warning("result_held", results=[run.pk for run in held], rules=[log.RECORD_FAILED])
    return held
