"""The desk of administrators over /api/v1: people, their names, tokens and quotas, code taken down, bans, undoing.

The acts are those of the desk's pages. Staff are made on the pages alone: a token is weaker than a sign-in.
"""

from typing import Any, Final

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import ApiToken, User
from leaderboard.accounts.tokens import tokens_of
from leaderboard.audit.models import DESK, Row
from leaderboard.competitions.models import Competition
from leaderboard.desk import acts
from leaderboard.desk.search import MAX_CHARS, find
from leaderboard.desk.undo import shown, undo
from leaderboard.entrants.models import Entrant
from leaderboard.errors import RateLimited
from leaderboard.operations import bans
from leaderboard.operations.models import Ban
from leaderboard.submissions.ledger import exceptions_of
from leaderboard.submissions.models import QuotaException, Submission
from leaderboard.submissions.quota import MOST, USUAL
from leaderboard.web import limits
from leaderboard.web.api.base import Staff, act_view, paged, parse
from leaderboard.web.api.serializers import Keyed, ReasonRequest, optional_text
from leaderboard.web.desk.pages import CODE_ACTS, ENTRANT_ACTS, PERSON_ACTS, new_name


class DeskQuery(drf.Serializer[Any]):
    text = drf.CharField(max_length=MAX_CHARS, help_text="Name, team, e-mail, beginning of a token, or address.")


class FoundPerson(drf.Serializer[Any]):
    id = drf.IntegerField(source="person.pk")
    username = drf.CharField(source="person.username")
    found_by = drf.CharField()


class PersonsEntrant(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    competition = drf.CharField(source="competition.slug")
    name = drf.CharField()
    pseudonym = drf.CharField(allow_blank=True)
    team = drf.BooleanField(source="is_team")


class PersonsToken(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    prefix = drf.CharField()
    name = drf.CharField()


class QuotaExceptionLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    competition = drf.CharField(source="competition.slug")
    board = drf.CharField(source="board.slug", default="", help_text="Empty: all boards.")
    hardware = drf.CharField(source="board.hardware", default="")
    mode = drf.CharField()
    capacity = drf.IntegerField()
    per_day = drf.IntegerField()
    ends_at = drf.DateTimeField()


class PersonDetail(drf.Serializer[Any]):
    id = drf.IntegerField(source="account.pk")
    username = drf.CharField(source="account.username")
    active = drf.BooleanField(source="account.is_active")
    staff = drf.BooleanField(source="account.is_staff")
    logins = drf.ListField(child=drf.CharField(), help_text="Names of all logins of the person.")
    entrants = PersonsEntrant(many=True)
    tokens = PersonsToken(many=True, help_text="Valid tokens.")
    quotas = QuotaExceptionLine(many=True, help_text="Exceptions in force.")


class PersonRequest(ReasonRequest):
    name = optional_text(32, "For `rename`.")


class QuotaExceptionRequest(ReasonRequest):
    competition = drf.CharField(max_length=64)
    board = optional_text(64, "With `hardware`. Default: all boards.")
    hardware = optional_text(64)
    mode = drf.ChoiceField(choices=list(USUAL))
    capacity = drf.IntegerField(min_value=1, max_value=MOST)
    per_day = drf.IntegerField(min_value=1, max_value=MOST)
    days = drf.IntegerField(min_value=1, max_value=acts.MAX_DAYS, default=7)


class DeskAct(drf.Serializer[Any]):
    id = drf.IntegerField(source="row.pk")
    act = drf.CharField(source="words")
    object = drf.CharField()
    by = drf.CharField(source="row.actor.username", default=None, allow_null=True, help_text="null: an operator.")
    reason = drf.CharField(source="row.reason", allow_blank=True)
    at = drf.DateTimeField(source="row.created_at")
    may_undo = drf.BooleanField()


class BanLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    network = drf.CharField()
    reason = drf.CharField()
    ends_at = drf.DateTimeField()


class BanRequest(ReasonRequest):
    network = drf.CharField(max_length=64, help_text="Such as 192.0.2.0/24.")
    days = drf.IntegerField(min_value=1, max_value=bans.MAX_DAYS, default=7)
    confirm = drf.BooleanField(default=False, help_text="Although it shuts the caller out.")


class Desk(Staff):
    doing = "use the desk"

    def person(self, pk: int) -> Response:
        """Answer with a person, whom any of their logins names."""
        account = get_object_or_404(User, pk=pk).account
        logins, now = logins_of(account), timezone.now()
        found = {
            "account": account,
            "logins": User.objects.filter(pk__in=logins).order_by("date_joined").values_list("username", flat=True),
            "entrants": Entrant.objects.filter(memberships__user__in=logins).select_related("competition").distinct(),
            "tokens": tokens_of(account, now),
            "quotas": exceptions_of(account, now).select_related("competition", "board"),
        }
        return Response(PersonDetail(found).data)


class People(Desk):
    @extend_schema(operation_id="find_people", parameters=[DeskQuery], responses=FoundPerson(many=True))
    def get(self, request: Request) -> Response:
        """Find people by name, team, e-mail, token or address. Administrators only."""
        text = parse(DeskQuery, request.query_params)["text"]
        wait_s = limits.floods.take((limits.DESK_SEARCH_USER, str(self.caller(request).pk)))
        if wait_s is not None:
            raise RateLimited("text", text, f"too many searches; try again in {wait_s} s", retry_after_s=wait_s)
        found = [{"person": person, "found_by": why} for person, why in find(text)]
        return Response(FoundPerson(found, many=True).data)


class OnePerson(Desk):
    @extend_schema(operation_id="desk_person", responses=PersonDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return a person's logins, entrants, tokens and quotas. Administrators only."""
        return self.person(pk)


class PersonAct(Desk):
    name: str

    def post(self, request: Request, pk: int) -> Response:
        found, sent = get_object_or_404(User, pk=pk), parse(PERSON_SENT[self.name], request.data)
        act, _ = PERSON_ACTS[self.name]
        if act is acts.rename_person:
            sent["name"] = new_name(self.name, "user", pk, sent.get("name", ""))
        act(person=found, **sent, **self.by(request))
        return self.person(pk)


class GrantQuota(Desk):
    @extend_schema(operation_id="grant_quota", request=QuotaExceptionRequest, responses=PersonDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Give a person a quota of their own for some days. Administrators only."""
        person, sent = get_object_or_404(User, pk=pk), parse(QuotaExceptionRequest, request.data)
        competition = get_object_or_404(Competition, slug=sent.pop("competition"))
        board, hardware = sent.pop("board"), sent.pop("hardware")
        found = get_object_or_404(competition.boards, slug=board, hardware=hardware) if board else None
        acts.grant_quota(person=person, competition=competition, board=found, **sent, **self.by(request))
        return self.person(pk)


class EndQuota(Desk):
    @extend_schema(operation_id="end_quota", request=ReasonRequest, responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        """End a person's own quota early. Administrators only."""
        exceptions: QuerySet[QuotaException] = QuotaException.objects.select_related("user__linked_to", "board")
        found = get_object_or_404(exceptions, pk=pk)
        acts.set_quota_ended(exception=found, on=True, **parse(ReasonRequest, request.data), **self.by(request))
        return Response(status=204)


class RevokeToken(Desk):
    @extend_schema(operation_id="desk_revoke_token", request=ReasonRequest, responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        """Revoke a token of a person. Administrators only."""
        found = get_object_or_404(ApiToken.objects.select_related("owner__linked_to"), pk=pk)
        acts.revoke_tokens(person=found.owner, only=pk, **parse(ReasonRequest, request.data), **self.by(request))
        return Response(status=204)


class EntrantAct(Desk):
    name: str

    def post(self, request: Request, pk: int) -> Response:
        found = get_object_or_404(Entrant.objects.select_related("competition"), pk=pk)
        sent = parse(PersonRequest, request.data)
        field, _ = ENTRANT_ACTS[self.name]
        name = new_name(self.name, "team" if found.is_team else "entrant", pk, sent.pop("name"))
        acts.rename_entrant(entrant=found, field=field, name=name, **sent, **self.by(request))
        return Response(status=204)


class CodeAct(Desk):
    name: str

    def post(self, request: Request, pk: int) -> Response:
        found = get_object_or_404(Submission.objects.select_related("owner"), pk=pk)
        on, _ = CODE_ACTS[self.name]
        acts.set_taken_down(submission=found, on=on, **parse(ReasonRequest, request.data), **self.by(request))
        return Response(status=204)


class Bans(Desk):
    @extend_schema(operation_id="bans", responses=BanLine(many=True))
    def get(self, request: Request) -> Response:
        """List the bans of networks that are in force. Administrators only."""
        return Response(BanLine(bans.in_force(timezone.now()), many=True).data)

    @extend_schema(operation_id="ban", request=BanRequest, responses={201: BanLine})
    def post(self, request: Request) -> Response:
        """Ban a network for some days. Administrators only."""
        own = str(request.META.get("REMOTE_ADDR") or "")
        made = bans.ban(own_address=own, **parse(BanRequest, request.data), **self.by(request))
        return Response(BanLine(made).data, status=201)


class LiftBan(Desk):
    @extend_schema(operation_id="lift_ban", request=ReasonRequest, responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        """Lift a ban. Administrators only."""
        found = get_object_or_404(Ban, pk=pk)
        bans.set_lifted(ban=found, on=True, **parse(ReasonRequest, request.data), **self.by(request))
        return Response(status=204)


class DeskActs(Desk):
    @extend_schema(operation_id="desk_acts", parameters=[Keyed], responses=DeskAct(many=True))
    def get(self, request: Request) -> Response:
        """List the acts of the desk, newest first. Administrators only."""
        rows = Row.objects.filter(act__startswith=DESK).select_related("actor")
        return paged(request, rows, parse(Keyed, request.query_params), DeskAct, ["-pk"], prepare=shown)


class UndoDeskAct(Desk):
    @extend_schema(operation_id="undo_desk_act", request=ReasonRequest, responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        """Undo an act of the desk, unless a later act replaced it. Administrators only."""
        row = get_object_or_404(Row, pk=pk, act__startswith=DESK)
        undo(row=row, **parse(ReasonRequest, request.data), **self.by(request))
        return Response(status=204)


ON_PEOPLE: Final = {
    "deactivate": "Deactivate an account: it can neither sign in nor use its tokens. Administrators only.",
    "reactivate": "Reactivate an account. Administrators only.",
    "sign-out": "End all sessions of an account. Administrators only.",
    "revoke-tokens": "Revoke all tokens of an account. Administrators only.",
    "rename": "Rename an account. Administrators only.",
    "hide": "Hide a name behind a neutral name. Administrators only.",
}
PERSON_SENT: Final = dict.fromkeys(ON_PEOPLE, ReasonRequest) | {"rename": PersonRequest}
ON_ENTRANTS: Final = {
    "rename": "Rename a team. Administrators only.",
    "hide": "Hide a team's name behind a neutral name. Administrators only.",
    "rename-pseudonym": "Change a pseudonym. Administrators only.",
    "hide-pseudonym": "Hide a pseudonym behind a neutral pseudonym. Administrators only.",
}
ON_CODE: Final = {
    "take-down": "Hide code, logs and messages of a submission. Administrators only.",
    "put-back": "Show code that was taken down. Administrators only.",
}
URLS: list[URLPattern] = [
    path("desk/people", People.as_view()),
    path("desk/people/<int:pk>", OnePerson.as_view()),
    path("desk/people/<int:pk>/quota", GrantQuota.as_view()),
    path("desk/quotas/<int:pk>/end", EndQuota.as_view()),
    path("desk/tokens/<int:pk>/revoke", RevokeToken.as_view()),
    path("desk/bans", Bans.as_view()),
    path("desk/bans/<int:pk>/lift", LiftBan.as_view()),
    path("desk/acts", DeskActs.as_view()),
    path("desk/acts/<int:pk>/undo", UndoDeskAct.as_view()),
]
URLS += [
    path(
        f"desk/{part}/<int:pk>/{name}",
        act_view(view, f"{name.replace('-', '_')}_{noun}", text, sent.get(name, default), answer, name=name).as_view(),
    )
    for part, noun, view, texts, sent, default, answer in (
        ("people", "person", PersonAct, ON_PEOPLE, PERSON_SENT, ReasonRequest, PersonDetail),
        ("entrants", "entrant", EntrantAct, ON_ENTRANTS, {}, PersonRequest, {204: None}),
        ("submissions", "code", CodeAct, ON_CODE, {}, ReasonRequest, {204: None}),
    )
    for name, text in texts.items()
]
