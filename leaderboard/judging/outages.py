"""Outages of the site or its sweeper, so that runners do not pay for them.

An expired lease means a dead runner only if the runner could have renewed it. Therefore every web process sends a
heartbeat (leaderboard/web/heartbeat.py), every sweep records its time, and a sweep asks this module before any expiry:

- While no web process sends a heartbeat, nothing expires: no runner can renew a lease or take freed work.
- After a pause of the site or of all sweepers, each running lease holds for LEASE_S from now, and each hard deadline
  moves by as much of the pause as its claim lived through.

An outage between the web processes and the runners (a proxy, a network) is not noticed: there leases run out.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, Value
from django.db.models.functions import Greatest, Least

from leaderboard.judging.lease import kinds, running
from leaderboard.judging.models import Watch

BEAT_S: Final = 5.0  # between two heartbeats of a web process
SILENT: Final = timedelta(seconds=4 * BEAT_S)  # the site counts as away after this time without a heartbeat

log = structlog.get_logger(__name__)


def beat(*, now: datetime) -> None:
    """Record the heartbeat of a web process."""
    if not Watch.objects.filter(pk=1).update(site_at=now):
        Watch.objects.get_or_create(pk=1, defaults={"site_at": now})


@transaction.atomic
def may_expire(*, now: datetime) -> bool:
    """Return whether an expired lease now means a dead runner. Prolong the leases first if a pause has just ended."""
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
        prolonged = sum(running(kind).update(hard_deadline_at=deadline, lease_expires_at=until) for kind in kinds())
        log.warning("leases_prolonged", pause_s=round(pause.total_seconds(), 1), leases=prolonged)
        watch.back_at = now
    watch.swept_at = now
    watch.save()
    return True


def note_swept(*, now: datetime) -> None:
    """Record the end of a sweep, so that a long sweep is not a pause."""
    Watch.objects.filter(pk=1).update(swept_at=now)


def note_backup(*, now: datetime) -> None:
    """Record a complete backup of the database; /metrics gives its age."""
    Watch.objects.update_or_create(pk=1, defaults={"backed_up_at": now})


def forgiven_until() -> datetime | None:
    """Return the end of forgiveness: two leases after the last pause.

    Until then a lost lease does not count against a host.
    """
    back_at = Watch.objects.filter(pk=1).values_list("back_at", flat=True).first()
    return None if back_at is None else back_at + timedelta(seconds=2 * settings.LEASE_S)
