"""Leases of all work: lock the work of a runner, hand it out, renew its lease, queue it again, finish it.

A runner's messages count only while its fencing token is the work's and the work runs before its hard deadline. An
expired lease has no effect until a sweep; until then the runner may renew it. So an outage of the site costs no work
unless a sweep expired the lease.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet

from leaderboard import broker
from leaderboard.errors import StaleLease
from leaderboard.judging.attempts import append_states, call_off
from leaderboard.judging.models import AT_WORK, CANCELLED, DONE, QUEUED, Attempt, Leased, Requested, Runner, check_move
from runner.wire import Job

RELEASED: Final = "The machine that judged this is being restarted; it is queued again, in its old place"

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Renewal:
    expires_in_s: float
    cancel: bool


def clock() -> datetime:
    """Return the database's time: it is the same for all hosts, so a host with a wrong clock grants no wrong lease
    and dates no submission wrongly."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def kinds() -> list[type[Leased]]:
    """Return all tables of leased work. Apps above this app define the tables of requested work."""
    return [Attempt, *Requested.__subclasses__()]


def lock(*, attempt_id: str, runner: Runner, token: int) -> Leased:
    """Return the work that this runner claimed under this token, locked until the transaction ends."""
    if (work := find(attempt_id=attempt_id, runner=runner, token=token, locked=True)) is not None:
        return work
    raise StaleLease(f"attempt {attempt_id} is not this runner's under token {token}")


def find(*, attempt_id: str, runner: Runner, token: int, locked: bool = False) -> Leased | None:
    """Return the work that this runner claimed under this token."""
    prefix, dash, key = attempt_id.rpartition("-")
    for kind in kinds():
        if prefix + dash == kind.WIRE_PREFIX:
            rows = kind._default_manager.all()
            rows = rows.select_for_update(of=("self",)) if locked else rows
            return rows.filter(pk=int(key), runner=runner, token=token).first()
    return None


def lock_held(runner: Runner) -> list[Leased]:
    """Return the work that a runner holds, locked. Lock its own row later: reports and sweeps lock in this order."""
    return [work for kind in kinds() for work in kind.running().select_for_update(of=("self",)).filter(runner=runner)]


def check_live(work: Leased, *, now: datetime) -> datetime:
    """Return the future hard deadline of the claim. Raise StaleLease if the claim has ended."""
    if not work.is_running:
        raise StaleLease(f"attempt {work.attempt_id} is {work.state}")
    if work.hard_deadline_at is None or work.hard_deadline_at <= now:
        raise StaleLease(f"attempt {work.attempt_id} reached the hard deadline of its claim")
    return work.hard_deadline_at


def take_first(waiting: QuerySet[Requested], *, runner: Runner, now: datetime) -> Job | None:
    """Claim the first of this requested work for the runner's hardware.

    Work that another claim is taking is skipped. Lock the runner's row before the call (runners.lock_able).
    """
    queued = waiting.filter(state=QUEUED, hardware=runner.hardware)
    work = queued.select_for_update(skip_locked=True, of=("self",)).first()
    if work is None:
        return None
    work.state, work.runner = AT_WORK, runner
    return hand_out(work, runner=runner, now=now)


def hand_out(work: Leased, *, runner: Runner, now: datetime) -> Job:
    """Start a claim of locked work under a new token, and return its job."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('judging_fencing_token')")
        work.token, work.claimed_at = int(cursor.fetchone()[0]), now
    return start_lease(work, runner=runner, now=now)


def start_lease(work: Leased, *, runner: Runner, now: datetime) -> Job:
    """Set lease and hard deadline of a new claim, and return its job."""
    job = work.job()
    work.hard_deadline_at = now + timedelta(seconds=job.deadline_s)
    work.lease_expires_at = min(work.hard_deadline_at, now + timedelta(seconds=settings.LEASE_S))
    work.save(update_fields=["state", "runner", "token", "claimed_at", "hard_deadline_at", "lease_expires_at"])
    if isinstance(work, Attempt):
        append_states([work], now=now, message=f"Taken by runner {runner.name}")
    return job


@transaction.atomic
def renew(*, attempt_id: str, runner: Runner, token: int, now: datetime) -> Renewal:
    """Prolong the lease, never past the hard deadline of the claim. The renewal of a cancelled attempt reports that."""
    work = lock(attempt_id=attempt_id, runner=runner, token=token)
    if work.state == CANCELLED:
        return Renewal(expires_in_s=0.0, cancel=True)
    deadline = check_live(work, now=now)
    work.lease_expires_at = min(now + timedelta(seconds=settings.LEASE_S), deadline)
    work.save(update_fields=["lease_expires_at"])
    Runner.objects.filter(pk=runner.pk).update(last_seen_at=now)
    return Renewal(expires_in_s=(work.lease_expires_at - now).total_seconds(), cancel=False)


@transaction.atomic
def release(*, attempt_id: str, runner: Runner, token: int, now: datetime) -> None:
    """Queue the work again for a runner that ends before it is done. No loss is counted."""
    work = lock(attempt_id=attempt_id, runner=runner, token=token)
    check_live(work, now=now)
    hand_back(work, now=now, message=RELEASED)


def hand_back(work: Leased, *, now: datetime, message: str) -> None:
    """Queue locked work as if it had never been claimed. An attempt keeps its place, which its submission gives it."""
    log.info("attempt_handed_back", attempt=work.attempt_id, runner=str(work.runner))
    work.claimed_at = None
    if not isinstance(work, Attempt):
        requeue(work)
    elif work.is_shadow and work.rejudge_set is not None and work.rejudge_set.stopped_at is not None:
        call_off([work], now=now, message="Called off with its re-judging set")
    else:
        check_move(work.state, QUEUED)
        requeue(work)
        append_states([work], now=now, message=message)


def requeue(work: Leased) -> None:
    """Queue locked work again, without a runner."""
    work.state, work.runner, work.token, work.lease_expires_at, work.hard_deadline_at = QUEUED, None, 0, None, None
    work.save()
    transaction.on_commit(lambda: broker.ring(hardware=work.hardware, hint=work.attempt_id))


def finish(work: Requested, outcome: str, message: str, now: datetime) -> None:
    work.state, work.outcome, work.message, work.finished_at = DONE, outcome, message, now
    work.save()
    log.info("requested_work_done", work=work.attempt_id, outcome=outcome)
