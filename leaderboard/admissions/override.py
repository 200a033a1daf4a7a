"""Override of an admission test: an organiser opens a version in spite of it, with a reason."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.admissions.models import DONE, PASSED, AdmissionTest
from leaderboard.admissions.permissions import check_may_override
from leaderboard.audit.record import record
from leaderboard.errors import UserError


@transaction.atomic
def override(*, test: AdmissionTest, actor: User, reason: str, now: datetime) -> None:
    check_may_override(actor, test)
    check_reason(reason)
    finished = AdmissionTest.objects.filter(pk=test.pk, state=DONE, overridden_at=None).exclude(outcome=PASSED)
    if not finished.update(overridden_by=actor, overridden_at=now, override_reason=reason.strip()):
        raise UserError("test", test.pk, "only a test that failed can be overridden, and once", status=409)
    record(
        act="override_admission_test",
        target=test,
        actor=actor,
        reason=reason.strip(),
        now=now,
        before={"outcome": test.outcome, "open": False},
        after={"outcome": test.outcome, "open": True},
    )
