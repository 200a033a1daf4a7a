"""Entrants and teams over /api/v1: made, joined by invite, led by a captain. Each act has its own address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.competitions.models import Competition
from leaderboard.competitions.permissions import competitions_seen_by
from leaderboard.entrants import permissions, profile, teams
from leaderboard.entrants.models import Membership
from leaderboard.web.api.paging import PAGING, paged
from leaderboard.web.api.views import Private
from leaderboard.web.limits import check_team_acts
from leaderboard.web.submissions.my_entrant import entrant_of, mine

MAX_KEY: Final = 2**63 - 1
MAX_TRACKS: Final = 100


class MyEntrant(serializers.Serializer[Any]):
    """The caller's entrant; `shown_name` is its public name."""

    competition = serializers.CharField(source="entrant.competition.slug")
    name = serializers.CharField(source="entrant.name")
    shown_name = serializers.CharField(source="entrant.shown_name")
    team = serializers.BooleanField(source="entrant.is_team")
    captain = serializers.SerializerMethodField()
    division = serializers.CharField(source="entrant.division")
    model_name = serializers.CharField(source="entrant.model_name", allow_blank=True)
    affiliation = serializers.CharField(source="entrant.affiliation", allow_blank=True)
    pseudonym = serializers.CharField(source="entrant.pseudonym", allow_blank=True)
    declared = serializers.ListField(child=serializers.CharField(), source="entrant.declared")

    def get_captain(self, member: Membership) -> bool:
        return member.role == Membership.CAPTAIN


class Member(serializers.Serializer[Any]):
    username = serializers.CharField(source="user.username")
    captain = serializers.SerializerMethodField()
    joined_at = serializers.DateTimeField()

    def get_captain(self, member: Membership) -> bool:
        return member.role == Membership.CAPTAIN


class Waiting(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    username = serializers.CharField(source="user.username")
    created_at = serializers.DateTimeField()


class Invite(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    competition = serializers.CharField(source="entrant.competition.slug")
    team = serializers.CharField(source="entrant.name")
    invited_by = serializers.CharField(source="invited_by.username")
    created_at = serializers.DateTimeField()


class Team(serializers.Serializer[Any]):
    entrant = MyEntrant(source="member", allow_null=True, help_text="null: you are not in it.")
    must_accept = serializers.BooleanField(help_text="The rules, before you submit: POST …/enter.")
    people_fixed = serializers.CharField(allow_blank=True, help_text="Why nobody joins or leaves any more.")
    division_fixed = serializers.BooleanField()
    members = Member(many=True)
    waiting = Waiting(many=True, help_text="Invites of the team that nobody has answered.")
    invites = Invite(many=True, help_text="To you, in this competition.")


class Nothing(serializers.Serializer[Any]):
    pass


class Username(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)


class Name(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=200)


class Division(serializers.Serializer[Any]):
    division = serializers.CharField(max_length=16)
    model_name = serializers.CharField(max_length=200, allow_blank=True, default="", help_text="Of agent and mixed.")


class NewTeam(Name):
    division = serializers.CharField(max_length=16, allow_blank=True, default="", help_text="Else the one you are in.")
    model_name = serializers.CharField(max_length=200, allow_blank=True, default="")


class Affiliation(serializers.Serializer[Any]):
    affiliation = serializers.CharField(max_length=200, allow_blank=True)


class Pseudonym(serializers.Serializer[Any]):
    pseudonym = serializers.CharField(max_length=200)


class Withdraw(serializers.Serializer[Any]):
    invite = serializers.IntegerField(source="invite_id", min_value=1, max_value=MAX_KEY)


class Declared(serializers.Serializer[Any]):
    declared = serializers.ListField(
        child=serializers.CharField(max_length=64), source="tracks", max_length=MAX_TRACKS, help_text="Tracks' slugs."
    )


@dataclass(frozen=True)
class Act:
    call: Callable[..., object]
    sent: type[serializers.Serializer[Any]]
    said: str
    of_entrant: bool = True  # False: the act is a person's, who may have no entrant


ACTS: Final = {
    "create": Act(teams.create_team, NewTeam, "Make a team, with you as its captain.", of_entrant=False),
    "leave": Act(teams.leave, Nothing, "Leave the team, or the competition.", of_entrant=False),
    "rename": Act(teams.rename_team, Name, "Give the team another name. Captains only."),
    "invite": Act(teams.invite, Username, "Invite somebody by their user name. Captains only."),
    "withdraw": Act(teams.withdraw_invite, Withdraw, "Withdraw an invite that nobody has answered. Captains only."),
    "remove": Act(teams.remove_member, Username, "Remove a member. Captains only."),
    "hand-over": Act(teams.hand_over, Username, "Make another member captain. Captains only."),
    "division": Act(profile.choose_division, Division, "Say in which division. Captains only."),
    "affiliation": Act(profile.say_affiliation, Affiliation, "Say an affiliation. Captains only."),
    "pseudonym": Act(profile.take_pseudonym, Pseudonym, "Be shown by another name, once for all. Captains only."),
    "reveal": Act(profile.reveal, Nothing, "Show the name beside the pseudonym, for good. Captains only."),
    "declare": Act(profile.declare, Declared, "Say for which tracks you are eligible. Captains only."),
}


class Entrants(Private):
    @extend_schema(parameters=PAGING, responses=MyEntrant(many=True))
    def get(self, request: Request) -> Response:
        """List the caller's entrants in all competitions that they are in now."""
        user = self.caller(request)
        seen = permissions.memberships_of(user).filter(competition__in=competitions_seen_by(user))
        return paged(request, seen, MyEntrant)


class Invites(Private):
    @extend_schema(parameters=PAGING, responses=Invite(many=True))
    def get(self, request: Request) -> Response:
        """List the invites to the caller that wait for an answer."""
        return paged(request, teams.open_invites_of(self.caller(request)), Invite)


class Accept(Private):
    @extend_schema(request=None, responses=Team)
    def post(self, request: Request, pk: int) -> Response:
        """Join the team. Earlier submissions of yours stay with your former entrant."""
        check_team_acts(self.caller(request).account_id, "accept")
        member = teams.accept_invite(invite_id=pk, user=self.caller(request), now=timezone.now())
        return _told(self, request, member.entrant.competition)


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
        """Return the caller's entrant in this competition, alone or in a team, with its people and invites."""
        return _told(self, request, _seen(request, slug))


class TeamAct(Private):
    name: str
    act: Act

    def post(self, request: Request, slug: str) -> Response:
        competition, user = _seen(request, slug), self.caller(request)
        check_team_acts(user.account_id, self.name)
        form = self.act.sent(data=request.data)
        form.is_valid(raise_exception=True)
        who: dict[str, Any] = {"user": user, "competition": competition}
        if self.act.of_entrant:
            who = {"actor": user, "entrant": entrant_of(user, competition)}
        self.act.call(**who, **form.validated_data, now=timezone.now())
        return _told(self, request, competition)


def _view(name: str, act: Act) -> type[TeamAct]:
    made = cast(type[TeamAct], type(f"Team_{name}", (TeamAct,), {"name": name, "act": act}))
    sent = None if act.sent is Nothing else act.sent
    described = extend_schema(operation_id=f"team_{name}", description=act.said, request=sent, responses=Team)
    return extend_schema_view(post=described)(made)


VIEWS: Final = {name: _view(name, act) for name, act in ACTS.items()}


def _seen(request: Request, slug: str) -> Competition:
    return get_object_or_404(competitions_seen_by(request.user), slug=slug)


def _told(view: Private, request: Request, competition: Competition) -> Response:
    return Response(Team(mine(view.caller(request), competition, timezone.now())).data)
