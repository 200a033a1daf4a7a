"""Tables of matches. Triggers keep Prediction, Version and HandIn unchanged, and end the hand-ins of a graded match.

A Match sets a person or a team against a model on a board. The human side commits its Prediction before its first
Version; a trigger refuses the reverse order. Versions of both sides are ordinary submissions, timed on secret seeds and
not ranked. SectionText and HandIn are the worklog of the human side. Choice is the match of the week.
"""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from leaderboard.competitions.models import Board
from leaderboard.entrants.models import Entrant
from leaderboard.submissions.models import MODEL, Submission

SEARCH: Final = "search"  # the search driver wrote the kernels
PROMPTS: Final = "prompts"  # `photofinish match play`, prompt by prompt
PASTED: Final = "pasted"  # answers pasted with their prompts
MACHINES: Final = (SEARCH, PROMPTS, PASTED)

HUMAN: Final = "human"
MACHINE: Final = "machine"
SIDES: Final = (HUMAN, MACHINE)

MEMORY: Final = "memory"
COMPUTE: Final = "compute"
LATENCY: Final = "latency"
BOUNDS: Final = (MEMORY, COMPUTE, LATENCY)

SECTIONS: Final = ("plan", "hand", "model", "head_to_head", "stuck")

LEAST_WHY_CHARS: Final = 20
MOST_WHY_CHARS: Final = 2_000
MOST_REASON_CHARS: Final = 600
MOST_PROMPT_CHARS: Final = 64_000
MOST_ANSWER_CHARS: Final = 256_000
MOST_SECTION_CHARS: Final = 20_000
MOST_SPEEDUP: Final = 100_000


class Match(models.Model):
    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="matches")
    human = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="matches")
    model = models.CharField(max_length=128)  # name of the machine side, as in Lineage.model
    machine = models.CharField(max_length=16)
    operator = models.ForeignKey(  # sends the machine's kernels: of the human side, or of the competition's staff
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField()
    human_public_at = models.DateTimeField(null=True)  # the human side's consent; public with that of both sides
    machine_public_at = models.DateTimeField(null=True)
    texts_public_at = models.DateTimeField(null=True)  # a public match shows the texts of the last hand-in, too
    closed_at = models.DateTimeField(null=True)  # since then it takes no version
    graded_from = models.DateTimeField(null=True)  # since then it takes no hand-in: the last one is graded

    class Meta:
        ordering = ["-id"]
        constraints = [
            CheckConstraint(condition=Q(model__regex=MODEL), name="match_model_is_a_name"),
            CheckConstraint(condition=Q(machine__in=MACHINES), name="match_machine_is_known"),
        ]
        indexes = [
            Index(
                fields=["-id"],
                condition=Q(human_public_at__isnull=False, machine_public_at__isnull=False),
                name="match_in_the_gallery",
            )
        ]

    def __str__(self) -> str:
        return f"match {self.pk}"

    @property
    def is_public(self) -> bool:
        return self.human_public_at is not None and self.machine_public_at is not None

    @property
    def shows_texts(self) -> bool:
        """Return whether readers of the public match also read the texts of the last hand-in."""
        return self.is_public and self.texts_public_at is not None


class Prediction(models.Model):
    """What the human side expects, committed before its first version and never changed."""

    match = models.OneToOneField(Match, on_delete=models.PROTECT, primary_key=True, related_name="prediction")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    bound = models.CharField(max_length=16)
    speedup = models.FloatField()  # over the eager reference; above 1 is faster
    why = models.TextField()
    committed_at = models.DateTimeField()

    class Meta:
        ordering = ["match_id"]
        constraints = [
            CheckConstraint(condition=Q(bound__in=BOUNDS), name="prediction_bound_is_known"),
            CheckConstraint(condition=Q(speedup__gt=0, speedup__lte=MOST_SPEEDUP), name="prediction_speedup"),
        ]

    def __str__(self) -> str:
        return f"prediction of match {self.match_id}"


class Version(models.Model):
    """A kernel of a side. From its second version on, the human side names a reason and the expected speed-up."""

    match = models.ForeignKey(Match, on_delete=models.PROTECT, related_name="versions", db_index=False)
    side = models.CharField(max_length=8)
    number = models.PositiveSmallIntegerField()  # of its side, from 1
    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="version")
    reason = models.CharField(max_length=MOST_REASON_CHARS, blank=True)  # of the change; "": the first, or a machine's
    expected = models.FloatField(null=True)  # speed-up over the eager reference; null: as for `reason`
    prompt = models.TextField(blank=True)  # machine: the exact text; "": not kept
    answer = models.TextField(blank=True)
    turn = models.PositiveSmallIntegerField(null=True)  # machine: of the dialogue, from 1; null: no dialogue
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["match_id", "side", "number"]
        constraints = [
            UniqueConstraint(fields=["match", "side", "number"], name="one_version_a_side_and_number"),
            CheckConstraint(condition=Q(number__gte=1), name="version_number_from_one"),
            CheckConstraint(
                condition=Q(side=HUMAN, number=1, reason="", expected=None)
                | Q(side=HUMAN, number__gt=1, expected__gt=0, expected__lte=MOST_SPEEDUP) & ~Q(reason="")
                | Q(side=MACHINE, reason="", expected=None),
                name="version_of_a_person_has_a_reason",
            ),
            CheckConstraint(
                condition=Q(side=MACHINE) | Q(prompt="", answer="", turn=None), name="version_prompt_is_the_machines"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.side} version {self.number} of match {self.match_id}"


class SectionText(models.Model):
    """The prose of a worklog's section, as last saved. A save names the revision that it began from."""

    match = models.ForeignKey(Match, on_delete=models.PROTECT, related_name="texts", db_index=False)
    section = models.CharField(max_length=16)
    text = models.TextField(blank=True)
    saved_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    saved_at = models.DateTimeField()
    revision = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["match_id", "id"]
        constraints = [
            UniqueConstraint(fields=["match", "section"], name="one_text_a_match_and_section"),
            CheckConstraint(condition=Q(section__in=SECTIONS), name="section_is_known"),
            CheckConstraint(condition=Q(revision__gte=1), name="section_revision_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.section} of match {self.match_id}"


class HandIn(models.Model):
    """The worklog as handed in, texts and facts together. The last hand-in counts."""

    match = models.ForeignKey(Match, on_delete=models.PROTECT, related_name="hand_ins", db_index=False)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    document = models.JSONField()
    digest = models.CharField(max_length=80)

    class Meta:
        ordering = ["-id"]
        constraints = [CheckConstraint(condition=Q(digest__regex=r"^sha256:[0-9a-f]{64}$"), name="hand_in_digest")]
        indexes = [Index(fields=["match", "-id"], name="hand_in_by_match")]

    def __str__(self) -> str:
        return f"hand-in {self.pk} of match {self.match_id}"


class Choice(models.Model):
    """A public match that the site's staff chose as match of the week. The last choice stays until the next."""

    match = models.ForeignKey(Match, on_delete=models.PROTECT, related_name="+")
    chosen_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    chosen_at = models.DateTimeField()
    note = models.CharField(max_length=300, blank=True)  # why it is worth a look

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"choice of match {self.match_id}"
