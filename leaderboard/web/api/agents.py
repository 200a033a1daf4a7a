"""Agents of the caller over /api/v1: accounts of programs, and their tokens.

A token makes tokens for agents alone, with no more scopes and no later end than its own, and a token with limits makes
none: each would have the limits anew. A browser's session makes them on the page /tokens, which asks for the password
again.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from allauth.account.adapter import get_adapter
from django.core.exceptions import ValidationError
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.models import SCOPES, USUAL_SCOPES, ApiToken, User
from leaderboard.accounts.tokens import MAX_NAME_CHARS, issue_token, revoke_token, tokens_of
from leaderboard.entrants.enter import agents_of, create_agent
from leaderboard.errors import UserError
from leaderboard.web.accounts.forms import MAX_NAME_CHARS as MAX_ACCOUNT_CHARS
from leaderboard.web.accounts.forms import MOST_DEVICE_S, MOST_PER_HOUR, clean_username
from leaderboard.web.api.base import Private, ShortList, parse

USUAL_DAYS: Final = 90
MOST_DAYS: Final = 365
LIMITED: Final = "has limits of its own, so it makes no agents and no tokens; use one without, or the page /tokens"
SESSION: Final = "a browser makes agents and their tokens at /tokens; over the API, send a token of yours"


class AgentToken(drf.Serializer[Any]):
    """A valid token of an agent, without its text."""

    id = drf.IntegerField(source="pk")
    name = drf.CharField()
    prefix = drf.CharField(help_text="The first characters of its text.")
    scopes = drf.ListField(child=drf.CharField())
    created_at = drf.DateTimeField()
    expires_at = drf.DateTimeField(allow_null=True)
    last_used_at = drf.DateTimeField(allow_null=True)
    device_s_per_day = drf.IntegerField(allow_null=True, help_text="Device seconds in any 24 hours. null: no budget.")
    per_hour = drf.IntegerField(allow_null=True, help_text="Submissions an hour. null: as the account.")


class Agent(drf.Serializer[Any]):
    name = drf.CharField(source="username")
    created_at = drf.DateTimeField(source="date_joined")
    tokens = drf.SerializerMethodField()

    @extend_schema_field(AgentToken(many=True))
    def get_tokens(self, agent: User) -> Any:
        return AgentToken(tokens_of(agent, timezone.now()).order_by("pk"), many=True).data


class NewAgent(drf.Serializer[Any]):
    name = drf.CharField(max_length=MAX_ACCOUNT_CHARS, help_text="The name of the account; boards show it.")

    def validate_name(self, name: str) -> str:
        try:
            return clean_username(name)
        except ValidationError as error:
            raise drf.ValidationError(error.messages) from None


class NewAgentToken(drf.Serializer[Any]):
    name = drf.CharField(max_length=MAX_NAME_CHARS, help_text="Where the token is used.")
    scopes = ShortList(child=drf.ChoiceField(choices=SCOPES), min_length=1, max_length=len(SCOPES), required=False)
    days = drf.IntegerField(
        default=USUAL_DAYS, min_value=1, max_value=MOST_DAYS, help_text="Until it expires, with the caller's at latest."
    )
    device_s_per_day = drf.IntegerField(
        required=False, min_value=1, max_value=MOST_DEVICE_S, help_text="Default: no budget."
    )
    per_hour = drf.IntegerField(
        required=False, min_value=1, max_value=MOST_PER_HOUR, help_text="Default: as the account."
    )


class MadeAgentToken(AgentToken):
    token = drf.CharField(source="secret", help_text="Its text, shown this once.")


class AgentTokenRevoked(drf.Serializer[Any]):
    revoked = drf.BooleanField(help_text="Whether this call revoked it; false: it was revoked before.")


class OwnAgents(Private):
    def parent(self, request: Request) -> ApiToken:
        """Return the caller's token. Raise UserError for a session, and for a token with limits."""
        found = self.token(request)
        if found is None:
            raise UserError("token", None, SESSION, status=403)
        if found.per_hour is not None or found.device_s_per_day is not None:
            raise UserError("token", found.name, LIMITED, status=403)
        return found

    def agent(self, request: Request, name: str) -> User:
        return get_object_or_404(agents_of(self.caller(request)), username=name.replace("\0", "?"))


class Agents(OwnAgents):
    @extend_schema(operation_id="agents", responses=Agent(many=True))
    def get(self, request: Request) -> Response:
        """List the caller's agents, accounts of programs, with their valid tokens."""
        return Response(Agent(agents_of(self.caller(request)), many=True).data)

    @extend_schema(operation_id="create_agent", request=NewAgent, responses={201: Agent})
    def post(self, request: Request) -> Response:
        """Create an agent of the caller's account. 409 beyond five; 403 for a session, and for an agent."""
        self.parent(request)
        name = parse(NewAgent, request.data)["name"]
        made = create_agent(owner=self.caller(request), name=name, now=timezone.now())
        return Response(Agent(made).data, status=201)


class AgentTokens(OwnAgents):
    @extend_schema(operation_id="create_agent_token", request=NewAgentToken, responses={201: MadeAgentToken})
    def post(self, request: Request, name: str) -> Response:
        """Make a token of an agent, with no more scopes and no later end than the caller's, which has no limits."""
        parent, agent, now = self.parent(request), self.agent(request, name), timezone.now()
        wanted = _within(parse(NewAgentToken, request.data), parent, now)
        with transaction.atomic():
            token, secret = issue_token(owner=agent, now=now, **wanted)
            owner = self.caller(request)
            get_adapter().send_notification_mail("account/email/token_made", owner, {"token": token})
        token.secret = secret  # type: ignore[attr-defined]
        return Response(MadeAgentToken(token).data, status=201)


class RevokeAgentToken(OwnAgents):
    @extend_schema(operation_id="revoke_agent_token", request=None, responses=AgentTokenRevoked)
    def post(self, request: Request, name: str, pk: int) -> Response:
        """Revoke a token of an agent."""
        found = get_object_or_404(ApiToken, owner=self.agent(request, name), pk=pk)
        return Response({"revoked": revoke_token(token=found, actor=self.caller(request), now=timezone.now())})


def _within(sent: dict[str, Any], parent: ApiToken, now: datetime) -> dict[str, Any]:
    """Return the arguments of issue_token, within the parent's scopes and end. Raise UserError beyond."""
    scopes = sent.get("scopes") or [scope for scope in USUAL_SCOPES if scope in parent.scopes]
    if more := sorted(set(scopes) - set(parent.scopes)):
        text = f"the calling token lacks it, and has {', '.join(parent.scopes)}"
        raise UserError("scopes", ", ".join(more), f"{text}; choose among these, or use another token", status=403)
    limits = {field: sent.get(field) for field in ("device_s_per_day", "per_hour")}
    lifetime = timedelta(days=sent["days"])
    if parent.expires_at is not None:
        lifetime = min(lifetime, parent.expires_at - now)
    return {"name": sent["name"], "scopes": scopes, "lifetime": lifetime, **limits}
