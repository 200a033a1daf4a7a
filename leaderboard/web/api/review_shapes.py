"""Shapes of review in /api/v1: all evidence for reviewers, an owner's share for owners, and requests."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.review.case import states as case
from leaderboard.review.models import Case
from leaderboard.review.reasons import REASONS
from leaderboard.web.api.serializers import Paging, SubmissionSummary, optional_text
from leaderboard.web.review.queue import ANY, OPEN, STATES, state_at
from leaderboard.web.submissions import view
from runner.evidence.sample import SIDES

MAX_KEY: Final = 2**63 - 1
SHOWN_STATES: Final = [state for state in STATES if state not in (OPEN, ANY)]
OWNERS_STATES: Final = {
    **dict.fromkeys(case.HELD, "under_review"),
    case.REJECTED: "rejected",
    case.APPEALED: "appealed",
    case.CLEARED: "cleared",
    case.NOT_HELD: "not_held",
}


class Filters(Paging):
    competition = optional_text(64, "Slug of the competition.")
    board = optional_text(64, "Slug of the board.")
    hardware = optional_text(64, "Hardware of the board.")
    rule = optional_text(64, "A rule that held the result.")
    state = serializers.ChoiceField(choices=list(STATES), default=OPEN)
    label = optional_text(64, "A label of the case.")  # type: ignore[assignment]
    mine = serializers.BooleanField(default=False, help_text="Only cases claimed by the caller.")


class CaseSummary(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    submission = serializers.IntegerField(source="result.attempt.submission_id")
    owner = serializers.CharField(source="result.attempt.submission.owner.username")
    entrant = serializers.CharField(source="result.attempt.submission.entrant.shown_name")
    competition = serializers.CharField(source="board.competition.slug")
    board = serializers.CharField(source="board.slug")
    hardware = serializers.CharField(source="board.hardware")
    state = serializers.SerializerMethodField()
    origin = serializers.ChoiceField(choices=Case.ORIGINS)
    opened_at = serializers.DateTimeField()
    since = serializers.DateTimeField(help_text="Start of the present state.")
    claimed_by = serializers.SerializerMethodField()
    claimed_until = serializers.SerializerMethodField()
    labels = serializers.ListField(child=serializers.CharField())
    rules = serializers.SerializerMethodField(help_text="Rules that held the result.")
    ratio = serializers.FloatField(source="result.ratio", allow_null=True)

    @extend_schema_field(serializers.ChoiceField(choices=SHOWN_STATES))
    def get_state(self, row: Case) -> str:
        return state_at(row, self.context["now"])

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_claimed_by(self, row: Case) -> str | None:
        return row.claimed_by.get_username() if row.claimed_by and self._is_claimed(row) else None

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_claimed_until(self, row: Case) -> Any:
        return row.claimed_until if self._is_claimed(row) else None

    def get_rules(self, row: Case) -> list[str]:
        return [finding.rule for finding in row.result.findings.all()]

    def _is_claimed(self, row: Case) -> bool:
        return row.claimed_until is not None and self.context["now"] < row.claimed_until


class Finding(serializers.Serializer[Any]):
    rule = serializers.CharField(source="finding.rule")
    sentence = serializers.CharField(source="finding.sentence")
    threshold = serializers.FloatField(source="finding.threshold", allow_null=True)
    figures = serializers.DictField(source="finding.figures")
    samples = serializers.JSONField(source="finding.samples", help_text="An excerpt of the report's samples.")


class Hint(serializers.Serializer[Any]):
    checker = serializers.CharField()
    words = serializers.ListField(child=serializers.CharField())
    failure = serializers.CharField(allow_blank=True)


class TimedCase(serializers.Serializer[Any]):
    case = serializers.CharField(allow_blank=True)
    measured_us = serializers.FloatField(allow_null=True)
    baseline_us = serializers.FloatField(allow_null=True)
    ratio = serializers.FloatField(allow_null=True)
    half_width = serializers.FloatField(allow_null=True)
    against_incumbent = serializers.FloatField(allow_null=True, help_text="This submission / incumbent.")
    light_us = serializers.FloatField(allow_null=True, help_text="Speed of light on this hardware.")
    light_share = serializers.FloatField(allow_null=True)
    measured_limit_us = serializers.FloatField(allow_null=True)
    resource = serializers.CharField(allow_blank=True)
    eager_us = serializers.FloatField(allow_null=True)


class SideOfClock(serializers.Serializer[Any]):
    side = serializers.ChoiceField(choices=SIDES)
    calls = serializers.IntegerField()
    median_us = serializers.FloatField()


class Clock(serializers.Serializer[Any]):
    case = serializers.CharField(allow_blank=True)
    clock = serializers.CharField()
    sides = SideOfClock(many=True)


class Reason(serializers.Serializer[Any]):
    reason = serializers.CharField(source="title")
    blocks = serializers.IntegerField()


class Quantity(serializers.Serializer[Any]):
    quantity = serializers.CharField(source="title")
    unit = serializers.CharField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class Telemetry(serializers.Serializer[Any]):
    blocks = serializers.IntegerField()
    quantities = Quantity(many=True, source="lines")
    reasons = Reason(many=True, help_text="Reasons for slow-downs, with the number of affected blocks.")


class Compared(serializers.Serializer[Any]):
    title = serializers.CharField()
    submission = serializers.IntegerField(source="other.pk")
    entrant = serializers.CharField(source="other.entrant.shown_name")
    added = serializers.IntegerField(source="diff.added")
    removed = serializers.IntegerField(source="diff.removed")
    cut = serializers.BooleanField(source="diff.is_cut")
    refusal = serializers.CharField(source="diff.refusal", allow_blank=True, help_text="Why there is no diff.")
    diff = serializers.SerializerMethodField()

    def get_diff(self, compared: Any) -> list[str]:
        return [line.text for line in compared["diff"].lines]


class LogLine(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="line.pk")
    act = serializers.ChoiceField(choices=case.ACTS, source="line.act")
    by = serializers.CharField(source="line.actor.username")
    at = serializers.DateTimeField(source="line.created_at")
    code = serializers.CharField(source="line.code", allow_blank=True)
    text = serializers.CharField(source="line.reason")
    public_reason = serializers.CharField(source="line.public_reason", allow_blank=True)
    about = serializers.IntegerField(source="line.about_id", allow_null=True)
    rank = serializers.IntegerField(source="line.rank", allow_null=True)
    undone = serializers.BooleanField(source="is_undone")


class CaseDetail(serializers.Serializer[Any]):
    """Selection from the case's page."""

    case = CaseSummary(source="row")
    current = serializers.BooleanField(
        source="result.attempt.is_current",
        help_text="False: judged again since; no decisions any more.",
    )
    outcome = serializers.CharField(source="result.outcome")
    reason = serializers.CharField(source="result.reason", allow_blank=True)
    message = serializers.CharField(source="result.message", allow_blank=True)
    score_us = serializers.FloatField(source="result.score_us", allow_null=True)
    half_width = serializers.FloatField(source="result.half_width", allow_null=True)
    forgeable = serializers.FloatField(source="result.forgeable", allow_null=True)
    runner = serializers.CharField(source="result.attempt.runner.name", default=None, allow_null=True)
    rank = serializers.IntegerField(allow_null=True, help_text="Rank that the result would have.")
    takes_two = serializers.BooleanField(help_text="Two reviewers must clear the result.")
    suspended = serializers.SerializerMethodField(help_text="Whether the owner's account is suspended.")
    may_decide = serializers.BooleanField()
    acts = serializers.DictField(child=serializers.CharField(), help_text='Act → why it is not possible; "": it is.')
    seen = serializers.IntegerField(source="last_line", allow_null=True, help_text="Send it with a decision.")
    findings = Finding(many=True)
    hint = Hint(allow_null=True)
    cases = TimedCase(many=True, source="case_rows")
    incumbent = serializers.IntegerField(source="incumbent.pk", default=None, allow_null=True)
    clocks = serializers.SerializerMethodField(help_text="Clocks of the first cases.")
    telemetry = Telemetry(source="strip", allow_null=True)
    machine = serializers.SerializerMethodField()
    filename = serializers.CharField(source="submission.filename")
    code = serializers.CharField(source="submission.source")
    compared = Compared(many=True)
    history = serializers.SerializerMethodField(help_text="The entrant's submissions to this board, newest first.")
    log = LogLine(many=True, help_text="Newest first.")
    others = serializers.SerializerMethodField(help_text="Ranked submissions of the same kernel; see `hold_others`.")

    @extend_schema_field(serializers.ListField(child=serializers.IntegerField()))
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

    @extend_schema_field(SubmissionSummary(many=True))
    def get_history(self, shown: dict[str, Any]) -> Any:
        return [view.to_json(item, with_code=False, details=False) for item in shown["history"]]


class Sent(serializers.Serializer[Any]):
    seen = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=0,
        max_value=MAX_KEY,
        help_text="The case's `seen` as you read it; 409 if somebody acted since.",
    )


def _text(**settings: Any) -> serializers.CharField:
    return serializers.CharField(max_length=MAX_REASON_CHARS, **settings)


class WithReason(Sent):
    reason = _text()


class ClearRequest(WithReason):
    public_reason = _text(allow_blank=True, default="", help_text="For the integrity page, without names.")


class RejectRequest(ClearRequest):
    code = serializers.ChoiceField(choices=list(REASONS))
    hold_others = serializers.BooleanField(
        default=True, help_text="Hold the other ranked runs of the kernel for review too."
    )


class AskRequest(Sent):
    question = _text(source="reason", help_text="The owner reads it.")


class NoteRequest(serializers.Serializer[Any]):
    text = _text(source="reason", help_text="For reviewers only.")


class LabelRequest(serializers.Serializer[Any]):
    label = serializers.CharField(source="reason", max_length=32)  # type: ignore[assignment]


class ClaimRequest(serializers.Serializer[Any]):
    reason = _text(allow_blank=True, default="", help_text="Required to take a case over from another reviewer.")


class RerunRequest(serializers.Serializer[Any]):
    reason = _text()


class HoldRequest(serializers.Serializer[Any]):
    submission = serializers.IntegerField(min_value=1, max_value=MAX_KEY)
    reason = _text()


class OwnerRequest(serializers.Serializer[Any]):
    text = _text()


class Said(serializers.Serializer[Any]):
    text = serializers.CharField(source="reason")
    at = serializers.DateTimeField(source="created_at")


class Rejection(Said):
    code = serializers.ChoiceField(choices=list(REASONS))


class OwnersView(serializers.Serializer[Any]):
    """Review as its owner sees it: never the reviewers' names, their internal notes or the rule that held it."""

    state = serializers.SerializerMethodField()
    opened_at = serializers.DateTimeField(source="review_case.opened_at")
    by_itself = serializers.BooleanField(source="review_case.is_by_itself", help_text="Rejected automatically.")
    overturned = serializers.BooleanField(source="is_overturned")
    median_wait_s = serializers.FloatField(source="median_wait.total_seconds", allow_null=True)
    question = Said(allow_null=True, help_text="A question without an answer.")
    may_answer = serializers.BooleanField()
    rejection = Rejection(allow_null=True)
    appeal = Said(allow_null=True)
    appeal_answer = Said(allow_null=True)
    may_appeal = serializers.BooleanField()
    appeal_until = serializers.DateTimeField(allow_null=True)

    @extend_schema_field(serializers.ChoiceField(choices=sorted(set(OWNERS_STATES.values()))))
    def get_state(self, shown: dict[str, Any]) -> str:
        return OWNERS_STATES[shown["review_state"]]
