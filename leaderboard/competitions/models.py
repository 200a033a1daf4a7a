"""Tables of competitions. A Board is a problem on a hardware; a ProblemVersion is identified by its digest.

A board points at its current version; attempts remember the version they were judged by. A competition's times are
columns here. Only calendar.py interprets them and compares them with a clock.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import CheckConstraint, F, Q, UniqueConstraint, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce
from django.utils import timezone

from leaderboard.competitions.calendar import Schedule, closes_at, takes_at
from leaderboard.competitions.words import vector
from problems.formats.kernelbench import FP32

PUBLIC: Final = "public"  # listed; everybody may read and enter
UNLISTED: Final = "unlisted"  # everybody who has the address may read and enter
CLOSED: Final = "closed"  # people with an invite code only
VISIBILITIES: Final = (PUBLIC, UNLISTED, CLOSED)

HUMAN: Final = "human"
AGENT: Final = "agent"
MIXED: Final = "mixed"
DIVISIONS: Final = (HUMAN, AGENT, MIXED)

SHARED: Final = "shared"  # agents stand in the ranking of people
APART: Final = "apart"  # each board has a ranking of people and a ranking of agents
AGENT_RANKINGS: Final = (SHARED, APART)
EVERYBODY: Final = ""
PEOPLE: Final = "people"
AGENTS: Final = "agents"
GROUPS: Final = (PEOPLE, AGENTS)
# A person of the division mixed works with a model and answers for each kernel, so mixed entrants rank with people.
MEMBERS: Final = {EVERYBODY: DIVISIONS, PEOPLE: (HUMAN, MIXED), AGENTS: (AGENT,)}

GEOMETRIC_MEAN: Final = "geometric_mean"
POINTS: Final = "points"
FAST_P: Final = "fast_p"
ORIGIN_CHARS: Final = 700  # address, commit and folder
SCORINGS: Final = (GEOMETRIC_MEAN, POINTS, FAST_P)
_TIMES: Final = tuple(field.name for field in fields(Schedule))


def every_division() -> list[str]:
    return list(DIVISIONS)


class Competition(models.Model):
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=128)
    description = models.TextField(blank=True)
    rules = models.TextField(blank=True)  # accepted on entering; "": no rules to accept
    visibility = models.CharField(max_length=16, default=PUBLIC)
    practice_at = models.DateTimeField(null=True, blank=True)  # submissions are taken from here on, as practice
    contest_at = models.DateTimeField(null=True, blank=True)  # submissions count from here on; None: always
    freeze_at = models.DateTimeField(null=True, blank=True)  # later submissions are shown at the reveal
    deadline = models.DateTimeField(null=True, blank=True)  # the first moment at which a submission is late
    revealed_at = models.DateTimeField(null=True, blank=True)  # an act: the frozen part becomes visible
    final_at = models.DateTimeField(null=True, blank=True)  # an act: review is over, the standing is final
    stays_open = models.BooleanField(default=True)  # when final, submissions are taken again, separately
    divisions = ArrayField(models.CharField(max_length=16), default=every_division)
    agents_rank = models.CharField(
        max_length=16, default=SHARED, db_default=SHARED
    )  # fixed by the first line on a board
    max_team_size = models.PositiveIntegerField(default=1)  # 1: no teams
    merge_deadline = models.DateTimeField(null=True, blank=True)  # teams are fixed from here on
    scoring = models.CharField(max_length=16, default=GEOMETRIC_MEAN)  # for the standing over all its boards
    two_person_rule = models.BooleanField(default=False)  # two people clear a result for the podium
    thresholds = models.JSONField(default=dict, blank=True)  # of review.rules, if unusual
    default_licence = models.CharField(max_length=32, default="MIT")  # SPDX; used if the sender chooses none
    quotas = models.JSONField(default=dict, blank=True)  # of submissions.quota, by mode, if unusual
    edited = ArrayField(models.CharField(max_length=32), default=list, blank=True)  # here: no import overwrites it
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]
        indexes = [GinIndex(vector("name", "slug"), name="competition_by_word")]
        constraints = [
            CheckConstraint(condition=Q(visibility__in=VISIBILITIES), name="competition_visibility_is_known"),
            CheckConstraint(condition=Q(scoring__in=SCORINGS), name="competition_scoring_is_known"),
            CheckConstraint(
                condition=Q(divisions__contained_by=list(DIVISIONS)) & ~Q(divisions=[]),
                name="competition_divisions_are_known",
            ),
            CheckConstraint(condition=Q(agents_rank__in=AGENT_RANKINGS), name="competition_agents_rank_is_known"),
            CheckConstraint(
                condition=Q(max_team_size__gte=1, max_team_size__lte=100), name="competition_team_size_in_limits"
            ),
            *(
                CheckConstraint(
                    condition=Q(**{f"{early}__isnull": True})
                    | Q(**{f"{late}__isnull": True})
                    | Q(**{f"{early}__lte": F(late)}),
                    name=f"competition_{early}_before_{late}",
                )
                for early, late in (
                    ("practice_at", "contest_at"),
                    ("contest_at", "freeze_at"),
                    ("contest_at", "deadline"),
                    ("freeze_at", "deadline"),
                    ("deadline", "final_at"),
                )
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def schedule(self) -> Schedule:
        return Schedule(**{name: getattr(self, name) for name in _TIMES})

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of entrants that have a ranking of their own, people first."""
        return GROUPS if self.agents_rank == APART else (EVERYBODY,)

    def group_of(self, division: str) -> str:
        """Return the group within which entrants of a division rank."""
        return next(group for group in self.groups if division in MEMBERS[group])


class Role(models.Model):
    """Permissions of a person for a competition; see permissions.py. Staff of the site may do everything."""

    OWNER: Final = "owner"
    REVIEWER: Final = "reviewer"
    VIEWER: Final = "viewer"
    ROLES: Final = (VIEWER, REVIEWER, OWNER)  # each role includes the roles before it

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="roles")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="roles")
    role = models.CharField(max_length=16)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [
            UniqueConstraint(fields=["competition", "user"], name="one_role_a_competition_and_user"),
            CheckConstraint(condition=Q(role__in=("viewer", "reviewer", "owner")), name="role_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.role} of {self.competition_id}"


class Announcement(models.Model):
    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="announcements")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    title = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.title


class Problem(models.Model):
    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200)

    class Meta:
        ordering = ["slug"]
        indexes = [GinIndex(vector("title", "slug"), name="problem_by_word")]

    def __str__(self) -> str:
        return self.slug


class ProblemVersion(models.Model):
    """A problem's whole text at one time (problems.spec.Problem.to_bundle()). A row never changes."""

    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="versions")
    digest = models.CharField(max_length=80, unique=True)
    bundle = models.JSONField()
    origin = models.CharField(max_length=ORIGIN_CHARS, blank=True, default="", db_default="")  # SetUpload.origin
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        constraints = [
            CheckConstraint(condition=Q(digest__regex=r"^sha256:[0-9a-f]{64}$"), name="version_digest_is_sha256")
        ]

    def __str__(self) -> str:
        return f"{self.problem_id} {self.digest[:15]}"

    def part(self, key: str, default: Any = None) -> Any:
        """Return a field of the bundle for pages: "description", "templates", "files", "ranking_by", "benchmarks", …"""
        return self.bundle.get(key, default)


JUDGED: Final = ~Q(version__bundle__has_key="unsupported") | Q(version__bundle__unsupported="")


class BoardQuerySet(models.QuerySet["Board"]):
    def judged(self) -> BoardQuerySet:
        """Return the boards whose problem this site can judge: standings over several boards count these alone."""
        return self.filter(JUDGED)

    def with_parts(self) -> BoardQuerySet:
        return self.select_related("competition", "problem", "version")

    def for_lists(self) -> BoardQuerySet:
        """Return boards with parts but without bundles, which hold every problem's files, for lists of all boards.

        `why_unsupported` is the only field of a bundle that lists show.
        """
        reason = Coalesce(
            KeyTextTransform("unsupported", "version__bundle"), Value(""), output_field=models.TextField()
        )
        return self.with_parts().defer("version__bundle").annotate(why_unsupported=reason)


class Board(models.Model):
    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="boards")
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="boards")
    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, related_name="+")
    slug = models.SlugField(max_length=64)
    hardware = models.CharField(max_length=64)
    deadline = models.DateTimeField(null=True, blank=True)  # if it closes before its competition
    tags = ArrayField(models.CharField(max_length=32), default=list, blank=True)
    edited = ArrayField(models.CharField(max_length=32), default=list, blank=True)  # here: no import overwrites it
    created_at = models.DateTimeField(default=timezone.now)

    objects = BoardQuerySet.as_manager()

    class Meta:
        ordering = ["slug", "hardware"]
        constraints = [UniqueConstraint(fields=["slug", "hardware"], name="one_board_a_slug_and_hardware")]

    def __str__(self) -> str:
        return f"{self.slug} on {self.hardware}"

    @property
    def title(self) -> str:
        return self.problem.title

    @property
    def closes_at(self) -> datetime | None:
        """Return the earlier of the board's own deadline and its competition's deadline."""
        return closes_at(self.competition.schedule, self.deadline)

    def is_open_at(self, moment: datetime) -> bool:
        return takes_at(self.competition.schedule, moment, board_deadline=self.deadline)


class InviteCode(models.Model):
    """Single-use invitation to a closed competition. Its text is shown once; only its digest is stored."""

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="invite_codes")
    opens_all = models.BooleanField(default=False)  # all boards, later boards included; else `boards`
    boards = models.ManyToManyField(Board, related_name="+")
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=200, blank=True)  # intended recipient
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    used_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            CheckConstraint(
                condition=Q(used_by__isnull=True, used_at__isnull=True)
                | Q(used_by__isnull=False, used_at__isnull=False),
                name="invite_code_used_by_somebody",
            )
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… of {self.competition_id}"


class Track(models.Model):
    """A track with winners, which the awards app determines. `params` holds the parameters of its kind."""

    OVERALL: Final = "overall"  # the standing over all boards
    HARDWARE: Final = "hardware"  # the same over the boards of one hardware: {"hardware": …}
    BOARD: Final = "board"  # one board: {"slug": …, "hardware": …}
    TAG: Final = "tag"  # the best of the boards with a tag: {"tag": …}
    FIRST_TO_BEAT: Final = "first_to_beat"  # {"slug": …, "hardware": …, "ratio": …}
    KINDS: Final = (OVERALL, HARDWARE, BOARD, TAG, FIRST_TO_BEAT)

    EARLIER: Final = "earlier"  # the first entrant with that speed wins the tie
    SHARE: Final = "share"  # tied entrants share their places and prizes
    TIE_RULES: Final = (EARLIER, SHARE)

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="tracks")
    slug = models.SlugField(max_length=64)
    name = models.CharField(max_length=128)
    description = models.TextField(blank=True)
    kind = models.CharField(max_length=16)
    params = models.JSONField(default=dict, blank=True)
    divisions = ArrayField(models.CharField(max_length=16), default=every_division)  # eligible divisions
    eligibility = models.TextField(blank=True)  # declaration that an entrant must make to be eligible; "": none
    tie_rule = models.CharField(max_length=16, default=EARLIER)
    position = models.PositiveIntegerField(default=0)  # order in which tracks are shown

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            UniqueConstraint(fields=["competition", "slug"], name="one_track_a_slug"),
            CheckConstraint(
                condition=Q(kind__in=("overall", "hardware", "board", "tag", "first_to_beat")),
                name="track_kind_is_known",
            ),
            CheckConstraint(condition=Q(tie_rule__in=("earlier", "share")), name="track_tie_rule_is_known"),
        ]

    def __str__(self) -> str:
        return self.name


class Prize(models.Model):
    track = models.ForeignKey(Track, on_delete=models.PROTECT, related_name="prizes")
    place = models.PositiveIntegerField()  # 1, 2, 3 …
    amount = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)  # None: no money
    currency = models.CharField(max_length=3, blank=True)  # ISO 4217
    sponsor = models.CharField(max_length=128, blank=True)
    text = models.CharField(max_length=200, blank=True)  # description of a prize besides money

    class Meta:
        ordering = ["track_id", "place"]
        constraints = [
            UniqueConstraint(fields=["track", "place"], name="one_prize_a_place"),
            CheckConstraint(condition=Q(place__gte=1), name="prize_place_from_one"),
            CheckConstraint(
                condition=Q(amount__isnull=True, currency="") | Q(amount__gt=0, currency__regex=r"^[A-Z]{3}$"),
                name="prize_amount_has_a_currency",
            ),
        ]

    def __str__(self) -> str:
        return f"place {self.place} of {self.track_id}"


class SetUpload(models.Model):
    """A zip file of problem sets from an organiser, with the report of a dry run, then of the import.

    A set with an `address` is fetched by the sweeper; until then it has no file. `problem` is the reason of a failure.
    """

    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    filename = models.CharField(max_length=200)
    digest = models.CharField(max_length=80)
    data = models.BinaryField()  # empty before it is fetched, and after the import
    address = models.CharField(max_length=300, blank=True, default="", db_default="")  # of a git repository
    ref = models.CharField(max_length=200, blank=True, default="", db_default="")
    folder = models.CharField(max_length=300, blank=True, default="", db_default="")
    commit = models.CharField(max_length=64, blank=True, default="", db_default="")
    problem = models.CharField(max_length=500, blank=True, default="", db_default="")
    fetching_since = models.DateTimeField(null=True, blank=True)
    hardware = models.JSONField(default=list)  # hardware of the boards instead of the sets' own; []: the sets' own
    without_deadlines = models.BooleanField(default=False)
    precision = models.CharField(max_length=8, default=FP32, db_default=FP32)  # of kernelbench.PRECISIONS
    report = models.JSONField()  # competitions.importing.Report.to_json(): of the dry run, then of the import
    created_at = models.DateTimeField(default=timezone.now)
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.filename} {self.commit or self.digest[:15]}"

    @property
    def is_waiting(self) -> bool:
        return bool(self.address) and not (self.commit or self.problem)

    @property
    def origin(self) -> str:
        """Return where a fetched set comes from; "": it was uploaded."""
        return f"{self.address}@{self.commit}" + (f":{self.folder}" if self.folder else "") if self.commit else ""
