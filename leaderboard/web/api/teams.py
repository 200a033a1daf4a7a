"""Entrants and teams over /api/v1: made, joined by invite, led by a captain. Each act has its own address."""

from typing import Any, Final

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.competitions.models import Competition
from leaderboard.competitions.permissions import competitions_seen_by
from leaderboard.entrants import permissions, teams
from leaderboard.entrants.models import Membership
from leaderboard.web.api.base import Private, Shape, ShortList, act_view, paged, parse
from leaderboard.web.api.serializers import COST, Keyed, optional_text
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.limits import check_team_acts
from leaderboard.web.submissions.mine import ACTS, mine, perform

MAX_TRACKS: Final = 100


class Captaincy(drf.Serializer[Any]):
    captain = drf.SerializerMethodField()

    def get_captain(self, member: Membership) -> bool:
        return member.role == Membership.CAPTAIN


class MyEntrant(Captaincy):
    """The caller's entrant; `shown_name` is its public name."""

    competition = drf.CharField(source="entrant.competition.slug")
    name = drf.CharField(source="entrant.name")
    shown_name = drf.CharField(source="entrant.shown_name")
    team = drf.BooleanField(source="entrant.is_team")
    division = drf.CharField(source="entrant.division")
    model_name = drf.CharField(source="entrant.model_name", allow_blank=True)
    cost_usd = drf.DecimalField(
        source="entrant.cost_usd", max_digits=9, decimal_places=2, allow_null=True, help_text=COST
    )
    affiliation = drf.CharField(source="entrant.affiliation", allow_blank=True)
    pseudonym = drf.CharField(source="entrant.pseudonym", allow_blank=True)
    declared = drf.ListField(
        child=drf.CharField(), source="entrant.declared", help_text="Tracks for which it declared eligibility."
    )


class Member(Captaincy):
    username = drf.CharField(source="user.username")
    joined_at = drf.DateTimeField()


class Waiting(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    username = drf.CharField(source="user.username")
    created_at = drf.DateTimeField()


class Invite(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    competition = drf.CharField(source="entrant.competition.slug")
    team = drf.CharField(source="entrant.name")
    invited_by = drf.CharField(source="invited_by.username")
    created_at = drf.DateTimeField()


class Team(drf.Serializer[Any]):
    entrant = MyEntrant(source="member", allow_null=True, help_text="null: the caller has not entered.")
    must_accept = drf.BooleanField(help_text="Accept the rules (POST …/enter) before submitting.")
    people_fixed = drf.CharField(allow_blank=True, help_text="Why nobody can join or leave any more, or empty.")
    division_fixed = drf.BooleanField()
    members = Member(many=True)
    waiting = Waiting(many=True, help_text="Open invites of the team.")
    invites = Invite(many=True, help_text="Open invites to the caller.")


class Username(drf.Serializer[Any]):
    username = drf.CharField(max_length=150)


class Name(drf.Serializer[Any]):
    name = drf.CharField(max_length=200)


class Division(drf.Serializer[Any]):
    division = drf.CharField(max_length=16)
    model_name = optional_text(200, "For agent and mixed.")


class NewTeam(Name):
    division = optional_text(16, "Default: your present one.")
    model_name = optional_text(200)


class Cost(drf.Serializer[Any]):
    cost_usd = drf.CharField(max_length=16, allow_blank=True, help_text=f"{COST} Empty withdraws it.")


class Affiliation(drf.Serializer[Any]):
    affiliation = drf.CharField(max_length=200, allow_blank=True)


class Pseudonym(drf.Serializer[Any]):
    pseudonym = drf.CharField(max_length=200)


class Withdraw(drf.Serializer[Any]):
    invite = drf.IntegerField(source="invite_id", min_value=1, max_value=MAX_KEY)


class Declared(drf.Serializer[Any]):
    declared = ShortList(
        child=drf.CharField(max_length=64), source="tracks", max_length=MAX_TRACKS, help_text="Slugs of tracks."
    )


SENT: Final[dict[str, tuple[Shape | None, str]]] = {  # the page calls the same acts
    "create": (NewTeam, "Create a team with the caller as captain."),
    "leave": (None, "Leave the team, or the competition."),
    "rename": (Name, "Rename the team. Captains only."),
    "invite": (Username, "Invite a person by username. Captains only."),
    "withdraw": (Withdraw, "Withdraw an open invite. Captains only."),
    "remove": (Username, "Remove a member. Captains only."),
    "hand-over": (Username, "Make another member captain. Captains only."),
    "division": (Division, "Choose the division. Captains and single entrants."),
    "cost": (Cost, "Declare what the model's work has cost so far. Captains and single entrants."),
    "affiliation": (Affiliation, "Set the affiliation. Captains and single entrants."),
    "pseudonym": (Pseudonym, "Take a public name, once. Captains and single entrants."),
    "reveal": (None, "Show the real name too, for good. Captains and single entrants."),
    "declare": (Declared, "Declare eligibility for tracks. Captains and single entrants."),
}


class Entrants(Private):
    @extend_schema(parameters=[Keyed], responses=MyEntrant(many=True))
    def get(self, request: Request) -> Response:
        """List the caller's entries in all present competitions."""
        user = self.caller(request)
        seen = permissions.memberships_of(user).filter(competition__in=competitions_seen_by(user))
        return paged(request, seen, parse(Keyed, request.query_params), MyEntrant, ["pk"])


class Invites(Private):
    @extend_schema(parameters=[Keyed], responses=Invite(many=True))
    def get(self, request: Request) -> Response:
        """List the open invites to the caller."""
        found = teams.open_invites_of(self.caller(request))
        return paged(request, found, parse(Keyed, request.query_params), Invite, ["pk"])


class Accept(Private):
    @extend_schema(request=None, responses=Team)
    def post(self, request: Request, pk: int) -> Response:
        """Accept an invite and join the team. The caller's earlier submissions stay with the former entrant."""
        check_team_acts(self.caller(request).account_id, "accept")
        member = teams.accept_invite(invite_id=pk, user=self.caller(request), now=timezone.now())
        return _answer(self, request, member.entrant.competition)


class Decline(Private):
    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        """Decline an invite."""
        check_team_acts(self.caller(request).account_id, "decline")
        teams.decline_invite(invite_id=pk, user=self.caller(request), now=timezone.now())
        return Response(status=204)


class MyTeam(Private):
    @extend_schema(responses=Team)
    def get(self, request: Request, slug: str) -> Response:
        """Return the caller's entry in a competition with its members and invites."""
        return _answer(self, request, _seen(request, slug))


class TeamAct(Private):
    name: str

    def post(self, request: Request, slug: str) -> Response:
        competition, user = _seen(request, slug), self.caller(request)
        check_team_acts(user.account_id, self.name)
        sent = parse(SENT[self.name][0], request.data)
        perform(ACTS[self.name], user, competition, sent, timezone.now())
        return _answer(self, request, competition)


VIEWS: Final = {
    name: act_view(TeamAct, f"team_{name}", description, sent, Team, name=name)
    for name, (sent, description) in SENT.items()
}


def _seen(request: Request, slug: str) -> Competition:
    return get_object_or_404(competitions_seen_by(request.user), slug=slug)


def _answer(view: Private, request: Request, competition: Competition) -> Response:
    return Response(Team(mine(view.caller(request), competition, timezone.now())).data)
