"""Enter a competition as a person alone. Safe to run again: who is in it already stays what they are."""

from __future__ import annotations

import hashlib
from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition
from leaderboard.entrants.models import Entrant, Membership


def entrant_of(user: User, competition: Competition) -> Entrant | None:
    """Whom they compete as now; None: they have not entered."""
    return Entrant.objects.filter(
        competition=competition, memberships__user=user, memberships__left_at__isnull=True
    ).first()


def rules_digest(competition: Competition) -> str:
    """Of what is accepted on entering; "": there are no rules to accept."""
    return "sha256:" + hashlib.sha256(competition.rules.encode()).hexdigest() if competition.rules else ""


@transaction.atomic
def enter_alone(*, user: User, competition: Competition, now: datetime) -> Entrant:
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # twice at once: the second finds the first's
    known = entrant_of(user, competition)
    if known is not None:
        return known
    entrant = Entrant.objects.create(competition=competition, name=user.get_username(), created_at=now)
    Membership.objects.create(
        entrant=entrant,
        competition=competition,
        user=user,
        role=Membership.CAPTAIN,
        rules_digest=rules_digest(competition),
        joined_at=now,
    )
    return entrant
