"""Tables of judging: Runner, Attempt, AttemptEvent, Result, Epoch, ReferenceTime.

Always true, by constraint: a submission has at most one current attempt, and only that may be unfinished; an attempt
has at most one result; one that runs has a runner, a lease and a hard deadline; it has an outcome exactly when it is
done. Events and results are append-only by trigger. Who writes: the acts beside this file, one module each.
"""

from __future__ import annotations

from typing import Final

from django.db import models
from django.db.models import Q
from django.utils import timezone

from leaderboard.competitions.models import ProblemVersion
from leaderboard.judging.states import DONE, FINISHED, QUEUED, RUNNING, STATES, UNFINISHED
from leaderboard.submissions.models import Submission
from runner.wire import OUTCOMES, TELEMETRY

FIRST: Final = "first"
REPLACEMENT: Final = "replacement"  # of an attempt whose runner was lost
REJUDGE: Final = "rejudge"
REMEASURE: Final = "remeasure"  # after a machine that was disturbed or unfit
CAUSES: Final = (FIRST, REPLACEMENT, REJUDGE, REMEASURE)
EPOCH_CHARS: Final = 64


class Runner(models.Model):
    name = models.SlugField(max_length=64, unique=True)
    hardware = models.CharField(max_length=64)
    token_prefix = models.CharField(max_length=16)
    token_digest = models.CharField(max_length=64, unique=True)
    fingerprint = models.JSONField(default=dict)  # what the host said of itself in `hello`
    epoch = models.CharField(max_length=EPOCH_CHARS, blank=True)  # its timing epoch, as of `hello`; "": it said none
    last_seen_at = models.DateTimeField(null=True)
    suspended_at = models.DateTimeField(null=True)
    suspended_reason = models.TextField(blank=True)
    resumed_at = models.DateTimeField(null=True)  # losses before it are forgiven
    set_aside_at = models.DateTimeField(null=True)  # its device is unfit until its canary passed; `hello` clears it
    set_aside_reason = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_suspended(self) -> bool:
        return self.suspended_at is not None

    @property
    def is_set_aside(self) -> bool:
        return self.set_aside_at is not None


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def current(self) -> AttemptQuerySet:
        return self.filter(is_current=True)

    def unfinished(self) -> AttemptQuerySet:
        return self.filter(state__in=UNFINISHED)


class Attempt(models.Model):
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveIntegerField()  # 1, 2, 3 … within its submission
    is_current = models.BooleanField(default=True)
    cause = models.CharField(max_length=16, default=FIRST)
    losses = models.PositiveIntegerField(default=0)  # attempts before this one that were lost in a row
    hardware = models.CharField(max_length=64)  # the board's, here for the index that a claim uses
    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=16, default=QUEUED)
    outcome = models.CharField(max_length=16, blank=True)
    reason = models.CharField(max_length=64, blank=True)
    runner = models.ForeignKey(Runner, on_delete=models.PROTECT, null=True, related_name="attempts")
    token = models.BigIntegerField(default=0)  # fencing token of the claim; 0 before it
    lease_expires_at = models.DateTimeField(null=True)
    hard_deadline_at = models.DateTimeField(null=True)  # of the claim; no renewal passes it
    created_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = AttemptQuerySet.as_manager()

    class Meta:
        ordering = ["submission_id", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["submission"], condition=Q(is_current=True), name="one_current_attempt_a_submission"
            ),
            models.CheckConstraint(
                condition=~Q(state__in=UNFINISHED) | Q(is_current=True), name="attempt_unfinished_is_current"
            ),
            models.UniqueConstraint(fields=["submission", "number"], name="attempt_numbers_are_unique"),
            models.CheckConstraint(condition=Q(state__in=STATES), name="attempt_state_is_known"),
            models.CheckConstraint(condition=Q(cause__in=CAUSES), name="attempt_cause_is_known"),
            models.CheckConstraint(
                condition=Q(state=DONE, outcome__in=OUTCOMES) | (~Q(state=DONE) & Q(outcome="")),
                name="attempt_has_an_outcome_when_done",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=RUNNING)
                | Q(
                    runner__isnull=False,
                    token__gt=0,
                    lease_expires_at__isnull=False,
                    hard_deadline_at__isnull=False,
                    claimed_at__isnull=False,
                ),
                name="attempt_runs_under_a_lease",
            ),
            models.CheckConstraint(
                condition=~Q(state=QUEUED) | Q(runner__isnull=True, token=0), name="attempt_queued_has_no_runner"
            ),
            models.CheckConstraint(
                condition=Q(state__in=FINISHED, finished_at__isnull=False)
                | Q(state__in=UNFINISHED, finished_at__isnull=True),
                name="attempt_has_an_end_when_finished",
            ),
        ]
        indexes = [
            models.Index(fields=["hardware", "id"], condition=Q(state=QUEUED), name="attempt_queue"),
            models.Index(fields=["lease_expires_at"], condition=Q(state__in=RUNNING), name="attempt_leases"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.pk} ({self.state})"

    @property
    def is_running(self) -> bool:
        return self.state in RUNNING


class AttemptEvent(models.Model):
    """What a watcher sees. The row id is the id of the server-sent event; ids of a submission grow as rows commit."""

    STATE: Final = "state"
    PROGRESS: Final = "progress"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="events")
    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="events")
    seq = models.BigIntegerField(null=True)  # the runner's own count; null where the site speaks
    kind = models.CharField(max_length=16)
    state = models.CharField(max_length=16)  # that the attempt is in from this event on
    message = models.CharField(max_length=500, blank=True)
    data = models.JSONField(default=dict)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["attempt", "seq"], name="one_event_a_runner_seq"),
            models.CheckConstraint(condition=Q(kind__in=("state", "progress")), name="event_kind_is_known"),
            models.CheckConstraint(condition=Q(state__in=STATES), name="event_state_is_known"),
        ]
        indexes = [models.Index(fields=["submission", "id"], name="event_by_submission")]

    def __str__(self) -> str:
        return f"event {self.pk} ({self.kind} {self.state})"


class Result(models.Model):
    """The report of a finished attempt as it came; the columns repeat what is asked for often."""

    attempt = models.OneToOneField(Attempt, on_delete=models.PROTECT, related_name="result")
    outcome = models.CharField(max_length=16)
    reason = models.CharField(max_length=64, blank=True)
    message = models.TextField(blank=True)
    flags = models.JSONField(default=list)
    score_us = models.FloatField(null=True)
    ratio = models.FloatField(null=True)  # candidate / baseline; < 1 is faster
    half_width = models.FloatField(null=True)
    epoch = models.CharField(max_length=EPOCH_CHARS, blank=True)
    telemetry = models.CharField(max_length=16, blank=True)
    forgeable = models.FloatField(null=True)  # share of the time, 0 … 1, by which it could be forged at most
    report = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(outcome__in=OUTCOMES), name="result_outcome_is_known"),
            models.CheckConstraint(
                condition=Q(score_us__isnull=True, ratio__isnull=True)
                | Q(outcome="passed", score_us__gt=0, ratio__gt=0),
                name="result_has_numbers_only_when_passed",
            ),
            models.CheckConstraint(condition=Q(telemetry__in=TELEMETRY), name="result_telemetry_is_known"),
            models.CheckConstraint(
                condition=Q(forgeable__isnull=True) | Q(forgeable__gte=0, forgeable__lte=1),
                name="result_forgeable_is_a_share",
            ),
        ]

    def __str__(self) -> str:
        return f"result of attempt {self.attempt_id}"


class Epoch(models.Model):
    """What may rank together on one hardware: times under the same driver, power limit and harness.

    A board ranks, of the epochs that it has lines of, the one with the latest `current_since`.
    """

    hardware = models.CharField(max_length=64)
    name = models.CharField(max_length=EPOCH_CHARS)  # a hash that the runner made
    opened_at = models.DateTimeField()
    current_since = models.DateTimeField()  # first seen, or chosen again by an organiser

    class Meta:
        ordering = ["hardware", "-current_since"]
        constraints = [
            models.UniqueConstraint(fields=["hardware", "name"], name="one_epoch_a_hardware_and_name"),
            models.CheckConstraint(condition=~Q(name=""), name="epoch_has_a_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.hardware}"


class ReferenceTime(models.Model):
    """The baseline's time of one case in one epoch: the median over the first jobs, then frozen. Sent with a job."""

    problem_digest = models.CharField(max_length=80)
    hardware = models.CharField(max_length=64)
    epoch = models.CharField(max_length=EPOCH_CHARS, blank=True)
    case = models.CharField(max_length=255)
    median_ns = models.FloatField()
    samples = models.PositiveIntegerField()
    frozen_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["problem_digest", "hardware", "epoch", "case"]
        constraints = [
            models.UniqueConstraint(
                fields=["problem_digest", "hardware", "epoch", "case"], name="one_reference_time_a_case_and_epoch"
            ),
            models.CheckConstraint(condition=Q(median_ns__gt=0, samples__gt=0), name="reference_time_is_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.case} on {self.hardware}: {self.median_ns:.0f} ns"
