"""Public facts about a competition over /api/v1, as its pages show them: news, awards, integrity, records."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.competitions.announce import announcements_of
from leaderboard.competitions.calendar import current_stage
from leaderboard.competitions.permissions import competitions_seen_by
from leaderboard.standings.read.boards import board_records
from leaderboard.web.api.competitions import News, Track
from leaderboard.web.api.paging import PAGING, paged
from leaderboard.web.api.views import Public
from leaderboard.web.boards import cards
from leaderboard.web.organise import awards
from leaderboard.web.review import integrity


class Money(serializers.Serializer[Any]):
    amount = serializers.CharField(help_text="A decimal number.")
    currency = serializers.CharField()


class Winner(serializers.Serializer[Any]):
    place = serializers.IntegerField(source="number")
    shared_by = serializers.IntegerField(help_text="How many share the place; 1: nobody else.")
    winner = serializers.CharField(source="name")
    money = Money(many=True)
    other = serializers.ListField(child=serializers.CharField(), source="things")
    sponsors = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(source="why")


class Awards(Track):
    announced_at = serializers.DateTimeField(allow_null=True, help_text="null: its winners are not known yet.")
    winners = Winner(many=True)


class Told(serializers.IntegerField):
    """Count that may be withheld, as null, until the standing is final."""

    def to_representation(self, value: int) -> Any:
        return self.context["found"].told(value)


class Outcomes(serializers.Serializer[Any]):
    rule = serializers.CharField(allow_blank=True, help_text='"": all those that held fewer than five.')
    meaning = serializers.SerializerMethodField()
    held = Told(allow_null=True)
    cleared = Told(allow_null=True)
    rejected = Told(allow_null=True)
    waiting = Told(allow_null=True)
    again = Told(allow_null=True, help_text="Judged again before anybody decided.")

    def get_meaning(self, one: Any) -> str:
        return integrity.meaning(one.rule)


class Counts(serializers.Serializer[Any]):
    held = Told(allow_null=True)
    cleared = Told(allow_null=True)
    rejected = Told(allow_null=True)
    waiting = Told(allow_null=True)
    again = Told(allow_null=True)


class ByItself(serializers.Serializer[Any]):
    rejected = Told(source="held", allow_null=True)
    overturned = Told(source="cleared", allow_null=True, help_text="And cleared by a person.")


class Appeals(serializers.Serializer[Any]):
    made = Told(source="appeals", allow_null=True)
    granted = Told(allow_null=True)
    upheld = Told(allow_null=True)


class Podium(serializers.Serializer[Any]):
    board = serializers.CharField(source="board.slug")
    hardware = serializers.CharField(source="board.hardware")
    place = serializers.IntegerField()
    cleared = serializers.BooleanField(source="is_cleared", help_text="False: rejected.")
    by_two = serializers.BooleanField()
    reason = serializers.CharField()
    on = serializers.DateField(source="at.date")


class IntegrityFigures(serializers.Serializer[Any]):
    """Figures of review. A null number is under five; it is published once the standing is final."""

    as_of = serializers.DateTimeField()
    exact = serializers.BooleanField(source="is_exact", help_text="The standing is final; nothing is held back.")
    rules = Outcomes(many=True, help_text="A result that several rules held counts for each of them.")
    total = Counts(help_text="Each result once.")
    by_itself = ByItself(help_text="By a verdict, without a person.")
    median_wait_s = serializers.FloatField(source="median_wait.total_seconds", allow_null=True)
    rejudged = Told(allow_null=True)
    appeals = Appeals(source="*")
    podium = Podium(many=True)


class Record(serializers.Serializer[Any]):
    user = serializers.CharField(source="entry.entrant.shown_name")
    submission = serializers.IntegerField(source="entry.submission_id")
    since = serializers.DateTimeField(source="record.since")
    until = serializers.DateTimeField(source="record.until", allow_null=True, help_text="null: now.")
    ratio = serializers.FloatField(source="record.value.ratio", help_text="Candidate / baseline, as it was then.")
    gain = serializers.FloatField(
        source="record.gain", allow_null=True, help_text="Times as fast as the one before; null: there was none."
    )


class Announcements(Public):
    @extend_schema(parameters=PAGING, responses=News(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the announcements of a competition, newest first."""
        competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
        return paged(request, announcements_of(competition, request.user), News)


class AwardsOf(Public):
    @extend_schema(responses=Awards(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List tracks and prizes of a competition, with winners once they are announced."""
        competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
        shown = awards.shown(competition, request.user, now=timezone.now(), as_owner=False)
        return Response(Awards(shown, many=True).data)


class IntegrityOf(Public):
    @extend_schema(responses=IntegrityFigures)
    def get(self, request: Request, slug: str) -> Response:
        """Return the results of review in a competition, in numbers that name no person."""
        shown = integrity.show(slug, request.user, timezone.now())
        if shown is None:
            raise Http404
        return Response(IntegrityFigures(shown[1], context={"found": shown[1]}).data)


class History(Public):
    @extend_schema(parameters=PAGING, responses=Record(many=True))
    def get(self, request: Request, slug: str, hardware: str) -> Response:
        """List the leaders of a board with the start of each lead, oldest first, in its current stage and epoch."""
        now = timezone.now()
        card = cards.card(slug, request.user, now)
        place = card.place(hardware) if card else None
        if place is None:
            raise Http404
        stage = current_stage(place.board.competition.schedule, now)
        return paged(request, board_records(place.board, stage=stage, now=now), Record)
