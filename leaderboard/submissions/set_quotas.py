"""Quotas of a competition, set by its owner. They also apply to tokens that are already spent."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.submissions.quota import parse_quotas, unusual


@transaction.atomic
def set_quotas(*, competition: Competition, actor: User, quotas: object, reason: str, now: datetime) -> Competition:
    """Set the quotas, given as for quota.parse_quotas, and store the unusual modes. Raise UserError."""
    check_role(actor, competition, Role.OWNER, "set its quotas")
    new = unusual(parse_quotas(quotas))
    competition = Competition.objects.select_for_update().get(pk=competition.pk)
    if new == competition.quotas:
        return competition
    check_reason(reason)
    before, competition.quotas = competition.quotas, new
    competition.save(update_fields=["quotas"])
    record(
        act="set_quotas",
        target=competition,
        actor=actor,
        reason=reason,
        now=now,
        before={"quotas": before},
        after={"quotas": new},
    )
    return competition
