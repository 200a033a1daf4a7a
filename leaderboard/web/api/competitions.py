"""Competitions over /api/v1: list, details, the caller's position, and entering."""

from __future__ import annotations

from typing import Any, Final

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.access import NOT_GOOD, competition_of
from leaderboard.competitions.calendar import Phase
from leaderboard.competitions.models import DIVISIONS
from leaderboard.competitions.models import Track as TrackRow
from leaderboard.competitions.permissions import boards_seen_by, competitions_seen_by
from leaderboard.errors import UserError
from leaderboard.web.api.quota import Left
from leaderboard.web.api.views import Private, Public
from leaderboard.web.boards import contests
from leaderboard.web.boards.prizes import track_said
from leaderboard.web.limits import check_code_tries
from leaderboard.web.submissions import quotas

TIE_RULES: Final = TrackRow.TIE_RULES


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


class PhaseStep(serializers.Serializer[Any]):
    title = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True)
    until = serializers.DateTimeField(allow_null=True)
    state = serializers.ChoiceField(choices=["past", "now", "coming"])


class Prize(serializers.Serializer[Any]):
    place = serializers.IntegerField()
    amount = serializers.DecimalField(max_digits=12, decimal_places=2, allow_null=True, help_text="null: no money.")
    currency = serializers.CharField(allow_blank=True)
    other = serializers.CharField(source="text", allow_blank=True)
    sponsor = serializers.CharField(allow_blank=True)


class Track(serializers.Serializer[Any]):
    slug = serializers.CharField(source="track.slug")
    name = serializers.CharField(source="track.name")
    description = serializers.CharField(source="track.description", allow_blank=True)
    won_by = serializers.SerializerMethodField()
    divisions = serializers.ListField(child=serializers.CharField(), source="track.divisions")
    eligibility = serializers.CharField(source="track.eligibility", allow_blank=True, help_text="What one declares.")
    ties = serializers.ChoiceField(choices=TIE_RULES, source="track.tie_rule")
    prizes = Prize(many=True, source="track.prizes")

    def get_won_by(self, shown: Any) -> str:
        return track_said(shown.track)


class News(serializers.Serializer[Any]):
    title = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()


class You(serializers.Serializer[Any]):
    entrant = serializers.CharField(source="entrant.shown_name", default=None, allow_null=True)
    accepted = serializers.BooleanField(source="has_accepted", help_text="The rules as they are now.")
    may_enter = serializers.BooleanField(help_text="Or accept the rules anew.")
    team = serializers.BooleanField(source="entrant.is_team", default=None, allow_null=True)
    division = serializers.CharField(source="entrant.division", default=None, allow_null=True)
    quota = serializers.SerializerMethodField(help_text="What may still be sent to each board.")

    @extend_schema_field(Left(many=True))
    def get_quota(self, you: contests.You) -> Any:
        return Left(self.context["left"], many=True).data


class CompetitionDetail(CompetitionSummary):
    description = serializers.CharField(source="competition.description", allow_blank=True)
    rules = serializers.CharField(source="competition.rules", allow_blank=True)
    rules_digest = serializers.CharField(allow_blank=True)
    meaning = serializers.CharField(source="phase.meaning")
    phases = PhaseStep(many=True, source="phase.steps")
    times = Times(source="competition")
    divisions = serializers.ListField(child=serializers.CharField(), source="competition.divisions")
    max_team_size = serializers.IntegerField(source="competition.max_team_size")
    merge_deadline = serializers.DateTimeField(source="competition.merge_deadline", allow_null=True)
    problems = ProblemOf(many=True)
    tracks = Track(many=True)
    announcements = News(many=True)
    you = serializers.SerializerMethodField()

    @extend_schema_field(You(allow_null=True))
    def get_you(self, contest: contests.Contest) -> Any:
        return None if contest.you is None else You(contest.you, context=self.context).data


class EnterRequest(serializers.Serializer[Any]):
    code = serializers.CharField(max_length=200, allow_blank=True, default="", help_text="Of a closed competition.")
    rules_digest = serializers.CharField(max_length=80, allow_blank=True, default="", help_text="Of what is accepted.")
    division = serializers.CharField(
        max_length=16, allow_blank=True, default="", help_text=f"{', '.join(DIVISIONS)}; else people, where they may."
    )
    model_name = serializers.CharField(
        max_length=200, allow_blank=True, default="", help_text="Which model writes the code: of agent and mixed."
    )


class Competitions(Public):
    @extend_schema(responses=CompetitionSummary(many=True))
    def get(self, request: Request) -> Response:
        """List every competition that is listed for the caller: running, coming, past."""
        found = contests.sections(request.user, timezone.now())
        summaries = [summary for section in found for summary in section.summaries]
        return Response(CompetitionSummary(summaries, many=True).data)


class Competition(Public):
    @extend_schema(responses=CompetitionDetail)
    def get(self, request: Request, slug: str) -> Response:
        """Return a competition: phase and times, rules, problems, announcements, and the caller's position in it."""
        return Response(_detail(request, slug))


class Enter(Private):
    @extend_schema(request=EnterRequest, responses=CompetitionDetail)
    def post(self, request: Request, slug: str) -> Response:
        """Enter, or accept the rules anew. `rules_digest`: of the rules you read; `code`: opens a closed one."""
        form = EnterRequest(data=request.data)
        form.is_valid(raise_exception=True)
        code, user = form.validated_data["code"], self.caller(request)
        if code:
            check_code_tries(user.pk, request)
            competition = competition_of(code)
            if competition is None or competition.slug != slug:
                raise UserError("code", "", NOT_GOOD)
        else:
            competition = competitions_seen_by(user).filter(slug=slug).first()
        if competition is None:
            raise Http404
        pipeline.enter(user=user, competition=competition, now=timezone.now(), **form.validated_data)
        return Response(_detail(request, slug))


def _detail(request: Request, slug: str) -> Any:
    now = timezone.now()
    found = contests.contest(slug, request.user, now)
    if found is None:
        raise Http404
    left: list[quotas.Left] = []
    if isinstance(request.user, User):
        boards = boards_seen_by(request.user).with_parts().filter(competition=found.competition)
        left = quotas.what_is_left(request.user, boards, now)
    return CompetitionDetail(found, context={"left": left}).data
