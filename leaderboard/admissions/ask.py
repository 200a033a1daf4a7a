"""Requests for admission tests, their claims and reports, and overrides of their verdict.

A runner of the hardware does the test, since the site runs no problem code. Tests are asked for by people, for new
imports and added boards before they take submissions, and for boards never tested. A test whose runner failed or was
lost returns to the queue.
"""

from datetime import datetime
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q

from leaderboard import broker
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.admissions.models import FAILED, PASSED, PROBLEM_FAILED, AdmissionTest
from leaderboard.admissions.permissions import check_may_ask, check_may_override
from leaderboard.audit.record import record
from leaderboard.competitions.models import Board, BoardQuerySet, ProblemVersion
from leaderboard.errors import UserError
from leaderboard.judging.lease import finish, take_first
from leaderboard.judging.models import DONE, Requested, Runner
from leaderboard.judging.sweep import MAX_LOSSES, give_back
from runner.wire import OUT_OF_TIME, PROBLEM, Job, Report

OPERATOR_CHARS: Final = 4_000
TOO_SLOW: Final = "It took longer than the problem's timeouts allow; choose smaller sizes or fewer cases, or raise them"
SAID_NOTHING: Final = "the runner's report has no result of a test; is it older than the site?"


def ask_test(
    *, version: ProblemVersion, hardware: str, actor: User | None, now: datetime, gate: bool = False
) -> AdmissionTest:
    """Return a new test, or the unfinished test, for which `actor` then waits. None: the operator, by command.

    `gate` is for new imports: the version takes no submissions on this hardware before a test has passed.
    """
    if actor is not None:
        check_may_ask(actor, version=version, hardware=hardware)
    check_supported(version)
    waiting = AdmissionTest.objects.filter(version=version, hardware=hardware).exclude(state=DONE)
    try:
        with transaction.atomic():
            test = waiting.first()
            if test is None:
                test = AdmissionTest.objects.create(
                    version=version, hardware=hardware, gate=gate, asked_by=actor, created_at=now
                )
            elif actor is not None and test.asked_by_id is None:
                test.asked_by = actor
                test.save(update_fields=["asked_by"])
            else:
                return test
            told = {"version": version.digest, "hardware": hardware, "gate": test.gate}
            record(act="ask_admission_test", target=test, actor=actor, now=now, after=told)
            transaction.on_commit(lambda: broker.ring(hardware=hardware, hint=test.attempt_id))
    except IntegrityError:  # another process was faster
        return waiting.get()
    return test


def check_supported(version: ProblemVersion) -> None:
    """Raise UserError if the problem is marked as unsupported: no runner judges it."""
    if unsupported := str(version.part("unsupported", "")):
        raise UserError("problem", str(version.problem), f"cannot be judged here: {unsupported}", status=409)


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
    locked = AdmissionTest.objects.select_for_update()
    if not locked.get(pk=test.pk).may_be_overridden:
        text = "only the newest finished test of a version and hardware can be overridden, once, and unless it passed"
        raise UserError("test", test.pk, text, status=409)
    locked.filter(pk=test.pk).update(overridden_by=actor, overridden_at=now, override_reason=reason.strip())
    act, before, after = "override_admission_test", {"outcome": test.outcome, "open": False}, {"open": True}
    record(act, test, actor=actor, reason=reason.strip(), now=now, before=before, after=before | after)


def claim_test(
    *, runner: Runner, now: datetime, asked_before: datetime | None = None, unasked_before: datetime | None = None
) -> Job | None:
    """Claim the next test of this runner's hardware, first of boards that are closed until it; None if there is none.

    Only tests that have waited since `asked_before`; since `unasked_before` those that nobody awaits, because the
    operator asked for them and their boards are open meanwhile.
    """
    is_awaited = Q(gate=True) | Q(asked_by__isnull=False)
    is_due = is_awaited & Q(created_at__lte=asked_before or now) | Q(created_at__lte=unasked_before or now)
    return take_first(AdmissionTest.objects.filter(is_due).order_by("losses", "-gate", "id"), runner=runner, now=now)


def record_test(test: AdmissionTest, *, report: Report, now: datetime) -> None:
    """Store the report of a test that the caller has received and locked."""
    if fault := fault_of_problem(test, report):
        finish(test, FAILED, fault, now)
    elif report.outcome in ("infra_error", "unmeasurable"):
        give_back(test, why=report.message or report.reason, now=now)
    elif not isinstance(report.admission.get("passed"), bool):
        give_back(test, why=SAID_NOTHING, now=now)
    else:
        test.told = _parsed(report)
        finish(test, PASSED if report.admission["passed"] else FAILED, report.message, now)


def fault_of_problem(work: Requested, report: Report) -> str:
    """Return why requested work fails by the problem itself, for its organisers; "" if it does not.

    A machine that hangs ends a job as a slow problem does: only the last try out of time is a verdict.
    """
    if report.outcome == "infra_error" and report.reason == PROBLEM:
        return PROBLEM_FAILED + (str(report.evidence.get("operator", ""))[-OPERATOR_CHARS:] or report.message)
    is_slow = report.outcome == "infra_error" and report.reason == OUT_OF_TIME
    return TOO_SLOW if is_slow and work.losses + 1 >= MAX_LOSSES else ""


def _parsed(report: Report) -> dict[str, object]:
    """Return the fields that pages read, each checked: a runner is trusted with results, not with a page's shape."""
    told = report.admission
    lines = told.get("lines")
    if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines) or len(lines) > 32:
        raise UserError("report.admission.lines", None, "expected a list of at most 32 objects")
    good = (True, False, None)
    if not all(line.get("good") in good for line in lines):
        raise UserError("report.admission.lines.good", None, "expected true, false or null")
    margin = told.get("margin")
    cases, marks = told.get("cases"), told.get("marks")
    return {
        "passed": told["passed"],
        "marks": [mark[:64] for mark in marks if isinstance(mark, str)][:8] if isinstance(marks, list) else [],
        "cases": cases if isinstance(cases, int) else 0,
        "margin": margin if isinstance(margin, int | float) else None,
        "lines": [
            {key: str(line.get(key, "")) for key in ("name", "expected", "got", "explained")}
            | {"good": line.get("good"), "figures": line["figures"] if isinstance(line.get("figures"), dict) else {}}
            for line in lines
        ],
    }
