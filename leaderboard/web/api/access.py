"""Roles and invite codes of a competition over /api/v1, for its organisers."""

from datetime import datetime
from typing import Any, Final

from django.db.models import Q
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.accounts.tokens import digest_of
from leaderboard.competitions import access
from leaderboard.competitions.models import InviteCode, Role
from leaderboard.competitions.permissions import competitions_of
from leaderboard.errors import UserError
from leaderboard.web.api.base import Owners, ShortList, paged, parse
from leaderboard.web.api.organised_boards import boards_of
from leaderboard.web.api.serializers import Keyed, optional_text

CODE_CHARS: Final = 200


def revoke(text: str, *, among: Q, actor: User, reason: str, now: datetime) -> InviteCode:
    """Revoke an owner's code by its text, or by the beginning of it that the list shows. Raises UserError."""
    text = text.replace("\0", "?")
    mine = InviteCode.objects.filter(among, competition__in=competitions_of(actor, Role.OWNER), revoked_at=None)
    found = list(mine.select_related("competition").filter(Q(digest=digest_of(text)) | Q(prefix=text))[:2])
    if len(found) != 1:
        problem = "begins several codes; give the whole code" if found else "is no valid code of your competitions"
        raise UserError("code", text, problem, 409 if found else 404)
    access.revoke_code(code=found[0], actor=actor, reason=reason, now=now)
    return found[0]


class InviteCodeLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    prefix = drf.CharField(help_text="Beginning of the code; the site keeps no more.")
    note = drf.CharField(allow_blank=True)
    opens_all = drf.BooleanField(help_text="False: only `boards`.")
    boards = drf.SerializerMethodField()
    used_by = drf.CharField(source="used_by.username", default=None, allow_null=True)
    created_at = drf.DateTimeField()

    def get_boards(self, code: InviteCode) -> list[str]:
        return sorted({board.slug for board in code.boards.all()})


class NewCodesRequest(drf.Serializer[Any]):
    count = drf.IntegerField(min_value=1, max_value=access.MAX_AT_ONCE)
    boards = ShortList(
        child=drf.CharField(max_length=64),
        default=list,
        max_length=access.MAX_BOARDS,
        help_text="Names of boards; empty: the whole competition.",
    )
    note = optional_text(200, "For the owners.")


class NewCodes(drf.Serializer[Any]):
    codes = drf.ListField(child=drf.CharField(), help_text="Shown only now.")


class RevokeRequest(drf.Serializer[Any]):
    code = drf.CharField(max_length=CODE_CHARS, help_text="The code, or its beginning from the list.")
    reason = optional_text(MAX_REASON_CHARS)


class Revoked(drf.Serializer[Any]):
    prefix = drf.CharField()
    was_used = drf.BooleanField()


class RoleLine(drf.Serializer[Any]):
    username = drf.CharField(source="user.username")
    role = drf.CharField()
    created_at = drf.DateTimeField()


class RoleRequest(drf.Serializer[Any]):
    username = drf.CharField(max_length=150)
    role = drf.ChoiceField(choices=Role.ROLES)


class RevokeRole(drf.Serializer[Any]):
    username = drf.CharField(max_length=150)


class Roles(Owners):
    @extend_schema(operation_id="roles", parameters=[Keyed], responses=RoleLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the people with a role in a competition."""
        found = self.competition(request, slug).roles.select_related("user")
        return paged(request, found, parse(Keyed, request.query_params), RoleLine, ["pk"])

    @extend_schema(operation_id="grant_role", request=RoleRequest, responses=RoleLine)
    def post(self, request: Request, slug: str) -> Response:
        """Give a person a role, or change it. Owners only."""
        competition = self.competition(request, slug, "give and take roles")
        given = access.grant_role(competition=competition, **parse(RoleRequest, request.data), **self.by(request))
        return Response(RoleLine(given).data)


class RevokeARole(Owners):
    @extend_schema(operation_id="revoke_role", request=RevokeRole, responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        """Take a person's role. The last owner stays. Owners only."""
        competition, sent = self.competition(request, slug, "give and take roles"), parse(RevokeRole, request.data)
        roles = competition.roles.select_related("competition", "user")
        role = get_object_or_404(roles, user__username__iexact=sent["username"])
        access.revoke_role(role=role, **self.by(request))
        return Response(status=204)


class Codes(Owners):
    @extend_schema(operation_id="invite_codes", parameters=[Keyed], responses=InviteCodeLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the valid invite codes of a competition, newest first."""
        competition = self.competition(request, slug)
        found = access.codes_of(competition).filter(revoked_at=None)
        return paged(request, found, parse(Keyed, request.query_params), InviteCodeLine, ["-pk"])

    @extend_schema(operation_id="make_invite_codes", request=NewCodesRequest, responses={201: NewCodes})
    def post(self, request: Request, slug: str) -> Response:
        """Create invite codes, each for one account. Owners only."""
        competition, sent = self.competition(request, slug, "create invite codes"), parse(NewCodesRequest, request.data)
        boards = [board for name in dict.fromkeys(sent.pop("boards")) for board in boards_of(competition, name)]
        issued = access.issue_codes(competition=competition, boards=boards, **sent, **self.by(request))
        return Response({"codes": [one.text for one in issued]}, status=201)


class RevokeCode(Owners):
    @extend_schema(operation_id="revoke_invite_code", request=RevokeRequest, responses=Revoked)
    def post(self, request: Request, slug: str) -> Response:
        """Revoke an invite code. Its user loses the access, but no submissions. Owners only."""
        competition, sent = self.competition(request, slug, "revoke invite codes"), parse(RevokeRequest, request.data)
        reason = sent["reason"] or "revoked over the API"
        code = revoke(sent["code"], among=Q(competition=competition), reason=reason, **self.by(request))
        return Response({"prefix": code.prefix, "was_used": code.used_by_id is not None})


URLS: Final[list[URLPattern]] = [
    path("organise/<slug:slug>/roles", Roles.as_view()),
    path("organise/<slug:slug>/roles/revoke", RevokeARole.as_view()),
    path("organise/<slug:slug>/codes", Codes.as_view()),
    path("organise/<slug:slug>/codes/revoke", RevokeCode.as_view()),
]
