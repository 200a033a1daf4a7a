"""Tables of review: Finding (evidence), Measurement, Decision (a line of a log), Case, Suspension.

Findings, decisions and suspensions are append-only, by trigger. A Case is the one row here that changes: it repeats
what case.derive says of its log, so that a queue can be asked for it, and log.py alone writes it. Measurement keeps
what every rule measured on a result, held or not, so that other thresholds can be tried on it.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from leaderboard.competitions.models import Board, Competition
from leaderboard.entrants.models import Entrant
from leaderboard.judging.models import Result
from leaderboard.review.case import states
from leaderboard.submissions.models import Submission


class Finding(models.Model):
    result = models.ForeignKey(Result, on_delete=models.PROTECT, related_name="findings")
    rule = models.CharField(max_length=64)  # of thresholds.RULES
    threshold = models.FloatField(null=True)  # of the competition, at the time; None: from before it was kept
    sentence = models.TextField()  # what was seen and what to look at, for a reviewer
    figures = models.JSONField(default=dict)
    samples = models.JSONField(default=dict)  # a bounded excerpt of the report's
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["result", "rule"], name="one_finding_a_result_and_rule")]

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


class Measurement(models.Model):
    """Of one screened result; append-only."""

    result = models.OneToOneField(Result, on_delete=models.PROTECT, related_name="measurement")
    values = models.JSONField(default=dict)  # rule → what it measured; null: no number, which holds
    case_ratios = models.JSONField(default=dict)  # case → candidate / baseline, from the samples
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"measurement of result {self.result_id}"


class Fingerprint(models.Model):
    """Of what one submission's source says, for similarity.py; append-only. Written with the submission."""

    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="fingerprint")
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="+")  # the submission's
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")  # the submission's
    version = models.PositiveIntegerField()  # similarity.VERSION
    prints = ArrayField(models.IntegerField())  # salted with the problem; without what everybody was given
    opaque_chars = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]
        indexes = [GinIndex(fields=["prints"], name="fingerprint_by_print", fastupdate=False)]

    def __str__(self) -> str:
        return f"fingerprint of submission {self.submission_id}"


class Hint(models.Model):
    """What a static checker of somebody else says of a held source: advice for reviewers, never a reason to hold."""

    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="hint")
    checker = models.CharField(max_length=64)  # the program
    words = models.JSONField(default=list)  # plain texts, bounded
    failure = models.CharField(max_length=300, blank=True)  # why it gave no answer; "": it gave one
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"hint on submission {self.submission_id}"


class Decision(models.Model):
    """A line of a case's log; what the acts are and do is said by case.py."""

    result = models.ForeignKey(Result, on_delete=models.PROTECT, related_name="decisions")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    act = models.CharField(max_length=16)
    code = models.CharField(max_length=32, blank=True)  # of a rejection: reasons.py; of a label: which
    reason = models.TextField()  # a rejection's, a question, an answer and an appeal are read by the owner too
    public_reason = models.TextField(blank=True)  # written for the integrity page; "": nothing is shown there
    about = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="+")  # undone, answered, …
    rank = models.PositiveIntegerField(null=True)  # where the line would have stood at this moment; None: nowhere
    needs_two = models.BooleanField(default=False)  # of "clear": a second person must clear it as well
    until = models.DateTimeField(null=True)  # of "claim"
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(act__in=states.ACTS), name="decision_act_is_known"),
            models.CheckConstraint(condition=~Q(reason=""), name="decision_has_a_reason"),
            models.UniqueConstraint(
                fields=["about", "act"],
                condition=Q(act__in=(states.UNDO, states.ANSWER, states.APPEAL)),
                name="one_undoing_answer_and_appeal_a_decision",
            ),
            models.CheckConstraint(
                condition=Q(act=states.CLAIM, until__isnull=False) | (~Q(act=states.CLAIM) & Q(until__isnull=True)),
                name="decision_until_of_claims_only",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.act} of result {self.result_id}"


class Case(models.Model):
    """A result that a person looks at, or that its verdict rejected by itself. All below `opened_at` is derived."""

    HELD: Final = "held"  # a rule or a person held it
    BY_ITSELF: Final = "by_itself"  # its verdict is a rejection that a person may overturn
    ORIGINS: Final = (HELD, BY_ITSELF)

    result = models.OneToOneField(Result, on_delete=models.PROTECT, primary_key=True, related_name="case")
    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="+")
    origin = models.CharField(max_length=16)
    opened_at = models.DateTimeField()
    state = models.CharField(max_length=16)
    since = models.DateTimeField()  # in this state
    is_by_itself = models.BooleanField(default=False)  # rejected, and by no person
    claimed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    claimed_until = models.DateTimeField(null=True)
    labels = ArrayField(models.CharField(max_length=32), default=list)

    class Meta:
        ordering = ["opened_at", "result_id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=states.STATES), name="case_state_is_known"),
            models.CheckConstraint(condition=Q(origin__in=("held", "by_itself")), name="case_origin_is_known"),
        ]
        indexes = [
            models.Index(fields=["board", "state"], name="case_by_board"),
            models.Index(fields=["opened_at", "result"], name="case_by_age"),
        ]

    def __str__(self) -> str:
        return f"case of result {self.result_id}: {self.state}"


class Suspension(models.Model):
    """An account is closed to competing, or opened again; the newest row of a person and competition counts."""

    SUSPEND: Final = "suspend"
    REINSTATE: Final = "reinstate"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="suspensions")
    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, null=True, related_name="+")  # None: all
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    act = models.CharField(max_length=16)
    reason = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(act__in=("suspend", "reinstate")), name="suspension_act_is_known"),
            models.CheckConstraint(condition=~Q(reason=""), name="suspension_has_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.act} {self.user_id}"
