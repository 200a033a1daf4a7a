"""A runner takes the next admission test: one conditional UPDATE that sets runner, lease and fencing token."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction

from leaderboard.admissions.models import QUEUED, RUNNING, AdmissionTest
from leaderboard.judging.models import Runner
from runner.wire import ADMISSION, Job

VARIANTS: Final = 8  # at most, on every case: so many times a problem's own limit for a check

_CLAIM: Final = """
UPDATE admissions_admissiontest AS taken
   SET state = %(running)s, runner_id = %(runner)s, token = nextval('judging_fencing_token'), claimed_at = %(now)s,
       lease_expires_at = %(lease)s, hard_deadline_at = %(lease)s
 WHERE taken.id = (
    SELECT id
      FROM admissions_admissiontest
     WHERE state = %(queued)s AND hardware = %(hardware)s AND created_at <= %(before)s
     ORDER BY losses, id
     LIMIT 1
       FOR UPDATE SKIP LOCKED)
   AND taken.state = %(queued)s
RETURNING taken.id
"""


@transaction.atomic
def claim_test(*, runner: Runner, now: datetime, asked_before: datetime | None = None) -> Job | None:
    """The next test of this runner's hardware, or None. `asked_before`: only one that waits since then."""
    if not Runner.objects.filter(pk=runner.pk, suspended_at=None, set_aside_at=None).update(last_seen_at=now):
        return None
    figures: dict[str, Any] = {
        "running": RUNNING,
        "queued": QUEUED,
        "runner": runner.pk,
        "hardware": runner.hardware,
        "now": now,
        "before": asked_before or now,
        "lease": now + timedelta(seconds=settings.LEASE_S),
    }
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, figures)
        row = cursor.fetchone()
    if row is None:
        return None
    test = AdmissionTest.objects.select_related("version").get(pk=row[0])
    test.hard_deadline_at = now + longest(test)
    test.save(update_fields=["hard_deadline_at"])
    return _job(test)


def longest(test: AdmissionTest) -> timedelta:
    """How long it may be held in all."""
    check_s = float(test.version.part("test_timeout_s", 0))
    return timedelta(seconds=VARIANTS * check_s + settings.ATTEMPT_OVERHEAD_S)


def _job(test: AdmissionTest) -> Job:
    return Job(
        attempt_id=test.attempt_id,
        token=test.token,
        lease_s=settings.LEASE_S,
        hardware=test.hardware,
        mode="test",
        submission_id="",
        filename="",
        source="",
        problem=test.version.bundle,
        problem_digest=test.version.digest,
        task=ADMISSION,
    )
