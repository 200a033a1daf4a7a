"""Link two logins of a person, unless they are separate entrants of a competition in progress."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts import link
from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import Phase, phase_at
from leaderboard.competitions.models import Competition, Role
from leaderboard.entrants.models import Membership
from leaderboard.errors import UserError


@transaction.atomic
def link_logins(*, user: User, own_password: str, username: str, password: str, now: datetime, keep: str = "") -> User:
    """Link the logins; return their common account. `keep` is the name that stays; "": the older login's."""
    link.check_own_password(user, own_password)
    other = link.prove(username=username, password=password)
    one, other = link.lock_both(user, other)
    _check_no_roles(one, other)
    _check_apart_nowhere(one, other, now)
    return link.link(one=one, other=other, keep=keep, now=now)


def _check_no_roles(one: User, other: User) -> None:
    if Role.objects.filter(user__in=[one, other]).exists():
        said = "a login that organises a competition stays by itself; an owner of that takes the role back first"
        raise UserError("username", other.get_username(), said, status=409)


def _check_apart_nowhere(one: User, other: User, now: datetime) -> None:
    """Refuse logins that compete in the same competition.

    In one team they take two places of it; as two entrants the person competes against themselves.
    """
    theirs = Membership.objects.filter(user__in=logins_of(other), left_at=None).values("competition")
    mine = Membership.objects.filter(user__in=logins_of(one), left_at=None).values("competition")
    for competition in Competition.objects.filter(pk__in=mine).filter(pk__in=theirs):
        if phase_at(competition.schedule, now) not in (Phase.FINAL, Phase.OPEN):
            where = f"leave it with one of them first, at /competitions/{competition.slug}/team"
            said = f"both of your logins compete in {competition.name}; {where}, or ask an organiser"
            raise UserError("username", other.get_username(), said, status=409)
