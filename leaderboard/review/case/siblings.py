"""Hold the remaining runs of a kernel along with a rejected run: a fault of one run is a fault of all.

Each run waits as its own case until a person decides on it. Undoing the rejection undoes this: every run returns to its
former state, except for decisions that a person made meanwhile. The caller holds the runs' attempts.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.audit.record import record
from leaderboard.judging.models import Result
from leaderboard.review import permissions
from leaderboard.review.case import log, states
from leaderboard.review.case.open import open_case
from leaderboard.review.models import Case, Decision, Finding

KERNEL_REJECTED: Final = "kernel_rejected"


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
    lines = list(held.select_related("result__attempt__submission__board__competition").defer("result__report"))
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
    after = log.project(row)
    record(
        act="hold_along_result" if act == states.HOLD_ALONG else "release_along_result",
        target=row.result,
        actor=actor,
        reason=reason,
        now=now,
        before={"review": before},
        after={"review": after.state, "decision": line.pk, "with": about.pk},
    )
