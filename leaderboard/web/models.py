"""Tables of the HTTP layer itself: request counts of the current window, and answers to keyed requests."""

from django.conf import settings
from django.db import models


class RequestCount(models.Model):
    """A row per key (kind of request and caller); written by limits.take alone."""

    key = models.CharField(max_length=200, primary_key=True)
    window_starts_at = models.DateTimeField(db_index=True)
    count = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.key}: {self.count}"


class KeyedAnswer(models.Model):
    """The answer to a submission that was sent with an Idempotency-Key; written by api/views.py alone."""

    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)  # of the request
    answer = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "key"], name="one_answer_a_key")]

    def __str__(self) -> str:
        return f"{self.account_id}: {self.key}"
