"""A reviewer asks the owner of a held result; the owner answers on the submission's page, once per question."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.judging.models import Result
from leaderboard.review.case import log, states
from leaderboard.review.models import Decision


@transaction.atomic
def ask(*, result: Result, actor: User, question: str, now: datetime, seen: int | None = None) -> Decision:
    taken = log.take(result=result, act=states.ASK, actor=actor, reason=question, now=now, seen=seen)
    return log.append(taken, act=states.ASK, actor=actor, reason=question, now=now)


@transaction.atomic
def answer(*, result: Result, actor: User, text: str, now: datetime) -> Decision:
    taken = log.take(result=result, act=states.ANSWER, actor=actor, reason=text, now=now)
    return log.append(taken, act=states.ANSWER, actor=actor, reason=text, now=now, about_id=taken.standing.question)
