"""The table of admission tests: may this version of a problem be competed on, on this hardware?

Constraints guarantee that a version and hardware have at most one unfinished test, that a running test has a runner, a
lease and a hard deadline, and that a test has an outcome exactly when it is done. Fencing tokens come from the sequence
that attempts use, so that no token is given twice. The modules beside this file write the table, one module per act.
"""

from __future__ import annotations

from typing import Any, Final

from django.db import models
from django.db.models import Q

from leaderboard.accounts.models import User
from leaderboard.competitions.models import ProblemVersion
from leaderboard.judging.leased import DONE, QUEUED, RUNNING, Leased, rules

PASSED: Final = "passed"
FAILED: Final = "failed"
ERROR: Final = "error"  # no verdict: no runner could do the test
OUTCOMES: Final = (PASSED, FAILED, ERROR)
NEAR_CONSTANT: Final = "near_constant"  # mark by a runner: a constant is nearly right in every timed case

ACCEPTS_HALF: Final = "accepts_half"  # mark: the problem's own tolerance accepts half the inputs' precision

__all__ = [
    "ACCEPTS_HALF",
    "DONE",
    "ERROR",
    "FAILED",
    "NEAR_CONSTANT",
    "OUTCOMES",
    "PASSED",
    "QUEUED",
    "RUNNING",
    "AdmissionTest",
]


class AdmissionTest(Leased):
    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, related_name="admission_tests")
    gate = models.BooleanField(default=False)  # closed until it passes; else open until it fails
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")  # None: the site
    outcome = models.CharField(max_length=16, blank=True)
    message = models.TextField(blank=True)
    told = models.JSONField(default=dict)  # Report.admission: lines, marks, cases, margin
    overridden_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    overridden_at = models.DateTimeField(null=True)
    override_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["version", "hardware"], condition=~Q(state=DONE), name="one_unfinished_admission_test"
            ),
            *rules("admission"),
            models.CheckConstraint(
                condition=Q(state=DONE, outcome__in=OUTCOMES, finished_at__isnull=False)
                | (~Q(state=DONE) & Q(outcome="", finished_at__isnull=True)),
                name="admission_has_an_outcome_when_done",
            ),
            models.CheckConstraint(
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
    def attempt_id(self) -> str:
        """Name of the test on the wire; no attempt has this name."""
        return f"admission-{self.pk}"

    @property
    def is_overridden(self) -> bool:
        return self.overridden_at is not None

    @property
    def lines(self) -> list[dict[str, Any]]:
        return list(self.told.get("lines", []))

    @property
    def marks(self) -> list[str]:
        return list(self.told.get("marks", []))
