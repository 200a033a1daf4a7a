"""Batches over /api/v1: many candidates under one budget, and feedback on each as it comes; feedback on a submission.

A call with `wait` answers once there is news. It is a stream with a single part, because a request holds its place only
until the body of its answer begins (web/places.py).
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.judging.batches import TOPIC, batches_of, cancel_batch
from leaderboard.judging.lease import clock
from leaderboard.judging.models import Attempt
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Batch as BatchRow
from leaderboard.submissions.models import Candidate as CandidateRow
from leaderboard.submissions.models import Submission
from leaderboard.web import limits
from leaderboard.web.api.base import BoundedJSON, PlainText, Private, ShortList, paged, parse, reader_of
from leaderboard.web.api.schema import FEEDBACK
from leaderboard.web.api.serializers import (
    HALF_WIDTH,
    REMIXED_FROM,
    STATUSES,
    Estimate,
    Keyed,
    NewLineage,
    Speedup,
    lineage_of,
    optional_text,
)
from leaderboard.web.api.views import HEADER, KEYED, answer_once
from leaderboard.web.errors import code_of
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.stream import PING_S, RETRY_AFTER_S, Seat, hub, message, reads, refuse, whole
from leaderboard.web.submissions import view
from leaderboard.web.submissions.batches import Report, report_for, shown
from leaderboard.web.submissions.feedback import feedback_on
from runner.evidence.feedback import LEAST_TEXT, MOST_TEXT, as_text

MODES: Final = ("test", "benchmark", "ranked")
STATES: Final = ("running", "done", BatchRow.CANCELLED, BatchRow.BUDGET_SPENT)
MOST: Final = 256  # candidates of a batch
MOST_BUDGET_S: Final = 86_400
LEAST_BAR: Final = 0.0001
MOST_BAR: Final = 1_000
BAR: Final = (
    "Of mode `benchmark`: ratio of candidate to baseline. The timing of a candidate that cannot beat it ends after a "
    "first look, with the flag `stopped_early`."
)
SAME_AS: Final = "Submission judged before, whose stored verdict answered this candidate; null: none."
MOST_WAIT_S: Final = 60
MOST_P: Final = 1_000
AT_ONCE: Final = 50  # feedback objects of an answer


class BatchJSON(BoundedJSON):
    limit_bytes = 3 * pipeline.MOST_BATCH_BYTES
    too_large = f"too large; the sources of a batch may have {pipeline.MOST_BATCH_BYTES:,} bytes together"


class NewCandidate(drf.Serializer[Any]):
    code = drf.CharField(trim_whitespace=False, allow_blank=True)
    board = optional_text(200, "Default: the batch's, else the file's directive.")
    hardware = optional_text(200, "Default: the batch's, else the file's directive.")
    filename = optional_text(255)
    licence = optional_text(200)
    remixed_from = drf.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MAX_KEY, help_text=REMIXED_FROM
    )
    lineage = NewLineage(required=False, allow_null=True)


class NewBatch(drf.Serializer[Any]):
    board = optional_text(200, "Of candidates that name none.")
    hardware = optional_text(200, "Of candidates that name none.")
    mode = drf.ChoiceField(choices=MODES)
    budget_s = drf.FloatField(
        min_value=1, max_value=MOST_BUDGET_S, help_text="Device seconds of all candidates together, from claim to end."
    )
    bar = drf.FloatField(required=False, allow_null=True, min_value=LEAST_BAR, max_value=MOST_BAR, help_text=BAR)
    fresh = drf.BooleanField(
        default=False, help_text="Have a runner judge also the kernels that a stored verdict would answer."
    )
    candidates = ShortList(child=NewCandidate(), min_length=1, max_length=MOST)


class BatchSummary(drf.Serializer[Any]):
    id = drf.IntegerField()
    state = drf.ChoiceField(
        choices=STATES,
        help_text="`budget_spent`: candidates were ended without a verdict, at no cost of quota.",
    )
    mode = drf.ChoiceField(choices=MODES)
    size = drf.IntegerField(help_text="Number of candidates.")
    arrived = drf.IntegerField(help_text="Candidates with an end; each has feedback.")
    budget_s = drf.FloatField()
    spent_s = drf.FloatField(help_text="Device seconds used so far.")
    bar = drf.FloatField(allow_null=True, help_text=BAR)
    stages = drf.DictField(child=drf.IntegerField(), help_text="Candidates by status.")
    outcomes = drf.DictField(child=drf.IntegerField(), help_text="Judged candidates by outcome.")
    created_at = drf.DateTimeField()
    settled_at = drf.DateTimeField(allow_null=True, help_text="Time of the last candidate's end; null: not yet.")
    feedback = drf.CharField(help_text="Address of the feedback.")
    events = drf.CharField(help_text="Address of the feedback as server-sent events.")


class Candidate(drf.Serializer[Any]):
    """A candidate, by its submission's current attempt."""

    number = drf.IntegerField(source="submission.candidate.number", help_text="Place in the request, from 1.")
    submission = drf.IntegerField(source="submission_id")
    board = drf.CharField(source="submission.board.slug")
    hardware = drf.CharField(source="submission.board.hardware")
    status = drf.CharField(source="state", help_text=STATUSES)
    outcome = drf.CharField(allow_blank=True)
    arrival = drf.IntegerField(
        source="submission.candidate.arrival",
        allow_null=True,
        help_text="Place of its end among the batch's; null: none yet.",
    )
    same_as = drf.IntegerField(source="submission.candidate.same_as_id", allow_null=True, help_text=SAME_AS)


class Batch(BatchSummary):
    candidates = Candidate(many=True)


class FiguresAtK(drf.Serializer[Any]):
    """Figures of k attempts at each problem."""

    k = drf.IntegerField()
    pass_at_k = Estimate(source="correct", help_text="Chance of a correct attempt among k.")
    fast_p_at_k = Estimate(source="fast", help_text="Chance of a verified speedup above `p` among k.")
    best_of_k = drf.FloatField(
        source="best", allow_null=True, help_text="Expected speedup of the best of k, 1 at least; null: not timed."
    )


class BatchProblem(drf.Serializer[Any]):
    """The judged candidates of a batch on a board."""

    board = drf.CharField(source="board.slug")
    hardware = drf.CharField(source="board.hardware")
    attempts = drf.IntegerField(source="attempts.total")
    correct = drf.IntegerField(source="attempts.correct")
    faster = drf.IntegerField(help_text="Verified speedups.")
    best_ratio = drf.FloatField(allow_null=True, help_text="Of the fastest; candidate / baseline.")


class ReportedCandidate(drf.Serializer[Any]):
    number = drf.IntegerField()
    arrival = drf.IntegerField(allow_null=True)
    submission = drf.IntegerField(source="item.id")
    board = drf.CharField(source="item.board")
    hardware = drf.CharField(source="item.hardware")
    status = drf.CharField(source="item.status", help_text=STATUSES)
    outcome = drf.CharField(source="item.outcome", allow_blank=True)
    stage = drf.CharField(source="item.stage", allow_blank=True, help_text="Last stage reached; empty: none, or older.")
    review = drf.CharField(source="item.review", allow_null=True)
    ratio = drf.FloatField(source="item.ratio", allow_null=True, help_text="Candidate / baseline, below 1 faster.")
    speedup = Speedup(source="item.ratio", allow_null=True)
    half_width = drf.FloatField(source="item.half_width", allow_null=True, help_text=HALF_WIDTH)
    judged = drf.BooleanField(source="is_judged", help_text="Its outcome is about the code, so it is an attempt.")
    correct = drf.BooleanField(source="is_correct")
    faster = drf.BooleanField(source="is_faster", help_text="A verified speedup.")
    judged_before = drf.BooleanField(help_text="A stored verdict answered it when it was sent.")
    same_as = drf.IntegerField(allow_null=True, help_text="The submission of that verdict, for you and your team.")


class BatchReport(drf.Serializer[Any]):
    """Figures over the judged candidates of a batch. A verified speedup is correct and surely above 1."""

    id = drf.IntegerField(source="batch.pk")
    state = drf.ChoiceField(choices=STATES, source="summary.state")
    mode = drf.ChoiceField(choices=MODES, source="batch.mode")
    size = drf.IntegerField(source="batch.size")
    judged = drf.SerializerMethodField()
    correct = drf.IntegerField()
    faster = drf.IntegerField(help_text="Verified speedups.")
    not_standing = drf.IntegerField(help_text="Passes that review holds or rejected; they count as failed.")
    p = drf.SerializerMethodField()
    figures = drf.SerializerMethodField(help_text="For k = 1, 2, 4 … up to the fewest attempts at a problem.")
    stages = drf.DictField(child=drf.IntegerField(), help_text="Judged candidates by the last stage reached.")
    problems = BatchProblem(many=True, source="boards")
    spent_s = drf.FloatField(source="summary.spent_s", help_text="Device seconds.")
    device_s_per_speedup = drf.FloatField(allow_null=True, help_text="null: there is no verified speedup.")
    cost_usd = drf.FloatField(allow_null=True, help_text="Of all candidates; null: some name no cost.")
    cost_usd_per_speedup = drf.FloatField(allow_null=True)
    candidates = ReportedCandidate(many=True, source="lines")

    def get_judged(self, report: Report) -> int:
        return len(report.judged)

    def get_p(self, report: Report) -> float:
        return float(self.context["p"])

    @extend_schema_field(FiguresAtK(many=True))
    def get_figures(self, report: Report) -> Any:
        rows = [{**vars(row), "fast": row.fast[0]} for row in report.rows([self.context["p"]])]
        return FiguresAtK(rows, many=True).data


class ReportQuery(drf.Serializer[Any]):
    p = drf.FloatField(default=1.0, min_value=0, max_value=MOST_P, help_text="Of fast_p: a speedup, at most 1000.")

    def validate_p(self, sent: float) -> float:
        if math.isnan(sent):  # passes both limits
            raise drf.ValidationError("give a number")
        return sent


class WaitQuery(drf.Serializer[Any]):
    wait = drf.IntegerField(
        default=0, min_value=0, max_value=MOST_WAIT_S, help_text="Seconds to wait for the end of the batch, at most 60."
    )


class FeedbackQuery(drf.Serializer[Any]):
    after = drf.IntegerField(
        default=0, min_value=0, max_value=MOST, help_text="Arrival of the last feedback that is known; 0: begin."
    )
    limit = drf.IntegerField(default=AT_ONCE, min_value=1, max_value=AT_ONCE, help_text="At most 50.")
    wait = drf.IntegerField(
        default=0, min_value=0, max_value=MOST_WAIT_S, help_text="Seconds to wait for further feedback, at most 60."
    )


class TextQuery(drf.Serializer[Any]):
    limit = drf.IntegerField(
        default=2_000,
        min_value=LEAST_TEXT,
        max_value=MOST_TEXT,
        help_text="Characters of the text, with `format=text`.",
    )


def in_full(batch: BatchRow) -> dict[str, Any]:
    (summary,) = shown([batch], timezone.now())
    current = Attempt.objects.current().filter(submission__candidate__batch=batch).order_by("submission__candidate")
    parts = current.select_related("submission__board", "submission__candidate")
    summary.candidates = list(parts.defer("submission__source"))
    told: dict[str, Any] = Batch(summary).data
    return told


def arrivals(batch: BatchRow, viewer: User, after: int, most: int) -> list[dict[str, Any]]:
    """Return the feedback after an arrival, in the order in which the candidates ended."""
    rows = CandidateRow.objects.filter(batch=batch, arrival__gt=after).order_by("arrival")[:most]
    keys = [row.submission_id for row in rows]
    parts = Submission.objects.select_related("board__competition", "owner", "entrant", "takedown").defer("source")
    found = parts.in_bulk(keys)
    return [one.model_dump(mode="json") for one in feedback_on([found[pk] for pk in keys], viewer)]


class Batches(Private):
    parser_classes = [BatchJSON]

    @extend_schema(parameters=[Keyed], responses=BatchSummary(many=True))
    def get(self, request: Request) -> Response:
        """List the batches of the caller's account, newest first."""
        query, mine = parse(Keyed, request.query_params), batches_of(self.caller(request))
        return paged(request, mine, query, BatchSummary, ("-pk",), prepare=lambda rows: shown(rows, timezone.now()))

    @extend_schema(request=NewBatch, responses={201: Batch}, parameters=[KEYED])
    def post(self, request: Request) -> Response:
        """Send up to 256 candidates as submissions of one mode under one budget, all or none."""
        sent = parse(NewBatch, request.data)
        owner, now = self.caller(request), clock()

        def take() -> dict[str, Any]:
            uploads = [_upload(sent, candidate) for candidate in sent["candidates"]]
            told: dict[str, Any] = {name: sent.get(name) for name in ("mode", "budget_s", "bar", "fresh")}
            return in_full(pipeline.submit_batch(uploads, **told, owner=owner, now=now, token=self.token(request)))

        key, was_kept = request.headers.get(HEADER), False
        if key is None:
            answer = take()
        else:
            answer, was_kept = answer_once(account_id=owner.account_id, key=key, sent=sent, now=now, act=take)
        headers = {"Location": f"/api/v1/batches/{answer['id']}"}
        return Response(answer, status=201, headers=headers | ({"Idempotent-Replayed": "true"} if was_kept else {}))


def _upload(sent: dict[str, Any], candidate: dict[str, Any]) -> Upload:
    return Upload(
        board=candidate["board"] or sent["board"],
        hardware=candidate["hardware"] or sent["hardware"],
        mode=sent["mode"],
        filename=candidate["filename"],
        data=candidate["code"].encode("utf-8", "surrogatepass"),
        licence=candidate["licence"],
        remixed_from=candidate.get("remixed_from"),
        **lineage_of(candidate),
    )


class OneBatch(Private):
    @extend_schema(operation_id="batch", parameters=[WaitQuery], responses=Batch)
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """Return a batch with its candidates. With `wait` it answers at the batch's end, or when the time is up."""
        within_s, caller = parse(WaitQuery, request.query_params)["wait"], self.caller(request)
        get_object_or_404(batches_of(caller), pk=pk)

        def look() -> tuple[Any, bool]:
            found = batches_of(caller).get(pk=pk)
            return in_full(found), found.settled_at is not None

        return _answer(request, pk, within_s, look)


class FeedbackOfBatch(Private):
    @extend_schema(
        operation_id="batch_feedback",
        parameters=[FeedbackQuery],
        responses={200: {"type": "array", "items": FEEDBACK}},
    )
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """List feedback on a batch's candidates as they ended. The last `about.arrival` is the next call's `after`.

        With `wait` it answers as soon as there is any, or the batch has ended.
        """
        query, caller = parse(FeedbackQuery, request.query_params), self.caller(request)
        get_object_or_404(batches_of(caller), pk=pk)

        def look() -> tuple[Any, bool]:
            batch = batches_of(caller).get(pk=pk)
            found = arrivals(batch, caller, query["after"], query["limit"])
            return found, bool(found) or batch.settled_at is not None

        return _answer(request, pk, query["wait"], look)


class ReportOnBatch(Private):
    @extend_schema(operation_id="batch_report", parameters=[ReportQuery], responses=BatchReport)
    def get(self, request: Request, pk: int) -> Response:
        """Return figures, stages and costs of a batch of the caller or their team, or of a public batch."""
        p = parse(ReportQuery, request.query_params)["p"]
        report = report_for(self.caller(request), pk, timezone.now())
        return Response(BatchReport(report, context={"p": p}).data)


def _answer(request: Request, pk: int, within_s: int, look: Callable[[], tuple[Any, bool]]) -> HttpResponseBase:
    """Answer with what `look` returns, once it says that this is final or after `within_s`."""
    found, is_final = look()
    if is_final or not within_s:
        return Response(found)
    where = limits.address(request)
    parts = _later(pk, Private.caller(request).pk, where, within_s, look)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(parts, content_type=JSONRenderer.media_type, headers=headers)


async def _later(
    pk: int, user_id: int, address: str, within_s: int, look: Callable[[], tuple[Any, bool]]
) -> AsyncIterator[bytes]:
    seat = hub.reserve(TOPIC.format(pk), user_id, address)
    ends = time.monotonic() + (within_s if seat else 0)
    try:
        async for found, is_final in _looks(seat, look):
            left = ends - time.monotonic()
            if is_final or left <= 0 or seat is None or seat.is_lost or hub.has_ended:
                yield JSONRenderer().render(found)
                return
            await _woken(seat, left)
    finally:
        if seat is not None:
            hub.leave(seat)


async def _looks(seat: Seat | None, look: Callable[[], tuple[Any, bool]]) -> AsyncIterator[tuple[Any, bool]]:
    """Look again and again; the reader waits for the seat in between."""
    hub.listen()

    def once() -> tuple[Any, bool]:
        try:
            return look()
        finally:
            connection.close_if_unusable_or_obsolete()

    if seat is not None:
        seat.is_read = True
    while True:
        if seat is not None:
            seat.wake.clear()
        async with reads:
            found = await sync_to_async(once)()
        yield found


async def _woken(seat: Seat, within_s: float) -> bool:
    """Return whether news came in time."""
    try:
        await asyncio.wait_for(seat.wake.wait(), min(within_s, PING_S))
    except TimeoutError:
        return False
    return True


async def events(request: HttpRequest, pk: int) -> HttpResponseBase:
    """GET /api/v1/batches/{id}/events: the owner follows the feedback on a batch as server-sent events."""
    if request.method != "GET":
        return refuse(405, "This address answers GET only.")
    try:
        user = await reader_of(request)
    except APIException as refused:
        return refuse(refused.status_code, str(refused.detail), code=code_of(refused))
    if wait_s := limits.floods.take((limits.STREAM_USER, str(user.pk))):
        return refuse(429, f"Too many streams were opened. Try again in {wait_s} s.", wait_s)
    if not await sync_to_async(batches_of(user).filter(pk=pk).exists)():
        return refuse(404, "This batch does not exist, or you have no access to it.")
    seat = hub.reserve(TOPIC.format(pk), user.pk, limits.address(request))
    if seat is None:
        way_out = f"Try again in {RETRY_AFTER_S} s, or poll /api/v1/batches/{pk}/feedback."
        return refuse(429, f"Too many open streams. {way_out}", RETRY_AFTER_S)
    after = whole(request.headers.get("Last-Event-ID", ""))
    return StreamingHttpResponse(
        _follow(seat, user, pk, after),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _follow(seat: Seat, user: User, pk: int, after: int) -> AsyncIterator[str]:
    def look() -> tuple[Any, bool]:
        # As they are now: a stream lasts longer than an account may.
        reader = User.objects.filter(pk=user.pk, is_active=True).first()
        batch = batches_of(reader).filter(pk=pk).first() if reader else None
        if batch is None or reader is None:
            return [None], False
        found = arrivals(batch, reader, after, AT_ONCE)
        is_over = not found and batch.settled_at is not None
        return [in_full(batch)] if is_over else found, is_over

    try:
        yield ": hello\n\n"
        async for found, is_over in _looks(seat, look):
            if found == [None]:
                return
            if is_over:
                yield message("done", after, found[0])
                return
            for one in found:
                after = one["about"]["arrival"]
                yield message("feedback", after, one)
            if seat.is_lost or hub.has_ended:
                return
            if not found and not await _woken(seat, PING_S):
                yield ": ping\n\n"
    finally:
        hub.leave(seat)


class CancelBatch(Private):
    @extend_schema(operation_id="batch_cancel", request=None, responses=Batch)
    def post(self, request: Request, pk: int) -> Response:
        """Cancel the unfinished candidates of a batch. 409 if there are none. Their quota stays spent."""
        found = get_object_or_404(batches_of(self.caller(request)), pk=pk)
        return Response(in_full(cancel_batch(batch=found, reason="cancelled over the API", **self.by(request))))


class FeedbackOfSubmission(Private):
    renderer_classes = [JSONRenderer, PlainText]

    @extend_schema(
        operation_id="submission_feedback",
        parameters=[TextQuery, OpenApiParameter("format", str, enum=["json", "text"])],
        responses={(200, "application/json"): FEEDBACK, (200, "text/plain"): OpenApiTypes.STR},
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return feedback on a submission for a program, as `feedback/1` or as text for a prompt."""
        limit, caller = parse(TextQuery, request.query_params)["limit"], self.caller(request)
        found = get_object_or_404(view.visible_to(caller).select_related("takedown").defer("source"), pk=pk)
        (told,) = feedback_on([found], caller)
        is_text = request.accepted_renderer.format == PlainText.format
        return Response(as_text(told, limit) if is_text else told.model_dump(mode="json"))


URLS: list[URLPattern] = [
    path("batches", Batches.as_view()),
    path("batches/<int:pk>", OneBatch.as_view()),
    path("batches/<int:pk>/feedback", FeedbackOfBatch.as_view()),
    path("batches/<int:pk>/report", ReportOnBatch.as_view()),
    path("batches/<int:pk>/events", events),
    path("batches/<int:pk>/cancel", CancelBatch.as_view()),
]
