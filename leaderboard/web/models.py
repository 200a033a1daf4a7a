"""One table, of the HTTP layer itself: how often a caller knocked in the current window. Nothing else reads it."""

from __future__ import annotations

from django.db import models


class RequestCount(models.Model):
    """One row a key (kind of request and caller); written by limits.take alone."""

    key = models.CharField(max_length=200, primary_key=True)
    window_starts_at = models.DateTimeField(db_index=True)
    count = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.key}: {self.count}"
