"""Tables of judging, and the states of leased work: attempts, admission tests and confirmations.

    queued → claimed → building → checking → timing → done
             any of the middle four may also end as done, lost or cancelled; queued as cancelled
             a runner that hands any of the middle four back makes it queued again

A claim sets runner, lease and fencing token. Tokens of all kinds come from one sequence, so no token is given twice.
Requested work has three states: queued, running, done. The constraints below are the rules of these tables; triggers
keep events and results append-only. The judge treats a shadow attempt like any attempt. It changes no page until its
set is applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Self

from django.conf import settings
from django.db import models
from django.db.models import BaseConstraint, CheckConstraint, Q, UniqueConstraint
from django.utils import timezone

from leaderboard.competitions.models import Board, Competition, ProblemVersion
from leaderboard.errors import IllegalMove
from leaderboard.submissions.models import Submission
from runner.wire import OUTCOMES, TELEMETRY, Job
from runner.wire import STATES as ANNOUNCED

QUEUED: Final = "queued"
CLAIMED: Final = "claimed"
DONE: Final = "done"
LOST: Final = "lost"
CANCELLED: Final = "cancelled"
AT_WORK: Final = "running"  # by a runner: an admission test or a confirmation

RUNNING: Final = (CLAIMED, *ANNOUNCED)  # a runner holds the attempt
UNFINISHED: Final = (QUEUED, *RUNNING)
FINISHED: Final = (DONE, LOST, CANCELLED)
STATES: Final = UNFINISHED + FINISHED

NEXT: Final[dict[str, frozenset[str]]] = {
    QUEUED: frozenset({CLAIMED, CANCELLED}),
    # A runner's stages go forward only; a mode may skip a stage (test mode has no timing).
    **{state: frozenset({*RUNNING[index:], *FINISHED, QUEUED}) for index, state in enumerate(RUNNING, start=1)},
    **{state: frozenset() for state in FINISHED},
}
ERROR: Final = "error"  # outcome of requested work that no runner could do


def check_move(old: str, new: str) -> None:
    if new not in NEXT[old]:
        raise IllegalMove(f"an attempt that is {old} cannot become {new}")


def longest(bundle: dict[str, Any]) -> timedelta:
    """Return how long a runner may judge a submission: the problem's timeouts plus the overhead around them."""
    stages = float(bundle.get("test_timeout_s", 0)) + max(
        float(bundle.get("benchmark_timeout_s", 0)), float(bundle.get("ranked_timeout_s", 0))
    )
    return timedelta(seconds=stages + settings.ATTEMPT_OVERHEAD_S)


class Leased(models.Model):
    """Work that a runner claims under a lease."""

    HELD_STATES: ClassVar[Sequence[str]]
    WIRE_PREFIX: ClassVar[str]  # of its name on the wire, before its key
    keeps_report: ClassVar[bool] = True  # beside its verdict

    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, related_name="+")
    hardware = models.CharField(max_length=64)
    state = models.CharField(max_length=16, default=QUEUED)
    runner = models.ForeignKey("judging.Runner", on_delete=models.PROTECT, null=True, related_name="+")
    token = models.BigIntegerField(default=0)  # fencing token of the claim; 0: not claimed
    losses = models.PositiveIntegerField(default=0)  # expired leases, and faults of a host
    lease_expires_at = models.DateTimeField(null=True)
    hard_deadline_at = models.DateTimeField(null=True)  # of the claim; no renewal passes it
    created_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @classmethod
    def running(cls) -> models.QuerySet[Self]:
        """Return the work of this kind that runners hold."""
        return cls._default_manager.filter(state__in=cls.HELD_STATES).order_by()

    @property
    def attempt_id(self) -> str:
        """Name of the work on the wire."""
        return f"{self.WIRE_PREFIX}{self.pk}"

    @property
    def is_running(self) -> bool:
        return self.state in self.HELD_STATES

    @property
    def is_reported(self) -> bool:
        """Return whether a report ended this work."""
        return self.state == DONE

    def job(self) -> Job:
        """Return the runner's job, with the time from the claim to the hard deadline."""
        raise NotImplementedError

    def _job(self, held_for: timedelta, **task: Any) -> Job:
        return Job(
            attempt_id=self.attempt_id,
            token=self.token,
            lease_s=settings.LEASE_S,
            hardware=self.hardware,
            problem=self.version.bundle,
            problem_digest=self.version.digest,
            deadline_s=held_for.total_seconds(),
            **task,
        )


class Requested(Leased):
    """Work that a person or the site asks for beside submissions: an admission test or a confirmation."""

    HELD_STATES = (AT_WORK,)
    NOUN: ClassVar[str]

    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    outcome = models.CharField(max_length=16, blank=True)
    message = models.TextField(blank=True)  # the sentence that decides, or the reason for having none

    class Meta:
        abstract = True

    @property
    def is_done(self) -> bool:
        return self.state == DONE

    @property
    def is_awaited(self) -> bool:
        """Whether a person waits for it; else the site asked by itself, and it yields to submissions."""
        return self.asked_by_id is not None


def rules(name: str, outcomes: Sequence[str]) -> list[BaseConstraint]:
    """Return the constraints of a table of requested work; their names contain `name`."""
    return [
        CheckConstraint(condition=Q(state__in=(QUEUED, AT_WORK, DONE)), name=f"{name}_state_is_known"),
        CheckConstraint(
            condition=~Q(state=AT_WORK)
            | Q(runner__isnull=False, token__gt=0, lease_expires_at__isnull=False, hard_deadline_at__isnull=False),
            name=f"{name}_runs_under_a_lease",
        ),
        UniqueConstraint(fields=["runner"], condition=Q(state=AT_WORK), name=f"one_running_{name}_a_runner"),
        CheckConstraint(
            condition=Q(state=DONE, outcome__in=outcomes, finished_at__isnull=False)
            | (~Q(state=DONE) & Q(outcome="", finished_at__isnull=True)),
            name=f"{name}_has_an_outcome_when_done",
        ),
    ]


FIRST: Final = "first"
REPLACEMENT: Final = "replacement"  # replaces an attempt whose runner was lost
REJUDGE: Final = "rejudge"
REMEASURE: Final = "remeasure"  # after a machine that was disturbed or unfit
CAUSES: Final = (FIRST, REPLACEMENT, REJUDGE, REMEASURE)
EPOCH_CHARS: Final = 64
CLOCKS_APART: Final = timedelta(days=1)  # more than the clocks of two hosts


class RunnerQuerySet(models.QuerySet["Runner"]):
    def able(self) -> RunnerQuerySet:
        """Runners that may claim work: in service, with a fit device, accepted software and a valid token."""
        return self.filter(suspended_at=None, set_aside_at=None, draining_at=None, revoked_at=None, skew="")


class Runner(models.Model):
    name = models.SlugField(max_length=64, unique=True)
    hardware = models.CharField(max_length=64)
    token_prefix = models.CharField(max_length=16)
    token_digest = models.CharField(max_length=64, unique=True)
    old_token_digest = models.CharField(max_length=64, blank=True, db_index=True)  # token before the last rotation
    old_token_until = models.DateTimeField(null=True)  # the old token is valid until then
    revoked_at = models.DateTimeField(null=True)  # all its tokens are invalid since then
    revoked_reason = models.TextField(blank=True)
    retired_at = models.DateTimeField(null=True)  # revoked because its host left the fleet in order
    seen_from = models.GenericIPAddressField(null=True)  # address of its last request
    fingerprint = models.JSONField(default=dict)  # description of the host, as of `hello`
    epoch = models.CharField(max_length=EPOCH_CHARS, blank=True)  # its timing epoch, as of `hello`; "": none
    last_seen_at = models.DateTimeField(null=True)
    suspended_at = models.DateTimeField(null=True)
    suspended_reason = models.TextField(blank=True)
    resumed_at = models.DateTimeField(null=True)  # earlier losses are forgiven
    set_aside_at = models.DateTimeField(null=True)  # device unfit until its canary passes; `hello` clears it
    set_aside_reason = models.TextField(blank=True)
    draining_at = models.DateTimeField(null=True)  # since then it finishes its work and claims none
    greeted_at = models.DateTimeField(null=True)  # its last `hello`: start of a new process
    software = models.JSONField(default=dict, db_default={})  # runner.wire.Software, as last stated
    skew = models.TextField(blank=True, default="", db_default="")  # why the site refuses that software; "": accepted
    place = models.JSONField(default=dict, db_default={})  # runner.wire.Place, as of `hello`
    health = models.JSONField(default=dict, db_default={})  # runner.wire.Health, as last reported
    health_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = RunnerQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def standing(self) -> str:
        """Return why the runner gets no work, in a word or two; "" if it may claim."""
        gone: dict[str, object] = {"retired": self.retired_at, "revoked": self.revoked_at}
        out = {"suspended": self.suspended_at, "set aside": self.set_aside_at, "refused": self.skew}
        reasons = gone | out | {"draining": self.draining_at}
        return next((reason for reason, applies in reasons.items() if applies), "")

    def has_greeted_since(self, moment: datetime) -> bool:
        """Return whether a new process has said hello, so that the process that claimed at `moment` is gone."""
        return self.greeted_at is not None and self.greeted_at > moment


class Enrolment(models.Model):
    """One-time code with which a host becomes a runner; see enrolment.py."""

    name = models.CharField(max_length=64)  # of the runner
    hardware = models.CharField(max_length=64)
    code_prefix = models.CharField(max_length=16)
    code_digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()  # moved to the present when the code is withdrawn
    used_at = models.DateTimeField(null=True)
    runner = models.OneToOneField(Runner, on_delete=models.PROTECT, null=True, related_name="enrolment")
    checks = models.JSONField(default=list)  # the doctor's lines, as the host sent them

    class Meta:
        ordering = ["-id"]
        constraints = [
            CheckConstraint(
                condition=Q(used_at__isnull=True, runner__isnull=True) | Q(used_at__isnull=False, runner__isnull=False),
                name="enrolment_is_used_by_a_runner",
            )
        ]

    def __str__(self) -> str:
        return f"{self.code_prefix}… for {self.name}"


class Share(models.Model):
    """Ceiling of a competition on one hardware, while other competitions wait for that hardware; see device_time.py."""

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="shares")
    hardware = models.CharField(max_length=64)
    percent = models.PositiveSmallIntegerField()
    set_at = models.DateTimeField()

    class Meta:
        ordering = ["hardware", "competition_id"]
        constraints = [
            UniqueConstraint(fields=["hardware", "competition"], name="one_share_a_hardware_and_competition"),
            CheckConstraint(condition=Q(percent__gte=1, percent__lte=99), name="share_is_a_part"),
        ]

    def __str__(self) -> str:
        return f"{self.percent} % of {self.hardware} for competition {self.competition_id}"


class Watch(models.Model):
    """Last activity of the site and of the sweepers, in one row (pk 1); see sweep.py."""

    site_at = models.DateTimeField(null=True)  # last heartbeat of any web process; null: never
    swept_at = models.DateTimeField(null=True)  # last sweep while the site was up, even if it failed
    whole_sweep_at = models.DateTimeField(null=True)  # end of the last sweep in which nothing failed
    back_at = models.DateTimeField(null=True)  # end of the last pause
    backed_up_at = models.DateTimeField(null=True)  # last backup of the database

    class Meta:
        constraints = [CheckConstraint(condition=Q(pk=1), name="one_watch")]

    def __str__(self) -> str:
        return f"watch (swept at {self.swept_at})"


class RejudgeSet(models.Model):
    """Submissions that are judged again together, in the shadow; see rejudging/sets.py."""

    OPEN: Final = "open"
    APPLIED: Final = "applied"
    DISCARDED: Final = "discarded"

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="rejudge_sets")
    board = models.ForeignKey(Board, on_delete=models.PROTECT, null=True, related_name="+")  # null: all its boards
    name = models.CharField(max_length=100)
    why = models.TextField()
    selection = models.JSONField()  # rejudging.sets.Selection.to_json(): criteria of the choice
    estimate_s = models.FloatField()  # machine time, as long as their attempts took before
    state = models.CharField(max_length=16, default=OPEN)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True)  # nothing of the set is queued after this
    settled_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    settled_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            UniqueConstraint(fields=["competition", "name"], name="one_rejudge_set_a_name"),
            CheckConstraint(
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
        """Return attempts of the submission's own history, without attempts that have only been in the shadow."""
        return self.filter(is_shadow=False)

    def of_line(self, attempt: Attempt) -> AttemptQuerySet:
        """Return the attempts numbered with `attempt`: the submission's own, or its shadow attempts in the same set."""
        row = self.filter(submission=attempt.submission_id, is_shadow=attempt.is_shadow)
        return row.filter(rejudge_set=attempt.rejudge_set_id) if attempt.is_shadow else row

    def unfinished(self) -> AttemptQuerySet:
        return self.filter(state__in=UNFINISHED)


class Attempt(Leased):
    HELD_STATES = RUNNING
    WIRE_PREFIX = ""

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="attempts")
    # Copies of the submission's owner, mode and time, and of its board's hardware and competition: for the indexes and
    # the claim.
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    competition = models.ForeignKey(
        Competition, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )  # null: queued by a version before there were shares
    is_ranked = models.BooleanField()
    sent_at = models.DateTimeField()
    number = models.PositiveIntegerField()  # 1, 2, 3 … within the submission, or within its set for shadow attempts
    is_current = models.BooleanField(default=True)
    is_shadow = models.BooleanField(default=False)  # judged for a set that is not applied: hidden
    rejudge_set = models.ForeignKey(RejudgeSet, on_delete=models.PROTECT, null=True, related_name="attempts")
    cause = models.CharField(max_length=16, default=FIRST)
    outcome = models.CharField(max_length=16, blank=True)
    reason = models.CharField(max_length=64, blank=True)
    runner = models.ForeignKey(  # indexed with its token, below
        Runner, on_delete=models.PROTECT, null=True, related_name="attempts", db_index=False
    )
    away_from = models.ForeignKey(Runner, on_delete=models.PROTECT, null=True, related_name="+")  # if another is alive
    not_before = models.DateTimeField(null=True)  # cannot be claimed earlier; then at the end of the queue

    objects = AttemptQuerySet.as_manager()

    class Meta:
        ordering = ["submission_id", "number"]
        constraints = [
            UniqueConstraint(
                fields=["submission"], condition=Q(is_current=True), name="one_current_attempt_a_submission"
            ),
            CheckConstraint(
                condition=~Q(state__in=UNFINISHED) | Q(is_current=True) | Q(is_shadow=True),
                name="attempt_unfinished_is_current_or_shadow",
            ),
            CheckConstraint(
                condition=Q(is_shadow=False) | Q(is_current=False, rejudge_set__isnull=False),
                name="attempt_in_the_shadow_has_a_set",
            ),
            UniqueConstraint(
                fields=["submission", "rejudge_set"],
                condition=Q(is_shadow=True, state__in=UNFINISHED),
                name="one_shadow_attempt_a_submission_and_set",
            ),
            UniqueConstraint(
                fields=["submission", "number"], condition=Q(is_shadow=False), name="attempt_numbers_are_unique"
            ),
            UniqueConstraint(
                fields=["submission", "rejudge_set", "number"],
                condition=Q(is_shadow=True),
                name="shadow_attempt_numbers_are_unique",
            ),
            UniqueConstraint(fields=["runner"], condition=Q(state__in=RUNNING), name="one_running_attempt_a_runner"),
            CheckConstraint(condition=Q(state__in=STATES), name="attempt_state_is_known"),
            CheckConstraint(condition=Q(cause__in=CAUSES), name="attempt_cause_is_known"),
            CheckConstraint(
                condition=Q(state=DONE, outcome__in=OUTCOMES) | (~Q(state=DONE) & Q(outcome="")),
                name="attempt_has_an_outcome_when_done",
            ),
            CheckConstraint(
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
            CheckConstraint(
                condition=~Q(state=QUEUED) | Q(runner__isnull=True, token=0), name="attempt_queued_has_no_runner"
            ),
            CheckConstraint(
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
            models.Index(fields=["hardware"], condition=Q(state=LOST), name="attempt_lost"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.pk} ({self.state})"

    @property
    def is_reported(self) -> bool:
        return self.state == DONE and Result.objects.filter(attempt=self).exists()

    def job(self) -> Job:
        submission = self.submission
        candidate = getattr(submission, "candidate", None)  # of a batch
        return self._job(
            longest(self.version.bundle),
            mode=submission.mode,
            submission_id=str(submission.pk),
            filename=submission.filename,
            source=submission.source,
            bar=candidate.batch.bar if candidate else None,
        )


class EventQuerySet(models.QuerySet["AttemptEvent"]):
    def since(self, moment: datetime) -> EventQuerySet:
        """Leave out events before this moment, at which their work began. PostgreSQL then reads no earlier month."""
        return self.filter(created_at__gte=moment - CLOCKS_APART)


class OpenEvents(models.Manager.from_queryset(EventQuerySet)):  # type: ignore[misc]
    """Events outside the shadow, so that a reader needs no knowledge of re-judging."""

    def get_queryset(self) -> EventQuerySet:
        events: EventQuerySet = super().get_queryset()
        return events.filter(in_shadow=False)


class AttemptEvent(models.Model):
    """Event for watchers. The row id is the id of the server-sent event; ids of a submission grow as rows commit.

    The table has a partition for each month (migrations/event_months.sql), with the unique constraint in each of them.
    """

    STATE: Final = "state"
    PROGRESS: Final = "progress"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, db_index=False, related_name="events")
    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, db_index=False, related_name="events")
    token = models.BigIntegerField(default=0)  # token of the runner's claim; 0 for events of the site
    seq = models.BigIntegerField(null=True)  # the runner's count in that claim; null for events of the site
    kind = models.CharField(max_length=16)
    state = models.CharField(max_length=16)  # state of the attempt from this event on
    message = models.CharField(max_length=500, blank=True)
    data = models.JSONField(default=dict)
    in_shadow = models.BooleanField(default=False)  # of an attempt that was in the shadow then
    created_at = models.DateTimeField()

    objects = OpenEvents()
    every = EventQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            UniqueConstraint(fields=["attempt", "token", "seq"], name="one_event_a_claim_and_seq"),
            CheckConstraint(condition=Q(kind__in=("state", "progress")), name="event_kind_is_known"),
            CheckConstraint(condition=Q(state__in=STATES), name="event_state_is_known"),
        ]
        indexes = [models.Index(fields=["submission", "id"], name="event_by_submission")]

    def __str__(self) -> str:
        return f"event {self.pk} ({self.kind} {self.state})"


class Reported(models.Model):
    """A row about a runner's report. archive.py alone reads and writes the report itself."""

    # The report, where the store has none: rows of before the store, and sites without REPORT_STORE. A later release
    # drops the column.
    inline = models.JSONField(db_column="report", default=dict)
    created_at = models.DateTimeField()
    loaded: dict[str, Any] | None = None  # no column: the report, while archive.py keeps it in memory

    class Meta:
        abstract = True


class Archived(models.Model):
    """The place of a report in the store of contents; see archive.py."""

    of: Any  # the row about the report: a field of each table

    KEPT: Final = "kept"  # of a board's line or a review case: for ever, like reports of contests

    digest = models.CharField(max_length=64, db_index=True)  # SHA-256 of the report's canonical bytes
    size = models.PositiveIntegerField()  # of these bytes
    phase = models.CharField(max_length=16)  # key of settings.REPORT_DAYS, or KEPT or a stage that is kept for ever
    created_at = models.DateTimeField()  # of the report
    expired_at = models.DateTimeField(null=True)  # the content is deleted since then; its verdict and digest stay

    class Meta:
        abstract = True
        indexes = [models.Index(fields=["phase", "created_at"], condition=Q(expired_at=None), name="%(class)s_lives")]

    def __str__(self) -> str:
        return f"report {self.digest[:12]}"


class Result(Reported):
    """The verdict on a finished attempt; the columns repeat the report's fields that queries often need."""

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
    forgeable = models.FloatField(null=True)  # upper bound of the missing share of the true time, 0 … 1
    stage = models.CharField(max_length=16, blank=True, default="", db_default="")  # feedback.py; "": an older row

    class Meta:
        ordering = ["id"]
        constraints = [
            CheckConstraint(condition=Q(outcome__in=OUTCOMES), name="result_outcome_is_known"),
            CheckConstraint(
                condition=Q(score_us__isnull=True, ratio__isnull=True)
                | Q(outcome="passed", score_us__gt=0, ratio__gt=0),
                name="result_has_numbers_only_when_passed",
            ),
            CheckConstraint(condition=Q(telemetry__in=TELEMETRY), name="result_telemetry_is_known"),
            CheckConstraint(
                condition=Q(forgeable__isnull=True) | Q(forgeable__gte=0, forgeable__lte=1),
                name="result_forgeable_is_a_share",
            ),
        ]

    def __str__(self) -> str:
        return f"result of attempt {self.attempt_id}"


class ResultArchived(Archived):
    of = models.OneToOneField(Result, on_delete=models.PROTECT, related_name="archived")


class Epoch(models.Model):
    """Times that may rank together on one hardware: same device, driver, limits, software and judge (epochs.py)."""

    PROPOSED: Final = "proposed"  # a runner measures in it; no decision yet
    CURRENT: Final = "current"  # ranked by every board that no contest pins to another epoch
    RETIRED: Final = "retired"  # was current
    DISMISSED: Final = "dismissed"  # a person decided against it
    STATES: Final = (PROPOSED, CURRENT, RETIRED, DISMISSED)

    hardware = models.CharField(max_length=64)
    name = models.CharField(max_length=EPOCH_CHARS)  # hash made by the runner
    state = models.CharField(max_length=16, default=PROPOSED)
    fingerprint = models.JSONField(default=dict)  # fingerprint of the runner that proposed it
    opened_at = models.DateTimeField()
    current_since = models.DateTimeField(null=True)  # when it last became current; null: never

    class Meta:
        ordering = ["hardware", "-opened_at", "-id"]
        constraints = [
            UniqueConstraint(fields=["hardware", "name"], name="one_epoch_a_hardware_and_name"),
            UniqueConstraint(fields=["hardware"], condition=Q(state="current"), name="one_current_epoch_a_hardware"),
            CheckConstraint(condition=~Q(name=""), name="epoch_has_a_name"),
            CheckConstraint(
                condition=Q(state__in=("current", "retired"), current_since__isnull=False)
                | Q(state__in=("proposed", "dismissed")),
                name="epoch_state_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.hardware}"


class EpochPin(models.Model):
    """The epoch that the contest of a competition ranks on one hardware, independent of the current epoch."""

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="epoch_pins")
    hardware = models.CharField(max_length=64)
    epoch = models.CharField(max_length=EPOCH_CHARS, blank=True)  # its name; "": of runners that name no epoch
    pinned_at = models.DateTimeField()

    class Meta:
        ordering = ["competition_id", "hardware"]
        constraints = [
            UniqueConstraint(fields=["competition", "hardware"], name="one_epoch_pin_a_competition_and_hardware")
        ]

    def __str__(self) -> str:
        return f"{self.epoch or 'no epoch'} on {self.hardware} in competition {self.competition_id}"


class RejudgeItem(models.Model):
    """A submission of a re-judging set: its result when the set was made, and its result in the shadow."""

    APPLIED: Final = "applied"
    NEWER: Final = "newer"  # a newer verdict outside the set stands
    REJECTED: Final = "rejected"  # a reviewer's rejection stands
    NO_VERDICT: Final = "no_verdict"  # our failure, spoiled measurement or cancellation: no verdict on the kernel
    BECAME: Final = (APPLIED, NEWER, REJECTED, NO_VERDICT)

    rejudge_set = models.ForeignKey(RejudgeSet, on_delete=models.PROTECT, related_name="items")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+")
    before = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="+")  # newest judged when it was made
    after = models.OneToOneField(Attempt, on_delete=models.PROTECT, related_name="+")  # the newest attempt in the set
    became = models.CharField(max_length=16, blank=True)  # set when the set is applied; "": not yet
    rank_before = models.PositiveIntegerField(null=True)  # on its board, just before and after the set was applied
    rank_after = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            UniqueConstraint(fields=["rejudge_set", "submission"], name="one_rejudge_item_a_submission"),
            CheckConstraint(
                condition=Q(became__in=("", "applied", "newer", "rejected", "no_verdict")),
                name="rejudge_item_became_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"submission {self.submission_id} in set {self.rejudge_set_id}"
