"""Acts behind the forms of a case's page and the API. The acts check permission and order, and keep the log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.judging.models import Result
from leaderboard.review.case import ask, claim, notes, rerun, states

Sent = dict[str, Any]
Act = Callable[[Result, User, Sent, datetime], object]

DONE: Final = {
    states.CLAIM: "Claimed",
    states.RELEASE: "Released",
    states.CLEAR: "Cleared",
    states.REJECT: "Rejected",
    states.ASK: "The owner is asked",
    states.OVERTURN: "Overturned",
    states.UPHOLD: "The rejection stands",
    states.GRANT: "The appeal is granted",
    states.UNDO: "Undone",
    states.NOTE: "Noted",
    states.LABEL: "Labelled",
    states.UNLABEL: "Label taken off",
    states.RERUN: "Queued to be judged again",
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
    states.CLAIM: lambda result, actor, sent, now: claim.claim(
        result=result, actor=actor, reason=sent["reason"], now=now
    ),
    states.RELEASE: lambda result, actor, _, now: claim.release(result=result, actor=actor, now=now),
    states.CLEAR: _clear,
    states.REJECT: _reject,
    states.ASK: _ask,
    states.OVERTURN: _with_reason(pipeline.overturn_verdict),
    states.UPHOLD: _appeal(granted=False),
    states.GRANT: _appeal(granted=True),
    states.UNDO: _with_reason(pipeline.undo_decision),
    states.NOTE: lambda result, actor, sent, now: notes.note(result=result, actor=actor, text=sent["reason"], now=now),
    states.LABEL: lambda result, actor, sent, now: notes.label(
        result=result, actor=actor, name=sent["reason"], now=now
    ),
    states.UNLABEL: lambda result, actor, sent, now: notes.unlabel(
        result=result, actor=actor, name=sent["reason"], now=now
    ),
    states.RERUN: lambda result, actor, sent, now: rerun.rerun(
        result=result, actor=actor, reason=sent["reason"], now=now
    ),
    "suspend": _account(pipeline.suspend_account),
    "reinstate": _account(pipeline.reinstate_account),
}
