"""Store a runner's report: the attempt is done and its result is kept, once. A replay changes nothing.

A report counts while its fencing token is the attempt's own and no sweep has declared the attempt lost. A runner that
lost its connection while it finished loses no work; the row lock decides between it and the sweep.
"""

from __future__ import annotations

from datetime import datetime

import structlog
from django.db import transaction

from leaderboard.errors import UserError
from leaderboard.judging import events, lease, remeasure, suspend
from leaderboard.judging.epochs import UNREADABLE, check_epoch, propose_epoch
from leaderboard.judging.models import Attempt, Result, Runner
from leaderboard.judging.states import DONE, check_move
from leaderboard.judging.storable import check_storable
from runner.wire import Report

EVENT_CHARS = 500
TIMED_MODES = ("benchmark", "ranked")

log = structlog.get_logger(__name__)


@transaction.atomic
def record_report(*, runner: Runner, report: Report, now: datetime) -> Result | None:
    """Return the new result, or None if this attempt already has a result."""
    attempt = lease.lock(attempt_id=int(report.attempt_id), runner=runner, token=report.token)
    if Result.objects.filter(attempt=attempt).exists():
        return None
    lease.check_live(attempt, now=now)
    check_report(report, mode=attempt.submission.mode)
    result = _keep(attempt, report, now, epoch=report.epoch or runner.epoch)
    _finish(attempt, report, now)
    Runner.objects.filter(pk=runner.pk).update(epoch=result.epoch)  # the device may have changed since `hello`
    if report.set_aside:
        suspend.set_aside(runner=runner, reason=report.set_aside, now=now)
    if remeasure.is_spoiled(report.outcome, report.reason):
        remeasure.measure_again(attempt=attempt, now=now)
    if report.outcome == "infra_error":
        log.error("attempt_infra_error", attempt=attempt.pk, runner=runner.name, reason=report.reason)
    return result


def check_report(report: Report, *, mode: str) -> None:
    """Check rules outside the wire contract: only a pass of a timed mode has numbers, and the text can be stored."""
    timed = report.outcome == "passed" and mode in TIMED_MODES
    for field in ("score_us", "ratio"):
        value: float | None = getattr(report, field)
        if timed and not value:
            raise UserError(f"report.{field}", value, f"a pass in mode {mode} needs a number above zero")
        if not timed and value is not None:
            raise UserError(f"report.{field}", value, f"{report.outcome} in mode {mode} has no time")
    check_epoch(report.epoch, "report.epoch")
    check_storable(report.to_json() | {"cases": list(report.cases), "flags": list(report.flags)}, "report")


@transaction.atomic
def note_refused(*, attempt_id: int, runner: Runner, token: int, problem: str, now: datetime) -> None:
    """Record a report that broke the contract: the problem for operators, a notice for watchers."""
    attempt = lease.lock(attempt_id=attempt_id, runner=runner, token=token)
    lease.check_live(attempt, now=now)
    log.error("report_refused", attempt=attempt_id, runner=runner.name, problem=problem)
    events.append_progress(attempt, now=now, message="The runner's report could not be read; an operator can see why")


def _keep(attempt: Attempt, report: Report, now: datetime, *, epoch: str) -> Result:
    if not attempt.is_shadow:  # a shadow attempt proposes its epoch when its set is applied
        fingerprint = report.evidence.get("fingerprint")
        fingerprint = fingerprint if isinstance(fingerprint, dict) else {}
        if UNREADABLE not in fingerprint.values():
            propose_epoch(hardware=attempt.hardware, name=epoch, fingerprint=fingerprint, now=now)
    return Result.objects.create(
        attempt=attempt,
        outcome=report.outcome,
        reason=report.reason,
        message=report.message,
        flags=list(report.flags),
        score_us=report.score_us,
        ratio=report.ratio,
        half_width=report.half_width,
        epoch=epoch,
        telemetry=report.telemetry,
        forgeable=report.forgeable,
        report=report.to_json(),
        created_at=now,
    )


def _finish(attempt: Attempt, report: Report, now: datetime) -> None:
    check_move(attempt.state, DONE)
    attempt.state, attempt.outcome, attempt.reason, attempt.finished_at = DONE, report.outcome, report.reason, now
    attempt.save(update_fields=["state", "outcome", "reason", "finished_at"])
    data = {"outcome": report.outcome, "reason": report.reason}
    events.append_state(attempt, now=now, message=report.message[:EVENT_CHARS], data=data)
