"""The audit row: actor, act, object, reason, and values before and after. Append-only in the database."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


class Row(models.Model):
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )  # null: the site
    act = models.CharField(max_length=64)
    object_type = models.CharField(max_length=64)
    object_id = models.CharField(max_length=64)
    reason = models.TextField()
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["object_type", "object_id"], name="audit_by_object")]

    def __str__(self) -> str:
        return f"{self.act} {self.object_type} {self.object_id}"
