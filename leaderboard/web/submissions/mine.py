"""A person's entrant in a competition and remaining quota, as page and API show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board, Competition
from leaderboard.entrants import permissions, profile, teams
from leaderboard.entrants.enter import has_accepted
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.errors import UserError
from leaderboard.submissions.ledger import levels
from runner.wire import MODES


def mine(user: User, competition: Competition, now: datetime) -> dict[str, Any]:
    """Return a person's place in a competition: people, invites and possible changes.

    `member` is None if the person is not in it. `people_fixed` and `is_over` are the reasons why people, or anything,
    cannot change any more; "": they can. `waiting`: the team's open teams. `tracks`: that ask for a declaration.
    """
    member = permissions.membership_of(user, competition)
    entrant = member.entrant if member else None
    members = list(permissions.members_of(entrant)) if entrant else []
    return {
        "competition": competition,
        "member": member,
        "entrant": entrant,
        "is_captain": member is not None and member.role == Membership.CAPTAIN,
        "must_accept": member is not None and not has_accepted(user, competition),
        "invites": [one for one in teams.open_invites_of(user) if one.entrant.competition_id == competition.pk],
        "people_fixed": _refusal(permissions.check_people_may_change, competition, now),
        "is_over": _refusal(permissions.check_not_over, competition, now),
        "members": members,
        "is_full": len(members) >= competition.max_team_size,
        "waiting": list(entrant.invites.filter(answer="").select_related("user")) if entrant else [],
        "division_fixed": entrant is not None and profile.division_is_fixed(entrant),
        "tracks": profile.tracks_to_declare(competition) if entrant else [],
    }


def entrant_of(user: User, competition: Competition) -> Entrant:
    """Return the user's entrant in a competition.

    Raises UserError (409).
    """
    member = permissions.membership_of(user, competition)
    if member is None:
        raise UserError("entrant", competition.slug, "you are not in this competition; enter it first", status=409)
    return member.entrant


def what_is_left(owner: User, boards: Iterable[Board], now: datetime) -> list[dict[str, Any]]:
    """Return the quota by board and mode. `next_at`: time of the next free submission; None: nothing is spent."""
    boards = list(boards)
    found = levels(owner=owner, boards=boards, now=now)
    return [
        {
            "board": board.slug,
            "hardware": board.hardware,
            "mode": mode,
            "left": level.left,
            "capacity": level.bucket.capacity,
            "per_day": level.bucket.per_day,
            "next_at": level.next_at,
        }
        for board in boards
        for mode in MODES
        for level in (found[board.pk, mode],)
    ]


def _refusal(check: Callable[[Competition, datetime], None], competition: Competition, now: datetime) -> str:
    """Return the reason for a refusal; "" if the check passes."""
    try:
        check(competition, now)
    except UserError as error:
        return error.message
    return ""
