"""Tables of confirmations: is this candidate faster than the incumbent, in k new runs with both in the blocks?

Always true, by constraint: at most one unfinished confirmation of a pair; a running confirmation has a runner, a lease
and a hard deadline; it has an outcome exactly when it is done. A runner's finding (Found) is append-only, with its
report. Writers: ask.py, and review/case/acts.py, which closes confirmations that runs could not decide.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, F, Q, UniqueConstraint

from leaderboard.competitions.models import Board
from leaderboard.judging.models import DONE, EPOCH_CHARS, ERROR, Archived, Reported, Requested, longest, rules
from leaderboard.submissions.models import Submission
from runner.wire import Incumbent, Job

RECORD: Final = "record"  # the candidate took first place of a board in a contest
AWARD: Final = "award"  # a prize depends on it
CAUSES: Final = (RECORD, AWARD)

RUNS: Final = 5  # the k of docs/records.md

CONFIRMED: Final = "confirmed"
REFUSED: Final = "refused"  # the runs show no gain: the kernels are indistinguishable
FAILED: Final = "failed"  # the candidate failed on fresh seeds: a person looks at it
HELD: Final = "held"  # the incumbent disturbed the blocks, or containers were not frozen: a person looks at it
DROPPED: Final = "dropped"  # another submission took first place before it began
OUTCOMES: Final = (CONFIRMED, REFUSED, FAILED, HELD, ERROR, DROPPED)
UNSETTLED: Final = (FAILED, HELD, ERROR)  # the runs are undecided: a person asks again, or closes it


class Confirmation(Requested):
    WIRE_PREFIX = "confirmation-"
    NOUN = "confirmation"

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="confirmations")
    candidate = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="confirmations")
    incumbent = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+")
    cause = models.CharField(max_length=16)
    closed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    closed_at = models.DateTimeField(null=True)  # its outcome stays; reviewers no longer wait for it
    close_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            UniqueConstraint(
                fields=["candidate", "incumbent"], condition=~Q(state=DONE), name="one_unfinished_confirmation_a_pair"
            ),
            *rules("confirmation", OUTCOMES),
            CheckConstraint(condition=Q(cause__in=CAUSES), name="confirmation_cause_is_known"),
            CheckConstraint(condition=~Q(candidate=F("incumbent")), name="confirmation_is_of_two"),
            CheckConstraint(
                condition=Q(closed_at__isnull=True, closed_by__isnull=True, close_reason="")
                | (Q(outcome__in=UNSETTLED, closed_at__isnull=False, closed_by__isnull=False) & ~Q(close_reason="")),
                name="confirmation_is_closed_with_a_reason",
            ),
        ]
        indexes = [
            models.Index(fields=["hardware", "id"], condition=Q(state="queued"), name="confirmation_queue"),
            models.Index(fields=["board", "-id"], name="confirmation_by_board"),
        ]

    def __str__(self) -> str:
        return f"confirmation {self.pk} ({self.outcome or self.state})"

    @property
    def is_awaited(self) -> bool:
        return self.cause != RECORD or super().is_awaited

    def job(self) -> Job:
        """Return the runner's job: both sources, and all runs."""
        candidate, incumbent = self.candidate, self.incumbent
        job = self._job(
            timedelta(0),
            mode="ranked",
            submission_id=str(candidate.pk),
            filename=candidate.filename,
            source=candidate.source,
            incumbent=Incumbent(source=incumbent.source, filename=incumbent.filename, submission_id=str(incumbent.pk)),
            runs=RUNS,
        )
        return replace(job, deadline_s=job.most_judged * longest(self.version.bundle).total_seconds())


class Found(Reported):
    """The result of the k runs, as the runner reported it; the columns repeat the fields that queries need often."""

    confirmation = models.OneToOneField(Confirmation, on_delete=models.PROTECT, related_name="found")
    accepted = models.BooleanField()
    held = models.BooleanField()
    reason = models.CharField(max_length=64)
    sentence = models.TextField()
    gains = models.JSONField(default=list)  # shares of the incumbent's time, per run; positive is faster
    median_gain = models.FloatField(null=True)
    least_gain = models.FloatField(null=True)  # at the one-sided 95 % bound
    wins = models.PositiveIntegerField(default=0)
    epoch = models.CharField(max_length=EPOCH_CHARS, blank=True)
    telemetry = models.CharField(max_length=16, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"of confirmation {self.confirmation_id}: {self.reason}"

    @property
    def outcome(self) -> str:
        if self.reason == "candidate_failed":
            return FAILED
        if self.held:
            return HELD
        return CONFIRMED if self.accepted else REFUSED


class FoundArchived(Archived):
    of = models.OneToOneField(Found, on_delete=models.PROTECT, related_name="archived")
