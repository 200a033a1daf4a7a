"""Tables of review: Finding (evidence), Measurement, Decision (a line of a log), Case, Suspension.

Findings, decisions and suspensions are append-only, by trigger. A Case is the only row here that changes: it repeats
the result of states.derive for its log, so that queries can find it. Only log.py writes it. Measurement keeps the
numbers of every rule on a result, held or not, so that other thresholds can be tried on them.
"""

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
    rule = models.CharField(max_length=64)  # one of thresholds.RULES
    threshold = models.FloatField(null=True)  # the competition's, at the time; None: older than this column
    sentence = models.TextField()  # observation and advice, for a reviewer
    figures = models.JSONField(default=dict)
    samples = models.JSONField(default=dict)  # a bounded excerpt of the report's samples
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["result", "rule"], name="one_finding_a_result_and_rule")]

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


class Measurement(models.Model):
    """Numbers that the rules measured on a screened result; append-only."""

    result = models.OneToOneField(Result, on_delete=models.PROTECT, related_name="measurement")
    values = models.JSONField(default=dict)  # rule → measured number; null: not a number, which holds
    case_ratios = models.JSONField(default=dict)  # case → candidate / baseline, from the samples
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"measurement of result {self.result_id}"


class Fingerprint(models.Model):
    """Fingerprints of a submission's source, for similarity.py; append-only. Written with the submission."""

    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="fingerprint")
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="+")  # the submission's
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")  # the submission's
    version = models.PositiveIntegerField()  # similarity.VERSION
    prints = ArrayField(models.IntegerField())  # salted with the problem; without code that it gives to everybody
    opaque_chars = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]
        indexes = [GinIndex(fields=["prints"], name="fingerprint_by_print", fastupdate=False)]

    def __str__(self) -> str:
        return f"fingerprint of submission {self.submission_id}"


class Hint(models.Model):
    """Advice of a third-party static checker on a held source, for reviewers; it is never a reason to hold."""

    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="hint")
    checker = models.CharField(max_length=64)  # name of the program
    words = models.JSONField(default=list)  # plain texts, bounded
    failure = models.CharField(max_length=300, blank=True)  # reason for a missing answer; "": it answered
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"hint on submission {self.submission_id}"


class Decision(models.Model):
    """A line of a case's log. review/case/states.py defines the acts."""

    result = models.ForeignKey(Result, on_delete=models.PROTECT, related_name="decisions")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    act = models.CharField(max_length=16)
    code = models.CharField(max_length=32, blank=True)  # of a rejection: case/acts.py; of a label: its name
    reason = models.TextField()  # the owner also reads that of a rejection, question, answer or appeal
    public_reason = models.TextField(blank=True)  # written for the integrity page; "": it shows none
    about = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="+")  # undone, answered, …
    rank = models.PositiveIntegerField(null=True)  # place that the line would have had at this moment; None: no place
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
    """A result that waits for a person, or that its verdict rejected by itself.

    Fields below `opened_at` are derived.
    """

    HELD: Final = "held"  # a rule or a person held it
    BY_ITSELF: Final = "by_itself"  # its verdict is a rejection that a person may overturn
    ORIGINS: Final = (HELD, BY_ITSELF)

    result = models.OneToOneField(Result, on_delete=models.PROTECT, primary_key=True, related_name="case")
    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="+")
    origin = models.CharField(max_length=16)
    opened_at = models.DateTimeField()
    state = models.CharField(max_length=16)
    since = models.DateTimeField()  # start of this state
    is_by_itself = models.BooleanField(default=False)  # rejected by the verdict, not by a person
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
    """Suspension or reinstatement of an account; the newest row of a person and competition counts."""

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
