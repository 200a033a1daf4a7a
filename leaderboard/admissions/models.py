"""The tables of admission tests and of compiled timings.

An admission test decides whether this version of a problem may be competed on, on this hardware. A compiled timing
measures torch.compile of its reference: the second baseline of fast_p.

Constraints guarantee that a version and hardware have at most one unfinished test, that a running test has a runner, a
lease and a hard deadline, and that a test has an outcome exactly when it is done. The same holds for compiled timings,
in each timing epoch. The modules beside this file write the tables.
"""

from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint

from leaderboard.accounts.models import User
from leaderboard.competitions.models import ProblemVersion
from leaderboard.judging.models import DONE, EPOCH_CHARS, ERROR, QUEUED, Requested, longest, rules
from problems.spec import COMPILED
from runner.wire import ADMISSION, ADMISSION_CHECKS, STARTERS_S, Job

PASSED: Final = "passed"
FAILED: Final = "failed"
OUTCOMES: Final = (PASSED, FAILED, ERROR)
PROBLEM_FAILED: Final = "The problem's own code failed: "  # then its error, which may quote secret data
NEAR_CONSTANT: Final = "near_constant"  # mark by a runner: a constant is nearly right in every timed case
ACCEPTS_HALF: Final = "accepts_half"  # mark: the problem's own tolerance accepts half the inputs' precision


class AdmissionTest(Requested):
    WIRE_PREFIX = "admission-"
    NOUN = "test"
    keeps_report = False

    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, related_name="admission_tests")
    gate = models.BooleanField(default=False)  # closed until it passes; else open until it fails
    told = models.JSONField(default=dict)  # Report.admission: lines, marks, cases, margin
    overridden_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    overridden_at = models.DateTimeField(null=True)
    override_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            UniqueConstraint(
                fields=["version", "hardware"], condition=~Q(state=DONE), name="one_unfinished_admission_test"
            ),
            *rules("admission", OUTCOMES),
            CheckConstraint(
                condition=Q(overridden_at__isnull=True) | (Q(overridden_by__isnull=False) & ~Q(override_reason="")),
                name="admission_override_has_a_reason",
            ),
        ]
        indexes = [
            models.Index(fields=["hardware", "id"], condition=Q(state=QUEUED), name="admission_queue"),
            models.Index(fields=["version", "hardware", "-id"], name="admission_by_version"),
        ]

    def __str__(self) -> str:
        return f"admission test {self.pk} ({self.outcome or self.state})"

    @property
    def is_awaited(self) -> bool:
        return self.gate or super().is_awaited

    @property
    def is_overridden(self) -> bool:
        return self.overridden_at is not None

    @property
    def may_be_overridden(self) -> bool:
        """Whether an override of this test opens its version: the newest finished test, without a pass."""
        finished = AdmissionTest.objects.filter(version=self.version_id, hardware=self.hardware, state=DONE)
        return self == finished.first() and self.outcome != PASSED and not self.is_overridden

    @property
    def lines(self) -> list[dict[str, Any]]:
        return list(self.told.get("lines", []))

    @property
    def marks(self) -> list[str]:
        return list(self.told.get("marks", []))

    def job(self) -> Job:
        """Return the runner's job: no submission, but the problem itself is tested."""
        check_s = float(self.version.part("test_timeout_s", 0))
        starters_s = STARTERS_S + check_s  # of the last starter
        held_for = timedelta(seconds=ADMISSION_CHECKS * check_s + starters_s + settings.ATTEMPT_OVERHEAD_S)
        return self._job(held_for, mode="test", submission_id="", filename="", source="", task=ADMISSION)


class CompiledTiming(Requested):
    """Time of torch.compile of a version's reference beside the baseline, in one timing epoch of its hardware.

    The site asks for it: it has no submission, so that it costs no quota and never ranks.
    """

    WIRE_PREFIX = "compiled-"
    NOUN = "timing"
    FILENAME = "compiled.py"
    keeps_report = False

    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, related_name="compiled_timings")
    epoch = models.CharField(max_length=EPOCH_CHARS, blank=True)  # the only epoch in which it may be measured
    score_us = models.FloatField(null=True)
    ratio = models.FloatField(null=True)  # compiled / baseline; < 1 is faster
    half_width = models.FloatField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            UniqueConstraint(
                fields=["version", "hardware", "epoch"], condition=~Q(state=DONE), name="one_unfinished_compiled_timing"
            ),
            *rules("compiled", OUTCOMES),
            CheckConstraint(
                condition=Q(outcome=PASSED, ratio__gt=0, half_width__gt=0, score_us__gt=0)
                | (~Q(outcome=PASSED) & Q(ratio__isnull=True, half_width__isnull=True, score_us__isnull=True)),
                name="compiled_has_figures_when_passed",
            ),
        ]
        indexes = [
            models.Index(fields=["hardware", "id"], condition=Q(state=QUEUED), name="compiled_queue"),
            models.Index(fields=["version", "hardware", "epoch", "-id"], name="compiled_by_version"),
        ]

    def __str__(self) -> str:
        return f"compiled timing {self.pk} ({self.outcome or self.state})"

    @property
    def public_message(self) -> str:
        """The message without the error of the problem's own code."""
        is_secret = self.message.startswith(PROBLEM_FAILED)
        return f"{PROBLEM_FAILED}its organiser can see why." if is_secret else self.message

    def job(self) -> Job:
        """Return the runner's job: the version's own template is judged like a ranked submission."""
        source = self.version.part("templates")[COMPILED]
        task = {"mode": "ranked", "submission_id": "", "filename": self.FILENAME, "source": source}
        return self._job(longest(self.version.bundle), **task)
