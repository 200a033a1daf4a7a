"""Shadow attempts: hidden attempts of a re-judging set, made current at the end or left in the shadow.

Code that adds an attempt to a set holds the lock on the unfinished attempt before it. Code that settles a set therefore
locks the unfinished attempts, and looks again until there is no new attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import OuterRef, Subquery

from leaderboard.judging import events
from leaderboard.judging.enqueue import enqueue, ring_for
from leaderboard.judging.models import REJUDGE, Attempt, RejudgeItem, RejudgeSet
from leaderboard.judging.states import CANCELLED, QUEUED, UNFINISHED, check_move
from leaderboard.submissions.models import Submission


def follow(
    attempt: Attempt,
    *,
    now: datetime,
    cause: str,
    losses: int = 0,
    message: str = "",
    not_before: datetime | None = None,
) -> Attempt | None:
    """Queue the attempt that follows a finished attempt, in the open or within its re-judging set.

    The caller has locked the finished attempt. Return None if the set has been stopped.
    """
    if not attempt.is_shadow:
        submission = attempt.submission
        return enqueue(
            submission=submission, now=now, cause=cause, losses=losses, message=message, not_before=not_before
        )
    assert attempt.rejudge_set is not None
    if attempt.rejudge_set.stopped_at is not None:
        return None
    fresh = _shadow(attempt.submission, attempt.rejudge_set, attempt.number + 1, now)
    fresh.cause, fresh.losses, fresh.not_before = cause, losses, not_before
    fresh.save()
    RejudgeItem.objects.filter(after=attempt).update(after=fresh)
    events.append_state(fresh, now=now, message=message)
    if not_before is None or not_before <= now:
        transaction.on_commit(lambda: ring_for(fresh))
    return fresh


def enqueue_set(*, chosen: RejudgeSet, currents: Sequence[Attempt], now: datetime) -> None:
    """Queue a shadow attempt for the submission of each current attempt, with the board's present problem version."""
    fresh = [_shadow(current.submission, chosen, 1, now) for current in currents]
    Attempt.objects.bulk_create(fresh, batch_size=events.BATCH)
    RejudgeItem.objects.bulk_create(
        [
            RejudgeItem(rejudge_set=chosen, submission_id=current.submission_id, before=current, after=attempt)
            for current, attempt in zip(currents, fresh, strict=True)
        ],
        batch_size=events.BATCH,
    )
    events.append_states(fresh, now=now, message="Queued to be judged again in the shadow")
    first = {attempt.hardware: attempt for attempt in reversed(fresh)}  # one ring per hardware; the sweeper rings later
    for attempt in first.values():
        transaction.on_commit(partial(ring_for, attempt))


def lock_unfinished(chosen: RejudgeSet) -> list[Attempt]:
    """Lock and return the set's unfinished attempts, which a runner could still report or a sweep replace."""
    shadows = chosen.attempts.filter(is_shadow=True, state__in=UNFINISHED).order_by("pk")
    locked: dict[int, Attempt] = {}
    while set(shadows.values_list("pk", flat=True)) - set(locked):
        locked = {attempt.pk: attempt for attempt in shadows.select_for_update()}
    return list(locked.values())


def lock_queued(chosen: RejudgeSet) -> list[Attempt]:
    return list(chosen.attempts.filter(is_shadow=True, state=QUEUED).order_by("pk").select_for_update())


def call_off(attempts: Sequence[Attempt], *, now: datetime, message: str) -> None:
    """Cancel attempts that the caller has locked. A runner learns of the cancellation at its next renewal."""
    for attempt in attempts:
        check_move(attempt.state, CANCELLED)
        attempt.state, attempt.finished_at = CANCELLED, now
    Attempt.objects.bulk_update(attempts, ["state", "finished_at"], batch_size=events.BATCH)
    events.append_states(attempts, now=now, message=message)


def bring_to_light(shadows: Sequence[Attempt], *, now: datetime) -> None:
    """Make shadow attempts current for their submissions. The caller has locked the attempts that are current now."""
    opened = Attempt.objects.in_the_open()
    same = opened.filter(submission=OuterRef("submission")).order_by("-number")
    opened.current().filter(submission__in=[shadow.submission_id for shadow in shadows]).update(is_current=False)
    brought = Attempt.objects.filter(pk__in=[shadow.pk for shadow in shadows])
    brought.update(number=Subquery(same.values("number")[:1]) + 1, is_shadow=False, is_current=True)
    numbers = dict(brought.order_by().values_list("pk", "number"))
    for shadow in shadows:
        shadow.number, shadow.is_shadow, shadow.is_current = numbers[shadow.pk], False, True
    events.append_states(shadows, now=now, message="Judged again")


def _shadow(submission: Submission, chosen: RejudgeSet, number: int, now: datetime) -> Attempt:
    board = submission.board
    return Attempt(
        submission=submission,
        owner_id=submission.owner_id,
        is_ranked=submission.mode == "ranked",
        sent_at=submission.created_at,
        number=number,
        is_current=False,
        is_shadow=True,
        rejudge_set=chosen,
        cause=REJUDGE,
        hardware=board.hardware,
        version_id=board.version_id,
        created_at=now,
    )
