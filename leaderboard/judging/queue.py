"""Place of each waiting attempt in the queue of its hardware, and when a runner is expected to begin with it.

`line` plays the claims of claim.py forward: the account with the least device time first, each attempt as long as the
median of its mode took lately, on as many runners as can take work now, after the requested work that runs. Left out
are those that wait, rules for a single runner (epochs, an attempt that it could not measure), shadow
attempts, which come last, attempts that wait for a calmer machine, and all that is sent meanwhile. A place can
therefore change in both directions.

The cost is eight queries, one more for each kind of requested work that runs, and a pass over at most MOST rows. A long
queue's places are kept for KEPT_S in this process.
"""

import heapq
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Final, NamedTuple

from django.db.models import Q

from leaderboard.judging import device_time
from leaderboard.judging.epochs import waits_for_epoch
from leaderboard.judging.live import SILENT
from leaderboard.judging.models import AT_WORK, DONE, QUEUED, REJUDGE, RUNNING, Attempt, Requested, Runner
from leaderboard.submissions.models import Submission
from leaderboard.wording.outcomes import place_in_queue
from runner.wire import MODES

NEWEST: Final = 200  # finished attempts of a hardware from which durations are estimated
NEWEST_REQUESTED: Final = 20  # the same of admission tests and of confirmations
MOST: Final = 10_000  # waiting attempts that are looked at
SHORT: Final = 50  # waiting attempts; a queue no longer than this is read anew each time
KEPT_S: Final = 5.0


class Waiting(NamedTuple):
    """A waiting attempt: its place among all, then among its account's own, in the order of claim.py."""

    group: tuple[bool, bool]  # beyond its competition's share; judged again for an organiser
    own: tuple[bool, bool, datetime, int, int]  # of a batch, practice, time, submission, attempt
    account: int
    submission: int
    mode: str


@dataclass(frozen=True)
class Place:
    """Place of a submission in its queue."""

    hardware: str
    position: int  # 1: the next
    queued: int  # attempts that wait
    runners: int  # able to take work now
    wait_s: float | None  # expected until a runner begins; None: no runner, or nothing was judged here lately

    @property
    def text(self) -> str:
        return place_in_queue(self.hardware, self.position, self.queued, self.runners, self.wait_s)


@dataclass(frozen=True)
class Line:
    """Queue of a hardware."""

    wait_s: float | None  # expected, of a submission that arrives now
    places: dict[int, Place] = field(default_factory=dict)  # by submission


_kept: dict[str, tuple[float, Line]] = {}  # by hardware, with the end of its validity


def forget() -> None:
    """Keep no queue any longer."""
    _kept.clear()


def place_of(submission: Submission, *, now: datetime) -> Place | None:
    """Return the place of a waiting submission; None if no runner may take it yet, or it waits no more."""
    if waits_for_epoch(submission):
        return None
    return line(submission.board.hardware, now=now).places.get(submission.pk)


def line(hardware: str, *, now: datetime) -> Line:
    """Return the queue of a hardware as of now, or of a few seconds ago if it is long."""
    until, kept = _kept.get(hardware, (0.0, None))
    if kept is not None and time.monotonic() < until:
        return kept
    _kept.pop(hardware, None)
    used = device_time.by_account(hardware=hardware, now=now)
    waiting, logins = _waiting(hardware, now)
    able = Runner.objects.able().filter(hardware=hardware, last_seen_at__gt=now - SILENT).count()
    times = _durations(hardware)
    took = {mode: median(one) for mode, one in times.items()}
    running = Attempt.objects.filter(hardware=hardware, state__in=RUNNING).values_list("submission__mode", "claimed_at")
    left = [_left(times[mode], (now - began).total_seconds()) for mode, began in running if mode in times and began]
    left += _left_of_requested(hardware, now)
    order = play(waiting, {account: used.get(login, 0.0) for account, login in logins.items()}, took)
    free_at = sorted(left)[:able] + [0.0] * (able - len(left))
    found = Line(*_timed(hardware, order, free_at, took))
    if len(waiting) > SHORT:
        _kept[hardware] = time.monotonic() + KEPT_S, found
    return found


def play(waiting: Sequence[Waiting], used: Mapping[int, float], took: Mapping[str, float]) -> list[Waiting]:
    """Return the attempts in the order of their claims.

    `used` is the device time of each account so far; `took` the seconds of an attempt by mode. Pure.
    """
    groups: dict[tuple[bool, bool], dict[int, list[Waiting]]] = defaultdict(lambda: defaultdict(list))
    for one in sorted(waiting, key=lambda one: (one.group, one.own)):
        groups[one.group][one.account].append(one)
    so_far, order = dict(used), []
    for accounts in groups.values():
        turns = [(so_far.get(account, 0.0), own[0].own, account, 0) for account, own in accounts.items()]
        heapq.heapify(turns)
        while turns:
            seconds, _, account, number = turns[0]
            one = accounts[account][number]
            order.append(one)
            so_far[account] = seconds + max(device_time.LEAST_S, took.get(one.mode, 0.0))
            if number + 1 < len(accounts[account]):
                following = accounts[account][number + 1].own
                heapq.heapreplace(turns, (so_far[account], following, account, number + 1))
            else:
                heapq.heappop(turns)
    return order


def _timed(
    hardware: str, order: Sequence[Waiting], free_at: list[float], took: Mapping[str, float]
) -> tuple[float | None, dict[int, Place]]:
    """Return the wait of a newcomer, and the places: each attempt begins where a runner is free first."""
    runners, places = len(free_at), {}
    heapq.heapify(free_at)
    for position, one in enumerate(order, start=1):
        wait_s = free_at[0] if free_at else None
        places[one.submission] = Place(hardware, position, len(order), runners, wait_s)
        if free_at and one.mode in took:
            heapq.heapreplace(free_at, free_at[0] + took[one.mode])
        else:  # from here on nobody knows
            free_at = []
    return (free_at[0] if free_at else None), places


def _waiting(hardware: str, now: datetime) -> tuple[list[Waiting], dict[int, int]]:
    """Return the attempts that could be claimed now, and one login of each account."""
    beyond = set(device_time.beyond_share(hardware=hardware, now=now))
    is_due = Q(not_before=None) | Q(not_before__lte=now)
    rows = Attempt.objects.filter(is_due, hardware=hardware, state=QUEUED, is_shadow=False).order_by("pk")
    names = ("pk", "submission_id", "submission__mode", "competition_id", "cause", "is_ranked", "not_before", "sent_at")
    further = ("submission__candidate", "owner_id", "owner__linked_to_id")
    waiting, logins = [], {}
    for (
        pk,
        submission,
        mode,
        competition,
        cause,
        is_ranked,
        not_before,
        sent_at,
        candidate,
        owner,
        linked_to,
    ) in rows.values_list(*names, *further)[:MOST]:
        own = (candidate is not None, not is_ranked, not_before or sent_at, submission, pk)
        account = linked_to or owner
        logins[account] = owner
        waiting.append(Waiting((competition in beyond, cause == REJUDGE), own, account, submission, mode))
    return waiting, logins


def _left_of_requested(hardware: str, now: datetime) -> list[float]:
    """Return the seconds that each running admission test, timing and confirmation is expected to take yet.

    0 while none of its kind has ended on this hardware.
    """
    left: list[float] = []
    for kind in Requested.__subclasses__():
        rows = kind._default_manager.filter(hardware=hardware)
        if began := list(rows.filter(state=AT_WORK).values_list("claimed_at", flat=True)):
            ended = rows.filter(state=DONE, claimed_at__isnull=False).order_by("-id")
            times = ended.values_list("claimed_at", "finished_at")[:NEWEST_REQUESTED]
            took = [(end - start).total_seconds() for start, end in times if start and end]
            left += [_left(took, (now - start).total_seconds()) for start in began if start]
    return left


def _left(times: Sequence[float], passed: float) -> float:
    """Return the seconds that a run takes yet: the median of the runs that took longer than it has taken so far.

    The median of all would be no estimate for a run beyond it: the wait behind it would stand still.
    """
    return median([taken for taken in times if taken > passed] or [passed]) - passed


def _durations(hardware: str) -> dict[str, list[float]]:
    """Return the seconds from claim to verdict, by mode; a mode without a verdict lately has those of all."""
    newest = Attempt.objects.filter(hardware=hardware, state=DONE, rejudge_set=None, claimed_at__isnull=False)
    newest = newest.order_by("-finished_at")
    found: dict[str, list[float]] = defaultdict(list)
    for mode, claimed_at, finished_at in newest.values_list("submission__mode", "claimed_at", "finished_at")[:NEWEST]:
        if claimed_at and finished_at:
            found[mode].append((finished_at - claimed_at).total_seconds())
    if not found:
        return {}
    overall = [seconds for times in found.values() for seconds in times]
    return dict.fromkeys(MODES, overall) | found
