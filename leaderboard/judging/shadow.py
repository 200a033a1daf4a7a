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
from leaderboard.judging.attempts import ring_for, shadow_attempt
from leaderboard.judging.models import Attempt, RejudgeItem, RejudgeSet
from leaderboard.judging.work import QUEUED, UNFINISHED


def enqueue_set(*, chosen: RejudgeSet, currents: Sequence[Attempt], now: datetime) -> None:
    """Queue a shadow attempt for the submission of each current attempt, with the board's present problem version."""
    fresh = [shadow_attempt(current.submission, chosen, number=1, now=now) for current in currents]
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
