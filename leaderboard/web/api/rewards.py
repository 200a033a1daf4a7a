"""Rewards of submissions over /api/v1, for programs that learn to write kernels."""

import math
from collections.abc import Sequence
from typing import Any, Final

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.errors import RateLimited, UserError
from leaderboard.judging.models import UNFINISHED, Attempt
from leaderboard.judging.verdicts import is_spoiled, with_reports
from leaderboard.review.rules.screen import held_alone, is_unscreened
from leaderboard.review.standing import REJECTED, UNDER_REVIEW, reviews_of
from leaderboard.web import limits
from leaderboard.web.api.base import Private, ShortList, parse
from leaderboard.web.api.serializers import HALF_WIDTH
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.submissions import view
from runner.evidence import reward as rewards

MOST_IDS: Final = 256
JUDGED: Final = "judged"
WAITING: Final = "waiting"
NO_VERDICT: Final = "no_verdict"
CANCELLED: Final = "cancelled"
NO_REPORT: Final = "no_report"
REASONS: Final = (*rewards.REASONS, WAITING, CANCELLED, NO_REPORT)
STATUSES: Final = "waiting: ask again later; no_verdict: there will be no reward; judged: there is a reward."
BOUND: Final = "bound that follows from the 95 % interval; null: unknown."


class RewardsRequest(drf.Serializer[Any]):
    ids = ShortList(
        child=drf.IntegerField(min_value=1, max_value=MAX_KEY),
        min_length=1,
        max_length=MOST_IDS,
        help_text=f"Submissions of the caller or their teams, at most {MOST_IDS}.",
    )
    formula = drf.ChoiceField(choices=rewards.FORMULAS, default=rewards.REWARD_1)
    correct = drf.FloatField(
        default=rewards.Parameters.correct,
        min_value=0,
        max_value=rewards.MOST_CORRECT,
        help_text="Weight of correctness.",
    )
    cap = drf.FloatField(
        default=rewards.Parameters.cap,
        min_value=rewards.LEAST_CAP,
        max_value=rewards.MOST_CAP,
        help_text="Largest speedup that counts.",
    )
    only_correct = drf.BooleanField(default=False, help_text="Leave out the speedup.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        wrong = [name for name in ("correct", "cap") if math.isnan(attrs[name])]  # passes both limits
        if wrong:
            raise drf.ValidationError(dict.fromkeys(wrong, "give a number"))
        return attrs


class RewardLine(drf.Serializer[Any]):
    id = drf.IntegerField()
    status = drf.ChoiceField(choices=[JUDGED, WAITING, NO_VERDICT], help_text=STATUSES)
    reward = drf.FloatField(allow_null=True, help_text="null: there is no verdict on the kernel.")
    low = drf.FloatField(allow_null=True, help_text=f"Lower {BOUND}")
    high = drf.FloatField(allow_null=True, help_text=f"Upper {BOUND}")
    speedup = drf.FloatField(allow_null=True, help_text="Baseline / candidate, above 1 faster, without the cap.")
    half_width = drf.FloatField(allow_null=True, help_text=HALF_WIDTH)
    reason = drf.ChoiceField(choices=REASONS)
    message = drf.CharField(help_text="The reason in a sentence.")


class RewardsAnswer(drf.Serializer[Any]):
    formula = drf.CharField()
    correct = drf.FloatField()
    cap = drf.FloatField()
    only_correct = drf.BooleanField()
    rewards = RewardLine(many=True, help_text="In the order of the request.")


class Rewards(Private):
    @extend_schema(operation_id="rewards", request=RewardsRequest, responses=RewardsAnswer)
    def post(self, request: Request) -> Response:
        """Return the rewards of submissions by a formula. Repetition changes no row."""
        sent, user = parse(RewardsRequest, request.data), self.caller(request)
        wait_s = limits.floods.take((limits.REWARD_USER, str(user.account_id)))
        if wait_s is not None:
            raise RateLimited("ids", None, f"too many requests; try again in {wait_s} s", retry_after_s=wait_s)
        ids, formula = list(dict.fromkeys(sent.pop("ids"))), sent.pop("formula")
        known = set(view.own_of(user).filter(pk__in=ids).values_list("pk", flat=True))
        if unknown := [pk for pk in ids if pk not in known]:
            names = ", ".join(map(str, unknown[:10]))
            raise UserError("ids", names, "not among your submissions; see GET /api/v1/submissions", 404)
        lines = rewards_of(ids, rewards.Parameters(**sent))
        return Response(RewardsAnswer({"formula": formula, **sent, "rewards": lines}).data)


def rewards_of(ids: Sequence[int], parameters: rewards.Parameters) -> list[dict[str, Any]]:
    """Return a RewardLine for each submission, in this order."""
    parts = ("result__measurement", "submission__board__competition", "submission__board__version")
    attempts = Attempt.objects.current().filter(submission__in=ids).select_related(*parts)
    attempts = attempts.defer("result__inline", "submission__source")
    by_id = {attempt.submission_id: attempt for attempt in attempts}
    reviews = reviews_of([attempt.pk for attempt in by_id.values()])
    results = [attempt.result for attempt in by_id.values() if hasattr(attempt, "result")]
    rules: dict[int, list[str] | None] = {}  # of a result that was not screened; None: its report is gone
    for some in with_reports([result for result in results if is_unscreened(result)]):
        held = held_alone([result for result in some if result.loaded])
        for result in some:
            rules[result.pk] = [one.rule for one in held[result.pk]] if result.loaded else None
    return [{"id": pk, **_line(by_id[pk], reviews.get(by_id[pk].pk), rules, parameters)} for pk in ids]


def _line(
    attempt: Attempt, review: str | None, rules: dict[int, list[str] | None], parameters: rewards.Parameters
) -> dict[str, Any]:
    if attempt.state in UNFINISHED:
        return _without_reward(WAITING, WAITING, f"The submission is {attempt.state}.")
    if not hasattr(attempt, "result") and attempt.outcome == "infra_error":
        return _without_reward(NO_VERDICT, rewards.SPOILED, "The site failed: it could not judge the submission.")
    if not hasattr(attempt, "result"):
        return _without_reward(NO_VERDICT, CANCELLED, f"The submission is {attempt.state}, without a verdict.")
    result = attempt.result
    held_by = rules.get(result.pk, [])
    if held_by is None:
        return _without_reward(NO_VERDICT, NO_REPORT, "The report is gone, so the rules cannot look at it.")
    judged = rewards.Judged(
        outcome=result.outcome,
        reason=result.reason,
        ratio=result.ratio,
        half_width=result.half_width,
        held_by=["review"] if review == UNDER_REVIEW else held_by,
        is_rejected=review == REJECTED,
        is_spoiled=result.outcome == "infra_error" or is_spoiled(result.outcome, result.reason),
    )
    found = rewards.reward(judged, parameters)
    return {
        "status": JUDGED if found.value is not None else NO_VERDICT,
        "reward": found.value,
        "low": found.low,
        "high": found.high,
        "speedup": found.speedup,
        "half_width": result.half_width if found.speedup is not None else None,
        "reason": found.reason,
        "message": found.sentence,
    }


def _without_reward(status: str, reason: str, message: str) -> dict[str, Any]:
    figures = dict.fromkeys(("reward", "low", "high", "speedup", "half_width"))
    return {"status": status, **figures, "reason": reason, "message": message}
