"""Repair after failures: expired leases, outages and unheard doorbells. Any number of sweepers may run at once.

A lost attempt is replaced. The third loss in a row ends the submission as our failure. The second loss ends it, too, if
it took a different runner down. A runner that lost two different submissions is suspended. Requested work is queued
again; its third loss ends it without a decision.

Runners do not pay for an outage of the site or its sweeper: `may_expire` knows both by the heartbeats of the web
processes (leaderboard/web/service.py) and the times of the sweeps. An outage between the web processes and the runners
(a proxy, a network) is not noticed: there leases run out.
"""

from collections import Counter
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Count, DurationField, ExpressionWrapper, F, Q, Value
from django.db.models.functions import Greatest, Least, Now

from leaderboard import broker
from leaderboard.audit.record import record
from leaderboard.judging.attempts import end, follow
from leaderboard.judging.lease import finish, kinds, requeue
from leaderboard.judging.models import ERROR, QUEUED, REPLACEMENT, Attempt, Leased, Requested, Runner, Watch
from leaderboard.judging.runners import suspend_if_losing
from leaderboard.judging.verdicts import give_back_if_ours
from leaderboard.operations.notices import tell_operators

MAX_LOSSES: Final = 3  # in a row
HINT: Final = "sweep"
GIVEN_UP: Final = (
    "Runners were lost while they judged this. That is our failure and does not count; an organiser was told. "
    "You may submit again"
)
UNFINISHABLE: Final = "No runner could finish this {noun}: {why}. Ask again, or see the runners' page"
BEAT_S: Final = 5.0  # between two heartbeats of a web process
SILENT: Final = timedelta(seconds=4 * BEAT_S)  # the site counts as away after this time without a heartbeat

log = structlog.get_logger(__name__)


def beat(*, now: datetime) -> None:
    """Record the heartbeat of a web process."""
    if not Watch.objects.filter(pk=1).update(site_at=now):
        Watch.objects.get_or_create(pk=1, defaults={"site_at": now})


@transaction.atomic
def may_expire(*, now: datetime) -> bool:
    """Return whether an expired lease now means a dead runner: a runner that could have renewed it.

    While no web process sends a heartbeat, nothing expires. After a pause of the site or of all sweepers, each running
    lease holds for LEASE_S from now, and each hard deadline moves by as much of the pause as its claim lived through.
    """
    watch, _ = Watch.objects.select_for_update().get_or_create(pk=1)
    if watch.site_at is not None and now - watch.site_at > SILENT:
        log.warning("site_is_away", since=watch.site_at.isoformat())
        return False
    pause = timedelta(0) if watch.swept_at is None else now - watch.swept_at
    # A runner that renews in time keeps its lease through half of the longest harmless pause.
    if pause > timedelta(seconds=max(2 * settings.SWEEP_EVERY_S, settings.LEASE_S / 2)):
        lease = now + timedelta(seconds=settings.LEASE_S)
        held_for = ExpressionWrapper(Value(now) - F("claimed_at"), output_field=DurationField())
        deadline = F("hard_deadline_at") + Least(Value(pause, output_field=DurationField()), held_for)
        until = Least(Greatest(F("lease_expires_at"), Value(lease)), deadline)
        prolonged = sum(kind.running().update(hard_deadline_at=deadline, lease_expires_at=until) for kind in kinds())
        log.warning("leases_prolonged", pause_s=round(pause.total_seconds(), 1), leases=prolonged)
        watch.back_at = now
    watch.swept_at = now
    watch.save()
    return True


def expire_leases(*, now: datetime) -> int:
    """Declare all work with an expired lease lost. Return its number. Work for which that fails holds up no other."""
    count = 0
    for kind in kinds():
        expired = kind.running().filter(lease_expires_at__lte=now).order_by("lease_expires_at")
        for key in list(expired.values_list("pk", flat=True)):
            try:
                count += _expire(kind, key, now)
            except Exception as error:  # any: an operator hears of it, and the next sweep tries again
                name = kind.__name__.lower()
                text = f"The lease of {name} {key} has expired, but the loss could not be recorded: {error!r}."
                tell_operators("lease_not_expired", text, subject=name, now=now, exc_info=True)
    return count


def has_expired(*, now: datetime) -> bool:
    """Return whether work with an expired lease is left: its loss could not be recorded."""
    return any(kind.running().filter(lease_expires_at__lte=now).exists() for kind in kinds())


@transaction.atomic
def _expire(kind: type[Leased], key: int, now: datetime) -> bool:
    running = kind.running().select_for_update(skip_locked=True, of=("self",))
    work = running.filter(pk=key, lease_expires_at__lte=now).first()
    if work is not None:
        lose(work, now=now, why="its runner stopped answering")
    return work is not None


def ring_idle() -> int:
    """Ring for queued work, once per idle runner that could take it and has no ring waiting."""
    waiting: Counter[str] = Counter()
    for kind in kinds():
        queued = kind._default_manager.filter(state=QUEUED)
        if kind is Attempt:
            queued = queued.filter(Q(not_before=None) | Q(not_before__lte=Now()))
        waiting.update(dict(queued.values_list("hardware").annotate(Count("pk"))))
    rung = 0
    for hardware, number in sorted(waiting.items()):
        able = Runner.objects.able().filter(hardware=hardware)
        idle = able.exclude(attempts__state__in=Attempt.HELD_STATES).count()
        if not idle:
            continue
        broker.wake(hardware)  # rings of runners without a broker stay unheard
        unheard = broker.rings_waiting(hardware)
        if unheard is None:
            continue
        for _ in range(min(idle, number) - unheard):
            rung += broker.ring(hardware=hardware, hint=HINT)
    return rung


def lose(work: Leased, *, now: datetime, why: str) -> None:
    """Handle the loss of the process that held this work. The caller has locked the work."""
    if isinstance(work, Requested):
        return give_back(work, why=why, now=now)
    assert isinstance(work, Attempt)
    log.warning("attempt_lost", attempt=work.pk, runner=str(work.runner), losses=work.losses + 1)
    tries = Attempt.objects.of_line(work).filter(number__gte=work.number - work.losses)
    runners = tries.order_by().values("runner").distinct().count()
    if work.losses + 1 >= MAX_LOSSES:
        _give_up(work, now, reason="runner_lost", why=f"lost {MAX_LOSSES} runners in a row")
    elif runners > 1:
        _give_up(work, now, reason="set_aside", why=f"took down {runners} different runners")
    else:
        end(work, message="The runner stopped answering; another try follows", now=now)
        follow(work, now=now, cause=REPLACEMENT, losses=work.losses + 1, message="Queued again, in its old place")
    if work.runner is not None:
        suspend_if_losing(runner=work.runner, now=now)
    give_back_if_ours(work, now=now)  # locks the account, after the runner like a report


def give_back(work: Requested, *, why: str, now: datetime) -> None:
    """Queue requested work again after a loss, or end it without a decision. The caller holds the row."""
    log.warning("requested_work_lost", work=work.attempt_id, runner=work.runner_id, why=why)
    work.losses += 1
    if work.losses >= MAX_LOSSES:
        finish(work, ERROR, UNFINISHABLE.format(noun=work.NOUN, why=why.rstrip(".")), now)
        tell_operators("requested_work_given_up", work.message, subject=work.attempt_id, now=now)
    else:
        requeue(work)


def _give_up(attempt: Attempt, now: datetime, *, reason: str, why: str) -> None:
    """End the submission as our failure, never as "wrong"."""
    end(attempt, message=GIVEN_UP, now=now, outcome="infra_error", reason=reason)
    after = {"outcome": "infra_error", "submission": attempt.submission_id}
    why_given_up = f"{why}, the last was {attempt.runner}"
    record(act="give_up_attempt", target=attempt, actor=None, reason=why_given_up, now=now, after=after)
    text = f"Submission {attempt.submission_id} {why_given_up}."
    tell_operators("attempt_given_up", text, subject=f"attempt {attempt.pk}", now=now)
