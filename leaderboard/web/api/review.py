"""Review over /api/v1: the queue, a case with its evidence and its acts for reviewers; an owner's side of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
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
from leaderboard.web.api.base import Private, act_view, paged, parse
from leaderboard.web.review import case as review_case
from leaderboard.web.review import owner, queue
from leaderboard.web.review.acts import ACTS
from leaderboard.web.submissions import view as shape

SENT: Final[dict[str, tuple[type[serializers.Serializer[Any]] | None, str]]] = {  # the page calls the same acts
    case.CLAIM: (shapes.ClaimRequest, "Claim a case for 30 minutes, or prolong the claim."),
    case.RELEASE: (None, "Release a claimed case."),
    case.CLEAR: (shapes.ClearRequest, "Clear a held result. On the podium this may need two reviewers."),
    case.REJECT: (shapes.RejectRequest, "Reject a held result. Its owner reads the reason."),
    case.ASK: (shapes.AskRequest, "Ask the owner of a held result a question."),
    case.OVERTURN: (shapes.WithReason, "Overturn an automatic rejection."),
    case.UPHOLD: (shapes.WithReason, "Answer an appeal: the rejection stands."),
    case.GRANT: (shapes.WithReason, "Answer an appeal: the case is open again."),
    case.UNDO: (shapes.WithReason, "Undo the last decision."),
    case.NOTE: (shapes.NoteRequest, "Write a note for other reviewers."),
    case.LABEL: (shapes.LabelRequest, "Add a label."),
    case.UNLABEL: (shapes.LabelRequest, "Remove a label."),
    case.RERUN: (shapes.RerunRequest, "Have the submission judged again."),
}


class Reviewers(Private):
    """Base of the reviewers' views. Like the pages, they answer 404 to a caller who reviews no competition."""

    scope = "review"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not is_reviewer_anywhere(self.caller(request)):
            raise Http404

    def case(self, request: Request, pk: int) -> Case:
        return review_case.find(self.caller(request), pk)

    def summary(self, request: Request, pk: int, now: datetime, status: int = 200) -> Response:
        return Response(shapes.CaseSummary(self.case(request, pk), context={"now": now}).data, status=status)


class Queue(Reviewers):
    @extend_schema(operation_id="review_queue", parameters=[shapes.Filters], responses=shapes.CaseSummary(many=True))
    def get(self, request: Request) -> Response:
        """List review cases, oldest first. Reviewers only."""
        query, now = parse(shapes.Filters, request.query_params), timezone.now()
        names = ("competition", "rule", "state", "label", "mine")
        found = queue.waiting(self.caller(request), queue.Filters(**{name: query[name] for name in names}), now)
        places = {"board__slug": query["board"], "board__hardware": query["hardware"]}
        found = found.filter(**{field: value for field, value in places.items() if value})
        return paged(found, query, shapes.CaseSummary, now=now)


class Detail(Reviewers):
    @extend_schema(operation_id="review_case", responses=shapes.CaseDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return a case with its evidence."""
        now = timezone.now()
        shown = review_case.context(self.case(request, pk), self.caller(request), now)
        return Response(shapes.CaseDetail(shown, context={"now": now}).data)


class Hold(Reviewers):
    @extend_schema(operation_id="review_hold", request=shapes.HoldRequest, responses={201: shapes.CaseSummary})
    def post(self, request: Request) -> Response:
        """Hold a result that ranks. Its entry leaves the board until a person decides."""
        sent, user, now = parse(shapes.HoldRequest, request.data), self.caller(request), timezone.now()
        result = review_case.ranking(user, sent["submission"])
        row = pipeline.hold_result(result=result, actor=user, reason=sent["reason"], now=now)
        return self.summary(request, row.pk, now, status=201)


class CaseAct(Reviewers):
    act: str

    def post(self, request: Request, pk: int) -> Response:
        row, now = self.case(request, pk), timezone.now()
        sent = parse(SENT[self.act][0] or serializers.Serializer, request.data)
        ACTS[self.act](result=row.result, actor=self.caller(request), now=now, **sent)
        return self.summary(request, pk, now)


VIEWS: Final = {
    act: act_view(CaseAct, f"review_{act}", description, sent, shapes.CaseSummary, act=act)
    for act, (sent, description) in SENT.items()
}


class OwnersSide(Private):
    @extend_schema(responses=shapes.OwnersView)
    def get(self, request: Request, pk: int) -> Response:
        """Return the owner's view of a submission's review. 404 if the submission was never held."""
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
    sent = parse(shapes.OwnerRequest, request.data)
    act(result=row.result, actor=view.caller(request), text=sent["text"], now=timezone.now())
    return _owners(view, request, submission)


def _mine(view: Private, request: Request, pk: int) -> Submission:
    return get_object_or_404(shape.visible_to(view.caller(request)), pk=pk)


def _owners(view: Private, request: Request, submission: Submission) -> Response:
    shown = owner.for_owner(submission, view.caller(request), timezone.now())
    if "review_case" not in shown:
        raise Http404
    return Response(shapes.OwnersView(shown).data)
