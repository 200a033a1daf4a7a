"""Review over /api/v1: the queue, a case with its evidence and its acts for reviewers; an owner's side of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.review.case import appeal as appealing
from leaderboard.review.case import ask as asking
from leaderboard.review.case import states as case
from leaderboard.review.models import Case
from leaderboard.review.permissions import is_reviewer_anywhere
from leaderboard.submissions.models import Submission
from leaderboard.web.api import review_shapes as shapes
from leaderboard.web.api.paging import PAGING
from leaderboard.web.api.views import Private
from leaderboard.web.review import case as review_case
from leaderboard.web.review import owner, queue
from leaderboard.web.review.acts import ACTS
from leaderboard.web.submissions import view as shape

# act → (request shape, description); the page calls the same acts
SENT: Final[dict[str, tuple[type[serializers.Serializer[Any]], str]]] = {
    case.CLAIM: (shapes.ClaimRequest, "Take a case for 30 minutes; again: for longer."),
    case.RELEASE: (shapes.Nothing, "Give a case back."),
    case.CLEAR: (shapes.ClearRequest, "Find a held result sound; on the podium it may take two people."),
    case.REJECT: (shapes.RejectRequest, "Reject a held result; its owner reads the reason."),
    case.ASK: (shapes.AskRequest, "Ask the owner of a held result."),
    case.OVERTURN: (shapes.WithReason, "Take back what a verdict rejected by itself."),
    case.UPHOLD: (shapes.WithReason, "Answer an appeal: the rejection stands."),
    case.GRANT: (shapes.WithReason, "Answer an appeal: the case waits again."),
    case.UNDO: (shapes.WithReason, "Take the last decision back."),
    case.NOTE: (shapes.NoteRequest, "Write a note for other reviewers."),
    case.LABEL: (shapes.LabelRequest, "Add a label."),
    case.UNLABEL: (shapes.LabelRequest, "Take a label off."),
    case.RERUN: (shapes.RerunRequest, "Have it judged again."),
}
FILTERS: Final = [
    OpenApiParameter("competition", OpenApiTypes.STR, description="Its slug."),
    OpenApiParameter("board", OpenApiTypes.STR, description="Its slug."),
    OpenApiParameter("hardware", OpenApiTypes.STR),
    OpenApiParameter("rule", OpenApiTypes.STR, description="That held it."),
    OpenApiParameter("state", OpenApiTypes.STR, enum=list(queue.STATES)),
    OpenApiParameter("label", OpenApiTypes.STR),
    OpenApiParameter("mine", OpenApiTypes.BOOL, description="Claimed by the caller."),
    *PAGING,
]


class Reviewers(Private):
    """Base of the reviewers' views. Like the pages, they answer 404 to a caller who reviews no competition."""

    scope = "review"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not is_reviewer_anywhere(self.caller(request)):
            raise Http404

    def case(self, request: Request, pk: int) -> Case:
        return review_case.find(self.caller(request), pk)

    def told(self, request: Request, pk: int, now: datetime, status: int = 200) -> Response:
        return Response(shapes.CaseSummary(self.case(request, pk), context={"now": now}).data, status=status)


class Queue(Reviewers):
    @extend_schema(operation_id="review_queue", parameters=FILTERS, responses=shapes.CaseSummary(many=True))
    def get(self, request: Request) -> Response:
        """List cases that the caller may look at, oldest first. Only open cases, unless another state is asked for."""
        query = shapes.Filters(data=request.query_params)
        query.is_valid(raise_exception=True)
        told, now = query.validated_data, timezone.now()
        names = ("competition", "rule", "state", "label", "mine")
        filters = queue.Filters(**{name: told[name] for name in names})
        found = queue.waiting(self.caller(request), filters, now)
        places = {"board__slug": told["board"], "board__hardware": told["hardware"]}
        found = found.filter(**{field: value for field, value in places.items() if value})
        page = found[told["offset"] : told["offset"] + told["limit"]]
        rows = shapes.CaseSummary(page, many=True, context={"now": now}).data
        return Response(rows, headers={"X-Total-Count": str(found.count())})


class Detail(Reviewers):
    @extend_schema(operation_id="review_case", responses=shapes.CaseDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return a case with its evidence: findings, figures of each timed case, clocks, code, diffs, history, log."""
        now = timezone.now()
        shown = review_case.context(self.case(request, pk), self.caller(request), now)
        return Response(shapes.CaseDetail(shown, context={"now": now}).data)


class Hold(Reviewers):
    @extend_schema(operation_id="review_hold", request=shapes.HoldRequest, responses={201: shapes.CaseSummary})
    def post(self, request: Request) -> Response:
        """Hold a result that ranks. Its entry leaves the board until a person decides."""
        form = shapes.HoldRequest(data=request.data)
        form.is_valid(raise_exception=True)
        user, now = self.caller(request), timezone.now()
        result = review_case.ranking(user, form.validated_data["submission"])
        row = pipeline.hold_result(result=result, actor=user, reason=form.validated_data["reason"], now=now)
        return self.told(request, row.pk, now, status=201)


class CaseAct(Reviewers):
    act: str

    def post(self, request: Request, pk: int) -> Response:
        row, now = self.case(request, pk), timezone.now()
        form = SENT[self.act][0](data=request.data)
        form.is_valid(raise_exception=True)
        ACTS[self.act](row.result, self.caller(request), form.validated_data, now)
        return self.told(request, pk, now)


def _view(act: str) -> type[CaseAct]:
    sent, said = SENT[act]
    described = extend_schema(
        operation_id=f"review_{act}",
        description=said,
        request=None if sent is shapes.Nothing else sent,
        responses=shapes.CaseSummary,
    )
    made: type[CaseAct] = type(f"Review_{act}", (CaseAct,), {"act": act})
    return extend_schema_view(post=described)(made)


VIEWS: Final = {act: _view(act) for act in SENT}


class OwnersSide(Private):
    @extend_schema(responses=shapes.OwnersView)
    def get(self, request: Request, pk: int) -> Response:
        """Return the owner's view of a submission's review; 404 where it was never held."""
        return _owners(self, request, _mine(self, request, pk))


class Answer(Private):
    @extend_schema(request=shapes.OwnerRequest, responses=shapes.OwnersView)
    def post(self, request: Request, pk: int) -> Response:
        """Answer a reviewer's question, once per question."""
        return _by_owner(self, request, pk, asking.answer)


class Appeal(Private):
    @extend_schema(request=shapes.OwnerRequest, responses=shapes.OwnersView)
    def post(self, request: Request, pk: int) -> Response:
        """Appeal against a rejection, once and within 14 days; another reviewer answers."""
        return _by_owner(self, request, pk, appealing.appeal)


def _by_owner(view: Private, request: Request, pk: int, act: Callable[..., object]) -> Response:
    submission = _mine(view, request, pk)
    row = owner.case_of(submission)
    if row is None:
        raise Http404
    form = shapes.OwnerRequest(data=request.data)
    form.is_valid(raise_exception=True)
    act(result=row.result, actor=view.caller(request), text=form.validated_data["text"], now=timezone.now())
    return _owners(view, request, submission)


def _mine(view: Private, request: Request, pk: int) -> Submission:
    return get_object_or_404(shape.visible_to(view.caller(request)), pk=pk)


def _owners(view: Private, request: Request, submission: Submission) -> Response:
    told = owner.for_owner(submission, view.caller(request), timezone.now())
    if "review_case" not in told:
        raise Http404
    return Response(shapes.OwnersView(told).data)
