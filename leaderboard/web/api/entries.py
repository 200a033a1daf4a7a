"""Published entries over /api/v1, with their code where it is public, and retraction of the caller's own entries."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.standings.retract import retract, usual_reason
from leaderboard.web.api.views import Private, Public
from leaderboard.web.boards.entries import published
from leaderboard.web.submissions import view


class EntryDetail(serializers.Serializer[Any]):
    submission = serializers.IntegerField(source="entry.submission_id")
    board = serializers.CharField(source="entry.board.slug")
    hardware = serializers.CharField(source="entry.board.hardware")
    user = serializers.CharField(source="entry.entrant.shown_name")
    rank = serializers.IntegerField(source="standing.rank", allow_null=True)
    tied = serializers.BooleanField(source="standing.is_tied")
    stage = serializers.CharField(source="standing.stage")
    ratio = serializers.FloatField(source="standing.value.ratio")
    score_us = serializers.FloatField(source="standing.score_us")
    half_width = serializers.FloatField(source="standing.value.half_width", allow_null=True)
    submitted_at = serializers.DateTimeField(source="entry.submitted_at")
    shown = serializers.BooleanField(source="is_shown", help_text="False: frozen; only you and organisers read this.")
    filename = serializers.CharField(source="submission.filename")
    licence = serializers.CharField(source="submission.licence", allow_blank=True)
    code_public = serializers.BooleanField(source="code_is_public")
    code_public_at = serializers.DateTimeField(allow_null=True, help_text="But for a freeze; null: not by itself.")
    code = serializers.CharField(allow_null=True)


class RetractRequest(serializers.Serializer[Any]):
    reason = serializers.CharField(
        max_length=2000, allow_blank=True, default="", help_text="Its owner may leave it out; organisers say why."
    )


class Retracted(serializers.Serializer[Any]):
    lines = serializers.IntegerField(help_text="How many lines went: all runs of this kernel. 0: it was retracted.")


class Entry(Public):
    @extend_schema(responses=EntryDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return a published entry, with its code where that is public."""
        return Response(EntryDetail(published(pk, request.user, timezone.now())).data)


class Retract(Private):
    @extend_schema(request=RetractRequest, responses=Retracted)
    def post(self, request: Request, pk: int) -> Response:
        """Take all runs of this submission's kernel off its board. The same code does not rank again for you."""
        user = self.caller(request)
        found = get_object_or_404(view.visible_to(user), pk=pk)
        form = RetractRequest(data=request.data)
        form.is_valid(raise_exception=True)
        reason = form.validated_data["reason"] or usual_reason(user, found)
        return Response({"lines": retract(submission=found, actor=user, reason=reason, now=timezone.now())})
