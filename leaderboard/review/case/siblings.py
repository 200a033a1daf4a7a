"""Other runs of a kernel are held along with one that is rejected: what is wrong with one is wrong with all of them.

Each waits as a case of its own until somebody decides on it. Undoing the rejection undoes this: every run stands as it
did before, but for what a person decided on it meanwhile. The caller holds the runs' attempts.
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
    """These wait for a person from now on; a line in the log of each says with what."""
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
    """What was held along with this line of a log, if it was a rejection, which is undone now: keys of results."""
    held = Decision.objects.filter(act=states.HOLD_ALONG, about=rejection).exclude(about=None).order_by("result")
    lines = list(held.select_related("result__attempt__submission__board__competition").defer("result__report"))
    for line in lines:
        row = Case.objects.get(result=line.result)
        _append(row, states.UNDO, line, actor, reason, row.state, now)
    return {line.result_id for line in lines}


def waiting_along(runs: Iterable[Result]) -> set[int]:
    """Which of these wait and were held along with another: their keys."""
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
