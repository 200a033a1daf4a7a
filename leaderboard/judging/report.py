"""Messages of a runner about its work: progress events, and the report, which is kept once.

A message counts while its fencing token is that of the claim and no sweep has declared the work lost. A runner that
lost its connection while it finished loses no work; the row lock decides between it and the sweep.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from leaderboard.errors import IllegalMove, UserError
from leaderboard.judging import archive, lease
from leaderboard.judging.attempts import append_events, end, event_of
from leaderboard.judging.epochs import UNREADABLE, check_epoch, propose_epoch
from leaderboard.judging.models import Attempt, AttemptEvent, Leased, Result, Runner, check_move
from leaderboard.judging.runners import check_storable, set_aside
from leaderboard.judging.verdicts import is_spoiled, measure_again
from leaderboard.operations.notices import tell_operators
from leaderboard.submissions.models import Submission
from runner.evidence.feedback import stage_of
from runner.wire import TIMED_MODES, Event, Report

MAX_EVENTS: Final = 10_000  # per claim
EVENT_CHARS: Final = 500
NOTICE_CHARS: Final = 2_000
UNREADABLE_REPORT: Final = "The runner's report could not be read; an operator can see why"
KEPT: Final = ("outcome", "reason", "message", "score_us", "ratio", "half_width", "telemetry", "forgeable")


@transaction.atomic
def announce(*, attempt_id: str, runner: Runner, token: int, announced: Sequence[Event], now: datetime) -> int:
    """Append the new events and return their number; an event with a known `seq` is dropped.

    Events of requested work are dropped as well, because it has no live page. An error shows a runner that it no longer
    holds the lease.
    """
    attempt = lease.lock(attempt_id=attempt_id, runner=runner, token=token)
    lease.check_live(attempt, now=now)
    if not isinstance(attempt, Attempt):
        return 0
    numbers = [event.seq for event in announced]
    same_claim = AttemptEvent.every.since(attempt.created_at).filter(attempt=attempt, token=token)
    known = set(same_claim.filter(seq__in=numbers).values_list("seq", flat=True))
    fresh = {event.seq: event for event in announced if event.seq not in known}
    began, rows = attempt.state, []
    for seq, event in sorted(fresh.items()):
        if seq > MAX_EVENTS:
            raise UserError("events.seq", seq, f"an attempt has at most {MAX_EVENTS} events")
        if event.kind == "state":
            try:
                check_move(attempt.state, event.state)
            except IllegalMove as error:
                raise UserError("events.state", event.state, str(error)) from None
            attempt.state = event.state
        told = {"seq": seq, "kind": event.kind, "message": event.message, "data": event.data}
        rows.append(event_of(attempt, now=now, token=token, **told))
    if attempt.state != began:
        attempt.save(update_fields=["state"])
    append_events(rows)
    return len(rows)


def keep_content(*, runner: Runner, report: Report) -> archive.Content | None:
    """Check a report on work that its runner holds, and write it into the store. None: nothing was written.

    It runs before the transaction of the report, which must not wait for the store. Raises UserError and StoreAway.
    """
    work = lease.find(attempt_id=report.attempt_id, runner=runner, token=report.token)
    if work is None or not work.is_running:
        return None
    check_epoch(report.epoch, "report.epoch")
    told = report.to_json()
    check_storable(told | {"cases": list(report.cases), "flags": list(report.flags)}, "report")
    return archive.keep(told) if work.keeps_report else None


def receive(*, runner: Runner, report: Report, now: datetime) -> Leased | None:
    """Return the reported work, locked, after the checks that hold for every kind; None if its report is kept already.

    A report may also set its runner aside.
    """
    work = lease.lock(attempt_id=report.attempt_id, runner=runner, token=report.token)
    if work.is_reported:
        return None
    lease.check_live(work, now=now)
    if report.set_aside:
        set_aside(runner=runner, reason=report.set_aside, now=now)
    return work


def record_result(
    attempt: Attempt, *, runner: Runner, report: Report, now: datetime, content: archive.Content | None = None
) -> Result:
    """End the attempt with the report that `receive` accepted, and return its result. `content`: in the store."""
    # Read once, with the rows that the consequences of the report need.
    parts = Submission.objects.select_related("board__competition", "board__problem", "owner")
    attempt.submission = parts.get(pk=attempt.submission_id)
    check_numbers(report, mode=attempt.submission.mode)
    epoch, fingerprint = report.epoch or runner.epoch, report.evidence.get("fingerprint")
    fingerprint = fingerprint if isinstance(fingerprint, dict) else {}
    if not attempt.is_shadow and UNREADABLE not in fingerprint.values():
        # A shadow attempt proposes its epoch when its set is applied.
        propose_epoch(hardware=attempt.hardware, name=epoch, fingerprint=fingerprint, now=now)
    kept: dict[str, Any] = {name: getattr(report, name) for name in KEPT}
    told = report.to_json()
    kept["stage"] = stage_of(told)
    result = Result(attempt=attempt, epoch=epoch, flags=list(report.flags), created_at=now, **kept)
    archive.create(result, told, content, phase=archive.phase_of(attempt.submission))
    message = report.message[:EVENT_CHARS]
    end(attempt, message=message, now=now, outcome=report.outcome, reason=report.reason)
    Runner.objects.filter(pk=runner.pk).update(epoch=epoch)  # the device may have changed since `hello`
    if is_spoiled(report.outcome, report.reason):
        measure_again(attempt=attempt, now=now)
    if report.outcome == "infra_error":
        text = f"Runner {runner.name}, attempt {attempt.pk}: {report.evidence.get('operator') or report.message}"
        tell_operators("attempt_infra_error", text[:NOTICE_CHARS], subject=report.reason or runner.name, now=now)
    return result


def check_numbers(report: Report, *, mode: str) -> None:
    """Check that a pass of a timed mode has numbers, and that any other report has none."""
    timed = report.outcome == "passed" and mode in TIMED_MODES
    for field in ("score_us", "ratio"):
        value: float | None = getattr(report, field)
        if timed and not value:
            raise UserError(f"report.{field}", value, f"a pass in mode {mode} needs a number above zero")
        if not timed and value is not None:
            raise UserError(f"report.{field}", value, f"{report.outcome} in mode {mode} has no time")


@transaction.atomic
def note_refused(*, attempt_id: str, runner: Runner, token: int, problem: str, now: datetime) -> None:
    """Record a report that broke the contract: the problem for operators, a notice for watchers."""
    attempt = lease.lock(attempt_id=attempt_id, runner=runner, token=token)
    lease.check_live(attempt, now=now)
    text = f"Attempt {attempt_id}: {problem}. Are site and runner of the same version?"
    tell_operators("report_refused", text, subject=runner.name, now=now)
    if isinstance(attempt, Attempt):
        append_events([event_of(attempt, now=now, kind=AttemptEvent.PROGRESS, message=UNREADABLE_REPORT)])
