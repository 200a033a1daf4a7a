"""Review over /api/v1: the queue, a case with its evidence and its acts for reviewers; an owner's side of it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.review.case import acts
from leaderboard.review.case import states as case
from leaderboard.review.case.acts import REASONS
from leaderboard.review.models import Case
from leaderboard.review.permissions import is_reviewer_anywhere
from leaderboard.submissions.models import Submission
from leaderboard.web.api.base import Private, Shape, act_view, paged, parse
from leaderboard.web.api.serializers import Keyed, SubmissionSummary, optional_text
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.review import case as review_case
from leaderboard.web.review import queue
from leaderboard.web.review.acts import ACTS
from leaderboard.web.review.queue import ANY, OPEN, STATES, is_claimed, state_at
from leaderboard.web.submissions import view as shape
from runner.evidence.sample import SIDES

SHOWN_STATES: Final = [state for state in STATES if state not in (OPEN, ANY)]
OWNERS_STATES: Final = {
    **dict.fromkeys(case.HELD, "under_review"),
    case.REJECTED: "rejected",
    case.APPEALED: "appealed",
    case.CLEARED: "cleared",
    case.NOT_HELD: "not_held",
}


class Filters(Keyed):
    competition = optional_text(64, "Slug of the competition.")
    board = optional_text(64, "Slug of the board.")
    hardware = optional_text(64, "Hardware of the board.")
    rule = optional_text(64, "A rule that held the result.")
    state = drf.ChoiceField(choices=list(STATES), default=OPEN)
    label = optional_text(64, "A label of the case.")  # type: ignore[assignment]
    mine = drf.BooleanField(default=False, help_text="Only cases claimed by the caller.")


class CaseSummary(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    submission = drf.IntegerField(source="result.attempt.submission_id")
    owner = drf.CharField(source="result.attempt.submission.owner.username")
    entrant = drf.CharField(source="result.attempt.submission.entrant.shown_name")
    competition = drf.CharField(source="board.competition.slug")
    board = drf.CharField(source="board.slug")
    hardware = drf.CharField(source="board.hardware")
    state = drf.SerializerMethodField()
    origin = drf.ChoiceField(choices=Case.ORIGINS)
    opened_at = drf.DateTimeField()
    since = drf.DateTimeField(help_text="Start of the present state.")
    claimed_by = drf.SerializerMethodField()
    claimed_until = drf.SerializerMethodField()
    labels = drf.ListField(child=drf.CharField())
    rules = drf.SerializerMethodField(help_text="Rules that held the result.")
    ratio = drf.FloatField(source="result.ratio", allow_null=True)

    @extend_schema_field(drf.ChoiceField(choices=SHOWN_STATES))
    def get_state(self, row: Case) -> str:
        return state_at(row, self.context["now"])

    @extend_schema_field(drf.CharField(allow_null=True))
    def get_claimed_by(self, row: Case) -> str | None:
        return row.claimed_by.get_username() if row.claimed_by and is_claimed(row, self.context["now"]) else None

    @extend_schema_field(drf.DateTimeField(allow_null=True))
    def get_claimed_until(self, row: Case) -> Any:
        return row.claimed_until if is_claimed(row, self.context["now"]) else None

    def get_rules(self, row: Case) -> list[str]:
        return [finding.rule for finding in row.result.findings.all()]


class Finding(drf.Serializer[Any]):
    rule = drf.CharField(source="finding.rule")
    sentence = drf.CharField(source="finding.sentence")
    threshold = drf.FloatField(source="finding.threshold", allow_null=True)
    figures = drf.DictField(source="finding.figures")
    samples = drf.JSONField(source="finding.samples", help_text="An excerpt of the report's samples.")


class Hint(drf.Serializer[Any]):
    checker = drf.CharField()
    words = drf.ListField(child=drf.CharField())
    failure = drf.CharField(allow_blank=True)


class TimedCase(drf.Serializer[Any]):
    case = drf.CharField(allow_blank=True)
    measured_us = drf.FloatField(allow_null=True)
    baseline_us = drf.FloatField(allow_null=True)
    ratio = drf.FloatField(allow_null=True)
    half_width = drf.FloatField(allow_null=True)
    against_incumbent = drf.FloatField(allow_null=True, help_text="This submission / incumbent.")
    light_us = drf.FloatField(allow_null=True, help_text="Speed of light on this hardware.")
    light_share = drf.FloatField(allow_null=True)
    measured_limit_us = drf.FloatField(allow_null=True)
    resource = drf.CharField(allow_blank=True)
    eager_us = drf.FloatField(allow_null=True)


class SideOfClock(drf.Serializer[Any]):
    side = drf.ChoiceField(choices=SIDES)
    calls = drf.IntegerField()
    median_us = drf.FloatField()


class Clock(drf.Serializer[Any]):
    case = drf.CharField(allow_blank=True)
    clock = drf.CharField()
    sides = SideOfClock(many=True)


class Reason(drf.Serializer[Any]):
    reason = drf.CharField(source="title")
    blocks = drf.IntegerField()


class Quantity(drf.Serializer[Any]):
    quantity = drf.CharField(source="title")
    unit = drf.CharField()
    low = drf.FloatField()
    high = drf.FloatField()


class Telemetry(drf.Serializer[Any]):
    blocks = drf.IntegerField()
    quantities = Quantity(many=True, source="lines")
    reasons = Reason(many=True, help_text="Reasons for slow-downs, with the number of affected blocks.")


class Compared(drf.Serializer[Any]):
    title = drf.CharField()
    submission = drf.IntegerField(source="other.pk")
    entrant = drf.CharField(source="other.entrant.shown_name")
    added = drf.IntegerField(source="diff.added")
    removed = drf.IntegerField(source="diff.removed")
    cut = drf.BooleanField(source="diff.is_cut")
    refusal = drf.CharField(source="diff.refusal", allow_blank=True, help_text="Why there is no diff.")
    diff = drf.SerializerMethodField()

    def get_diff(self, compared: Any) -> list[str]:
        return [line.text for line in compared["diff"].lines]


class LogLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="line.pk")
    act = drf.ChoiceField(choices=case.ACTS, source="line.act")
    by = drf.CharField(source="line.actor.username")
    at = drf.DateTimeField(source="line.created_at")
    code = drf.CharField(source="line.code", allow_blank=True)
    text = drf.CharField(source="line.reason")
    public_reason = drf.CharField(source="line.public_reason", allow_blank=True)
    about = drf.IntegerField(source="line.about_id", allow_null=True)
    rank = drf.IntegerField(source="line.rank", allow_null=True)
    undone = drf.BooleanField(source="is_undone")


class CaseDetail(drf.Serializer[Any]):
    """Selection from the case's page."""

    case = CaseSummary(source="row")
    current = drf.BooleanField(
        source="result.attempt.is_current", help_text="False: judged again since; no decisions any more."
    )
    outcome = drf.CharField(source="result.outcome")
    reason = drf.CharField(source="result.reason", allow_blank=True)
    message = drf.CharField(source="sub.message", allow_blank=True)
    score_us = drf.FloatField(source="result.score_us", allow_null=True)
    half_width = drf.FloatField(source="result.half_width", allow_null=True)
    forgeable = drf.FloatField(source="result.forgeable", allow_null=True)
    runner = drf.CharField(source="result.attempt.runner.name", default=None, allow_null=True)
    rank = drf.IntegerField(allow_null=True, help_text="Rank that the result would have.")
    takes_two = drf.BooleanField(help_text="Two reviewers must clear the result.")
    suspended = drf.SerializerMethodField(help_text="Whether the owner's account is suspended.")
    may_decide = drf.BooleanField()
    acts = drf.DictField(child=drf.CharField(), help_text='Act → why it is not possible; "": it is.')
    seen = drf.IntegerField(source="last_line", allow_null=True, help_text="Send it with a decision.")
    findings = Finding(many=True)
    hint = Hint(allow_null=True)
    cases = TimedCase(many=True, source="case_rows")
    report_problem = drf.CharField(allow_blank=True, help_text="Why there is no evidence to show, or empty.")
    incumbent = drf.IntegerField(source="incumbent.pk", default=None, allow_null=True)
    clocks = drf.SerializerMethodField(help_text="Clocks of the first cases.")
    telemetry = Telemetry(source="strip", allow_null=True)
    machine = drf.SerializerMethodField()
    filename = drf.CharField(source="submission.filename")
    code = drf.CharField(source="sub.code", allow_null=True, help_text="null: taken down.")
    compared = Compared(many=True)
    history = SubmissionSummary(many=True, help_text="The entrant's submissions to this board, newest first.")
    log = LogLine(many=True, help_text="Newest first.")
    others = drf.SerializerMethodField(help_text="Ranked submissions of the same kernel; see `hold_others`.")

    @extend_schema_field(drf.ListField(child=drf.IntegerField()))
    def get_others(self, shown: dict[str, Any]) -> list[int]:
        return [entry.submission_id for entry in shown["others"]]

    def get_suspended(self, shown: dict[str, Any]) -> bool:
        return bool(shown["suspensions"])

    @extend_schema_field(Clock(many=True))
    def get_clocks(self, shown: dict[str, Any]) -> Any:
        return [
            Clock({"case": timed.case, "clock": panel.clock, "sides": panel.sides}).data
            for timed, panels in shown["drawn"]
            for panel in panels
        ]

    def get_machine(self, shown: dict[str, Any]) -> dict[str, Any]:
        return dict(shown["fingerprint"])


class Sent(drf.Serializer[Any]):
    seen = drf.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=0,
        max_value=MAX_KEY,
        help_text="The case's `seen` as you read it; 409 if somebody acted since.",
    )


def _text(**settings: Any) -> drf.CharField:
    return drf.CharField(max_length=MAX_REASON_CHARS, **settings)


class WithReason(Sent):
    reason = _text()


class ClearRequest(WithReason):
    public_reason = _text(allow_blank=True, default="", help_text="For the integrity page, without names.")


class RejectRequest(ClearRequest):
    code = drf.ChoiceField(choices=list(REASONS))
    hold_others = drf.BooleanField(default=True, help_text="Hold the other ranked runs of the kernel for review too.")


class AskRequest(Sent):
    question = _text(source="reason", help_text="The owner reads it.")


class NoteRequest(drf.Serializer[Any]):
    text = _text(source="reason", help_text="For reviewers only.")


class LabelRequest(drf.Serializer[Any]):
    label = drf.CharField(source="reason", max_length=32)  # type: ignore[assignment]


class ClaimRequest(drf.Serializer[Any]):
    reason = _text(allow_blank=True, default="", help_text="Required to take a case over from another reviewer.")


class RerunRequest(drf.Serializer[Any]):
    reason = _text()


class HoldRequest(drf.Serializer[Any]):
    submission = drf.IntegerField(min_value=1, max_value=MAX_KEY)
    reason = _text()


class OwnerRequest(drf.Serializer[Any]):
    text = _text()


class Said(drf.Serializer[Any]):
    text = drf.CharField(source="reason")
    at = drf.DateTimeField(source="created_at")


class Rejection(Said):
    code = drf.ChoiceField(choices=list(REASONS))


class OwnersView(drf.Serializer[Any]):
    """Review as its owner sees it: never the reviewers' names, their internal notes or the rule that held it."""

    state = drf.SerializerMethodField()
    opened_at = drf.DateTimeField(source="review_case.opened_at")
    by_itself = drf.BooleanField(source="review_case.is_by_itself", help_text="Rejected automatically.")
    overturned = drf.BooleanField(source="is_overturned")
    median_wait_s = drf.FloatField(source="median_wait.total_seconds", allow_null=True)
    question = Said(allow_null=True, help_text="A question without an answer.")
    may_answer = drf.BooleanField()
    rejection = Rejection(allow_null=True)
    appeal = Said(allow_null=True)
    appeal_answer = Said(allow_null=True)
    may_appeal = drf.BooleanField()
    appeal_until = drf.DateTimeField(allow_null=True)

    @extend_schema_field(drf.ChoiceField(choices=sorted(set(OWNERS_STATES.values()))))
    def get_state(self, shown: dict[str, Any]) -> str:
        return OWNERS_STATES[shown["review_state"]]


SENT: Final[dict[str, tuple[Shape | None, str]]] = {  # the page calls the same acts
    case.CLAIM: (ClaimRequest, "Claim a case for 30 minutes, or prolong the claim."),
    case.RELEASE: (None, "Release a claimed case."),
    case.CLEAR: (ClearRequest, "Clear a held result. On the podium this may need two reviewers."),
    case.REJECT: (RejectRequest, "Reject a held result. Its owner reads the reason."),
    case.ASK: (AskRequest, "Ask the owner of a held result a question."),
    case.OVERTURN: (WithReason, "Overturn an automatic rejection."),
    case.UPHOLD: (WithReason, "Answer an appeal: the rejection stands."),
    case.GRANT: (WithReason, "Answer an appeal: the case is open again."),
    case.UNDO: (WithReason, "Undo the last decision."),
    case.NOTE: (NoteRequest, "Write a note for other reviewers."),
    case.LABEL: (LabelRequest, "Add a label."),
    case.UNLABEL: (LabelRequest, "Remove a label."),
    case.RERUN: (RerunRequest, "Have the submission judged again."),
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
        return Response(CaseSummary(self.case(request, pk), context={"now": now}).data, status=status)


class Queue(Reviewers):
    @extend_schema(operation_id="review_queue", parameters=[Filters], responses=CaseSummary(many=True))
    def get(self, request: Request) -> Response:
        """List review cases, oldest first. Reviewers only."""
        query, now = parse(Filters, request.query_params), timezone.now()
        names = ("competition", "rule", "state", "label", "mine")
        found = queue.waiting(self.caller(request), queue.Filters(**{name: query[name] for name in names}), now)
        places = {"board__slug": query["board"], "board__hardware": query["hardware"]}
        found = found.filter(**{field: value for field, value in places.items() if value})
        return paged(request, found, query, CaseSummary, queue.OLDEST_FIRST, now=now)


class Detail(Reviewers):
    @extend_schema(operation_id="review_case", responses=CaseDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return a case with its evidence."""
        now = timezone.now()
        shown = review_case.context(self.case(request, pk), self.caller(request), now)
        return Response(CaseDetail(shown, context={"now": now}).data)


class Hold(Reviewers):
    @extend_schema(operation_id="review_hold", request=HoldRequest, responses={201: CaseSummary})
    def post(self, request: Request) -> Response:
        """Hold a result that ranks. Its entry leaves the board until a person decides."""
        sent, user, now = parse(HoldRequest, request.data), self.caller(request), timezone.now()
        result = review_case.ranking(user, sent["submission"])
        row = pipeline.hold_result(result=result, actor=user, reason=sent["reason"], now=now)
        return self.summary(request, row.pk, now, status=201)


class CaseAct(Reviewers):
    act: str

    def post(self, request: Request, pk: int) -> Response:
        row, now = self.case(request, pk), timezone.now()
        sent = parse(SENT[self.act][0], request.data)
        ACTS[self.act](result=row.result, actor=self.caller(request), now=now, **sent)
        return self.summary(request, pk, now)


VIEWS: Final = {
    act: act_view(CaseAct, f"review_{act}", description, sent, CaseSummary, act=act)
    for act, (sent, description) in SENT.items()
}


class OwnersSide(Private):
    @extend_schema(responses=OwnersView)
    def get(self, request: Request, pk: int) -> Response:
        """Return the owner's view of a submission's review. 404 if the submission was never held."""
        return _owners(self, request, _mine(self, request, pk))


class Answer(Private):
    @extend_schema(request=OwnerRequest, responses=OwnersView)
    def post(self, request: Request, pk: int) -> Response:
        """Answer a reviewer's question, once per question."""
        return _by_owner(self, request, pk, acts.answer)


class Appeal(Private):
    @extend_schema(request=OwnerRequest, responses=OwnersView)
    def post(self, request: Request, pk: int) -> Response:
        """Appeal against a rejection, once and within 14 days; another reviewer answers."""
        return _by_owner(self, request, pk, acts.appeal)


def _by_owner(view: Private, request: Request, pk: int, act: Callable[..., object]) -> Response:
    submission = _mine(view, request, pk)
    row = review_case.case_of(submission)
    if row is None:
        raise Http404
    sent = parse(OwnerRequest, request.data)
    act(result=row.result, actor=view.caller(request), text=sent["text"], now=timezone.now())
    return _owners(view, request, submission)


def _mine(view: Private, request: Request, pk: int) -> Submission:
    return get_object_or_404(shape.visible_to(view.caller(request)), pk=pk)


def _owners(view: Private, request: Request, submission: Submission) -> Response:
    shown = review_case.for_owner(submission, view.caller(request), timezone.now())
    if "review_case" not in shown:
        raise Http404
    return Response(OwnersView(shown).data)
