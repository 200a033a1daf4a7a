"""Tables of what is competed in. A Board is one problem on one hardware; a ProblemVersion is what its digest says.

A board points at its current version; attempts remember the version they were judged by.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone


class Competition(models.Model):
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=128)
    description = models.TextField(blank=True)
    deadline = models.DateTimeField(null=True, blank=True)  # shown; what binds is the board's own
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Problem(models.Model):
    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class ProblemVersion(models.Model):
    """A problem's whole text at one time (problems.spec.Problem.to_bundle()); no row is ever changed."""

    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="versions")
    digest = models.CharField(max_length=80, unique=True)
    bundle = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(digest__regex=r"^sha256:[0-9a-f]{64}$"), name="version_digest_is_sha256")
        ]

    def __str__(self) -> str:
        return f"{self.problem_id} {self.digest[:15]}"

    def part(self, key: str, default: Any = None) -> Any:
        """One field of the bundle, for pages: "description", "templates", "files", "ranking_by", "benchmarks", …"""
        return self.bundle.get(key, default)


class BoardQuerySet(models.QuerySet["Board"]):
    def with_parts(self) -> BoardQuerySet:
        return self.select_related("competition", "problem", "version")


class Board(models.Model):
    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="boards")
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="boards")
    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, related_name="+")
    slug = models.SlugField(max_length=64)
    hardware = models.CharField(max_length=64)
    deadline = models.DateTimeField(null=True, blank=True)  # the first moment at which a submission is late
    created_at = models.DateTimeField(default=timezone.now)

    objects = BoardQuerySet.as_manager()

    class Meta:
        ordering = ["slug", "hardware"]
        constraints = [models.UniqueConstraint(fields=["slug", "hardware"], name="one_board_a_slug_and_hardware")]

    def __str__(self) -> str:
        return f"{self.slug} on {self.hardware}"

    @property
    def title(self) -> str:
        return self.problem.title

    def is_open_at(self, moment: datetime) -> bool:
        return self.deadline is None or moment < self.deadline


class SetUpload(models.Model):
    """A zip file of problem sets that an organiser sent, with what importing it would do; then with what it did."""

    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    filename = models.CharField(max_length=200)
    digest = models.CharField(max_length=80)
    data = models.BinaryField()  # empty once it was applied
    hardware = models.JSONField(default=list)  # boards on these, not on what the sets name; []: on those
    without_deadlines = models.BooleanField(default=False)
    report = models.JSONField()  # competitions.importing.Report.to_json(): of the dry run, then of the import
    created_at = models.DateTimeField(default=timezone.now)
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.filename} {self.digest[:15]}"
