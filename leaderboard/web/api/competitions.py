"""Competitions over /api/v1: which there are, what one of them asks for, and entering it."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.competitions.calendar import Phase
from leaderboard.competitions.invites import NOT_GOOD, competition_of
from leaderboard.competitions.visible import competitions_seen_by
from leaderboard.errors import UserError
from leaderboard.web import contests
from leaderboard.web.api.views import Private, Public
from leaderboard.web.limits import check_code_tries


class CompetitionSummary(serializers.Serializer[Any]):
    slug = serializers.CharField(source="competition.slug")
    name = serializers.CharField(source="competition.name")
    visibility = serializers.CharField(source="competition.visibility")
    phase = serializers.ChoiceField(choices=[phase.value for phase in Phase], source="phase.phase")
    until = serializers.DateTimeField(source="phase.until", allow_null=True, help_text="The next change of phase.")
    entrants = serializers.IntegerField()


class Times(serializers.Serializer[Any]):
    practice_at = serializers.DateTimeField(allow_null=True)
    contest_at = serializers.DateTimeField(allow_null=True)
    freeze_at = serializers.DateTimeField(allow_null=True)
    deadline = serializers.DateTimeField(allow_null=True)
    revealed_at = serializers.DateTimeField(allow_null=True)
    final_at = serializers.DateTimeField(allow_null=True)


class ProblemOf(serializers.Serializer[Any]):
    board = serializers.CharField(source="slug")
    title = serializers.CharField()
    hardware = serializers.ListField(child=serializers.CharField())


class News(serializers.Serializer[Any]):
    title = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()


class You(serializers.Serializer[Any]):
    entrant = serializers.CharField(source="entrant.shown_name", default=None, allow_null=True)
    accepted = serializers.BooleanField(source="has_accepted", help_text="The rules as they are now.")


class CompetitionDetail(CompetitionSummary):
    description = serializers.CharField(source="competition.description", allow_blank=True)
    rules = serializers.CharField(source="competition.rules", allow_blank=True)
    rules_digest = serializers.CharField(allow_blank=True)
    meaning = serializers.CharField(source="phase.meaning")
    times = Times(source="competition")
    problems = ProblemOf(many=True)
    announcements = News(many=True)
    you = serializers.SerializerMethodField()

    @extend_schema_field(You(allow_null=True))
    def get_you(self, contest: contests.Contest) -> Any:
        return None if contest.you is None else You(contest.you).data


class EnterRequest(serializers.Serializer[Any]):
    code = serializers.CharField(max_length=200, allow_blank=True, default="", help_text="Of a closed competition.")
    rules_digest = serializers.CharField(max_length=80, allow_blank=True, default="", help_text="Of what is accepted.")


class Competitions(Public):
    @extend_schema(responses=CompetitionSummary(many=True))
    def get(self, request: Request) -> Response:
        """Every competition that is listed for the caller: running, coming, past."""
        found = contests.sections(request.user, timezone.now())
        summaries = [summary for section in found for summary in section.summaries]
        return Response(CompetitionSummary(summaries, many=True).data)


class Competition(Public):
    @extend_schema(responses=CompetitionDetail)
    def get(self, request: Request, slug: str) -> Response:
        """One competition: phase and times, rules, problems, announcements, and where the caller stands in it."""
        return Response(_detail(request, slug))


class Enter(Private):
    @extend_schema(request=EnterRequest, responses=CompetitionDetail)
    def post(self, request: Request, slug: str) -> Response:
        """Enter, or accept the rules anew: `rules_digest` is that of the rules you read; `code` opens a closed one."""
        form = EnterRequest(data=request.data)
        form.is_valid(raise_exception=True)
        code, digest = form.validated_data["code"], form.validated_data["rules_digest"]
        user = self.caller(request)
        if code:
            check_code_tries(user.pk, request)
            competition = competition_of(code)
            if competition is None or competition.slug != slug:
                raise UserError("code", "", NOT_GOOD)
        else:
            competition = competitions_seen_by(user).filter(slug=slug).first()
        if competition is None:
            raise Http404
        pipeline.enter(user=user, competition=competition, code=code, rules_digest=digest, now=timezone.now())
        return Response(_detail(request, slug))


def _detail(request: Request, slug: str) -> Any:
    found = contests.contest(slug, request.user, timezone.now())
    if found is None:
        raise Http404
    return CompetitionDetail(found).data
