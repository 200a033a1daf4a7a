"""Hold a result for a person: open its case, or open its case again. Safe to run again.

A case opens for a rule's finding, for a verdict that rejects by itself, by hand, for a kernel that failed the
confirmation of its first place, or along with a rejected run of its kernel: a fault of one run is a fault of all. Each
run held along waits as its own case until a person decides on it. Undoing the rejection undoes that: every run returns
to its former state, except for decisions that a person made meanwhile. The caller holds the runs' attempts.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import MAX_REASON_CHARS, check_reason
from leaderboard.audit.record import record
from leaderboard.confirmations.models import Confirmation
from leaderboard.errors import UserError
from leaderboard.judging.models import Attempt, Result
from leaderboard.judging.verdicts import newest_verdicts
from leaderboard.review import permissions
from leaderboard.review.case import log, states
from leaderboard.review.models import Case, Decision, Finding

BY_ITSELF: Final = ("impossible", "clock_mismatch")  # reasons of `policy` that reject without a person
REJECTED_BEFORE: Final = "rejected_before"
HELD_BEFORE: Final = "held_before"
BY_HAND: Final = "by_hand"
KERNEL_REJECTED: Final = "kernel_rejected"
NOT_MEASURED: Final = (BY_HAND, log.RECORD_FAILED, HELD_BEFORE)  # no new measurement can answer these

logger = structlog.get_logger(__name__)


def open_case(*, result: Result, now: datetime, by_itself: bool = False) -> Case:
    """Open a case for a result that waits for a person. `by_itself`: it is rejected until a person overturns that."""
    open_cases(results=[result], now=now, by_itself=by_itself)
    return Case.objects.get(result=result)


def open_cases(*, results: Iterable[Result], now: datetime, by_itself: bool = False) -> None:
    """Open cases for results that have none yet."""
    rows = [
        Case(
            result=result,
            board_id=result.attempt.submission.board_id,
            origin=Case.BY_ITSELF if by_itself else Case.HELD,
            opened_at=now,
            state=states.REJECTED if by_itself else states.WAITING,
            since=now,
            is_by_itself=by_itself,
        )
        for result in results
    ]
    Case.objects.bulk_create(rows, ignore_conflicts=True)


def rejects_by_itself(result: Result) -> bool:
    return result.outcome == "policy" and result.reason in BY_ITSELF


def note_stopped_before(*, results: Sequence[Result], now: datetime) -> set[int]:
    """Write a finding for each result that an earlier case of its kernel stops. Return the keys of these results.

    Judging or sending a kernel again does not let it rank if a person rejected it, or has yet to look at it for a
    reason that was not measured (NOT_MEASURED): the new result waits as well.
    """
    stopped = stopped_before(results)
    notes = []
    for result in results:
        if (before := stopped.get(result.pk)) is None:
            continue
        other = before.result.attempt.submission_id
        is_same = other == result.attempt.submission_id
        whose = "an earlier result of this submission" if is_same else f"the same kernel (submission {other})"
        rule, said = (HELD_BEFORE, "waits for") if before.state in states.HELD else (REJECTED_BEFORE, "was rejected by")
        sentence = f"{whose} {said} a person; read why before you decide otherwise"
        figures = {"submission": other, "result": before.result_id}
        notes.append(Finding(result=result, rule=rule, sentence=sentence, figures=figures, created_at=now))
    Finding.objects.bulk_create(notes, ignore_conflicts=True)
    return set(stopped)


def stopped_before(results: Sequence[Result]) -> dict[int, Case]:
    """Map result keys to the last case of the same kernel and entrant, unless it was cleared. One query."""
    decided = Q(state__in=(states.CLEARED, states.REJECTED, states.APPEALED), is_by_itself=False)
    not_measured = Finding.objects.filter(result=OuterRef("result"), rule__in=NOT_MEASURED)
    submissions = [result.attempt.submission for result in results]
    cases = Case.objects.filter(
        decided | Q(Exists(not_measured), state__in=states.HELD),
        board__in={submission.board_id for submission in submissions},
        result__attempt__submission__entrant__in={submission.entrant_id for submission in submissions},
    )
    found = cases.select_related("result__attempt__submission").order_by("since", "result_id")
    found = found.defer("result__inline", "result__attempt__submission__source")
    last: dict[tuple[int, int, str], list[Case]] = defaultdict(list)
    for row in found:
        last[row.result.attempt.submission.kernel_key].append(row)
    stopped = {}
    for result in results:
        others = [row for row in last[result.attempt.submission.kernel_key] if row.result_id != result.pk]
        if others and others[-1].state != states.CLEARED:
            stopped[result.pk] = others[-1]
    return stopped


@transaction.atomic
def hold(*, result: Result, actor: User, reason: str, now: datetime) -> Case:
    """Hold a result that no rule held. pipeline applies the consequence: its line goes."""
    submission = result.attempt.submission
    permissions.check_reviewer(actor, submission, log.SAID[states.HOLD])
    check_reason(reason)
    Attempt.objects.select_for_update().get(pk=result.attempt_id)
    if Case.objects.filter(result=result).exclude(state=states.NOT_HELD).exists():
        raise UserError("result", result.pk, "is a case already; undo what was decided instead", status=409)
    if result.outcome != "passed" or result not in newest_verdicts(pk=submission.pk):
        raise UserError("result", result.pk, "does not rank, so there is nothing to hold", status=409)
    Finding.objects.create(
        result=result, rule=BY_HAND, sentence="a reviewer holds it; the log says why", figures={}, created_at=now
    )
    row = open_case(result=result, now=now)
    Decision.objects.create(result=result, act=states.HOLD, actor=actor.account, reason=reason, created_at=now)
    log.project(row)
    after = {"review": row.state, "submission": submission.pk}
    record(act="hold_result", target=result, actor=actor, reason=reason, now=now, after=after)
    return row


def hold_along(*, runs: Iterable[Result], rejection: Decision, actor: User, now: datetime) -> list[Result]:
    """Hold these runs for a person. A line in each log names the rejected submission."""
    rejected = rejection.result.attempt.submission_id
    held = list(runs)
    for run in held:
        permissions.check_reviewer(actor, run.attempt.submission, log.SAID[states.HOLD_ALONG])
        Finding.objects.get_or_create(
            result=run,
            rule=KERNEL_REJECTED,
            defaults={
                "sentence": f"another run of this kernel (submission {rejected}) was rejected; read why first",
                "figures": {"submission": rejected, "result": rejection.result_id},
                "created_at": now,
            },
        )
        before = Case.objects.filter(result=run).values_list("state", flat=True).first()
        row = open_case(result=run, now=now)
        reason = f"held with submission {rejected}, which was rejected: {rejection.reason}"
        _append(row, states.HOLD_ALONG, rejection, actor, reason[:MAX_REASON_CHARS], before or "", now)
    return held


def release_along(*, rejection: int | None, actor: User, reason: str, now: datetime) -> set[int]:
    """Release results that were held along with this rejection, which is undone now. Return their keys."""
    held = Decision.objects.filter(act=states.HOLD_ALONG, about=rejection).exclude(about=None).order_by("result")
    lines = list(held.select_related("result__attempt__submission__board__competition").defer("result__inline"))
    for line in lines:
        row = Case.objects.get(result=line.result)
        _append(row, states.UNDO, line, actor, reason, row.state, now)
    return {line.result_id for line in lines}


def waiting_along(runs: Iterable[Result]) -> set[int]:
    """Return the keys of these runs that still wait after being held along with another run."""
    lines = Decision.objects.filter(act=states.HOLD_ALONG, result__in=[run.pk for run in runs])
    return set(lines.filter(result__case__state__in=states.HELD).values_list("result", flat=True))


def _append(row: Case, act: str, about: Decision, actor: User, reason: str, before: str, now: datetime) -> None:
    line = Decision.objects.create(
        result_id=row.pk, act=act, actor=actor.account, reason=reason, about=about, created_at=now
    )
    after = {"review": log.project(row).state, "decision": line.pk, "with": about.pk}
    name = "hold_along_result" if act == states.HOLD_ALONG else "release_along_result"
    record(name, row.result, actor=actor, reason=reason, now=now, before={"review": before}, after=after)


def hold_failed_record(asked: Confirmation, *, runs: Iterable[Result], now: datetime) -> list[Result]:
    """Hold these runs of the candidate's kernel for a person, even if cleared before; a rejection stays.

    Return the results that wait now. A reviewer who clears a result then knows of the failure: it causes no further
    hold.
    """
    held = []
    for run in runs:
        decided = Case.objects.filter(result=run).exclude(state__in=(*states.HELD, *states.STANDS))
        if run.ratio is None or decided.exists():
            continue
        sentence = f"it passed once and failed when its first place was confirmed on fresh seeds: {asked.message}"
        figures = {"confirmation": asked.pk}
        finding = {"sentence": sentence, "figures": figures, "created_at": now}
        Finding.objects.get_or_create(result=run, rule=log.RECORD_FAILED, defaults=finding)
        if log.project(open_case(result=run, now=now)).state in states.HELD:
            held.append(run)
    if held:
        logger.warning("result_held", results=[run.pk for run in held], rules=[log.RECORD_FAILED])
    return held
