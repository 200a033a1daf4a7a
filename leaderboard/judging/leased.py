"""Leased work other than attempts: admission tests and confirmations, under the same rules as attempts.

A conditional claim sets runner, lease and fencing token. A runner's messages count only under that token, and no
renewal passes the hard deadline of a claim. Tokens come from the sequence that attempts use, so no token is given
twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, TypeVar

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Q, QuerySet

from leaderboard import broker
from leaderboard.errors import StaleLease
from leaderboard.judging.lease import Renewal
from leaderboard.judging.models import Runner
from leaderboard.judging.states import RUNNING as JUDGING

QUEUED: Final = "queued"
RUNNING: Final = "running"
DONE: Final = "done"
STATES: Final = (QUEUED, RUNNING, DONE)
HINT: Final = "sweep"
RESTARTED: Final = "its runner was started again without having finished it"


class Leased(models.Model):
    """Table of leased work. `rules` guarantees that running work has a runner, a token, a lease and a hard deadline."""

    hardware = models.CharField(max_length=64)
    state = models.CharField(max_length=16, default=QUEUED)
    runner = models.ForeignKey(Runner, on_delete=models.PROTECT, null=True, related_name="+")
    token = models.BigIntegerField(default=0)  # fencing token of the last claim; 0 before the first
    losses = models.PositiveIntegerField(default=0)  # expired leases, and faults of a host
    lease_expires_at = models.DateTimeField(null=True)
    hard_deadline_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def attempt_id(self) -> str:
        """Name of the work on the wire; no attempt has this name."""
        raise NotImplementedError


def rules(name: str) -> list[models.BaseConstraint]:
    """Return the constraints of a table of leased work; their names begin with `name`."""
    return [
        models.CheckConstraint(condition=Q(state__in=STATES), name=f"{name}_state_is_known"),
        models.CheckConstraint(
            condition=~Q(state=RUNNING)
            | Q(runner__isnull=False, token__gt=0, lease_expires_at__isnull=False, hard_deadline_at__isnull=False),
            name=f"{name}_runs_under_a_lease",
        ),
        models.UniqueConstraint(fields=["runner"], condition=Q(state=RUNNING), name=f"one_running_{name}_a_runner"),
    ]


W = TypeVar("W", bound=Leased)


def claim(queued: QuerySet[W], *, runner: Runner, now: datetime) -> W | None:
    """Claim the first of the queued work for the runner's hardware. The caller sets the hard deadline.

    Work that another claim is taking is skipped. Lock the runner's row before the call (runners.lock_able).
    """
    waiting = queued.filter(state=QUEUED, hardware=runner.hardware)
    work = waiting.select_for_update(skip_locked=True, of=("self",)).first()
    if work is None:
        return None
    work.state, work.runner = RUNNING, runner
    return _under_a_new_token(work, now)


def held_by(kind: type[W], runner: Runner) -> W | None:
    """The work of this kind that the runner holds, locked until the transaction ends."""
    running = _all(kind).select_for_update(of=("self",))
    return running.filter(state=RUNNING, runner=runner).first()


def claim_again(work: W, *, runner: Runner, now: datetime) -> W | None:
    """Repeat a claim whose answer was lost, under a new token; return None if the claiming process is gone."""
    if work.claimed_at is None or runner.has_greeted_since(work.claimed_at):
        return None
    return _under_a_new_token(work, now)


def _under_a_new_token(work: W, now: datetime) -> W:
    work.token, work.claimed_at = next_token(), now
    work.lease_expires_at = work.hard_deadline_at = now + timedelta(seconds=settings.LEASE_S)
    work.save()
    return work


def next_token() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('judging_fencing_token')")
        return int(cursor.fetchone()[0])


def lock(kind: type[W], *, pk: int, runner: Runner, token: int) -> W:
    """Return the work that this runner claimed under this token, locked until the transaction ends."""
    work = _all(kind).select_for_update(of=("self",)).filter(pk=pk, runner=runner, token=token).first()
    if work is None:
        raise StaleLease(f"{kind._meta.verbose_name} {pk} is not this runner's under token {token}")
    return work


def check_live(work: Leased, *, now: datetime) -> datetime:
    """Return the future hard deadline of a live claim; raise StaleLease otherwise.

    Only a sweep ends an expired lease.
    """
    if work.state != RUNNING:
        raise StaleLease(f"{work} runs no more")
    if work.hard_deadline_at is None or work.hard_deadline_at <= now:
        raise StaleLease(f"{work} reached the hard deadline of its claim")
    return work.hard_deadline_at


@transaction.atomic
def check_held(kind: type[Leased], *, pk: int, runner: Runner, token: int, now: datetime) -> None:
    check_live(lock(kind, pk=pk, runner=runner, token=token), now=now)


@transaction.atomic
def renew(kind: type[Leased], *, pk: int, runner: Runner, token: int, now: datetime) -> Renewal:
    """Prolong the lease, never past the hard deadline of the claim."""
    work = lock(kind, pk=pk, runner=runner, token=token)
    deadline = check_live(work, now=now)
    work.lease_expires_at = min(now + timedelta(seconds=settings.LEASE_S), deadline)
    work.save(update_fields=["lease_expires_at"])
    Runner.objects.filter(pk=runner.pk).update(last_seen_at=now)
    return Renewal(expires_in_s=(work.lease_expires_at - now).total_seconds(), cancel=False)


@transaction.atomic
def release(kind: type[Leased], *, pk: int, runner: Runner, token: int, now: datetime) -> None:
    """Queue the work again for a runner that ends before it is done. No loss is counted."""
    work = lock(kind, pk=pk, runner=runner, token=token)
    check_live(work, now=now)
    hand_back(work)


def hand_back(work: Leased) -> None:
    """Queue the work as if it had never been claimed. The caller holds the row."""
    work.claimed_at = None
    requeue(work)


def requeue(work: Leased) -> None:
    """Queue the work again, without a runner. The caller holds the row and has counted any loss."""
    work.state, work.runner, work.lease_expires_at, work.hard_deadline_at = QUEUED, None, None, None
    work.save()
    transaction.on_commit(lambda: broker.ring(hardware=work.hardware, hint=HINT))


def expired(kind: type[W], *, now: datetime) -> W | None:
    """Return a work item with an expired lease, locked; None if no item is left that another sweeper does not hold."""
    running = _all(kind).select_for_update(skip_locked=True, of=("self",)).filter(state=RUNNING)
    return running.filter(lease_expires_at__lte=now).order_by("lease_expires_at").first()


def ring_idle(kind: type[Leased]) -> int:
    """Ring once per hardware with queued work, an idle runner and no waiting ring; return the number of rings."""
    waiting = _all(kind).filter(state=QUEUED).order_by("hardware").values_list("hardware", flat=True)
    return sum(_ring(hardware) for hardware in list(waiting.distinct()))


def _ring(hardware: str) -> bool:
    able = Runner.objects.able().filter(hardware=hardware)
    idle = able.exclude(attempts__state__in=JUDGING).exists()
    return idle and broker.rings_waiting(hardware) == 0 and broker.ring(hardware=hardware, hint=HINT)


def kinds() -> list[type[Leased]]:
    """Return all tables of leased work; apps above this one define them."""
    return list(Leased.__subclasses__())


def _all(kind: type[W]) -> QuerySet[W]:
    found: QuerySet[W] = kind._default_manager.all()
    return found
