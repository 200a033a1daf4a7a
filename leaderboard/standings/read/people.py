"""Results of a person or an entrant over many boards, from lines that the public sees.

A pseudonym separates an entrant from its people. Every function here that starts from a person leaves out entrants with
a pseudonym that is not revealed, so that no answer connects the two. Teams count for their present members.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Lower, TruncWeek

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board, BoardQuerySet
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.standings.models import Entry
from leaderboard.standings.read.boards import RankedEntry, lines_at, looks
from leaderboard.standings.read.table import shown_lines

NAMED: Final = Q(pseudonym="") | Q(revealed_at__isnull=False)  # entrants that show their name
WEEKS: Final = 53
MOST_ENTRANTS: Final = 200  # of a person


@dataclass(frozen=True)
class BoardResult:
    """The line of an entrant on a board, in its current stage and timing epoch."""

    board: Board
    entrant: Entrant
    line: RankedEntry
    of: int  # entrants on the board
    was_first: bool  # the first published line of the board is theirs


@dataclass(frozen=True)
class Week:
    since: datetime
    lines: int


@dataclass(frozen=True)
class Results:
    boards: Sequence[BoardResult]  # first places first
    firsts: Sequence[Board]  # boards whose first published line is theirs
    weeks: Sequence[Week]  # of the last year, oldest first, without gaps
    lines: QuerySet[Entry]  # all lines that the public sees, for a paged list

    @property
    def leading(self) -> list[BoardResult]:
        return [result for result in self.boards if result.line.rank == 1]

    @property
    def recent(self) -> int:
        """Lines of the last year."""
        return sum(week.lines for week in self.weeks)


def named_entrants(person: User, boards: BoardQuerySet) -> list[Entrant]:
    """Return the entrants that may be shown as this person: alone under their user name, and their present teams.

    Only in competitions that have one of these boards.
    """
    mine = Membership.objects.filter(entrant=OuterRef("pk"), user=person)
    alone = Q(Exists(mine), is_team=False, low=person.username.lower())
    teams = Q(Exists(mine.filter(left_at=None)), is_team=True)
    found = Entrant.objects.filter(NAMED, competition__in=boards.order_by().values("competition"))
    found = found.filter(pk__in=Membership.objects.filter(user=person).values("entrant")).alias(low=Lower("name"))
    return list(found.filter(alone | teams).select_related("competition").order_by("-pk")[:MOST_ENTRANTS])


def entrants_with_lines(entrants: Collection[Entrant], shown: Q) -> set[int]:
    """Return the keys of entrants that have a line. `shown`: table.shown_lines."""
    lines = Entry.objects.filter(shown, entrant=OuterRef("pk"))
    found = Entrant.objects.filter(Exists(lines), pk__in=[one.pk for one in entrants]).order_by()
    return set(found.values_list("pk", flat=True)) if entrants else set()


def results_of(entrants: Iterable[Entrant], boards: BoardQuerySet, *, now: datetime) -> Results:
    """Return the results of these entrants on those of these boards on which they have lines.

    The number of queries is fixed.
    """
    named = {entrant.pk: entrant for entrant in entrants}
    own = Entry.objects.filter(entrant__in=list(named))
    here = list(boards.for_lists().filter(Exists(own.filter(board=OuterRef("pk")))))
    shown = shown_lines(here, now)
    first = Entry.objects.filter(shown, board=OuterRef("pk")).order_by("submitted_at", "submission")
    firsts = Board.objects.filter(pk__in=[board.pk for board in here]).order_by()
    first_of = dict(firsts.annotate(first=Subquery(first.values("entrant")[:1])).values_list("pk", "first"))
    places = []
    for board, look in zip(here, looks(here, now=now).values(), strict=True):
        tables = [one.current for one in look.groups]
        places += [(board, table, place) for table in tables for pk in named if (place := table.place_of(pk))]
    lines = {
        (line.entry.board_id, line.entry.entrant_id): line
        for line in lines_at([(table, at) for _, table, at in places])
    }
    found = [
        BoardResult(
            board, named[at.value.entrant_id], line, len(table.places), first_of[board.pk] == at.value.entrant_id
        )
        for board, table, at in places
        if (line := lines.get((board.pk, at.value.entrant_id))) is not None
    ]
    found.sort(key=lambda result: (result.line.rank, result.line.value.ratio, result.board.pk))
    all_lines = own.filter(shown)
    return Results(
        boards=found,
        firsts=[board for board in here if first_of[board.pk] in named],
        weeks=weeks_of(all_lines, now),
        lines=all_lines.select_related("board__problem", "board__competition", "entrant"),
    )


def weeks_of(lines: QuerySet[Entry], now: datetime) -> list[Week]:
    start = (now - timedelta(days=now.weekday(), weeks=WEEKS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    rows = lines.filter(submitted_at__gte=start).order_by().values(week=TruncWeek("submitted_at", tzinfo=now.tzinfo))
    counts = {row["week"]: row["n"] for row in rows.annotate(n=Count("pk"))}
    times = [start + timedelta(weeks=number) for number in range(WEEKS)]
    return [Week(time, counts.get(time, 0)) for time in times]


def members_shown(entrant: Entrant) -> list[str]:
    """Return the user names of a team's present members; none of a team with a pseudonym."""
    if not entrant.is_team or (entrant.pseudonym and entrant.revealed_at is None):
        return []
    present = Membership.objects.filter(entrant=entrant, left_at=None, user__is_active=True)
    return list(present.order_by("pk").annotate(name=F("user__username")).values_list("name", flat=True))
