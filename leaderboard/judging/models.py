"""Tables of judging: Runner, Watch, Attempt, AttemptEvent, Result, Epoch, EpochPin, RejudgeSet,
RejudgeItem.

Always true, by constraint: a submission has at most one current attempt and at most one unfinished shadow attempt a
re-judging set, and only these may be unfinished; an attempt has at most one result; one that runs has a runner, a lease
and a hard deadline; a runner holds at most one attempt; an attempt has an outcome exactly when it is done. Events and
results are append-only by trigger. Who writes: the acts beside this file, one module each.

A shadow attempt is judged like any other and changes nothing that anybody sees, until its set is applied.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from leaderboard.competitions.models import Board, Competition, ProblemVersion
from leaderboard.judging.states import DONE, FINISHED, QUEUED, RUNNING, STATES, UNFINISHED
from leaderboard.submissions.models import Submission
from runner.wire import OUTCOMES, TELEMETRY

FIRST: Final = "first"
REPLACEMENT: Final = "replacement"  # of an attempt whose runner was lost
REJUDGE: Final = "rejudge"
REMEASURE: Final = "remeasure"  # after a machine that was disturbed or unfit
CAUSES: Final = (FIRST, REPLACEMENT, REJUDGE, REMEASURE)
EPOCH_CHARS: Final = 64


class RunnerQuerySet(models.QuerySet["Runner"]):
    def able(self) -> RunnerQuerySet:
        """Runners that may claim work: in service, with a fit device and a valid token."""
        return self.filter(suspended_at=None, set_aside_at=None, draining_at=None, revoked_at=None)


class Runner(models.Model):
    name = models.SlugField(max_length=64, unique=True)
    hardware = models.CharField(max_length=64)
    token_prefix = models.CharField(max_length=16)
    token_digest = models.CharField(max_length=64, unique=True)
    old_token_digest = models.CharField(max_length=64, blank=True, db_index=True)  # before the last rotation
    old_token_until = models.DateTimeField(null=True)  # until then the old token opens the door, too
    revoked_at = models.DateTimeField(null=True)  # since then no token of it opens the door
    revoked_reason = models.TextField(blank=True)
    seen_from = models.GenericIPAddressField(null=True)  # address of its last request
    fingerprint = models.JSONField(default=dict)  # what the host said of itself in `hello`
    epoch = models.CharField(max_length=EPOCH_CHARS, blank=True)  # its timing epoch, as of `hello`; "": it said none
    last_seen_at = models.DateTimeField(null=True)
    suspended_at = models.DateTimeField(null=True)
    suspended_reason = models.TextField(blank=True)
    resumed_at = models.DateTimeField(null=True)  # losses before it are forgiven
    set_aside_at = models.DateTimeField(null=True)  # its device is unfit until its canary passed; `hello` clears it
    set_aside_reason = models.TextField(blank=True)
    draining_at = models.DateTimeField(null=True)  # since then it finishes what it holds and claims nothing
    greeted_at = models.DateTimeField(null=True)  # its last `hello`: a new process began then
    created_at = models.DateTimeField(default=timezone.now)

    objects = RunnerQuerySet.as_manager()

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

    @property
    def is_revoked(self) -> bool:
        return self.revoked_at is not None

    @property
    def is_draining(self) -> bool:
        return self.draining_at is not None

    @property
    def standing(self) -> str:
        """Why it gets no work, in a word or two; "" where it may."""
        if self.is_revoked:
            return "revoked"
        if self.is_suspended:
            return "suspended"
        if self.is_set_aside:
            return "set aside"
        return "draining" if self.is_draining else ""

    def has_greeted_since(self, moment: datetime) -> bool:
        """Whether the process that claimed at `moment` is gone: a new one has said hello."""
        return self.greeted_at is not None and self.greeted_at > moment


class Watch(models.Model):
    """When the site and a sweeper were last seen at work: one row (pk 1) for all of them; see outages.py."""

    site_at = models.DateTimeField(null=True)  # last heartbeat of any web process; null: none ever sent one
    swept_at = models.DateTimeField(null=True)  # last sweep during which the site was there
    back_at = models.DateTimeField(null=True)  # end of the last pause

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="one_watch")]

    def __str__(self) -> str:
        return f"watch (swept at {self.swept_at})"


class RejudgeSet(models.Model):
    """Submissions that are judged again together, in the shadow; see rejudge_sets.py."""

    OPEN: Final = "open"
    APPLIED: Final = "applied"
    DISCARDED: Final = "discarded"

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="rejudge_sets")
    board = models.ForeignKey(Board, on_delete=models.PROTECT, null=True, related_name="+")  # null: of all its boards
    name = models.CharField(max_length=100)
    why = models.TextField()
    selection = models.JSONField()  # rejudge_select.Selection.to_json(): what the submissions were chosen by
    estimate_s = models.FloatField()  # of machine time, as long as their attempts took before
    state = models.CharField(max_length=16, default=OPEN)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True)  # from here on nothing of it is queued
    settled_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    settled_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "name"], name="one_rejudge_set_a_name"),
            models.CheckConstraint(
                condition=Q(state="open", settled_at__isnull=True, settled_by__isnull=True)
                | Q(state__in=("applied", "discarded"), settled_at__isnull=False, settled_by__isnull=False),
                name="rejudge_set_settled_by_somebody",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        return self.state == self.OPEN


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def current(self) -> AttemptQuerySet:
        return self.filter(is_current=True)

    def in_the_open(self) -> AttemptQuerySet:
        """Those of the submission's own history: not what is, or ever was, in the shadow only."""
        return self.filter(is_shadow=False)

    def of_line(self, attempt: Attempt) -> AttemptQuerySet:
        """Those that count on from one another with this one: the submission's own, or those of its set."""
        row = self.filter(submission=attempt.submission_id, is_shadow=attempt.is_shadow)
        return row.filter(rejudge_set=attempt.rejudge_set_id) if attempt.is_shadow else row

    def unfinished(self) -> AttemptQuerySet:
        return self.filter(state__in=UNFINISHED)


class Attempt(models.Model):
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="attempts")
    # The submission's owner, mode and time, and the board's hardware: here for the indexes and the order of a claim.
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    is_ranked = models.BooleanField()
    sent_at = models.DateTimeField()
    hardware = models.CharField(max_length=64)
    number = models.PositiveIntegerField()  # 1, 2, 3 … within its submission; in the shadow, within its set
    is_current = models.BooleanField(default=True)
    is_shadow = models.BooleanField(default=False)  # judged for a set, not applied: nobody sees it
    rejudge_set = models.ForeignKey(RejudgeSet, on_delete=models.PROTECT, null=True, related_name="attempts")
    cause = models.CharField(max_length=16, default=FIRST)
    losses = models.PositiveIntegerField(default=0)  # attempts before this one that were lost in a row
    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=16, default=QUEUED)
    outcome = models.CharField(max_length=16, blank=True)
    reason = models.CharField(max_length=64, blank=True)
    runner = models.ForeignKey(  # indexed with its token, below
        Runner, on_delete=models.PROTECT, null=True, related_name="attempts", db_index=False
    )
    away_from = models.ForeignKey(Runner, on_delete=models.PROTECT, null=True, related_name="+")  # if another is alive
    token = models.BigIntegerField(default=0)  # fencing token of the claim; 0 before it
    lease_expires_at = models.DateTimeField(null=True)
    hard_deadline_at = models.DateTimeField(null=True)  # of the claim; no renewal passes it
    created_at = models.DateTimeField()
    not_before = models.DateTimeField(null=True)  # nobody claims it earlier; it then stands at the end of the queue
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
                condition=~Q(state__in=UNFINISHED) | Q(is_current=True) | Q(is_shadow=True),
                name="attempt_unfinished_is_current_or_shadow",
            ),
            models.CheckConstraint(
                condition=Q(is_shadow=False) | Q(is_current=False, rejudge_set__isnull=False),
                name="attempt_in_the_shadow_has_a_set",
            ),
            models.UniqueConstraint(
                fields=["submission", "rejudge_set"],
                condition=Q(is_shadow=True, state__in=UNFINISHED),
                name="one_shadow_attempt_a_submission_and_set",
            ),
            models.UniqueConstraint(
                fields=["submission", "number"], condition=Q(is_shadow=False), name="attempt_numbers_are_unique"
            ),
            models.UniqueConstraint(
                fields=["submission", "rejudge_set", "number"],
                condition=Q(is_shadow=True),
                name="shadow_attempt_numbers_are_unique",
            ),
            models.UniqueConstraint(
                fields=["runner"], condition=Q(state__in=RUNNING), name="one_running_attempt_a_runner"
            ),
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
            models.Index(fields=["hardware", "is_shadow", "id"], condition=Q(state=QUEUED), name="attempt_queue"),
            models.Index(
                fields=["hardware", "finished_at"], condition=Q(rejudge_set__isnull=True), name="attempt_device_time"
            ),
            models.Index(
                fields=["submission", "runner"], condition=Q(outcome="unmeasurable"), name="attempt_unmeasurable"
            ),
            models.Index(fields=["runner", "token"], name="attempt_by_runner"),
            models.Index(fields=["lease_expires_at"], condition=Q(state__in=RUNNING), name="attempt_leases"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.pk} ({self.state})"

    @property
    def is_running(self) -> bool:
        return self.state in RUNNING


class ToldEvents(models.Manager["AttemptEvent"]):
    """What was not said in the shadow: a reader that never heard of re-judging shows nothing of it."""

    def get_queryset(self) -> models.QuerySet[AttemptEvent]:
        return super().get_queryset().filter(in_shadow=False)


class AttemptEvent(models.Model):
    """What a watcher sees. The row id is the id of the server-sent event; ids of a submission grow as rows commit."""

    STATE: Final = "state"
    PROGRESS: Final = "progress"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="events")
    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="events")
    token = models.BigIntegerField(default=0)  # of the claim under which the runner spoke; 0 where the site speaks
    seq = models.BigIntegerField(null=True)  # the runner's own count in that claim; null where the site speaks
    kind = models.CharField(max_length=16)
    state = models.CharField(max_length=16)  # that the attempt is in from this event on
    message = models.CharField(max_length=500, blank=True)
    data = models.JSONField(default=dict)
    in_shadow = models.BooleanField(default=False)  # of an attempt that was in the shadow then
    created_at = models.DateTimeField()

    objects = ToldEvents()
    every = models.Manager["AttemptEvent"]()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["attempt", "token", "seq"], name="one_event_a_claim_and_seq"),
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
    forgeable = models.FloatField(null=True)  # share of the true time, 0 … 1, that may be missing at most
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
    """Times that may rank together on one hardware: same device, driver, limits, software and judge (epochs.py)."""

    PROPOSED: Final = "proposed"  # a runner measures in it; a person has not decided
    CURRENT: Final = "current"  # ranked by every board that no contest pins to another
    RETIRED: Final = "retired"  # was current
    DISMISSED: Final = "dismissed"  # a person decided against it
    STATES: Final = (PROPOSED, CURRENT, RETIRED, DISMISSED)

    hardware = models.CharField(max_length=64)
    name = models.CharField(max_length=EPOCH_CHARS)  # a hash that the runner made
    state = models.CharField(max_length=16, default=PROPOSED)
    fingerprint = models.JSONField(default=dict)  # of the runner that proposed it: what the epoch stands for
    opened_at = models.DateTimeField()
    current_since = models.DateTimeField(null=True)  # when it became current last; null: never

    class Meta:
        ordering = ["hardware", "-opened_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["hardware", "name"], name="one_epoch_a_hardware_and_name"),
            models.UniqueConstraint(
                fields=["hardware"], condition=Q(state="current"), name="one_current_epoch_a_hardware"
            ),
            models.CheckConstraint(condition=~Q(name=""), name="epoch_has_a_name"),
            models.CheckConstraint(
                condition=Q(state__in=("current", "retired"), current_since__isnull=False)
                | Q(state__in=("proposed", "dismissed")),
                name="epoch_state_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.hardware}"


class EpochPin(models.Model):
    """The epoch that the contest of a competition ranks on one hardware, whichever becomes current."""

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="epoch_pins")
    hardware = models.CharField(max_length=64)
    epoch = models.CharField(max_length=EPOCH_CHARS, blank=True)  # its name; "": of runners that say none
    pinned_at = models.DateTimeField()

    class Meta:
        ordering = ["competition_id", "hardware"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "hardware"], name="one_epoch_pin_a_competition_and_hardware")
        ]

    def __str__(self) -> str:
        return f"{self.epoch or 'no epoch'} on {self.hardware} in competition {self.competition_id}"


class RejudgeItem(models.Model):
    """One submission of a set: what it was judged to be when the set was made, and what came of it in the shadow."""

    APPLIED: Final = "applied"
    NEWER: Final = "newer"  # it was judged anew since by other means: that stands
    REJECTED: Final = "rejected"  # a person rejected what it had: that stands
    NO_VERDICT: Final = "no_verdict"  # our failure, a spoiled measurement, or cancelled: says nothing of the kernel
    BECAME: Final = (APPLIED, NEWER, REJECTED, NO_VERDICT)

    rejudge_set = models.ForeignKey(RejudgeSet, on_delete=models.PROTECT, related_name="items")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+")
    before = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="+")  # current when the set was made
    after = models.OneToOneField(Attempt, on_delete=models.PROTECT, related_name="+")  # the set's newest of it
    became = models.CharField(max_length=16, blank=True)  # when the set was applied; "": not yet
    rank_before = models.PositiveIntegerField(null=True)  # on its board, right before it was applied and right after
    rank_after = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["rejudge_set", "submission"], name="one_rejudge_item_a_submission"),
            models.CheckConstraint(
                condition=Q(became__in=("", "applied", "newer", "rejected", "no_verdict")),
                name="rejudge_item_became_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"submission {self.submission_id} in set {self.rejudge_set_id}"
