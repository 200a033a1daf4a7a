"""The tree of a submission and the comparison of runs over /api/v1, as their pages show them."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.web.api.base import Private, Public, parse
from leaderboard.web.api.serializers import optional_text
from leaderboard.web.submissions.lineage import BUDGETS, Comparison, runs_seen, tree_seen


class TreeQuery(drf.Serializer[Any]):
    model = optional_text(128, "Only submissions of this model. Default: all.")


class TreeNode(drf.Serializer[Any]):
    """A submission of a tree."""

    submission = drf.IntegerField(source="pk")
    parents = drf.ListField(child=drf.IntegerField(), help_text="Those in the tree.")
    ratio = drf.FloatField(allow_null=True, help_text="candidate / baseline; null: no time that stands.")
    outcome = drf.CharField(source="item.outcome", default="", allow_blank=True)
    device_s = drf.FloatField(source="seconds")
    idea = drf.CharField(source="lineage.idea", allow_blank=True)
    model = drf.CharField(source="lineage.model", allow_blank=True)
    strategy = drf.CharField(source="lineage.strategy", allow_blank=True)
    run = drf.CharField(source="lineage.run", allow_blank=True)
    cost_usd = drf.FloatField(source="lineage.cost_usd", allow_null=True)


class SubmissionTree(drf.Serializer[Any]):
    """The run of a submission, or its ancestors and descendants, as far as the caller may read their code."""

    models = drf.ListField(child=drf.CharField())
    nodes = TreeNode(source="tree.nodes", many=True, help_text="Oldest first.")
    path = drf.SerializerMethodField(help_text="The way to the fastest submission.")

    def get_path(self, seen: Any) -> list[int]:
        return [node.pk for node in seen.tree.path]


class TreeOfSubmission(Public):
    @extend_schema(parameters=[TreeQuery], responses=SubmissionTree)
    def get(self, request: Request, pk: int) -> Response:
        """Return the tree of a submission, for everybody who may read its code."""
        query = parse(TreeQuery, request.query_params)
        return Response(SubmissionTree(tree_seen(request.user, pk, query["model"], timezone.now())).data)


class RunsQuery(drf.Serializer[Any]):
    board = drf.IntegerField(
        default=None, allow_null=True, min_value=1, help_text="An id of `boards`. Default: newest."
    )
    model = optional_text(128, "Only submissions of this model. Default: all.")
    by = drf.ChoiceField(choices=list(BUDGETS), default="candidates", help_text="The budget that is equal.")


class BoardOfRuns(drf.Serializer[Any]):
    id = drf.IntegerField(source="board")
    board = drf.CharField(source="board__slug")
    hardware = drf.CharField(source="board__hardware")
    sent = drf.IntegerField()


class RunLine(drf.Serializer[Any]):
    """A strategy of a run. A failed candidate counts as spent."""

    run = drf.CharField(allow_blank=True)
    strategy = drf.CharField(allow_blank=True)
    models = drf.CharField(allow_blank=True)
    candidates = drf.SerializerMethodField()
    passed = drf.IntegerField()
    device_s = drf.FloatField(source="seconds")
    cost_usd = drf.FloatField(allow_null=True, help_text="Of the candidates that name one.")
    best = drf.IntegerField(source="best.pk", default=None, allow_null=True)
    best_ratio = drf.FloatField(source="best.ratio", default=None, allow_null=True)
    at_equal_budget = drf.SerializerMethodField(help_text="Its fastest submission within `budget`; null: none.")

    def get_candidates(self, line: Any) -> int:
        return len(line.nodes)

    def get_at_equal_budget(self, line: Any) -> int | None:
        best = line.best_at(self.context["budget"])
        return best.pk if best else None


class RunComparison(drf.Serializer[Any]):
    """The caller's own runs on a board, compared at equal budget; the fastest first."""

    boards = BoardOfRuns(many=True)
    board = BoardOfRuns(allow_null=True)
    models = drf.ListField(child=drf.CharField())
    budget = drf.FloatField(help_text="That all have spent, in the unit of `by`.")
    lines = RunLine(many=True)


class Runs(Private):
    @extend_schema(parameters=[RunsQuery], responses=RunComparison)
    def get(self, request: Request) -> Response:
        """Compare the strategies of your own runs on a board at equal budget."""
        query = parse(RunsQuery, request.query_params)
        board = str(query["board"] or "")
        seen = runs_seen(self.caller(request), board=board, model=query["model"], by=query["by"])
        found = seen.comparison or Comparison([])
        budget = found.budget if found.contenders else 0.0
        lines = [line for line, _ in found.rows] if found.contenders else []
        answer = {"boards": seen.boards, "board": seen.board, "models": seen.models, "budget": budget, "lines": lines}
        return Response(RunComparison(answer, context={"budget": budget}).data)
