"""The one table that ranking reads. A row is a published line: held, rejected and banned ones are simply not here."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.competitions.models import Board
from leaderboard.entrants.models import Entrant
from leaderboard.judging.models import EPOCH_CHARS, Attempt
from leaderboard.submissions.models import Submission


class Entry(models.Model):
    """Written only by standings.publish. One row a submission: a re-judged one replaces its own."""

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="entries")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="entries")
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="entries")  # who ranks
    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="entry")
    attempt = models.OneToOneField(Attempt, on_delete=models.PROTECT, related_name="entry")
    score_us = models.FloatField()  # as reported, on the scale of its own run; boards show `RankedEntry.score_us`
    ratio = models.FloatField()  # candidate / baseline of the same run; what ranks is the mean over a kernel's runs
    half_width = models.FloatField(null=True)
    epoch = models.CharField(max_length=EPOCH_CHARS, blank=True)  # lines of two epochs never rank together
    code_digest = models.CharField(max_length=80)  # runs that share it and their entrant are one kernel
    forgeable = models.FloatField(null=True)
    telemetry = models.CharField(max_length=16, blank=True)
    submitted_at = models.DateTimeField()
    published_at = models.DateTimeField()

    class Meta:
        ordering = ["ratio", "submitted_at", "submission_id"]
        constraints = [
            models.CheckConstraint(condition=Q(score_us__gt=0, ratio__gt=0), name="entry_numbers_are_positive"),
            models.CheckConstraint(condition=~Q(telemetry="none"), name="entry_was_watched"),
        ]
        indexes = [models.Index(fields=["board", "epoch"], name="entry_by_epoch")]

    def __str__(self) -> str:
        return f"{self.entrant_id} on {self.board_id}: {self.score_us:.1f} µs"
