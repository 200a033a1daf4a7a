"""Notes between reviewers, and labels to find cases by. Owners never read them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.errors import UserError
from leaderboard.judging.models import Result
from leaderboard.review.case import log, states
from leaderboard.review.models import Decision

MOST_LABELS: Final = 10  # per case
_LABEL: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


@transaction.atomic
def note(*, result: Result, actor: User, text: str, now: datetime) -> Decision:
    taken = log.take(result=result, act=states.NOTE, actor=actor, reason=text, now=now)
    return log.append(taken, act=states.NOTE, actor=actor, reason=text, now=now)


@transaction.atomic
def label(*, result: Result, actor: User, name: str, now: datetime) -> Decision:
    if not _LABEL.fullmatch(name):
        said = "is no label; use small letters, digits and -, 32 at most"
        raise UserError("label", name, said)
    taken = log.take(result=result, act=states.LABEL, actor=actor, reason=name, now=now)
    if name in taken.standing.labels or len(taken.standing.labels) >= MOST_LABELS:
        said = "is on the case already" if name in taken.standing.labels else f"is one more than {MOST_LABELS}"
        raise UserError("label", name, said, status=409)
    return log.append(taken, act=states.LABEL, actor=actor, reason=name, now=now, code=name)


@transaction.atomic
def unlabel(*, result: Result, actor: User, name: str, now: datetime) -> Decision:
    taken = log.take(result=result, act=states.UNLABEL, actor=actor, reason=name or "-", now=now)
    if name not in taken.standing.labels:
        raise UserError("label", name, "is not on the case", status=409)
    return log.append(taken, act=states.UNLABEL, actor=actor, reason=name, now=now, code=name)
