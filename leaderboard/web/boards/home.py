"""The front page: running competitions with leaders and the viewer's place, what opens soon, and what has ended.

A competition with many boards shows the boards that matter most to the viewer, and a link to the rest. The number of
queries is fixed for any number of competitions and boards.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leaderboard.awards.life import names_of as names_in_awards
from leaderboard.awards.models import ANNOUNCED, Award
from leaderboard.competitions.calendar import Phase
from leaderboard.competitions.models import CLOSED, FAST_P, Board
from leaderboard.competitions.permissions import Viewer, boards_seen_by
from leaderboard.standings.ranking.overall import OverallLine
from leaderboard.standings.read.boards import Look, counted, looks, problems_by_collection
from leaderboard.web.boards.contests import Summary, sections
from leaderboard.web.boards.summaries import (
    BoardSummary,
    CollectionSummary,
    by_number,
    collection_summary,
    group_of,
    judged,
    names_of,
    own_entrants,
    summaries,
)

MOST_RUNNING: Final = 12
MOST_COMING: Final = 8
MOST_ENDED: Final = 8
MOST_BOARDS: Final = 6  # of a running competition
LEADERS: Final = 3  # of a board
WINNERS: Final = 3  # of an ended competition


@dataclass(frozen=True)
class Running:
    """A running competition. A collection has a summary by fast_p instead of boards."""

    summary: Summary
    boards: Sequence[BoardSummary]
    collection: CollectionSummary | None
    own: OverallLine | None  # the viewer's line over all its boards
    ranked: int  # lines of the standing over all its boards
    group: str  # whose standing that is
    is_unranked: bool  # the viewer has entered, and has no line over all its boards
    hardware: Sequence[str]

    @property
    def further(self) -> int:
        """Problems that are not shown."""
        return 0 if self.collection else self.summary.boards - len({item.board.slug for item in self.boards})


@dataclass(frozen=True)
class Winner:
    track: str  # "": the standing over all boards
    name: str


@dataclass(frozen=True)
class Ended:
    """A competition whose contest is over. Until an award is announced, the first of the standing stand for winners."""

    summary: Summary
    winners: Sequence[Winner]
    is_awarded: bool

    @property
    def said(self) -> str:
        """The words before the winners."""
        if self.is_awarded:
            return "Won by"
        return "Under review, led by" if self.summary.phase.phase is Phase.REVIEW else "First place:"


@dataclass(frozen=True)
class Home:
    running: Sequence[Running]
    coming: Sequence[Summary]
    ended: Sequence[Ended]
    names: Mapping[int, str]  # of entrants in standings over several boards
    further: Mapping[str, int]  # competitions that are not shown, by section

    @property
    def is_empty(self) -> bool:
        return not (self.running or self.coming or self.ended)


def home(viewer: Viewer, now: datetime) -> Home:
    found = sections(viewer, now)
    running, coming, ended = (
        found[name][:most] for name, most in (("Running", MOST_RUNNING), ("Coming", MOST_COMING), ("Past", MOST_ENDED))
    )
    shown_here = [item.competition.pk for item in (*running, *ended)]
    wanted = boards_seen_by(viewer, listed=True).filter(competition__in=shown_here)
    boards, collections = list(wanted.for_lists()), set(problems_by_collection(wanted))
    by_competition: dict[int, list[Board]] = defaultdict(list)
    for one in boards:
        by_competition[one.competition_id].append(one)
    seen, own = looks(boards, now=now), own_entrants(viewer)
    chosen = {
        item.competition.pk: _chosen(by_competition[item.competition.pk], seen, own, now)
        for item in running
        if item.competition.pk not in collections
    }
    shown: dict[int, list[BoardSummary]] = defaultdict(list)
    for board in summaries([board for some in chosen.values() for board in some], seen, own, now, leaders=LEADERS):
        shown[board.board.competition_id].append(board)
    cards = [
        _running(item, by_competition[item.competition.pk], shown[item.competition.pk], seen, own, collections, now)
        for item in running
    ]
    firsts = {
        item.competition.pk: _firsts(item, by_competition[item.competition.pk], seen, collections) for item in ended
    }
    leaders = [place.leader for card in cards if card.collection for place in card.collection.places]
    names = names_of([*leaders, *(line for lines in firsts.values() for line in lines)])
    awarded = _awarded(ended)
    return Home(
        running=cards,
        coming=coming,
        ended=[
            Ended(
                item,
                awarded.get(item.competition.pk)
                or [
                    Winner("", names[line.entrant_id])
                    for line in firsts[item.competition.pk]
                    if line.entrant_id in names
                ],
                item.competition.pk in awarded,
            )
            for item in ended
        ],
        names=names,
        further={
            "running": len(found["Running"]) - len(running),
            "coming": len(found["Coming"]) - len(coming),
            "ended": len(found["Past"]) - len(ended),
        },
    )


def _chosen(
    boards: Sequence[Board], seen: Mapping[int, Look], own: Mapping[int, int], now: datetime
) -> Sequence[Board]:
    """Return the boards to show: open boards first, then the viewer's own, then those with the most entrants."""

    def worth(board: Board) -> tuple[Any, ...]:
        table = seen[board.pk].with_line_of(own.get(board.competition_id)).current
        is_own = own.get(board.competition_id) in table.at
        return (
            bool(getattr(board, "why_unsupported", "")),
            not board.is_open_at(now),
            not is_own,
            -len(table.places),
            by_number(board.title),
            board.hardware,
        )

    return sorted(boards, key=worth)[:MOST_BOARDS]


def _running(
    item: Summary,
    boards: Sequence[Board],
    shown: Sequence[BoardSummary],
    seen: Mapping[int, Look],
    own: Mapping[int, int],
    collections: set[int],
    now: datetime,
) -> Running:
    competition, entrant = item.competition, own.get(item.competition.pk)
    is_collection = competition.pk in collections
    counting, group = judged(boards), group_of(boards, seen, entrant)
    is_placed = entrant is not None and not is_collection and len(counting) > 1
    tables = {board.pk: seen[board.pk].of(group).current for board in counting}
    lines = counted(tables, competition.scoring) if is_placed else ()
    line = next((line for line in lines if line.entrant_id == entrant), None)
    return Running(
        summary=item,
        boards=shown,
        collection=collection_summary(competition, boards, seen, entrant, now) if is_collection else None,
        own=line,
        ranked=len(lines),
        group=group,
        is_unranked=is_placed and line is None,
        hardware=sorted({board.hardware for board in boards}),
    )


def _firsts(
    item: Summary, boards: Sequence[Board], seen: Mapping[int, Look], collections: set[int]
) -> Sequence[OverallLine]:
    """Return the first of the standing over an ended competition's boards, all of them if they are tied."""
    is_collection = item.competition.pk in collections
    hardware = min((board.hardware for board in boards), default="")
    tables = {
        board.pk: seen[board.pk].current for board in judged(boards) if not is_collection or board.hardware == hardware
    }
    lines = counted(tables, FAST_P if is_collection else item.competition.scoring) if tables else ()
    return [line for line in lines[:WINNERS] if line.rank == 1]


def _awarded(items: Sequence[Summary]) -> dict[int, list[Winner]]:
    """Map competitions to the first winners of their announced awards, in the order of tracks: two queries.

    A closed competition is left out, because a viewer may not see each of its tracks.
    """
    open_to_all = [item.competition.pk for item in items if item.competition.visibility != CLOSED]
    awards = Award.objects.filter(state=ANNOUNCED, track__competition__in=open_to_all).select_related("track")
    listed = sorted(awards, key=lambda award: (award.track.position, award.track_id)) if open_to_all else []
    names = names_in_awards([award.content for award in listed]) if listed else {}
    found: dict[int, list[Winner]] = defaultdict(list)
    for award in listed:
        first = [winner for winner in award.winners if winner["place"] == 1 and winner["entrant"] in names]
        found[award.track.competition_id] += [Winner(award.track.name, names[winner["entrant"]]) for winner in first]
    return {competition: winners[:WINNERS] for competition, winners in found.items() if winners}
