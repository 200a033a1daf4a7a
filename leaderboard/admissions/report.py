"""Reports of admission tests: stored once. A test whose runner failed or was lost returns to the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import structlog
from django.db import transaction

from leaderboard.admissions.models import DONE, ERROR, FAILED, PASSED, AdmissionTest
from leaderboard.errors import UserError
from leaderboard.judging import leased, suspend
from leaderboard.judging.models import Runner
from leaderboard.judging.storable import check_storable
from runner.wire import Report

MAX_LOSSES: Final = 3
PROBLEM: Final = "problem"  # the runner's reason for failed problem code
OPERATOR_CHARS: Final = 4_000
GIVEN_UP: Final = "No runner could finish this test: {why}. Ask again, or see the runners' page"
SAID_NOTHING: Final = "the runner's report has no result of a test; is it older than the site?"

log = structlog.get_logger(__name__)


@transaction.atomic
def record_test(*, pk: int, runner: Runner, report: Report, now: datetime) -> bool:
    """Store the report of a test; return False if its report is already stored."""
    test = leased.lock(AdmissionTest, pk=pk, runner=runner, token=report.token)
    if test.state == DONE:
        return False
    leased.check_live(test, now=now)
    check_storable(report.to_json() | {"cases": list(report.cases), "flags": list(report.flags)}, "report")
    if report.set_aside:
        suspend.set_aside(runner=runner, reason=report.set_aside, now=now)
    if report.outcome == "infra_error" and report.reason == PROBLEM:
        _finish(test, FAILED, f"The problem's own code failed: {_detail(report)}", now)
    elif report.outcome in ("infra_error", "unmeasurable"):
        give_back(test, why=report.message or report.reason, now=now)
    elif not isinstance(report.admission.get("passed"), bool):
        give_back(test, why=SAID_NOTHING, now=now)
    else:
        test.told = _parsed(report)
        _finish(test, PASSED if report.admission["passed"] else FAILED, report.message, now)
    return True


def expire_leases(*, now: datetime) -> int:
    """Give back every test whose lease has run out; return their number."""
    count = 0
    while _expire_one(now):
        count += 1
    return count


@transaction.atomic
def _expire_one(now: datetime) -> bool:
    test = leased.expired(AdmissionTest, now=now)
    if test is None:
        return False
    give_back(test, why="its runner stopped answering", now=now)
    return True


def give_back(test: AdmissionTest, *, why: str, now: datetime) -> None:
    """Return the test to the queue, or end it without a verdict at the third loss. The caller holds the row."""
    log.warning("admission_test_lost", test=test.pk, runner=test.runner_id, why=why)
    test.losses += 1
    if test.losses >= MAX_LOSSES:
        _finish(test, ERROR, GIVEN_UP.format(why=why), now)
        log.error("admission_test_given_up", test=test.pk, why=why)
        return
    leased.requeue(test)


def _finish(test: AdmissionTest, outcome: str, message: str, now: datetime) -> None:
    test.state, test.outcome, test.message, test.finished_at = DONE, outcome, message, now
    test.save()
    log.info("admission_test_done", test=test.pk, outcome=outcome)


def _detail(report: Report) -> str:
    return str(report.evidence.get("operator", ""))[-OPERATOR_CHARS:] or report.message


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
    cases = told.get("cases")
    return {
        "passed": told["passed"],
        "marks": [str(mark)[:64] for mark in told.get("marks", []) if isinstance(mark, str)][:8],
        "cases": cases if isinstance(cases, int) else 0,
        "margin": margin if isinstance(margin, int | float) else None,
        "lines": [
            {key: str(line.get(key, "")) for key in ("name", "expected", "got", "explained")}
            | {"good": line.get("good"), "figures": line["figures"] if isinstance(line.get("figures"), dict) else {}}
            for line in lines
        ],
    }
