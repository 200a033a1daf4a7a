"""Tables of submissions. Triggers keep Submission, QuotaLine and CodeRelease unchanged.

Attempts record the progress of a submission. CodeRelease records that the owner published the code before the general
publication, for good. Draft holds code that its author has not sent yet, Note a private remark, and Welcome the first
steps of a new account. Batch groups submissions that a program sent together, and Candidate is the place of a
submission in its batch. Lineage and Parent, unchanged as well, say how a program came to a submission.
"""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, F, Q, UniqueConstraint

from leaderboard.competitions.models import EVERYBODY, SHARED, Board, Competition
from leaderboard.entrants.models import Entrant
from runner.wire import MAX_SOURCE_BYTES, MODES

MOST_PARENTS: Final = 8
MOST_IDEA_CHARS: Final = 500
MOST_COST_USD: Final = 1_000_000
MODEL: Final = r"^[A-Za-z0-9][A-Za-z0-9._:/+@-]{0,127}$"  # such as meta/llama-4:70b@q8
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$"  # of a strategy, and of a run
SHA256: Final = r"^[0-9a-f]{64}$"


class Submission(models.Model):
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="submissions")
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="submissions")  # that it ranks for
    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="submissions")
    mode = models.CharField(max_length=16)
    filename = models.CharField(max_length=100)
    source = models.TextField()
    source_digest = models.CharField(max_length=80)
    code_digest = models.CharField(max_length=80, blank=True)  # tokens.code_digest; "": from before digests
    verbatim_digest = models.CharField(  # tokens.verbatim_digest; "": of another mode than test, or older
        max_length=80, blank=True, default="", db_default=""
    )
    size_bytes = models.PositiveIntegerField()
    licence = models.CharField(max_length=32, blank=True)  # SPDX; licence of its publication after the deadline
    remixed_from = models.ForeignKey(  # as its sender named it; who may know: standings/read/code.py
        "self", on_delete=models.PROTECT, null=True, related_name="remixes", db_index=False
    )
    token_key = models.BigIntegerField(null=True)  # of the ApiToken that sent it, which may be gone; null: by a session
    created_at = models.DateTimeField()  # deadlines and ties depend on it

    class Meta:
        ordering = ["-id"]
        constraints = [
            CheckConstraint(condition=Q(mode__in=MODES), name="submission_mode_is_known"),
            CheckConstraint(
                condition=Q(size_bytes__gt=0, size_bytes__lte=MAX_SOURCE_BYTES), name="submission_size_in_limits"
            ),
            CheckConstraint(
                condition=Q(source_digest__regex=r"^sha256:[0-9a-f]{64}$"), name="submission_digest_is_sha256"
            ),
            CheckConstraint(
                condition=Q(code_digest="") | Q(code_digest__regex=r"^(tokens|text)[0-9]+:[0-9a-f]{64}$"),
                name="submission_code_digest_says_its_kind",
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-created_at"], name="submission_by_owner"),
            models.Index(fields=["board", "-created_at"], name="submission_by_board"),
            models.Index(fields=["entrant", "board"], name="submission_by_entrant"),
            models.Index(fields=["owner", "board", "-created_at"], name="submission_by_owner_and_board"),
            models.Index(fields=["remixed_from"], name="submission_by_origin", condition=Q(remixed_from__isnull=False)),
            models.Index(
                fields=["token_key", "-created_at"], name="submission_by_token", condition=Q(token_key__isnull=False)
            ),
            models.Index(
                fields=["verbatim_digest"], name="submission_by_verbatim_digest", condition=~Q(verbatim_digest="")
            ),
        ]

    def __str__(self) -> str:
        return f"submission {self.pk}"

    @property
    def kernel(self) -> str:
        """Return the digest that near-identical submissions of the owner share."""
        return self.code_digest or self.source_digest

    @property
    def group(self) -> str:
        """The group of entrants within which it ranks. Its entrant is read only where agents rank apart."""
        competition = self.board.competition
        return EVERYBODY if competition.agents_rank == SHARED else competition.group_of(self.entrant.division)

    @property
    def kernel_key(self) -> tuple[int, int, str]:
        """Return board, entrant and kernel, which a retraction and a review case name together."""
        return self.board_id, self.entrant_id, self.kernel


class Batch(models.Model):
    """Submissions that a program sent together, under one budget of device time; see judging/batches.py."""

    CANCELLED: Final = "cancelled"
    BUDGET_SPENT: Final = "budget_spent"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="batches")
    mode = models.CharField(max_length=16)
    budget_s = models.FloatField()  # device seconds, of all candidates together
    bar = models.FloatField(null=True)  # candidate / baseline: a benchmark that cannot beat it ends after a first look
    size = models.PositiveSmallIntegerField()  # its candidates
    may_repeat = models.BooleanField(default=False, db_default=False)  # stored verdicts may answer, judging/repeats.py
    ended_as = models.CharField(max_length=16, blank=True)  # why the rest was not judged; "": it was
    created_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)  # since then each candidate has its end

    class Meta:
        ordering = ["-id"]
        constraints = [
            CheckConstraint(condition=Q(mode__in=MODES), name="batch_mode_is_known"),
            CheckConstraint(condition=Q(budget_s__gt=0), name="batch_budget_is_above_zero"),
            CheckConstraint(condition=Q(ended_as__in=("", "cancelled", "budget_spent")), name="batch_end_is_known"),
        ]
        indexes = [
            models.Index(fields=["owner", "-id"], name="batch_by_owner"),
            models.Index(fields=["id"], condition=Q(settled_at__isnull=True), name="batch_unsettled"),
        ]

    def __str__(self) -> str:
        return f"batch {self.pk}"


class Candidate(models.Model):
    """The place of a submission in its batch: by the request, and by the order in which the verdicts came."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="candidates", db_index=False)
    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="candidate")
    number = models.PositiveSmallIntegerField()  # in the request, from 1
    arrival = models.PositiveSmallIntegerField(null=True)  # its end is the first, second … of the batch; null: none yet
    same_as = models.ForeignKey(  # whose stored verdict answered it, see judging/repeats.py; null: it was judged
        Submission, on_delete=models.PROTECT, null=True, related_name="repeats", db_index=False
    )

    class Meta:
        ordering = ["batch_id", "number"]
        constraints = [
            UniqueConstraint(fields=["batch", "number"], name="one_candidate_a_batch_and_number"),
            UniqueConstraint(fields=["batch", "arrival"], name="one_candidate_a_batch_and_arrival"),
        ]

    def __str__(self) -> str:
        return f"candidate {self.number} of batch {self.batch_id}"


class Lineage(models.Model):
    """How a program came to a submission, as its sender says: nothing here is verified but the parents."""

    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, primary_key=True, related_name="lineage")
    idea = models.CharField(max_length=MOST_IDEA_CHARS, blank=True)
    model = models.CharField(max_length=128, blank=True)  # that wrote the code
    prompt_sha256 = models.CharField(max_length=64, blank=True)
    sampling = models.JSONField(default=dict)  # flat: the model's settings
    cost_usd = models.FloatField(null=True)  # of the model's work on this candidate; null: unknown
    strategy = models.CharField(max_length=64, blank=True)
    run = models.CharField(max_length=64, blank=True)  # groups the submissions of a search by its sender

    class Meta:
        ordering = ["submission_id"]
        constraints = [
            CheckConstraint(condition=Q(model="") | Q(model__regex=MODEL), name="lineage_model_is_a_name"),
            CheckConstraint(condition=Q(prompt_sha256="") | Q(prompt_sha256__regex=SHA256), name="lineage_prompt"),
            CheckConstraint(
                condition=Q(cost_usd=None) | Q(cost_usd__gte=0, cost_usd__lte=MOST_COST_USD), name="lineage_cost"
            ),
            CheckConstraint(condition=Q(strategy="") | Q(strategy__regex=NAME), name="lineage_strategy_is_a_name"),
            CheckConstraint(condition=Q(run="") | Q(run__regex=NAME), name="lineage_run_is_a_name"),
        ]
        indexes = [
            models.Index(fields=["run", "submission"], condition=~Q(run=""), name="lineage_by_run"),
            models.Index(fields=["model", "submission"], condition=~Q(model=""), name="lineage_by_model"),
        ]

    def __str__(self) -> str:
        return f"lineage of submission {self.submission_id}"


class Parent(models.Model):
    """A submission that another one descends from. A parent is the older of both, so that no cycle can arise."""

    child = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="parent_rows", db_index=False)
    parent = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="child_rows")

    class Meta:
        ordering = ["id"]
        constraints = [
            UniqueConstraint(fields=["child", "parent"], name="one_parent_row_a_pair"),
            CheckConstraint(condition=Q(parent__lt=F("child")), name="parent_is_older"),
        ]

    def __str__(self) -> str:
        return f"submission {self.parent_id}, parent of {self.child_id}"


class QuotaLine(models.Model):
    """A quota token that was spent or given back; see ledger.py."""

    SPENT: Final = "spent"
    GIVEN_BACK: Final = "given_back"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="quota_lines")
    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="quota_lines")
    mode = models.CharField(max_length=16)
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="quota_lines")
    act = models.CharField(max_length=16)
    filled_us = models.BigIntegerField()  # quota.Level.filled directly after this line, as found then
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            UniqueConstraint(fields=["submission", "act"], name="one_quota_line_a_submission_and_act"),
            CheckConstraint(condition=Q(act__in=("spent", "given_back")), name="quota_act_is_known"),
            CheckConstraint(condition=Q(filled_us__gte=0), name="quota_level_is_not_below_zero"),
        ]
        indexes = [models.Index(fields=["user", "board", "mode", "-id"], name="quota_line_by_bucket")]

    def __str__(self) -> str:
        return f"{self.act} for submission {self.submission_id}"

    @property
    def tokens(self) -> int:
        return -1 if self.act == self.SPENT else 1


class QuotaException(models.Model):
    """A person's own quota on a board, or on all boards of a competition, until its end."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="quota_exceptions")
    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="+")
    board = models.ForeignKey(Board, on_delete=models.PROTECT, null=True, related_name="+")  # null: all boards
    mode = models.CharField(max_length=16)
    capacity = models.PositiveIntegerField()
    per_day = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)  # earlier, by a person

    class Meta:
        ordering = ["-id"]
        constraints = [
            CheckConstraint(condition=Q(mode__in=MODES), name="quota_exception_mode_is_known"),
            CheckConstraint(condition=Q(capacity__gt=0, per_day__gt=0), name="quota_exception_is_above_zero"),
        ]
        indexes = [models.Index(fields=["user", "ends_at"], name="quota_exception_in_force")]

    def __str__(self) -> str:
        return f"{self.capacity} {self.mode} and {self.per_day} a day on {self.board or self.competition}"


class Takedown(models.Model):
    """Code that only reviewers see. The row exists while the code is down; the audit log keeps the acts."""

    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="takedown")
    reason = models.TextField()  # shown in place of the code
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"code of submission {self.submission_id}"


class CodeRelease(models.Model):
    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="code_release")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"code of submission {self.submission_id}"


class Draft(models.Model):
    """Unsent code: a row per person and board, replaced while they type. Only its author reads it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts")
    slug = models.SlugField(max_length=64)  # of the boards of a problem, on all of its hardware
    source = models.TextField()
    size_bytes = models.PositiveIntegerField()
    filename = models.CharField(max_length=100, blank=True)
    hardware = models.CharField(max_length=64, blank=True)
    mode = models.CharField(max_length=16, blank=True)
    remixed_from = models.BigIntegerField(null=True)  # a submission's number, checked on sending
    saved_at = models.DateTimeField()

    class Meta:
        ordering = ["-saved_at", "-id"]
        constraints = [
            UniqueConstraint(fields=["user", "slug"], name="one_draft_a_person_and_board"),
            CheckConstraint(
                condition=Q(size_bytes__gt=0, size_bytes__lte=MAX_SOURCE_BYTES), name="draft_size_in_limits"
            ),
        ]
        indexes = [models.Index(fields=["saved_at"], name="draft_by_time")]

    def __str__(self) -> str:
        return f"draft of {self.user_id} for {self.slug}"


class Note(models.Model):
    """A person's own remark on a submission. Only its author reads it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notes")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="notes")
    text = models.CharField(max_length=2000)
    saved_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]
        constraints = [UniqueConstraint(fields=["user", "submission"], name="one_note_a_person_and_submission")]

    def __str__(self) -> str:
        return f"note of {self.user_id} on submission {self.submission_id}"


class Welcome(models.Model):
    """A new account's welcome, from its sign-up until a test run passes or the person dismisses it."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="welcome")
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"welcome of {self.user_id}"
