"""Acts of people on a case. Each checks, locks and logs through log.py in one transaction; pipeline applies the rest.

A reviewer claims the case for a while, so that two do not read the same case, asks its owner, has the result judged
again, decides with a reason, and can undo the decision. One person clears a case. Two different people must clear it if
its line would stand on the podium and the competition requires that. Owners appeal against a rejection, once and in
time; a reviewer who did not reject it answers. Notes and labels are for reviewers alone.

A person also settles a confirmation whose runs were undecided: asks for new runs, or closes it. The record stays as it
is until new runs decide. No reviewer settles a confirmation in which they or their team have a part.
"""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import MAX_REASON_CHARS, check_reason
from leaderboard.admissions.door import check_admitted
from leaderboard.audit.record import record
from leaderboard.competitions.models import Board, Competition
from leaderboard.confirmations.ask import ask_confirmation
from leaderboard.confirmations.models import UNSETTLED, Confirmation
from leaderboard.errors import UserError
from leaderboard.judging.attempts import rejudge
from leaderboard.judging.models import Attempt, Result
from leaderboard.review.case import log, states
from leaderboard.review.models import Case, Decision
from leaderboard.review.permissions import check_reviewer

REASONS: Final[dict[str, str]] = {  # code of a rejection, for statistics → the text that the owner reads
    "not_the_work": "does not do the work that the problem declares",
    "special_case": "is made for the tests: shapes, seeds or values are told apart",
    "reused_results": "reuses results of earlier calls",
    "tampering": "interferes with the clock, the judge or other processes",
    "precision": "computes in a precision that the problem does not allow",
    "copied": "is the work of somebody else",
    "rules": "is against the competition's rules",
    "unexplained": "is implausible, and nobody could explain it",
    "other": "other",
}
CLAIM_LASTS: Final = timedelta(minutes=30)
TO_READ: Final = "to read it"  # a free case can be claimed without a written reason
APPEAL_WITHIN: Final = timedelta(days=14)  # after the rejection
MOST_LABELS: Final = 10  # per case
_LABEL: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


@transaction.atomic
def claim(*, result: Result, actor: User, now: datetime, reason: str = "") -> Decision:
    """Claim a case. The holder may claim again to prolong; taking a claim from another reviewer needs a reason."""
    taken = log.take(result=result, act=states.CLAIM, actor=actor, reason=reason or TO_READ, now=now)
    holder = taken.standing.claim_at(now)
    if holder is not None and holder.by != actor.account_id and not reason.strip():
        raise UserError("reason", reason, "another reviewer has claimed it; say why you take it over", status=409)
    return log.append(replace(taken, reason=taken.reason.strip()), until=now + CLAIM_LASTS)


@transaction.atomic
def release(*, result: Result, actor: User, now: datetime) -> Decision:
    return log.append(log.take(result=result, act=states.RELEASE, actor=actor, reason="done with it", now=now))


@transaction.atomic
def ask(*, result: Result, actor: User, question: str, now: datetime, seen: int | None = None) -> Decision:
    return log.append(log.take(result=result, act=states.ASK, actor=actor, reason=question, now=now, seen=seen))


@transaction.atomic
def answer(*, result: Result, actor: User, text: str, now: datetime) -> Decision:
    """Answer a question as the owner, once per question."""
    taken = log.take(result=result, act=states.ANSWER, actor=actor, reason=text, now=now)
    return log.append(taken, about_id=taken.standing.question)


@transaction.atomic
def rerun(*, result: Result, actor: User, reason: str, now: datetime) -> Attempt:
    """Queue a new attempt, on another device if a live one exists. It gets a new case if it is held.

    The reason notes the previous runner, so that a reader sees whether the device differs.
    """
    taken = log.take(result=result, act=states.RERUN, actor=actor, reason=reason, now=now)
    check_admitted(taken.submission.board)
    runner = result.attempt.runner
    noted = f"{reason} (last judged by {runner.name if runner else 'an unknown runner'})"[:2000]
    log.append(replace(taken, reason=noted))
    return rejudge(submission=taken.submission, actor=actor, reason=noted, now=now, away_from=runner)


@transaction.atomic
def clear(
    *,
    result: Result,
    actor: User,
    reason: str,
    now: datetime,
    rank: int | None = None,
    needs_two: bool = False,
    public_reason: str = "",
    seen: int | None = None,
) -> Decision:
    """Clear a held result. `rank`: its line's future place, from standings.podium."""
    _check_public(public_reason)
    taken = log.take(result=result, act=states.CLEAR, actor=actor, reason=reason, now=now, seen=seen)
    return log.append(taken, rank=rank, needs_two=needs_two, public_reason=public_reason.strip())


@transaction.atomic
def reject(
    *,
    result: Result,
    actor: User,
    code: str,
    reason: str,
    now: datetime,
    rank: int | None = None,
    public_reason: str = "",
    seen: int | None = None,
) -> Decision:
    """Reject a held result. The owner reads code and reason, and may appeal."""
    if code not in REASONS:
        raise UserError("code", code, f"is no reason for a rejection; choose one of {', '.join(REASONS)}")
    _check_public(public_reason)
    taken = log.take(result=result, act=states.REJECT, actor=actor, reason=reason, now=now, seen=seen)
    return log.append(taken, code=code, rank=rank, public_reason=public_reason.strip())


def _check_public(text: str) -> None:
    if len(text) > MAX_REASON_CHARS or "\x00" in text:
        raise UserError("public_reason", text, f"has at most {MAX_REASON_CHARS:,} characters")


@transaction.atomic
def overturn(*, result: Result, actor: User, reason: str, now: datetime, seen: int | None = None) -> Decision:
    """Overturn a verdict that rejected by itself: the result waits for a decision like any held result."""
    return log.append(log.take(result=result, act=states.OVERTURN, actor=actor, reason=reason, now=now, seen=seen))


@transaction.atomic
def undo(*, result: Result, actor: User, reason: str, now: datetime, seen: int | None = None) -> Decision:
    """Undo the last decision, with its answer or appeal. The lines stay in the log but no longer count."""
    taken = log.take(result=result, act=states.UNDO, actor=actor, reason=reason, now=now, seen=seen)
    return log.append(taken, about_id=taken.standing.last)


@transaction.atomic
def appeal(*, result: Result, actor: User, text: str, now: datetime) -> Decision:
    taken = log.take(result=result, act=states.APPEAL, actor=actor, reason=text, now=now)
    until = appeal_until(taken.row, taken.standing)
    if until is not None and until <= now:
        raise UserError("text", text, f"could be appealed against until {until:%Y-%m-%d %H:%M} UTC", status=409)
    return log.append(taken, about_id=taken.standing.rejection)


@transaction.atomic
def answer_appeal(
    *, result: Result, actor: User, granted: bool, reason: str, now: datetime, seen: int | None = None
) -> Decision:
    """Answer an appeal: if granted, the case waits again and is decided as usual; otherwise the rejection is final."""
    act = states.GRANT if granted else states.UPHOLD
    taken = log.take(result=result, act=act, actor=actor, reason=reason, now=now, seen=seen)
    rejected = Decision.objects.filter(pk=taken.standing.rejection or 0).first()
    if rejected is not None and rejected.actor_id == actor.account_id:
        said = "took the decision that is appealed against; another reviewer answers"
        raise UserError("actor", actor.get_username(), said, status=403)
    return log.append(taken, about_id=taken.standing.appeal)


def appeal_until(row: Case, standing: states.Standing) -> datetime | None:
    """Return the end of the time to appeal; None: no rejection is open to appeal."""
    if standing.state != states.REJECTED or standing.appeal is not None:
        return None
    rejected = Decision.objects.filter(pk=standing.rejection or 0).values_list("created_at", flat=True).first()
    return (rejected or row.opened_at) + APPEAL_WITHIN


@transaction.atomic
def note(*, result: Result, actor: User, text: str, now: datetime) -> Decision:
    return log.append(log.take(result=result, act=states.NOTE, actor=actor, reason=text, now=now))


@transaction.atomic
def label(*, result: Result, actor: User, name: str, now: datetime) -> Decision:
    if not _LABEL.fullmatch(name):
        raise UserError("label", name, "is no label; use small letters, digits and -, 32 at most")
    taken = log.take(result=result, act=states.LABEL, actor=actor, reason=name, now=now)
    if name in taken.standing.labels or len(taken.standing.labels) >= MOST_LABELS:
        said = "is on the case already" if name in taken.standing.labels else f"is one more than {MOST_LABELS}"
        raise UserError("label", name, said, status=409)
    return log.append(taken, code=name)


@transaction.atomic
def unlabel(*, result: Result, actor: User, name: str, now: datetime) -> Decision:
    taken = log.take(result=result, act=states.UNLABEL, actor=actor, reason=name or "-", now=now)
    if name not in taken.standing.labels:
        raise UserError("label", name, "is not on the case", status=409)
    return log.append(taken, code=name)


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
    asked = _lock_unsettled(asked, actor, reason)
    return ask_confirmation(
        candidate=asked.candidate, incumbent=asked.incumbent, cause=asked.cause, actor=actor, reason=reason, now=now
    )


@transaction.atomic
def close_confirmation(*, asked: Confirmation, actor: User, reason: str, now: datetime) -> Confirmation:
    asked = _lock_unsettled(asked, actor, reason)
    asked.closed_by, asked.closed_at, asked.close_reason = actor, now, reason.strip()
    asked.save(update_fields=["closed_by", "closed_at", "close_reason"])
    before, after = ({"outcome": asked.outcome, "closed": is_closed} for is_closed in (False, True))
    record("close_confirmation", asked, actor=actor, reason=reason, now=now, before=before, after=after)
    return asked


def _lock_unsettled(asked: Confirmation, actor: User, reason: str) -> Confirmation:
    """Lock the confirmation's board as ask_confirmation does, to order concurrent acts. Raises UserError."""
    # Reports lock accounts before the board. That is no deadlock: after the board, settling locks no account. It only
    # names the actor, which takes FOR KEY SHARE at commit, and every lock on an account is FOR NO KEY UPDATE.
    Board.objects.select_for_update(no_key=True).get(pk=asked.board_id)
    parts = ("candidate__board__competition", "candidate__owner", "incumbent__board__competition", "incumbent__owner")
    asked = Confirmation.objects.select_related("board__competition", *parts).get(pk=asked.pk)
    for submission in (asked.candidate, asked.incumbent):
        check_reviewer(actor, submission, "settle a confirmation")
    check_reason(reason)
    if not unsettled(asked.board.competition).filter(pk=asked.pk).exists():
        said = "it waits for nobody: it is decided, closed, or was asked for again"
        raise UserError("confirmation", asked.pk, said, status=409)
    return asked
