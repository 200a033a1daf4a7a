"""An owner sets the thresholds from which rules hold results of a competition. They apply to later reports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.review.rules.thresholds import changed, parse


@transaction.atomic
def set_thresholds(
    *, competition: Competition, actor: User, thresholds: Mapping[str, Any], reason: str, now: datetime
) -> Competition:
    """Set a competition's thresholds.

    `thresholds`: all that differ from the usual. UserError names `thresholds.<rule>`.
    """
    check_role(actor, competition, Role.OWNER, "set what is held for review")
    new = changed(parse(dict(thresholds)))
    competition = Competition.objects.select_for_update().get(pk=competition.pk)
    if new == competition.thresholds:
        return competition
    check_reason(reason)
    before, competition.thresholds = competition.thresholds, new
    competition.save(update_fields=["thresholds"])
    record(
        act="set_thresholds",
        target=competition,
        actor=actor,
        reason=reason,
        now=now,
        before={"thresholds": before},
        after={"thresholds": new},
    )
    return competition
