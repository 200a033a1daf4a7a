"""Requests for admission tests: a runner of that hardware does the test, since the site runs no problem code."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from leaderboard import broker
from leaderboard.accounts.models import User
from leaderboard.admissions.models import DONE, AdmissionTest
from leaderboard.admissions.permissions import check_may_ask
from leaderboard.audit.record import record
from leaderboard.competitions.models import ProblemVersion
from leaderboard.errors import UserError


def ask_test(
    *, version: ProblemVersion, hardware: str, actor: User | None, now: datetime, gate: bool = False
) -> AdmissionTest:
    """Return a new test, or the unfinished test. `actor` None: the operator, from the command line.

    `gate` is for new imports: the version takes no submissions on this hardware before a test has passed.
    """
    if actor is not None:
        check_may_ask(actor, version=version, hardware=hardware)
    unsupported = str(version.part("unsupported", ""))
    if unsupported:
        raise UserError("problem", str(version.problem), f"cannot be judged here: {unsupported}", status=409)
    try:
        return _ask(version, hardware, actor, gate, now)
    except IntegrityError:  # another process was faster
        return _waiting(version, hardware).get()


@transaction.atomic
def _ask(version: ProblemVersion, hardware: str, actor: User | None, gate: bool, now: datetime) -> AdmissionTest:
    waiting = _waiting(version, hardware).first()
    if waiting is not None:
        return waiting
    test = AdmissionTest.objects.create(version=version, hardware=hardware, gate=gate, asked_by=actor, created_at=now)
    told = {"version": version.digest, "hardware": hardware, "gate": gate}
    record(act="ask_admission_test", target=test, actor=actor, reason="", now=now, after=told)
    transaction.on_commit(lambda: broker.ring(hardware=hardware, hint=test.attempt_id))
    return test


def _waiting(version: ProblemVersion, hardware: str) -> QuerySet[AdmissionTest]:
    return AdmissionTest.objects.filter(version=version, hardware=hardware).exclude(state=DONE)
