"""A person's entrant in a competition, as page and API show it to them: people, invites and possible changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, Track
from leaderboard.entrants import permissions, profile, teams
from leaderboard.entrants.enter import has_accepted
from leaderboard.entrants.models import Entrant, Membership, TeamInvite
from leaderboard.errors import UserError


@dataclass(frozen=True)
class Mine:
    competition: Competition
    member: Membership | None  # None: they are not in it
    must_accept: bool  # the rules, before they submit
    invites: list[TeamInvite]  # to them
    people_fixed: str  # why people cannot join or leave; "": they can
    is_over: str  # why changes are over; "": they are possible
    members: list[Membership]
    waiting: list[TeamInvite]  # the team's open invites
    division_fixed: bool
    tracks: list[Track]  # that ask for a declaration

    @property
    def entrant(self) -> Entrant | None:
        return self.member.entrant if self.member else None

    @property
    def is_captain(self) -> bool:
        return self.member is not None and self.member.role == Membership.CAPTAIN

    @property
    def is_full(self) -> bool:
        return len(self.members) >= self.competition.max_team_size


def mine(user: User, competition: Competition, now: datetime) -> Mine:
    member = permissions.membership_of(user, competition)
    entrant = member.entrant if member else None
    return Mine(
        competition=competition,
        member=member,
        must_accept=member is not None and not has_accepted(user, competition),
        invites=[one for one in teams.open_invites_of(user) if one.entrant.competition_id == competition.pk],
        people_fixed=_refusal(lambda: permissions.check_people_may_change(competition, now)),
        is_over=_refusal(lambda: permissions.check_not_over(competition, now)),
        members=list(permissions.members_of(entrant)) if entrant else [],
        waiting=list(entrant.invites.filter(answer="").select_related("user")) if entrant else [],
        division_fixed=entrant is not None and profile.division_is_fixed(entrant),
        tracks=profile.tracks_to_declare(competition) if entrant else [],
    )


def entrant_of(user: User, competition: Competition) -> Entrant:
    """Return the user's entrant in a competition.

    Raises UserError (409).
    """
    member = permissions.membership_of(user, competition)
    if member is None:
        raise UserError("entrant", competition.slug, "you are not in this competition; enter it first", status=409)
    return member.entrant


def _refusal(check: Callable[[], None]) -> str:
    """Return the reason for a refusal; "" if the check passes."""
    try:
        check()
    except UserError as error:
        return error.message
    return ""
