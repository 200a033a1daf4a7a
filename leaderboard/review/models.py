"""Tables of review: a Finding is evidence, a Decision is a person's. Both are append-only; a result is decided once.

Measurement keeps what every rule measured on a result, held or not, so that other thresholds can be tried on it.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from leaderboard.entrants.models import Entrant
from leaderboard.judging.models import Result
from leaderboard.submissions.models import Submission


class Finding(models.Model):
    result = models.ForeignKey(Result, on_delete=models.PROTECT, related_name="findings")
    rule = models.CharField(max_length=64)  # of thresholds.RULES
    threshold = models.FloatField(null=True)  # of the competition, at the time; None: from before it was kept
    sentence = models.TextField()  # what was seen and what to look at, for a reviewer
    figures = models.JSONField(default=dict)
    samples = models.JSONField(default=dict)  # a bounded excerpt of the report's
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["result", "rule"], name="one_finding_a_result_and_rule")]

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


class Measurement(models.Model):
    """Of one screened result; append-only."""

    result = models.OneToOneField(Result, on_delete=models.PROTECT, related_name="measurement")
    values = models.JSONField(default=dict)  # rule → what it measured; null: no number, which holds
    case_ratios = models.JSONField(default=dict)  # case → candidate / baseline, from the samples
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"measurement of result {self.result_id}"


class Fingerprint(models.Model):
    """Of what one submission's source says, for similarity.py; append-only. Written with the submission."""

    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="fingerprint")
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="+")  # the submission's
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")  # the submission's
    version = models.PositiveIntegerField()  # similarity.VERSION
    prints = ArrayField(models.IntegerField())  # salted with the problem; without what everybody was given
    opaque_chars = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]
        indexes = [GinIndex(fields=["prints"], name="fingerprint_by_print", fastupdate=False)]

    def __str__(self) -> str:
        return f"fingerprint of submission {self.submission_id}"


class Decision(models.Model):
    PUBLISH: Final = "publish"
    REJECT: Final = "reject"

    result = models.OneToOneField(Result, on_delete=models.PROTECT, related_name="decision")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    act = models.CharField(max_length=16)
    reason = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(act__in=("publish", "reject")), name="decision_act_is_known"),
            models.CheckConstraint(condition=~Q(reason=""), name="decision_has_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.act} of result {self.result_id}"
