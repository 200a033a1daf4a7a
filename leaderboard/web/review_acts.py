"""Which act a form on a case's page calls, or the API. Permission, order and record are the acts' own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.judging.models import Result
from leaderboard.review import ask, case, claim, notes, rerun

Sent = dict[str, Any]
Act = Callable[[Result, User, Sent, datetime], object]

DONE: Final = {
    case.CLAIM: "Claimed",
    case.RELEASE: "Released",
    case.CLEAR: "Cleared",
    case.REJECT: "Rejected",
    case.ASK: "The owner is asked",
    case.OVERTURN: "Overturned",
    case.UPHOLD: "The rejection stands",
    case.GRANT: "The appeal is granted",
    case.UNDO: "Undone",
    case.NOTE: "Noted",
    case.LABEL: "Labelled",
    case.UNLABEL: "Label taken off",
    case.RERUN: "Queued to be judged again",
    "suspend": "The account is suspended",
    "reinstate": "The account is reinstated",
}


def _clear(result: Result, actor: User, sent: Sent, now: datetime) -> object:
    return pipeline.clear_result(
        result=result,
        actor=actor,
        reason=sent["reason"],
        public_reason=sent["public_reason"],
        seen=sent["seen"],
        now=now,
    )


def _reject(result: Result, actor: User, sent: Sent, now: datetime) -> object:
    return pipeline.reject_result(
        result=result,
        actor=actor,
        code=sent["code"],
        reason=sent["reason"],
        public_reason=sent["public_reason"],
        hold_others=sent["hold_others"],
        seen=sent["seen"],
        now=now,
    )


def _ask(result: Result, actor: User, sent: Sent, now: datetime) -> object:
    return ask.ask(result=result, actor=actor, question=sent["reason"], seen=sent["seen"], now=now)


def _with_reason(act: Callable[..., object]) -> Act:
    def call(result: Result, actor: User, sent: Sent, now: datetime) -> object:
        return act(result=result, actor=actor, reason=sent["reason"], seen=sent["seen"], now=now)

    return call


def _appeal(*, granted: bool) -> Act:
    def call(result: Result, actor: User, sent: Sent, now: datetime) -> object:
        told = {"reason": sent["reason"], "seen": sent["seen"], "now": now}
        return pipeline.answer_appeal(result=result, actor=actor, granted=granted, **told)

    return call


def _account(act: Callable[..., object]) -> Act:
    def call(result: Result, actor: User, sent: Sent, now: datetime) -> object:
        submission = result.attempt.submission
        where = None if sent["everywhere"] else submission.board.competition
        return act(user=submission.owner, competition=where, actor=actor, reason=sent["reason"], now=now)

    return call


ACTS: Final[dict[str, Act]] = {
    case.CLAIM: lambda result, actor, sent, now: claim.claim(
        result=result, actor=actor, reason=sent["reason"], now=now
    ),
    case.RELEASE: lambda result, actor, _, now: claim.release(result=result, actor=actor, now=now),
    case.CLEAR: _clear,
    case.REJECT: _reject,
    case.ASK: _ask,
    case.OVERTURN: _with_reason(pipeline.overturn_verdict),
    case.UPHOLD: _appeal(granted=False),
    case.GRANT: _appeal(granted=True),
    case.UNDO: _with_reason(pipeline.undo_decision),
    case.NOTE: lambda result, actor, sent, now: notes.note(result=result, actor=actor, text=sent["reason"], now=now),
    case.LABEL: lambda result, actor, sent, now: notes.label(result=result, actor=actor, name=sent["reason"], now=now),
    case.UNLABEL: lambda result, actor, sent, now: notes.unlabel(
        result=result, actor=actor, name=sent["reason"], now=now
    ),
    case.RERUN: lambda result, actor, sent, now: rerun.rerun(
        result=result, actor=actor, reason=sent["reason"], now=now
    ),
    "suspend": _account(pipeline.suspend_account),
    "reinstate": _account(pipeline.reinstate_account),
}
