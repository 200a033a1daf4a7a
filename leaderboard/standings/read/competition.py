"""The standing over a competition's boards, from the shown lines of each board: overall, or of a collection.

The overall standing is counted by overall.py. It covers one stage, each board in its own current epoch, as far as the
public sees it (windows.py) unless `in_full`. The number of queries is fixed for any number of boards and lines.

A collection is a competition whose boards ask for a Model to be replaced. It is ranked as a whole by `fast_p`
(fast_p.py): a held, rejected or failed result has no line and counts as not solved. A ratio is to the baseline beside
it, so boards may differ in their epoch. A problem that this judge cannot run is left out of the count, and listed.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from threading import Lock
from typing import Final

from django.db.models import Count, Q

from leaderboard.competitions.calendar import Stage, current_stage
from leaderboard.competitions.models import Board, BoardQuerySet, Competition, ProblemVersion
from leaderboard.entrants.models import Entrant
from leaderboard.standings.ranking.fast_p import Solved
from leaderboard.standings.ranking.overall import Cell, OverallLine, overall
from leaderboard.standings.ranking.ranking import Place, pool
from leaderboard.standings.read.boards import looks
from leaderboard.standings.read.table import Table
from leaderboard.submissions.tokens import code_digest
from problems.spec import COMPILED, MODEL

KEPT: Final = 32  # standings in memory
EVERYBODY: Final = 0  # the owner of runs that are pooled over all entrants


@dataclass(frozen=True)
class Row:
    line: OverallLine
    entrant: Entrant
    cells: tuple[Cell | None, ...]  # per board, in the order of boards


@dataclass(frozen=True)
class Overall:
    scoring: str
    stage: Stage
    boards: tuple[Board, ...]
    lines: tuple[OverallLine, ...]

    def rows(self, start: int = 0, most: int | None = None) -> list[Row]:
        """Return some of the lines, with their entrants: one query."""
        lines = self.lines[start : None if most is None else start + most]
        who = Entrant.objects.in_bulk([line.entrant_id for line in lines])
        return [
            Row(line, who[line.entrant_id], tuple(line.cells.get(board.pk) for board in self.boards)) for line in lines
        ]


def overall_standing(
    competition: Competition,
    *,
    boards: Sequence[Board],
    now: datetime,
    scoring: str = "",
    stage: Stage | None = None,
    in_full: bool = False,
) -> Overall:
    """Return the standing over these of its boards: all visible boards, those of a hardware, or those with a tag."""
    stage = stage or current_stage(competition.schedule, now)
    seen = looks(boards, now=now, stage=stage, in_full=in_full)
    scoring = scoring or competition.scoring
    tables = {board.pk: seen[board.pk].current for board in boards}
    return Overall(scoring, stage, tuple(boards), _counted(tables, scoring))


def _counted(tables: Mapping[int, Table], scoring: str) -> tuple[OverallLine, ...]:
    """Count again only if a table has changed since the last time: table.py keeps unchanged tables."""
    key = (scoring, tuple(tables))
    with _lock:
        kept = _kept.get(key)
    if kept is not None and all(old is new for old, new in zip(kept[0], tables.values(), strict=True)):
        return kept[1]
    places: dict[Hashable, Sequence[Place]] = {board: table.places for board, table in tables.items()}
    lines = tuple(overall(places, scoring))
    with _lock:
        _kept.pop(key, None)
        _kept[key] = (tuple(tables.values()), lines)
        while len(_kept) > KEPT:
            del _kept[next(iter(_kept))]
    return lines


_lock: Final = Lock()
_kept: Final[dict[tuple[str, tuple[int, ...]], tuple[tuple[Table, ...], tuple[OverallLine, ...]]]] = {}


@dataclass(frozen=True)
class Member:
    """A problem of the collection on its hardware."""

    board: int
    version: int
    slug: str
    title: str
    level: int


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

    def answers(self) -> dict[str, dict[str, Solved]]:
        """Map entrants to their best kernel by problem. One query."""
        found: dict[str, dict[str, Solved]] = defaultdict(dict)
        who = {place.value.entrant_id for table in self.tables.values() for place in table.places}
        known = Entrant.objects.filter(pk__in=who).only("name", "pseudonym", "revealed_at")
        names = {entrant.pk: entrant.shown_name for entrant in known}
        for slug, table in self.tables.items():
            for place in table.places:
                found[names[place.value.entrant_id]][slug] = Solved.of(place.value)
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


def _collected(boards: BoardQuerySet) -> BoardQuerySet:
    return boards.filter(version__bundle__interface=MODEL)


@lru_cache(maxsize=16)
def _compiled_digests(versions: tuple[int, ...]) -> dict[int, str]:
    """Map each version to the `Entry.code_digest` of its template; versions never change."""
    rows = ProblemVersion.objects.filter(pk__in=versions).values_list("pk", "bundle__templates")
    return {pk: code_digest(templates[COMPILED]) for pk, templates in rows if COMPILED in (templates or {})}
