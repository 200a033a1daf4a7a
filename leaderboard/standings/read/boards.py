"""Standings for pages and the API, from Entry and no other table of results: of a board, and over several boards.

A board is ranked within one stage of its competition and one timing epoch; no function here mixes two. table.py
selects the lines that count at a moment. judging.epochs.RankedEpochs decides which epoch a board ranks, never the
lines that it has. Lines of further epochs stay, and are shown on request.

The overall standing of a competition is counted by overall.py from the shown lines of each board. It covers one stage,
each board in its own current epoch, as far as the public sees it unless `in_full`. The number of queries is fixed for
any number of boards and lines.

A collection is a competition whose boards ask for a Model to be replaced. It is ranked as a whole by `fast_p`
(overall.py): a held, rejected or failed result has no line and counts as not solved. A ratio is to the baseline beside
it, so boards may differ in their epoch. A problem that this site cannot judge is listed and does not count, as in every
standing over several boards.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Any, Final

from django.db.models import Count, F

from leaderboard.admissions.compiled import newest_timings
from leaderboard.admissions.models import CompiledTiming
from leaderboard.competitions.calendar import Stage, Window, current_stage
from leaderboard.competitions.models import AGENTS, EVERYBODY, JUDGED, Board, BoardQuerySet, Competition
from leaderboard.entrants.models import Entrant
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.models import Epoch
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.overall import Cell, OverallLine, Solved, overall
from leaderboard.standings.ranking.ranking import Place, Record, Value, mean_time_us, pool
from leaderboard.standings.read.table import NO_LINES, Table, Tables, inside, is_shown, read, run_of, stage_at, window
from leaderboard.submissions.models import Submission
from problems.spec import MODEL

KEPT: Final = 32  # standings over several boards, in memory


@dataclass(frozen=True)
class BoardEpoch:
    """A timing epoch that a board ranks or in which it has lines."""

    name: str  # "": of runners that reported none
    since: datetime | None
    is_current: bool  # the board ranks it
    state: str = ""  # one of Epoch.STATES; "": no runner reported this epoch
    fingerprint: Mapping[str, Any] = field(default_factory=dict, compare=False)  # the properties that define it


@dataclass(frozen=True)
class RankedEntry:
    rank: int
    is_tied: bool  # shares its rank, within the noise
    value: Value  # of all runs of this kernel
    entry: Entry  # of the first of these runs
    score_us: float  # its measured time: the geometric mean over the value's runs
    telemetry: str  # the least that was watched in any of the runs
    model: str  # that wrote the code of the entry, as its sender says; "": unsaid


@dataclass(frozen=True)
class Standing:
    """The standing of a published submission, with all runs of the same kernel of its entrant."""

    rank: int | None  # None: behind a faster kernel of its entrant, of an earlier epoch, or not shown yet
    is_tied: bool
    is_current: bool  # of the epoch that the board ranks
    is_proposed: bool  # of an epoch that waits for a person's decision
    is_shown: bool  # False: sent while frozen; it counts, and the public sees it from the reveal on
    stage: Stage
    value: Value
    score_us: float  # the measured time of the kernel: the geometric mean over the value's runs
    table: Table  # the lines of its stage and epoch that the public sees


@dataclass(frozen=True)
class Look:
    """The view of a board in a stage: its epochs, the ranked epoch first, and the ranking of each.

    Where agents rank apart, it is the view of people, with the agents' view beside it.
    """

    stage: Stage
    epochs: tuple[BoardEpoch, ...]
    tables: Tables
    group: str = EVERYBODY
    agents: "Look | None" = None

    @property
    def current(self) -> Table:
        return self.tables.get(self.epochs[0].name, NO_LINES) if self.epochs else NO_LINES

    @property
    def groups(self) -> tuple["Look", ...]:
        """The view of each group that has a ranking of its own, people first."""
        return (self,) if self.agents is None else (self, self.agents)

    def of(self, group: str) -> "Look":
        return self.agents if group == AGENTS and self.agents is not None else self

    def with_line_of(self, entrant: int | None) -> "Look":
        """Return the view whose current ranking has a line of this entrant; without any, this view."""
        return next((one for one in self.groups if entrant in one.current.at), self)


def look(board: Board, *, stage: Stage, now: datetime, in_full: bool = False) -> Look:
    return looks([board], now=now, stage=stage, in_full=in_full)[board.pk]


def looks(
    boards: Iterable[Board], *, now: datetime, stage: Stage | None = None, in_full: bool = False
) -> dict[int, Look]:
    """Map boards to their look, in this stage or in their current stage.

    Six queries at most for any number of boards, and two more if agents rank apart on some of them.
    """
    listed = list(boards)
    stages = {board.pk: stage or current_stage(board.competition.schedule, now) for board in listed}
    windows = {board.pk: window(board, stages[board.pk], now, in_full=in_full) for board in listed}
    found = read({(board.pk, group): windows[board.pk] for board in listed for group in board.competition.groups})
    ranked = RankedEpochs(listed if any(found.values()) else [])
    seen = {}
    for board in listed:
        stage, groups = stages[board.pk], board.competition.groups
        epochs = _epochs(board, stage, {name for group in groups for name in found[board.pk, group]}, ranked)
        look = Look(stage, epochs, found[board.pk, groups[0]], groups[0])
        if AGENTS in groups:
            look = replace(look, agents=Look(stage, epochs, found[board.pk, AGENTS], AGENTS))
        seen[board.pk] = look
    return seen


def lines_of(table: Table, places: Sequence[Place]) -> list[RankedEntry]:
    """Return some of the table's places, with their entries: one query."""
    return lines_at([(table, place) for place in places])


def leaders_of(tables: Iterable[Table], most: int = 1) -> dict[int, RankedEntry]:
    """Map first submissions to the first lines of each table, `most` of each: two queries for all."""
    found = lines_at([(table, place) for table in tables for place in table.places[:most]])
    return {line.value.submissions[0]: line for line in found}


def lines_at(places: Sequence[tuple[Table, Place]]) -> list[RankedEntry]:
    """Return places of several tables, with their entries: two queries at most."""
    values = [place.value for _, place in places]
    rows = Entry.objects.filter(submission__in=[value.submissions[0] for value in values]).select_related("entrant")
    rows = rows.annotate(model=F("submission__lineage__model"))
    entries = {entry.submission_id: entry for entry in rows} if values else {}
    further = [pk for value in values for pk in value.submissions[1:]]
    columns = Entry.objects.filter(submission__in=further).order_by().values_list("submission", "score_us", "telemetry")
    measured = {pk: (entry.score_us, entry.telemetry) for pk, entry in entries.items()}
    measured |= {pk: (time_us, telemetry) for pk, time_us, telemetry in columns} if further else {}
    found = []
    for _, place in places:
        runs = [measured[pk] for pk in place.value.submissions if pk in measured]
        if (entry := entries.get(place.value.submissions[0])) is None:
            continue  # a line withdrawn a moment ago
        telemetry = {level for _, level in runs}
        found.append(
            RankedEntry(
                rank=place.rank,
                is_tied=place.is_tied,
                value=place.value,
                entry=entry,
                score_us=mean_time_us([time_us for time_us, _ in runs]),
                model=entry.model or "",
                telemetry=next(level for level in ("", "none", "mask_only", "full") if level in telemetry),
            )
        )
    return found


def standing_of(submission: Submission, *, now: datetime) -> Standing | None:
    """Return the submission's standing; None: it is not published. Lines that are not public yet are ignored."""
    board = submission.board
    stage = stage_at(board, submission.created_at)
    epoch = Entry.objects.filter(submission=submission).values_list("epoch", flat=True).first()
    if epoch is None:
        return None
    shown = look(board, stage=stage, now=now).of(submission.group)
    table = shown.tables.get(epoch, NO_LINES)
    seen = is_shown(board, submission.created_at, now)
    of = next((known for known in shown.epochs if known.name == epoch), None)
    if of is None:  # the only line of this epoch is its own, and not shown yet
        of = _board_epoch(epoch, RankedEpochs([board]), board, stage)
    place = next((place for place in table.places if submission.pk in place.value.submissions), None)
    same = {"board": submission.board_id, "entrant": submission.entrant_id, "code_digest": submission.kernel}
    counted = inside(window(board, stage, now, in_full=not seen))
    runs = list(Entry.objects.filter(counted, epoch=epoch, **same).order_by("submitted_at", "submission_id"))
    if not runs:  # withdrawn a moment ago
        return None
    [value] = pool(map(run_of, runs))  # of its kernel
    return Standing(
        rank=place.rank if place and of.is_current else None,
        is_tied=place.is_tied if place and of.is_current else False,
        is_current=of.is_current,
        is_proposed=of.state == Epoch.PROPOSED,
        is_shown=seen,
        stage=stage,
        value=value,
        score_us=mean_time_us([run.score_us for run in runs]),
        table=table,
    )


def published_among(submissions: Iterable[int]) -> set[int]:
    """Return the submissions that have a line. One query."""
    return set(
        Entry.objects.filter(submission__in=list(submissions)).order_by().values_list("submission_id", flat=True)
    )


@dataclass(frozen=True)
class RecordLine:
    record: Record
    entry: Entry  # of the first run of the kernel

    @property
    def gain_said(self) -> str:
        """Speedup over the previous leader, in per cent."""
        return f"{((self.record.gain or 1) - 1) * 100:+.1f} %"


def board_records(board: Board, *, stage: Stage, now: datetime, group: str = EVERYBODY) -> list[RecordLine]:
    """Return the successive leaders, oldest first: from the shown lines, in the ranked epoch."""
    return records_of(look(board, stage=stage, now=now).of(group).current)


def records_of(table: Table) -> list[RecordLine]:
    """Return the successive leaders of a table, oldest first."""
    found = table.records
    firsts = Entry.objects.filter(submission__in=[record.value.submissions[0] for record in found])
    entries = {entry.submission_id: entry for entry in firsts.select_related("entrant")}
    return [RecordLine(one, entries[one.value.submissions[0]]) for one in found if one.value.submissions[0] in entries]


def _epochs(board: Board, stage: Stage, named: set[str], ranked: RankedEpochs) -> tuple[BoardEpoch, ...]:
    if not named:
        return ()
    names = {ranked.of(board, stage), *named}
    found = sorted((_board_epoch(name, ranked, board, stage) for name in names), key=lambda epoch: epoch.name)
    found.sort(key=lambda epoch: (epoch.is_current, epoch.since.timestamp() if epoch.since else 0.0), reverse=True)
    return tuple(found)


def _board_epoch(name: str, ranked: RankedEpochs, board: Board, stage: Stage) -> BoardEpoch:
    known, is_current = ranked.known.get((board.hardware, name)), name == ranked.of(board, stage)
    if known is None:
        return BoardEpoch(name, None, is_current)
    return BoardEpoch(name, known.opened_at, is_current, known.state, known.fingerprint)


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
    group: str = EVERYBODY,
) -> Overall:
    """Return the standing over these of its boards: all visible boards, those of a hardware, or those with a tag.

    `group`: where agents rank apart, that of agents, or else that of people.
    """
    stage = stage or current_stage(competition.schedule, now)
    seen = looks(boards, now=now, stage=stage, in_full=in_full)
    scoring = scoring or competition.scoring
    tables = {board.pk: seen[board.pk].of(group).current for board in boards}
    return Overall(scoring, stage, tuple(boards), counted(tables, scoring))


def counted(tables: Mapping[int, Table], scoring: str) -> tuple[OverallLine, ...]:
    """Return the standing over the tables of these boards, the best first.

    It is counted again only if a table has changed since the last time: table.py keeps unchanged tables.
    """
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
    timings: Mapping[str, CompiledTiming]  # by problem: of torch.compile, in the epoch that its board ranks
    windows: Mapping[int, Window]  # by board of `members`: times of the lines that the public sees
    epochs: Mapping[int, str]  # by board of `members` with lines: the epoch that it ranks

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
        """Return, by problem, the site's own timing of torch.compile in the epoch that its board ranks.

        The site measures its own template, so that no part of its time counts as forged.
        """
        return {
            slug: Solved(timing.ratio, timing.half_width)
            for slug, timing in self.timings.items()
            if timing.ratio is not None
        }


def collection(
    slug: str, boards: BoardQuerySet, hardware: str = "", *, now: datetime, group: str = EVERYBODY
) -> Collection | None:
    """Return the collection on this hardware, or on its first; None: no board. Only `boards`, in the current stage."""
    return problem_set(slug, _collected(boards), hardware, now=now, group=group)


def problem_set(
    slug: str, boards: BoardQuerySet, hardware: str = "", *, now: datetime, group: str = EVERYBODY
) -> Collection | None:
    """Return these boards of a competition like a collection, whatever they ask for."""
    boards = boards.filter(competition__slug=slug)
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
    listed = list(here.select_related("competition"))
    seen = looks(listed, now=now)
    timings = newest_timings(listed, now=now, finished=True)
    own = {member.board for member in judged}
    return Collection(
        competition=competition,
        hardware=chosen,
        places=tuple(names),
        members=tuple(judged),
        left_out=tuple(left_out),
        tables={member.slug: table for member in judged if (table := seen[member.board].of(group).current).places},
        timings={member.slug: timings[member.board] for member in judged if member.board in timings},
        windows={board.pk: window(board, seen[board.pk].stage, now) for board in listed if board.pk in own},
        epochs={pk: look.epochs[0].name for pk, look in seen.items() if look.epochs and pk in own},
    )


def problems_by_collection(boards: BoardQuerySet) -> dict[int, int]:
    """Map competitions to the number of judgeable problems among these boards, if they are ranked by fast_p."""
    rows = _collected(boards).order_by().values("competition").annotate(n=Count("slug", distinct=True, filter=JUDGED))
    return dict(rows.values_list("competition", "n"))


def _collected(boards: BoardQuerySet) -> BoardQuerySet:
    return boards.filter(version__bundle__interface=MODEL)
