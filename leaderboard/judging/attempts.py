"""Attempts of a submission: queue the first or a following attempt, judge again, cancel; and the log of their events.

Row and event commit together, then the bell rings. No other module writes AttemptEvent. An event is appended with the
attempt's row locked (select_for_update, or updated in this transaction). The lock makes the ids of a submission grow in
the order in which they become visible, so that a stream may resume after the last id it saw. PostgreSQL delivers the
notification only when the transaction commits. Events of a shadow attempt are stored and marked, and wake no watcher.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction

from leaderboard import broker
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason, check_staff
from leaderboard.audit.record import record
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError
from leaderboard.judging.models import (
    CANCELLED,
    CLAIMED,
    DONE,
    FIRST,
    LOST,
    REJUDGE,
    UNFINISHED,
    Attempt,
    AttemptEvent,
    RejudgeItem,
    RejudgeSet,
    Runner,
    check_move,
)
from leaderboard.submissions.models import Submission

BATCH: Final = 500  # rows per statement
CHANNEL: Final = "attempt_events"  # payload: the submission's id


def enqueue(
    *,
    submission: Submission,
    now: datetime,
    cause: str = FIRST,
    losses: int = 0,
    message: str = "",
    away_from: Runner | None = None,
    not_before: datetime | None = None,
    version_id: int | None = None,
) -> Attempt:
    """Queue a new current attempt of the submission, for this version of the problem; None: for the board's version.

    `away_from` names a runner that gets the attempt only if no other runner is alive; the replacement of a lost attempt
    keeps this restriction. Call it in a transaction that has finished and locked the current attempt; the database
    refuses a second current attempt. Before `not_before` no runner can claim the attempt; afterwards the sweeper rings
    for it.
    """
    number = 1
    if cause != FIRST and (last := submission.attempts.in_the_open().order_by("-number").first()):
        submission.attempts.filter(is_current=True).update(is_current=False)
        number, away_from = last.number + 1, last.away_from if losses else away_from
    told = {"cause": cause, "losses": losses, "away_from": away_from, "not_before": not_before}
    told["version_id"] = version_id or submission.board.version_id
    return _queue(_attempt(submission, number=number, now=now, **told), message)


def follow(
    attempt: Attempt, *, now: datetime, cause: str, message: str, losses: int = 0, not_before: datetime | None = None
) -> Attempt | None:
    """Queue the attempt that follows a finished attempt, in the open or within its re-judging set.

    It keeps the version of the problem: the board's version may have changed since, and not be admitted yet. The caller
    has locked the finished attempt. Return None if the set has been stopped.
    """
    told: dict[str, Any] = {"now": now, "cause": cause, "losses": losses, "not_before": not_before}
    told["version_id"] = attempt.version_id
    if not attempt.is_shadow:
        attempt.is_current = False
        return enqueue(submission=attempt.submission, message=message, **told)
    assert attempt.rejudge_set is not None
    if attempt.rejudge_set.stopped_at is not None:
        return None
    fresh = _queue(shadow_attempt(attempt.submission, attempt.rejudge_set, number=attempt.number + 1, **told), message)
    RejudgeItem.objects.filter(after=attempt).update(after=fresh)
    return fresh


def shadow_attempt(submission: Submission, chosen: RejudgeSet, **told: Any) -> Attempt:
    """Return a new shadow attempt of the set, not stored yet."""
    return _attempt(submission, rejudge_set=chosen, is_current=False, is_shadow=True, **({"cause": REJUDGE} | told))


def _attempt(submission: Submission, *, number: int, now: datetime, **told: Any) -> Attempt:
    board = submission.board
    return Attempt(
        submission=submission,
        owner_id=submission.owner_id,
        competition_id=board.competition_id,
        is_ranked=submission.mode == "ranked",
        sent_at=submission.created_at,
        number=number,
        hardware=board.hardware,
        created_at=now,
        **({"version_id": board.version_id} | told),
    )


def end_at_once(
    *, submission: Submission, outcome: str, reason: str, message: str, now: datetime, waiting: Attempt | None = None
) -> Attempt:
    """Store a first attempt that ends as it begins, without a runner.

    `waiting`: the attempt, where it is queued already; the caller has locked it. No other queued attempt gets an
    outcome.
    """
    attempt = waiting or _attempt(submission, number=1, now=now)
    check_move(attempt.state, CLAIMED)  # it is queued
    attempt.state, attempt.outcome, attempt.reason, attempt.finished_at = DONE, outcome, reason, now
    attempt.save()
    append_states([attempt], now=now, message=message)
    return attempt


def _queue(attempt: Attempt, message: str) -> Attempt:
    attempt.save(force_insert=True)
    append_states([attempt], now=attempt.created_at, message=message)
    if attempt.not_before is None or attempt.not_before <= attempt.created_at:
        transaction.on_commit(lambda: ring_for(attempt))
    return attempt


def ring_for(attempt: Attempt) -> None:
    broker.ring(hardware=attempt.hardware, hint=str(attempt.pk))


@transaction.atomic
def rejudge(
    *, submission: Submission, actor: User, reason: str, now: datetime, away_from: Runner | None = None
) -> Attempt:
    """Queue a new attempt of the submission for an organiser, and record the act. The old attempt stays unchanged.

    `away_from` names a runner that gets the attempt only if no other runner is alive.
    """
    check_role(actor, submission.board.competition, Role.REVIEWER, "re-judge a submission")
    check_reason(reason)
    old = Attempt.objects.select_for_update().get(submission=submission, is_current=True)
    if old.state in UNFINISHED:
        raise UserError("submission", submission.pk, f"still {old.state}; wait until it is judged", status=409)
    attempt = enqueue(
        submission=submission, now=now, cause=REJUDGE, message="Queued to be judged again", away_from=away_from
    )
    before, after = {"attempt": old.pk, "outcome": old.outcome}, {"attempt": attempt.pk}
    record(act="rejudge", target=submission, actor=actor, reason=reason, now=now, before=before, after=after)
    return attempt


def may_cancel(submission: Submission, actor: User) -> bool:
    """Return whether `actor` may cancel: any login of the owner's account, or staff.

    After an organiser's request to judge the submission again, only staff may cancel. Team mates may only watch.
    """
    if actor.is_active and (actor.is_staff or actor.is_superuser):
        return True
    is_asked_by_us = submission.attempts.in_the_open().filter(cause=REJUDGE).exists()
    return submission.owner.account_id == actor.account_id and not is_asked_by_us


@transaction.atomic
def cancel(*, submission: Submission, actor: User, reason: str, now: datetime) -> Attempt:
    """Cancel the submission's unfinished attempt. Its runner learns of it at the next renewal."""
    if not may_cancel(submission, actor):
        check_staff(actor, "cancel another person's submission, or what is judged again")
    check_reason(reason)
    attempt = Attempt.objects.select_for_update().get(submission=submission, is_current=True)
    if attempt.state not in UNFINISHED:
        raise UserError("submission", submission.pk, f"already {attempt.state}", 409, "already_finished")
    before = {"state": attempt.state}
    call_off([attempt], now=now, message="Cancelled")
    record(act="cancel", target=attempt, actor=actor, reason=reason, now=now, before=before)
    return attempt


def call_off(attempts: Sequence[Attempt], *, now: datetime, message: str, reason: str = "") -> None:
    """Cancel attempts that the caller has locked. A runner learns of the cancellation at its next renewal."""
    for attempt in attempts:
        check_move(attempt.state, CANCELLED)
        attempt.state, attempt.reason, attempt.finished_at = CANCELLED, reason, now
    Attempt.objects.bulk_update(attempts, ["state", "reason", "finished_at"], batch_size=BATCH)
    append_states(attempts, now=now, message=message)


def end(attempt: Attempt, *, message: str, now: datetime, outcome: str = "", reason: str = "") -> None:
    """End an attempt that the caller has locked: done with an outcome, lost without."""
    state = DONE if outcome else LOST
    check_move(attempt.state, state)
    attempt.state, attempt.outcome, attempt.reason, attempt.finished_at = state, outcome, reason, now
    attempt.save(update_fields=["state", "outcome", "reason", "finished_at"])
    append_states([attempt], now=now, message=message)


def append_states(attempts: Sequence[Attempt], *, now: datetime, message: str) -> None:
    """Append an event for the new state of each attempt, with the outcome if it has one."""
    append_events(
        event_of(
            attempt,
            now=now,
            kind=AttemptEvent.STATE,
            message=message,
            data={"outcome": attempt.outcome, "reason": attempt.reason} if attempt.outcome else {},
        )
        for attempt in attempts
    )


def event_of(attempt: Attempt, *, now: datetime, **told: Any) -> AttemptEvent:
    """Return an event of the attempt in its present state, not stored yet."""
    known = {"attempt": attempt, "state": attempt.state, "in_shadow": attempt.is_shadow, "created_at": now}
    return AttemptEvent(submission_id=attempt.submission_id, **(known | told))


def append_events(events: Iterable[AttemptEvent]) -> None:
    rows = AttemptEvent.every.bulk_create(events, batch_size=BATCH)
    if watched := [str(event.submission_id) for event in rows if not event.in_shadow]:
        notify = "SELECT pg_notify(%s, submission) FROM unnest(%s::text[]) AS submission"
        with connection.cursor() as cursor:
            cursor.execute(notify, [CHANNEL, watched])
