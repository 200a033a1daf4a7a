"""Leased work: its states, and the columns and jobs of attempts, admission tests and confirmations.

States of an attempt:

queued → claimed → building → checking → timing → done
        any of the middle four may also end as done, lost or cancelled; queued as cancelled
        a runner that hands any of the middle four back makes it queued again

No other module decides on moves between them. An admission test or a confirmation is queued, held by a runner or done.

A claim sets runner, lease and fencing token. Tokens of all kinds come from one sequence, so no token is given twice.
The acts are in lease.py, claim.py and sweep.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar, Final

from django.conf import settings
from django.db import models
from django.db.models import BaseConstraint, CheckConstraint, Q, UniqueConstraint

from leaderboard.competitions.models import ProblemVersion
from leaderboard.errors import IllegalMove
from runner.wire import STATES as ANNOUNCED
from runner.wire import Job

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

_ENDS: Final = frozenset(FINISHED)
NEXT: Final[dict[str, frozenset[str]]] = {
    QUEUED: frozenset({CLAIMED, CANCELLED}),
    # A runner's stages go forward only; a mode may skip a stage (test mode has no timing).
    **{state: frozenset(RUNNING[index + 1 :]) | _ENDS | {QUEUED} for index, state in enumerate(RUNNING)},
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
