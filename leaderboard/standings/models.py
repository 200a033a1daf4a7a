"""Entry, the only table that ranking reads: its rows are published lines.

Held, rejected and retracted results are not in it. Revision identifies the state of a board's lines, Change the lines
that changed. Retraction records kernels taken off their board and put back. Ranking does not read it; publish.py
enforces it.
"""

import uuid
from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.competitions.models import Board
from leaderboard.entrants.models import Entrant
from leaderboard.judging.models import EPOCH_CHARS, Attempt
from leaderboard.submissions.models import Submission


class Entry(models.Model):
    """A published line, written only by standings.publish.

    One row per submission: a re-judged line replaces the old.
    """

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="entries")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="entries")
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="entries")  # the entrant that ranks
    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="entry")
    attempt = models.OneToOneField(Attempt, on_delete=models.PROTECT, related_name="entry")
    score_us = models.FloatField()  # the measured time of its run: the problem's ranking_by over its cases
    ratio = models.FloatField()  # candidate / baseline of the same run; boards rank the mean over a kernel's runs
    half_width = models.FloatField(null=True)
    epoch = models.CharField(max_length=EPOCH_CHARS, blank=True)  # lines of different epochs never rank together
    code_digest = models.CharField(max_length=80)  # runs of an entrant that share it are a kernel
    forgeable = models.FloatField(null=True)
    telemetry = models.CharField(max_length=16, blank=True)
    light = models.FloatField(null=True)  # share of the speed of light, 0 … 1; null: missing in the report
    submitted_at = models.DateTimeField()
    published_at = models.DateTimeField()

    class Meta:
        ordering = ["ratio", "submitted_at", "submission_id"]
        constraints = [
            models.CheckConstraint(condition=Q(score_us__gt=0, ratio__gt=0), name="entry_numbers_are_positive"),
            models.CheckConstraint(condition=~Q(telemetry="none"), name="entry_was_watched"),
        ]
        indexes = [
            models.Index(
                fields=["board", "epoch", "ratio", "id"], include=["entrant", "submitted_at"], name="entry_front"
            ),
            models.Index(fields=["board", "submitted_at", "submission"], name="entry_by_time"),  # a board's first line
            models.Index(fields=["entrant", "-submitted_at", "-submission"], name="entry_of_entrant"),
        ]

    def __str__(self) -> str:
        return f"{self.entrant_id} on {self.board_id}: {self.score_us:.1f} µs"


class Revision(models.Model):
    """The state of a board's lines: its token changes with every written line.

    A trigger on Entry's table maintains it.
    """

    board = models.OneToOneField(Board, on_delete=models.PROTECT, primary_key=True, related_name="+")
    token = models.UUIDField(default=uuid.uuid4)

    def __str__(self) -> str:
        return f"{self.board_id} at {self.token}"


class Change(models.Model):
    """A submission whose line was written or removed, and its board's revision token from then on.

    The same trigger writes it and holds the revision's row until the writer commits: the rows of a board appear in the
    order of their ids. About the last thousand of each board are kept.
    """

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="+", db_index=False)
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+", db_index=False)
    token = models.UUIDField()

    class Meta:
        indexes = [models.Index(fields=["board", "id"], name="change_by_board")]

    def __str__(self) -> str:
        return f"submission {self.submission_id} at {self.token}"


class Retraction(models.Model):
    """All runs of a kernel of an entrant are taken off a board, or may return: the last row decides.

    Append-only. The kernel is retracted and not a run. Otherwise an entrant could retract slow runs and keep the lucky
    runs, or retract all of them and send the same code again for a new draw.
    """

    RETRACT: Final = "retract"
    RESTORE: Final = "restore"

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="+")
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="+")
    code_digest = models.CharField(max_length=80)  # Submission.kernel
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+")  # asked for
    act = models.CharField(max_length=16)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(act__in=("retract", "restore")), name="retraction_act_is_known"),
            models.CheckConstraint(condition=~Q(reason=""), name="retraction_has_a_reason"),
        ]
        indexes = [models.Index(fields=["entrant", "board", "code_digest"], name="retraction_by_kernel")]

    def __str__(self) -> str:
        return f"{self.act} of submission {self.submission_id}"
