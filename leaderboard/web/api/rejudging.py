"""Re-judging sets over /api/v1: draw up, compare, try, apply, discard, stop. The page calls the same acts."""

from collections import Counter
from typing import Any, Final

from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.competitions.models import Board, Competition
from leaderboard.errors import UserError
from leaderboard.judging.models import RejudgeItem, RejudgeSet
from leaderboard.rejudging.apply import compare, try_rejudging
from leaderboard.rejudging.sets import MAX_NAME_CHARS, MOST, Kind, Selection, estimate_s, make_set, select
from leaderboard.web.api.base import AS_TABLE, Owners, Shape, ShortList, act_view, paged, parse
from leaderboard.web.api.serializers import Keyed, ReasonRequest, optional_text
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.organise.rejudge_pages import ACTS, COLUMNS, csv_row, sets_of


class ChoiceOfSubmissions(drf.Serializer[Any]):
    competition = drf.CharField(max_length=64)
    board = optional_text(64, "Only this board; with `hardware`.")
    hardware = optional_text(64)
    kind = drf.ChoiceField(choices=Kind.values, help_text="; ".join(f"`{one}`: {one.label}" for one in Kind))
    version = optional_text(80, "For `version`: its digest. Default: any but the board's present version.")
    runner = optional_text(64, "For `runner`: its name.")
    since = drf.DateTimeField(allow_null=True, default=None, help_text="For `runner`.")
    until = drf.DateTimeField(allow_null=True, default=None, help_text="For `runner`.")
    ids = ShortList(
        child=drf.IntegerField(min_value=1, max_value=MAX_KEY),
        default=list,
        max_length=MOST,
        help_text="For `list`: submissions.",
    )


class NewRejudgeSet(ChoiceOfSubmissions):
    name = drf.CharField(max_length=MAX_NAME_CHARS)
    reason = drf.CharField(max_length=MAX_REASON_CHARS)


class ChosenSubmissions(drf.Serializer[Any]):
    submissions = drf.IntegerField()
    left_out = drf.IntegerField(help_text="Submissions that are being judged again.")
    estimate_s = drf.FloatField(help_text="Machine time, as long as their attempts took before.")


class RejudgeSetLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    competition = drf.CharField(source="competition.slug")
    board = drf.CharField(source="board.slug", default="", help_text="Empty: all boards.")
    hardware = drf.CharField(source="board.hardware", default="")
    name = drf.CharField()
    reason = drf.CharField(source="why")
    selection = drf.DictField()
    state = drf.ChoiceField(choices=[RejudgeSet.OPEN, RejudgeSet.APPLIED, RejudgeSet.DISCARDED])
    submissions = drf.IntegerField(source="size")
    judged = drf.IntegerField()
    estimate_s = drf.FloatField()
    created_by = drf.CharField(source="created_by.username")
    created_at = drf.DateTimeField()
    stopped_at = drf.DateTimeField(allow_null=True)
    settled_at = drf.DateTimeField(allow_null=True)


class RejudgeItemLine(drf.Serializer[Any]):
    submission = drf.IntegerField()
    board = drf.CharField()
    hardware = drf.CharField()
    entrant = drf.CharField()
    mode = drf.CharField()
    fate = drf.CharField(help_text="On applying.")
    verdict_before = drf.CharField()
    verdict_after = drf.CharField()
    ratio_before = drf.FloatField(allow_null=True)
    half_width_before = drf.FloatField(allow_null=True)
    score_us_before = drf.FloatField(allow_null=True)
    epoch_before = drf.CharField(allow_null=True, allow_blank=True)
    ratio_after = drf.FloatField(allow_null=True)
    half_width_after = drf.FloatField(allow_null=True)
    score_us_after = drf.FloatField(allow_null=True)
    epoch_after = drf.CharField(allow_null=True, allow_blank=True)
    factor = drf.FloatField(allow_null=True, help_text="Ratio after / before; below 1: now faster.")
    beyond_noise = drf.BooleanField()
    rank_before = drf.IntegerField(allow_null=True)
    rank_after = drf.IntegerField(allow_null=True)


class RejudgePlace(drf.Serializer[Any]):
    board = drf.CharField()
    hardware = drf.CharField()
    stage = drf.CharField()
    group = drf.CharField(allow_blank=True, help_text="Where agents rank apart from people; else empty.")
    place = drf.IntegerField()
    before = drf.CharField(allow_blank=True)
    after = drf.CharField(allow_blank=True)


class RejudgeSetDetail(drf.Serializer[Any]):
    set = RejudgeSetLine()
    fates = drf.DictField(child=drf.IntegerField(), help_text="Number of submissions by their fate on applying.")
    left_behind = drf.IntegerField(help_text="Lines that would stay in a timing epoch that their board does not rank.")
    podium = RejudgePlace(many=True, help_text="Places of the first three that change.")


class ApplyRequest(ReasonRequest):
    leave_out = drf.BooleanField(default=False, help_text="Leave out submissions that are not judged yet.")
    anyway = drf.BooleanField(default=False, help_text="Although lines stay behind.")


class RejudgeEffect(drf.Serializer[Any]):
    set = RejudgeSetLine()
    counts = drf.DictField(
        child=drf.IntegerField(), help_text="Submissions: published, held, failed, …; or cancelled, by `stop`."
    )


class Rejudging(Owners):
    """Base of the calls on sets. People without a role in a set's competition get a 404."""

    def chosen(self, request: Request, pk: int) -> RejudgeSet:
        return get_object_or_404(sets_of(self.caller(request)), pk=pk)

    def place(self, request: Request, sent: dict[str, Any]) -> tuple[Competition, Board | None]:
        competition = self.competition(request, sent["competition"], "have submissions judged again")
        if not sent["board"]:
            return competition, None
        boards = competition.boards.select_related("competition")
        board = boards.filter(slug=sent["board"], hardware=sent["hardware"]).first()
        if board is None:
            name = f"{sent['board']} {sent['hardware']}".strip()
            raise UserError("board", name, f"{competition} has no such board; name it with its hardware", 404)
        return competition, board


def _selection(sent: dict[str, Any]) -> Selection:
    kept = {name: sent[name] for name in ("kind", "version", "runner", "since", "until")}
    return Selection(ids=tuple(sorted(set(sent["ids"]))), **kept)


class RejudgeSets(Rejudging):
    @extend_schema(operation_id="rejudge_sets", parameters=[Keyed], responses=RejudgeSetLine(many=True))
    def get(self, request: Request) -> Response:
        """List the re-judging sets of the caller's competitions, newest first."""
        found = sets_of(self.caller(request))
        return paged(request, found, parse(Keyed, request.query_params), RejudgeSetLine, ["-pk"])

    @extend_schema(operation_id="make_rejudge_set", request=NewRejudgeSet, responses={201: RejudgeSetLine})
    def post(self, request: Request) -> Response:
        """Queue the chosen submissions to be judged again, hidden until the set is applied. Owners only."""
        sent = parse(NewRejudgeSet, request.data)
        competition, board = self.place(request, sent)
        names: dict[str, Any] = {"name": sent["name"], "why": sent["reason"], "selection": _selection(sent)}
        made = make_set(competition=competition, board=board, **names, **self.by(request))
        return Response(RejudgeSetLine(self.chosen(request, made.pk)).data, status=201)


class ChooseSubmissions(Rejudging):
    @extend_schema(operation_id="choose_submissions", request=ChoiceOfSubmissions, responses=ChosenSubmissions)
    def post(self, request: Request) -> Response:
        """Return how many submissions a set would have, and how long they take. It changes nothing. Owners only."""
        sent = parse(ChoiceOfSubmissions, request.data)
        competition, board = self.place(request, sent)
        attempts, left_out = select(selection=_selection(sent), competition=competition, board=board)
        found = {"submissions": len(attempts), "left_out": left_out, "estimate_s": estimate_s(attempts)}
        return Response(found)


class OneRejudgeSet(Rejudging):
    @extend_schema(operation_id="rejudge_set", responses=RejudgeSetDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return a set with the effect of applying it now."""
        chosen = self.chosen(request, pk)
        found = compare(chosen)
        places = [
            {"board": change.board.slug, "hardware": change.board.hardware, "stage": change.stage}
            | {"group": change.group, "place": place, "before": before, "after": after}
            for change in found.boards
            for place, before, after in change.podium
        ]
        fates = Counter(row.fate or "not_judged" for row in found.rows)
        shown = {"set": chosen, "fates": fates, "left_behind": found.left_behind, "podium": places}
        return Response(RejudgeSetDetail(shown).data)


class RejudgeItems(Rejudging):
    renderer_classes = AS_TABLE

    @extend_schema(operation_id="rejudge_items", parameters=[Keyed], responses=RejudgeItemLine(many=True))
    def get(self, request: Request, pk: int) -> Response:
        """List the submissions of a set, each before and after."""
        chosen = self.chosen(request, pk)
        rows = {row.item.pk: dict(zip(COLUMNS, csv_row(row), strict=True)) for row in compare(chosen).rows}

        def shown(items: list[RejudgeItem]) -> list[dict[str, Any]]:
            return [rows[item.pk] for item in items]

        query = parse(Keyed, request.query_params)
        return paged(request, chosen.items.all(), query, RejudgeItemLine, ["pk"], prepare=shown)


class TrySet(Rejudging):
    @extend_schema(operation_id="try_rejudge_set", request=None, responses=RejudgeEffect)
    def post(self, request: Request, pk: int) -> Response:
        """Return what applying a set now would give, holds included. It changes nothing. Owners only."""
        chosen = self.chosen(request, pk)
        counts = try_rejudging(chosen=chosen, **self.by(request))
        return Response(RejudgeEffect({"set": chosen, "counts": counts}).data)


class SettleSet(Rejudging):
    name: str

    def post(self, request: Request, pk: int) -> Response:
        chosen = self.chosen(request, pk)
        act, _ = ACTS[self.name]
        result = act(chosen=chosen, **self.by(request), **parse(SETTLE[self.name][0], request.data))
        counts = {"cancelled": result} if self.name == "stop" else result if isinstance(result, Counter) else {}
        return Response(RejudgeEffect({"set": self.chosen(request, pk), "counts": counts}).data)


SETTLE: Final[dict[str, tuple[Shape, str]]] = {
    "apply": (ApplyRequest, "Make every new verdict of a set its submission's, at once. Owners only."),
    "discard": (ReasonRequest, "Discard a set: its verdicts stay hidden for ever. Owners only."),
    "stop": (ReasonRequest, "Cancel the queued submissions of a set; running ones finish. Owners only."),
}
URLS: Final[list[URLPattern]] = [
    path("rejudge", RejudgeSets.as_view()),
    path("rejudge/choose", ChooseSubmissions.as_view()),
    path("rejudge/<int:pk>", OneRejudgeSet.as_view()),
    path("rejudge/<int:pk>/items", RejudgeItems.as_view()),
    path("rejudge/<int:pk>/try", TrySet.as_view()),
    *(
        path(
            f"rejudge/<int:pk>/{name}",
            act_view(SettleSet, f"{name}_rejudge_set", description, sent, RejudgeEffect, name=name).as_view(),
        )
        for name, (sent, description) in SETTLE.items()
    ),
]
