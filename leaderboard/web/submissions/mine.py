"""A person's entrant in a competition with its possible changes, and the remaining quota, for page and API."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board, Competition
from leaderboard.entrants import permissions, teams
from leaderboard.entrants.enter import enter_in_division, has_accepted
from leaderboard.entrants.models import Membership
from leaderboard.errors import UserError
from leaderboard.submissions.ledger import levels
from runner.wire import MODES


@dataclass(frozen=True)
class Act:
    """`done`: message with the act's result `made`, the sent fields and the competition. `fields`: sent, by name."""

    call: Callable[..., Any]
    done: str
    fields: tuple[str, ...] = ()
    of: str = "entrant"  # the object that the act changes: "entrant", "competition" or "invite"


DIVISION: Final = ("division", "model_name")
USERNAME: Final = ("username",)
ACTS: Final = {
    "enter": Act(enter_in_division, "You compete in {competition.name}.", DIVISION, of="competition"),
    "create": Act(
        teams.create_team, "You made the team {made.name} and are its captain.", ("name", *DIVISION), of="competition"
    ),
    "rename": Act(teams.rename_team, "The team has a new name.", ("name",)),
    "invite": Act(teams.invite, "{made.user.username} will see the invite on their home page.", USERNAME),
    "withdraw": Act(teams.withdraw_invite, "The invite is withdrawn.", ("invite_id",)),
    "accept": Act(teams.accept_invite, "You are in {made.entrant.name} now.", ("invite_id",), of="invite"),
    "decline": Act(teams.decline_invite, "The invite is declined.", ("invite_id",), of="invite"),
    "leave": Act(teams.leave, "You have left. Your earlier submissions stay where they are.", of="competition"),
    "remove": Act(teams.remove_member, "{username} is no longer in the team.", USERNAME),
    "hand-over": Act(teams.hand_over, "{username} is captain now.", USERNAME),
    "division": Act(teams.choose_division, "The division is saved.", DIVISION),
    "cost": Act(teams.declare_cost, "The cost is saved.", ("cost_usd",)),
    "affiliation": Act(teams.say_affiliation, "The affiliation is saved.", ("affiliation",)),
    "pseudonym": Act(teams.take_pseudonym, "Boards show the pseudonym from now on.", ("pseudonym",)),
    "reveal": Act(teams.reveal, "Boards show your name again."),
    "declare": Act(teams.declare, "Your declaration is saved.", ("tracks", "shown")),
}


def mine(user: User, competition: Competition, now: datetime) -> dict[str, Any]:
    """Return a person's place in a competition: people, invites and possible changes.

    `member` is None if the person is not in it. `people_fixed` and `is_over` are the reasons why people, or anything,
    cannot change any more; "": they can. `waiting`: the team's open teams. `tracks`: that ask for a declaration.
    `shown`: the digest of their texts.
    """
    member = permissions.membership_of(user, competition)
    entrant = member.entrant if member else None
    members = list(permissions.members_of(entrant)) if entrant else []
    tracks = teams.tracks_to_declare(competition) if entrant else []
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
        "division_fixed": entrant is not None and teams.division_is_fixed(entrant),
        "tracks": tracks,
        "shown": teams.eligibility_digest(tracks),
    }


def perform(act: Act, user: User, competition: Competition, given: dict[str, Any], now: datetime) -> Any:
    """Call an act with the sent fields and return its result. Raises UserError (409 for a stranger's entrant)."""
    who: dict[str, Any] = {"user": user}
    if act.of == "competition":
        who["competition"] = competition
    elif act.of == "entrant":
        member = permissions.membership_of(user, competition)
        if member is None:
            raise UserError("entrant", competition.slug, "you are not in this competition; enter it first", status=409)
        who = {"entrant": member.entrant, "actor": user}
    return act.call(**who, **given, now=now)


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
