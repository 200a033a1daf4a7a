"""Tables of review: a Finding is evidence, a Decision is a person's. Both are append-only; a result is decided once."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.judging.models import Result


class Finding(models.Model):
    result = models.ForeignKey(Result, on_delete=models.PROTECT, related_name="findings")
    rule = models.CharField(max_length=64)
    sentence = models.TextField()
    figures = models.JSONField(default=dict)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["result", "rule"], name="one_finding_a_result_and_rule")]

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


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
