"""Table of what was sent. A submission never changes (a trigger refuses it): what became of it is told by attempts."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.competitions.models import Board
from leaderboard.entrants.models import Entrant
from runner.wire import MAX_SOURCE_BYTES, MODES


class Submission(models.Model):
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="submissions")
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="submissions")  # whom it ranks for
    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="submissions")
    mode = models.CharField(max_length=16)
    filename = models.CharField(max_length=100)
    source = models.TextField()
    source_digest = models.CharField(max_length=80)
    code_digest = models.CharField(max_length=80, blank=True)  # tokens.code_digest; "": sent before there was one
    size_bytes = models.PositiveIntegerField()
    licence = models.CharField(max_length=32, blank=True)  # SPDX; what it is published under after the deadline
    created_at = models.DateTimeField()  # deadlines and ties go by it

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(mode__in=MODES), name="submission_mode_is_known"),
            models.CheckConstraint(
                condition=Q(size_bytes__gt=0, size_bytes__lte=MAX_SOURCE_BYTES), name="submission_size_in_limits"
            ),
            models.CheckConstraint(
                condition=Q(source_digest__regex=r"^sha256:[0-9a-f]{64}$"), name="submission_digest_is_sha256"
            ),
            models.CheckConstraint(
                condition=Q(code_digest="") | Q(code_digest__regex=r"^(tokens|text)[0-9]+:[0-9a-f]{64}$"),
                name="submission_code_digest_says_its_kind",
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-created_at"], name="submission_by_owner"),
            models.Index(fields=["board", "-created_at"], name="submission_by_board"),
            models.Index(fields=["entrant", "board"], name="submission_by_entrant"),
        ]

    def __str__(self) -> str:
        return f"submission {self.pk}"

    @property
    def kernel(self) -> str:
        """What near-identical submissions of its owner share."""
        return self.code_digest or self.source_digest
