"""Claims and reports of admission tests. A test whose runner failed or was lost returns to the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from leaderboard.admissions.models import FAILED, PASSED, AdmissionTest
from leaderboard.errors import UserError
from leaderboard.judging.lease import finish, take_first
from leaderboard.judging.models import Runner
from leaderboard.judging.sweep import give_back
from runner.wire import Job, Report

PROBLEM: Final = "problem"  # the runner's reason for failed problem code
OPERATOR_CHARS: Final = 4_000
SAID_NOTHING: Final = "the runner's report has no result of a test; is it older than the site?"


def claim_test(*, runner: Runner, now: datetime, asked_before: datetime | None = None) -> Job | None:
    """Claim the next test of this runner's hardware; return None if there is none.

    `asked_before` limits the choice to tests that have waited since then.
    """
    waiting = AdmissionTest.objects.filter(created_at__lte=asked_before or now).order_by("losses", "id")
    return take_first(waiting, runner=runner, now=now)


def record_test(test: AdmissionTest, *, report: Report, now: datetime) -> None:
    """Store the report of a test that the caller has received and locked."""
    if report.outcome == "infra_error" and report.reason == PROBLEM:
        detail = str(report.evidence.get("operator", ""))[-OPERATOR_CHARS:] or report.message
        finish(test, FAILED, f"The problem's own code failed: {detail}", now)
    elif report.outcome in ("infra_error", "unmeasurable"):
        give_back(test, why=report.message or report.reason, now=now)
    elif not isinstance(report.admission.get("passed"), bool):
        give_back(test, why=SAID_NOTHING, now=now)
    else:
        test.told = _parsed(report)
        finish(test, PASSED if report.admission["passed"] else FAILED, report.message, now)


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
