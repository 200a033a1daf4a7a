"""GET /api/v1/quota: the caller's remaining quota."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.competitions.permissions import boards_seen_by
from leaderboard.submissions.ledger import boards_spent_on
from leaderboard.web.api.views import Private
from leaderboard.web.submissions.quotas import what_is_left


class Left(serializers.Serializer[Any]):
    board = serializers.CharField()
    hardware = serializers.CharField()
    mode = serializers.CharField()
    left = serializers.IntegerField(help_text="How many submissions may be sent now.")
    capacity = serializers.IntegerField(help_text="How many at most.")
    per_day = serializers.IntegerField(help_text="How many come back in a day, evenly.")
    next_at = serializers.DateTimeField(allow_null=True, help_text="When the next one comes; null: none is missing.")


class LeftQuery(serializers.Serializer[Any]):
    board = serializers.CharField(required=False, allow_blank=True, max_length=64)


class Quota(Private):
    @extend_schema(
        parameters=[OpenApiParameter("board", OpenApiTypes.STR, description="All that is left for this board.")],
        responses=Left(many=True),
    )
    def get(self, request: Request) -> Response:
        """List the caller's remaining quota for a board, or without `board` wherever part of a quota is spent."""
        query = LeftQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        caller, slug, now = self.caller(request), query.validated_data.get("board", ""), timezone.now()
        if not slug:
            left = what_is_left(caller, boards_spent_on(caller), now)
            return Response(Left([one for one in left if one.next_at is not None], many=True).data)
        boards = list(boards_seen_by(caller).with_parts().filter(slug=slug))
        if not boards:
            raise Http404
        return Response(Left(what_is_left(caller, boards, now), many=True).data)
