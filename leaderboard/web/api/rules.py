"""Quotas and thresholds of a competition over /api/v1, with the effect of other thresholds on past results."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.competitions.models import Competition, Role
from leaderboard.review.rules.dry_run import dry_run, measured_of, unmeasured
from leaderboard.review.rules.screen import set_thresholds, thresholds_of
from leaderboard.review.rules.thresholds import OFF, RULES, Thresholds
from leaderboard.review.rules.thresholds import parse as parse_thresholds
from leaderboard.submissions.ledger import set_quotas
from leaderboard.submissions.quota import MOST, parse_quotas
from leaderboard.web.api.base import Owners, parse


class QuotaOfMode(drf.Serializer[Any]):
    capacity = drf.IntegerField(min_value=1, max_value=MOST, help_text="The most that can be saved up.")
    per_day = drf.IntegerField(min_value=1, max_value=MOST, help_text="Submissions added per day, evenly.")


class Quotas(drf.Serializer[Any]):
    quotas = drf.DictField(child=QuotaOfMode(), help_text="By mode, for each board.")


class QuotasRequest(Quotas):
    """Quotas of some modes; the others stay."""

    reason = drf.CharField(max_length=MAX_REASON_CHARS)


class ThresholdLine(drf.Serializer[Any]):
    rule = drf.CharField(source="rule.id")
    meaning = drf.CharField(source="rule.meaning", help_text="The measured quantity.")
    held = drf.ChoiceField(choices=["above", "below"], source="rule.held", help_text="Side of the threshold.")
    threshold = drf.FloatField(allow_null=True, help_text="null: the rule is off.")
    usual = drf.FloatField(source="rule.usual")
    least = drf.FloatField(source="rule.least")
    most = drf.FloatField(source="rule.most")
    may_be_off = drf.BooleanField(source="rule.may_be_off")


class TryThresholds(drf.Serializer[Any]):
    """Thresholds of some rules; the others stay."""

    thresholds = drf.DictField(
        child=drf.JSONField(allow_null=True), help_text=f"By rule: a number, “{OFF}”, or null for the usual threshold."
    )


class ThresholdsRequest(TryThresholds):
    reason = drf.CharField(max_length=MAX_REASON_CHARS)


class RuleStep(drf.Serializer[Any]):
    rule = drf.CharField()
    value = drf.FloatField(allow_null=True)
    change = drf.CharField(allow_blank=True, help_text="`held`: it holds only then; `released`: only now; empty: both.")


class ChangedResult(drf.Serializer[Any]):
    submission = drf.IntegerField(source="measured.submission_id")
    entrant = drf.CharField(source="measured.who")
    board = drf.CharField(source="measured.board")
    change = drf.CharField(allow_blank=True, help_text="`held`, `released`, or empty: held by other rules.")
    rules = RuleStep(many=True, source="steps")


class ThresholdEffect(drf.Serializer[Any]):
    looked = drf.IntegerField(help_text="Results with stored measures.")
    unmeasured = drf.IntegerField(help_text="Results without.")
    held_before = drf.IntegerField()
    held_after = drf.IntegerField()
    results = ChangedResult(many=True, source="lines", help_text="The first 200 of the differences.")


class QuotasOf(Owners):
    @extend_schema(operation_id="competition_quotas", responses=Quotas)
    def get(self, request: Request, slug: str) -> Response:
        """Return the quotas of a competition."""
        return Response(Quotas({"quotas": parse_quotas(self.competition(request, slug).quotas)}).data)

    @extend_schema(operation_id="set_quotas", request=QuotasRequest, responses=Quotas)
    def post(self, request: Request, slug: str) -> Response:
        """Set the quotas of a competition, from now on. Owners only."""
        competition, sent = self.competition(request, slug, "set its quotas"), parse(QuotasRequest, request.data)
        quotas = {**competition.quotas, **sent["quotas"]}
        done = set_quotas(competition=competition, quotas=quotas, reason=sent["reason"], **self.by(request))
        return Response(Quotas({"quotas": parse_quotas(done.quotas)}).data)


class ThresholdsOf(Owners):
    @extend_schema(operation_id="competition_thresholds", responses=ThresholdLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the rules that hold results for review, with their thresholds here."""
        return _rules(thresholds_of(self.competition(request, slug)))

    @extend_schema(operation_id="set_thresholds", request=ThresholdsRequest, responses=ThresholdLine(many=True))
    def post(self, request: Request, slug: str) -> Response:
        """Set from which value on rules hold later results. Owners only."""
        competition = self.competition(request, slug, "set what is held for review")
        sent = parse(ThresholdsRequest, request.data)
        wanted = _merged(competition, sent["thresholds"])
        set_thresholds(competition=competition, thresholds=wanted, reason=sent["reason"], **self.by(request))
        return _rules(parse_thresholds(wanted))


class TryThresholdsOf(Owners):
    @extend_schema(operation_id="try_thresholds", request=TryThresholds, responses=ThresholdEffect)
    def post(self, request: Request, slug: str) -> Response:
        """Return the results that other thresholds would have held or released. It changes nothing."""
        competition = self.competition(request, slug, "try thresholds", Role.VIEWER)
        wanted = parse_thresholds(_merged(competition, parse(TryThresholds, request.data)["thresholds"]))
        run = dry_run(measured_of(competition), thresholds_of(competition), wanted)
        return Response(ThresholdEffect(vars(run) | {"unmeasured": unmeasured(competition)}).data)


def _merged(competition: Competition, sent: dict[str, Any]) -> dict[str, Any]:
    """Return the stored thresholds with the sent ones; a rule that is sent as None has its usual threshold."""
    return {name: value for name, value in {**competition.thresholds, **sent}.items() if value is not None}


def _rules(thresholds: Thresholds) -> Response:
    rows = [{"rule": rule, "threshold": thresholds[name]} for name, rule in RULES.items()]
    return Response(ThresholdLine(rows, many=True).data)
