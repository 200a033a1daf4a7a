"""Live state of some kinds of hardware: length and age of the queue, running attempts, activity of each runner.

The number of queries is fixed, however long the queue is.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Count, Min, Q
from django.db.models.functions import Coalesce

from leaderboard.judging.lease import kinds
from leaderboard.judging.models import AT_WORK, QUEUED, RUNNING, Attempt, Epoch, Leased, Requested, Runner
from runner.wire import LANGUAGES, Place

SILENT: Final = timedelta(minutes=2)  # a runner is absent after this time without contact
MOST_VERSION_CHARS: Final = 64

REQUESTED_AS: Final = {QUEUED: "requested_queued", AT_WORK: "requested_running"}  # state → field of Queue
EPOCH_WHY: Final = {  # reasons for an idle runner to leave timed work alone
    Epoch.PROPOSED: "measures in a timing epoch that waits for a decision",
    Epoch.DISMISSED: "measures in a dismissed timing epoch",
    Epoch.RETIRED: "measures in an earlier timing epoch",
}


@dataclass(frozen=True)
class Queue:
    hardware: str
    queued: int
    running: int
    oldest_at: datetime | None  # since when the oldest attempt could have been claimed; shadow attempts come last
    runners: int  # able to take work now
    own_queued: int  # of the requested competition
    own_running: int
    requested_queued: int  # admission tests, compiled timings and confirmations
    requested_running: int


@dataclass(frozen=True)
class Host:
    name: str
    hardware: str
    state: str  # revoked, suspended, set aside, refused, judging, draining, idle, silent or never seen
    why: str  # if revoked, suspended, set aside or refused; if idle, when its timing epoch is not the current epoch
    since: datetime | None  # start of this state, if known
    seen_at: datetime | None
    epoch: str
    submission: int | None  # submission that it judges
    competition_id: int | None  # of that submission
    stage: str  # state of the attempt; admission or confirmation, if it does such work
    place: Place  # in its host


def queues(hardware: Collection[str], *, competition_id: int, now: datetime) -> list[Queue]:
    """Return a queue for each hardware, ordered by name."""
    own = Count("pk", filter=Q(competition=competition_id))
    attempts = Attempt.objects.filter(hardware__in=hardware).order_by().values("hardware")
    # Two queries, since each state has an index of its own; one query of both would read every attempt.
    could_be_claimed = Q(is_shadow=False) & (Q(not_before=None) | Q(not_before__lte=now))
    oldest_at = Min(Coalesce("not_before", "created_at"), filter=could_be_claimed)
    waits = attempts.filter(state=QUEUED).annotate(queued=Count("pk"), own_queued=own, oldest_at=oldest_at)
    runs = attempts.filter(state__in=RUNNING).annotate(at_work=Count("pk"), own_at_work=own)
    found: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for row in waits:
        found[row["hardware"]] |= row
    for work in runs:
        found[work["hardware"]] |= {"running": work["at_work"], "own_running": work["own_at_work"]}
    for kind in Requested.__subclasses__():
        open_work = kind._default_manager.filter(hardware__in=hardware, state__in=REQUESTED_AS)
        for name, state, count in open_work.order_by().values_list("hardware", "state").annotate(count=Count("pk")):
            found[name][REQUESTED_AS[state]] = found[name].get(REQUESTED_AS[state], 0) + count
    able = Runner.objects.able().filter(hardware__in=hardware, last_seen_at__gt=now - SILENT)
    there = dict(able.order_by().values_list("hardware").annotate(count=Count("pk")))
    counts = ("queued", "running", "own_queued", "own_running", *REQUESTED_AS.values())
    none: dict[str, Any] = {"oldest_at": None} | dict.fromkeys(counts, 0)
    return [
        Queue(**(none | {"hardware": name, "runners": there.get(name, 0)} | found.get(name, {})))
        for name in sorted(hardware)
    ]


def hosts(hardware: Collection[str], *, now: datetime) -> list[Host]:
    running = Attempt.objects.filter(state__in=RUNNING, hardware__in=hardware).select_related("submission__board")
    running = running.only("state", "runner", "claimed_at", "submission__board__competition")
    held = {attempt.runner_id: attempt for attempt in running}
    requested = [kind for kind in kinds() if issubclass(kind, Requested)]
    asked = {work.runner_id: work for kind in requested for work in kind.running().filter(hardware__in=hardware)}
    epochs = Epoch.objects.filter(hardware__in=hardware).values_list("hardware", "name", "state")
    states = {(kind, name): state for kind, name, state in epochs}
    found = []
    for runner in Runner.objects.filter(hardware__in=hardware, retired_at=None):
        attempt = held.get(runner.pk)
        asked_for = asked.get(runner.pk)
        state, why, since = _state(runner, attempt or asked_for, now)
        if state == "idle":
            why = EPOCH_WHY.get(states.get((runner.hardware, runner.epoch), ""), "")
        work: tuple[int | None, int | None, str] = (None, None, "")
        if attempt is not None:
            work = attempt.submission_id, attempt.submission.board.competition_id, attempt.state
        elif asked_for is not None:
            work = None, None, asked_for.WIRE_PREFIX.rstrip("-")
        place = Place.from_json(runner.place)
        found.append(
            Host(runner.name, runner.hardware, state, why, since, runner.last_seen_at, runner.epoch, *work, place=place)
        )
    return found


def languages(hardware: Collection[str]) -> dict[str, list[str]]:
    """Return what kernels may be written in beside torch, with versions, by hardware: "Triton 3.6.0".

    As the runners that may claim work state it. Several versions of one language are listed side by side.
    """
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, fingerprint in Runner.objects.able().filter(hardware__in=hardware).values_list("hardware", "fingerprint"):
        for language in LANGUAGES.keys() & fingerprint.keys():
            found[name][language].add(str(fingerprint[language])[:MOST_VERSION_CHARS])
    return {
        name: [f"{shown} {' and '.join(sorted(known[key]))}" for key, shown in LANGUAGES.items() if key in known]
        for name, known in sorted(found.items())
    }


def _state(runner: Runner, work: Leased | None, now: datetime) -> tuple[str, str, datetime | None]:
    if runner.revoked_at:
        return "revoked", runner.revoked_reason, runner.revoked_at
    if runner.suspended_at:
        return "suspended", runner.suspended_reason, runner.suspended_at
    if runner.set_aside_at:
        return "set aside", runner.set_aside_reason, runner.set_aside_at
    if work is not None:
        return "judging", "", work.claimed_at
    if runner.skew:
        return "refused", runner.skew, None
    if runner.draining_at:
        return "draining", "it claims nothing until it is resumed", runner.draining_at
    if runner.last_seen_at is None:
        return "never seen", "", None
    return ("silent" if runner.last_seen_at < now - SILENT else "idle"), "", runner.last_seen_at
