"""A competition's standing over its boards, over /api/v1."""

from __future__ import annotations

from typing import Any, Final

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import SCORINGS
from leaderboard.errors import UserError
from leaderboard.web.api.views import Public
from leaderboard.web.boards import standing

MAX_LINES: Final = 1_000


class BoardResult(serializers.Serializer[Any]):
    board = serializers.CharField()
    hardware = serializers.CharField()
    rank = serializers.IntegerField()
    tied = serializers.BooleanField()
    ratio = serializers.FloatField()
    points = serializers.FloatField()


class Line(serializers.Serializer[Any]):
    rank = serializers.IntegerField(source="line.rank", help_text="Shared by those who are tied: 1, 1, 3.")
    tied = serializers.BooleanField(source="line.is_tied")
    user = serializers.CharField(source="entrant.shown_name")
    division = serializers.CharField(source="entrant.division")
    affiliation = serializers.CharField(source="entrant.affiliation", allow_blank=True)
    score = serializers.FloatField(source="line.score", help_text="Points, mean speedup or share, as asked for.")
    low = serializers.FloatField(source="line.low", allow_null=True)
    high = serializers.FloatField(source="line.high", allow_null=True)
    solved = serializers.IntegerField(source="line.solved")
    boards = serializers.SerializerMethodField()

    @extend_schema_field(BoardResult(many=True))
    def get_boards(self, row: Any) -> list[dict[str, Any]]:
        return [
            {
                "board": board.slug,
                "hardware": board.hardware,
                "rank": cell.rank,
                "tied": cell.is_tied,
                "ratio": cell.value.ratio,
                "points": cell.points,
            }
            for board, cell in zip(self.context["boards"], row.cells, strict=True)
            if cell is not None
        ]


class Query(serializers.Serializer[Any]):
    stage = serializers.ChoiceField(choices=list(Stage), required=False)
    hardware = serializers.CharField(required=False, allow_blank=True, default="", max_length=64)
    scoring = serializers.ChoiceField(choices=SCORINGS, required=False)
    full = serializers.BooleanField(default=False)
    limit = serializers.IntegerField(default=MAX_LINES, min_value=1, max_value=MAX_LINES)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=1_000_000)


class Standings(Public):
    @extend_schema(
        parameters=[
            OpenApiParameter("stage", OpenApiTypes.STR, enum=list(Stage)),
            OpenApiParameter("hardware", OpenApiTypes.STR, description="Over the boards of this hardware alone."),
            OpenApiParameter("scoring", OpenApiTypes.STR, enum=SCORINGS, description="Else the competition's own."),
            OpenApiParameter("full", OpenApiTypes.BOOL, description="With what is frozen; for those with a role."),
            OpenApiParameter("limit", OpenApiTypes.INT, description=f"At most {MAX_LINES}."),
            OpenApiParameter("offset", OpenApiTypes.INT),
        ],
        responses=Line(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the standing over a competition's boards, best first, a line per entrant."""
        query = Query(data=request.query_params)
        query.is_valid(raise_exception=True)
        told = query.validated_data
        asked = standing.Asked(
            stage=Stage(told["stage"]) if "stage" in told else None,
            hardware=told["hardware"],
            scoring=told.get("scoring", ""),
            in_full=told["full"],
            start=told["offset"],
            most=told["limit"],
        )
        shown = standing.show_overall(slug, asked, request.user, timezone.now())
        if told["full"] and not shown.sees_more:
            raise UserError("full", True, f"only who has a role in {shown.competition} sees it in full", 403)
        lines = Line(shown.rows, many=True, context={"boards": shown.standing.boards})
        return Response(lines.data, headers={"X-Total-Count": str(shown.total)})
