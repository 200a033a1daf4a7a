"""A collection: a competition whose boards ask for a Model to be replaced, ranked as a whole by `fast_p` (fast_p.py).

It reads only the rankings of boards: a held, rejected or failed result has no line and counts as not solved. Each
board is read in its current timing epoch; a ratio is to the baseline beside it, so boards may differ in their epoch. A
problem that this judge cannot run is left out of the count, and listed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from django.db.models import Count, Q

from leaderboard.competitions.models import BoardQuerySet, Competition, ProblemVersion
from leaderboard.entrants.models import Entrant
from leaderboard.standings.ranking.fast_p import Solved
from leaderboard.standings.ranking.ranking import pool
from leaderboard.standings.read.boards import looks
from leaderboard.standings.read.table import Table
from leaderboard.submissions.tokens import code_digest
from problems.spec import COMPILED, MODEL

EVERYBODY: Final = 0  # the owner of runs that are pooled over all entrants


@dataclass(frozen=True)
class Member:
    """A problem of the collection on its hardware."""

    board: int
    version: int
    slug: str
    title: str
    level: int


@dataclass(frozen=True)
class Answer:
    """An entrant's best kernel for a problem, and its first submission."""

    solved: Solved
    submission: int


@dataclass(frozen=True)
class Collection:
    competition: Competition
    hardware: str
    places: tuple[str, ...]  # all hardware of the collection
    members: tuple[Member, ...]  # by level, then by slug
    left_out: tuple[Member, ...]  # problems that this judge cannot run
    tables: Mapping[str, Table]  # by problem: shown lines of its current stage and epoch, if there are any

    @property
    def levels(self) -> dict[str, int]:
        return {member.slug: member.level for member in self.members}

    def answers(self) -> dict[str, dict[str, Answer]]:
        """Map entrants to their best kernel by problem. One query."""
        found: dict[str, dict[str, Answer]] = defaultdict(dict)
        who = {place.value.entrant_id for table in self.tables.values() for place in table.places}
        known = Entrant.objects.filter(pk__in=who).only("name", "pseudonym", "revealed_at")
        names = {entrant.pk: entrant.shown_name for entrant in known}
        for slug, table in self.tables.items():
            for place in table.places:
                value = place.value
                found[names[value.entrant_id]][slug] = Answer(Solved.of(value), value.submissions[0])
        return dict(found)

    def compiled(self) -> dict[str, Solved]:
        """Return, by problem, its own torch.compile template if an entrant has sent it."""
        versions = {member.slug: member.version for member in self.members}
        texts = _compiled_digests(tuple(sorted(versions[slug] for slug in self.tables)))
        found = {}
        for slug, table in self.tables.items():
            digest = texts.get(versions[slug])
            runs = (line.run for line in table.lines.values() if line.run.code == digest)
            same = [run._replace(entrant_id=EVERYBODY) for run in runs]
            if same:
                found[slug] = Solved.of(pool(same)[0])
        return found


def collection(slug: str, boards: BoardQuerySet, hardware: str = "", *, now: datetime) -> Collection | None:
    """Return the collection on this hardware, or on its first; None: no board. Only `boards`, in the current stage."""
    boards = _collected(boards).filter(competition__slug=slug)
    names = sorted(set(boards.order_by().values_list("hardware", flat=True)))
    chosen = hardware or next(iter(names), "")
    if chosen not in names:
        return None
    competition = Competition.objects.get(slug=slug)
    here = boards.filter(hardware=chosen)
    columns = ("pk", "version_id", "slug", "problem__title", "version__bundle__level", "version__bundle__unsupported")
    judged: list[Member] = []
    left_out: list[Member] = []
    for pk, version, name, title, level, unsupported in here.values_list(*columns):
        (left_out if unsupported else judged).append(Member(pk, version, name, title, int(level or 0)))
    for members in (judged, left_out):
        members.sort(key=lambda member: (member.level, member.slug))
    seen = looks(here.select_related("competition").defer("version"), now=now)
    return Collection(
        competition=competition,
        hardware=chosen,
        places=tuple(names),
        members=tuple(judged),
        left_out=tuple(left_out),
        tables={member.slug: table for member in judged if (table := seen[member.board].current).places},
    )


def problems_by_collection(boards: BoardQuerySet) -> dict[int, int]:
    """Map competitions to the number of judgeable problems among these boards, if they are ranked by fast_p."""
    judged = ~Q(version__bundle__has_key="unsupported") | Q(version__bundle__unsupported="")
    rows = _collected(boards).order_by().values("competition").annotate(n=Count("slug", distinct=True, filter=judged))
    return dict(rows.values_list("competition", "n"))


def solved(answers: Mapping[str, Mapping[str, Answer]]) -> dict[str, dict[str, Solved]]:
    return {name: {slug: answer.solved for slug, answer in found.items()} for name, found in answers.items()}


def _collected(boards: BoardQuerySet) -> BoardQuerySet:
    return boards.filter(version__bundle__interface=MODEL)


@lru_cache(maxsize=16)
def _compiled_digests(versions: tuple[int, ...]) -> dict[int, str]:
    """Map each version to the `Entry.code_digest` of its template; versions never change."""
    rows = ProblemVersion.objects.filter(pk__in=versions).values_list("pk", "bundle__templates")
    return {pk: code_digest(templates[COMPILED]) for pk, templates in rows if COMPILED in (templates or {})}
