"""Requests for admission tests, and overrides of their verdict.

A runner of the hardware does the test, since the site runs no problem code. Tests are asked for by people, for new
imports and added boards before they take submissions, and for boards never tested.
"""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from leaderboard import broker
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.admissions.models import PASSED, AdmissionTest
from leaderboard.admissions.permissions import check_may_ask, check_may_override
from leaderboard.audit.record import record
from leaderboard.competitions.models import Board, BoardQuerySet, ProblemVersion
from leaderboard.errors import UserError
from leaderboard.judging.work import DONE


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


def ask_for_imported(*, actor: User | None, now: datetime, gate: bool = True) -> int:
    """Ask for tests of the boards that this import (at the moment `now`) made or updated; return their number."""
    fresh = _never_tested().filter(Q(created_at=now) | Q(version__created_at=now))
    return _ask_each(fresh, actor=actor, now=now, gate=gate)


def ask_for_added(*, board: Board, actor: User, now: datetime) -> bool:
    """Ask for a test of an added board if its version had none; return whether it did.

    The test is a gate unless another board uses the same version on this hardware.
    """
    if board.version.part("unsupported", "") or not _never_tested().filter(pk=board.pk).exists():
        return False
    others = Board.objects.filter(version=board.version, hardware=board.hardware).exclude(pk=board.pk)
    ask_test(version=board.version, hardware=board.hardware, actor=actor, now=now, gate=not others.exists())
    return True


def ask_for_untested(*, actor: User | None, now: datetime) -> int:
    """Ask for a test of every board whose version was never tested on its hardware; they stay open unless they fail."""
    return _ask_each(_never_tested(), actor=actor, now=now, gate=False)


def _never_tested() -> BoardQuerySet:
    tests = AdmissionTest.objects.filter(version=OuterRef("version"), hardware=OuterRef("hardware"))
    return Board.objects.with_parts().filter(~Exists(tests))


def _ask_each(boards: BoardQuerySet, *, actor: User | None, now: datetime, gate: bool) -> int:
    supported = [board for board in boards if not board.version.part("unsupported", "")]
    for board in supported:
        ask_test(version=board.version, hardware=board.hardware, actor=actor, now=now, gate=gate)
    return len(supported)


@transaction.atomic
def override(*, test: AdmissionTest, actor: User, reason: str, now: datetime) -> None:
    """Open a version in spite of a failed test, for an organiser with a reason."""
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
