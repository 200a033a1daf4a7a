"""A case's log: lock the case, append one line, update the case from the log. The single writer.

Every act calls `take` and `append` in one transaction: permission, lock, validity, log line, audit row, case. The lock
orders concurrent acts, and the second act's error names the first.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.judging.models import Attempt, Result
from leaderboard.judging.verdicts import judged_since
from leaderboard.review import permissions
from leaderboard.review.case import states
from leaderboard.review.models import Case, Decision, Finding
from leaderboard.submissions.models import Submission

MOST_LINES: Final = 500  # per case log
RECORD_FAILED: Final = "record_failed"  # found by a confirmation, possibly after the result was cleared

SAID: Final = {  # each act as a phrase, as in "only a reviewer may …"
    states.CLAIM: "claim a case",
    states.RELEASE: "release a case",
    states.ASK: "ask the owner of a held result",
    states.ANSWER: "answer a reviewer's question",
    states.CLEAR: "clear a held result",
    states.REJECT: "reject a held result",
    states.OVERTURN: "overturn a verdict",
    states.APPEAL: "appeal against a rejection",
    states.UPHOLD: "answer an appeal",
    states.GRANT: "answer an appeal",
    states.UNDO: "undo a decision",
    states.NOTE: "write a note on a case",
    states.LABEL: "label a case",
    states.UNLABEL: "take a label off a case",
    states.HOLD: "hold a result",
    states.HOLD_ALONG: "hold a result",
    states.RERUN: "have a held result judged again",
}
MATTERS: Final = (*states.UNDOABLE, states.ANSWER, states.APPEAL, states.UNDO)  # to be read before deciding
BY_OWNER: Final = (states.ANSWER, states.APPEAL)


@dataclass(frozen=True)
class Taken:
    """A locked case with its standing at the time of the lock, and the act that it is locked for."""

    row: Case
    result: Result
    submission: Submission
    standing: states.Standing
    act: str
    actor: User
    reason: str
    now: datetime


def take(*, result: Result, act: str, actor: User, reason: str, now: datetime, seen: int | None = None) -> Taken:
    """Lock the case for an act, after checking that it is allowed and possible.

    `seen`: id of the last log line that the actor knew. Raises UserError if lines that matter came after it.
    """
    submission = result.attempt.submission
    check = permissions.check_party if act in BY_OWNER else permissions.check_reviewer
    check(actor, submission, SAID[act])
    check_reason(reason)
    Attempt.objects.select_for_update().get(pk=result.attempt_id)  # serialises concurrent acts
    row = Case.objects.select_for_update().filter(result=result).first()
    if row is None:
        raise UserError("result", result.pk, "was never held, so there is nothing to decide", status=409)
    if Result.objects.filter(judged_since("attempt"), pk=result.pk).exists():
        said = "is of an attempt that was judged again since; see the new one"
        raise UserError("result", result.pk, said, status=409)
    lines = lines_of(result)
    if len(lines) >= MOST_LINES:
        raise UserError("result", result.pk, f"has {MOST_LINES} lines in its log, and takes no more", status=409)
    # The actor must have read the lines that matter; claims, notes and labels do not.
    if told := [line.act for line in lines if seen is not None and line.id > seen and line.act in MATTERS]:
        said = f"changed while you looked at it ({', '.join(told)}); read what is new, then decide"
        raise UserError("result", result.pk, said, status=409)
    standing = standing_of(row, lines)
    if problem := states.problem(standing, act, actor=actor.account_id, at=now):
        raise UserError("result", result.pk, problem, status=409)
    return Taken(row, result, submission, standing, act, actor, reason, now)


def append(taken: Taken, **fields: Any) -> Decision:
    """Append the act's line in the name of the account, not of the login: two logins of a person are not two people."""
    actor, reason, now = taken.actor, taken.reason, taken.now
    written = {"actor": actor.account, "reason": reason, "created_at": now}
    line = Decision.objects.create(result=taken.result, act=taken.act, **written, **fields)
    before = {"review": taken.standing.state}
    after = {"review": project(taken.row).state, "submission": taken.submission.pk, "decision": line.pk}
    record(f"{taken.act}_result", taken.result, actor=actor, reason=reason, now=now, before=before, after=after)
    return line


def project(row: Case) -> states.Standing:
    """Update the case row from its log."""
    standing = standing_of(row, lines_of(row.result))
    row.state, row.since, row.is_by_itself = standing.state, standing.since, standing.is_by_itself
    row.claimed_by_id = standing.claim.by if standing.claim else None
    row.claimed_until = standing.claim.until if standing.claim else None
    row.labels = sorted(standing.labels)
    row.save(update_fields=["state", "since", "is_by_itself", "claimed_by", "claimed_until", "labels"])
    return standing


def lines_of(result: Result) -> list[states.Row]:
    return [plain(line) for line in Decision.objects.filter(result=result).order_by("id")]


def plain(line: Decision) -> states.Row:
    return states.Row(
        id=line.pk,
        act=line.act,
        actor=line.actor_id,
        at=line.created_at,
        about=line.about_id,
        needs_two=line.needs_two,
        until=line.until,
        code=line.code,
    )


def standing_of(row: Case, lines: list[states.Row], *, until: datetime | None = None) -> states.Standing:
    """Derive a case's standing from `lines`.

    `until`: ignore findings from then on; the caller leaves out later lines.
    """
    found = Finding.objects.filter(result=row.result_id, rule=RECORD_FAILED)
    found = found if until is None else found.filter(created_at__lt=until)
    doubted_at = found.values_list("created_at", flat=True).first()
    by_itself = row.origin == Case.BY_ITSELF
    return states.derive(lines, opened_at=row.opened_at, by_itself=by_itself, doubted_at=doubted_at)
