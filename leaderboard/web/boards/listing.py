"""The list of boards: filters in the address, boards by hardware, and a page of rows at a time.

A collection is one card, unless its boards are asked for by competition or text. Filters compare names in memory: a
site has hundreds of boards, and one narrow query reads them all.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from django import forms

from leaderboard.competitions.models import Board, Competition
from leaderboard.competitions.permissions import Viewer, boards_seen_by
from leaderboard.standings.read.boards import looks, problems_by_collection
from leaderboard.web.boards.cards import Wanted
from leaderboard.web.boards.summaries import (
    BoardSummary,
    CollectionSummary,
    by_number,
    collection_summary,
    names_of,
    own_entrants,
    summaries,
)

MOST_ROWS: Final = 60  # on a page
OPEN: Final = "open"
CLOSED: Final = "closed"
STATES: Final = (("", "open and closed"), (OPEN, "open"), (CLOSED, "closed"))


class BoardsForm(forms.Form):
    """Filters of the list of boards. Each is a parameter of the address; an empty filter shows all boards."""

    q = forms.CharField(
        required=False,
        max_length=100,
        label="Text",
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "softmax, 2.17, reduction …"}),
    )
    hardware = forms.CharField(required=False, max_length=64, widget=forms.Select, label="Hardware")
    competition = forms.SlugField(required=False, max_length=64, widget=forms.Select, label="Competition")
    state = forms.ChoiceField(required=False, choices=STATES, label="State")
    start = forms.IntegerField(required=False, min_value=0, max_value=1_000_000, widget=forms.HiddenInput)


@dataclass(frozen=True)
class Listing:
    groups: Sequence[tuple[str, Sequence[BoardSummary]]]  # by hardware
    collections: Sequence[CollectionSummary]
    names: dict[int, str]  # of entrants in standings over a collection
    hardware: Sequence[tuple[str, int]]  # with the boards that the other filters leave
    total: int
    start: int
    is_filtered: bool

    @property
    def last(self) -> int:
        return self.start + sum(len(rows) for _, rows in self.groups)

    @property
    def later(self) -> int | None:
        return self.last if self.last < self.total else None

    @property
    def earlier(self) -> int | None:
        return max(0, self.start - MOST_ROWS) if self.start else None


def listing(form: BoardsForm, viewer: Viewer, now: datetime) -> Listing:
    """Return the boards that match, and fill the form's choices. Unknown names match no board."""
    asked: dict[str, Any] = form.cleaned_data if form.is_valid() else {}
    wanted = Wanted(
        competition=asked.get("competition", ""),
        hardware=asked.get("hardware", ""),
        is_open={OPEN: True, CLOSED: False}.get(asked.get("state", "")),
        text=asked.get("q", ""),
    )
    seen = boards_seen_by(viewer, listed=True)
    boards = list(seen.select_related("competition", "problem").defer("competition__rules", "competition__description"))
    collected = set(problems_by_collection(seen))
    _fill(form, boards)
    matching = [board for board in boards if wanted.fits(board, now)]
    folded = collected if not (wanted.text or wanted.competition) else set()
    counts = Counter(board.hardware for board in matching)
    here = [board for board in matching if wanted.is_on(board)]
    rows = [board for board in here if board.competition_id not in folded]
    rows.sort(key=lambda board: (board.hardware, not board.is_open_at(now), by_number(board.title), board.slug))
    start = asked.get("start") or 0
    page = [board.pk for board in rows[start : start + MOST_ROWS]]
    cards = [board.pk for board in here if board.competition_id in folded]
    boards_here = {board.pk: board for board in Board.objects.filter(pk__in=[*page, *cards]).for_lists()}
    found, own = looks(boards_here.values(), now=now), own_entrants(viewer)
    shown = summaries([boards_here[pk] for pk in page if pk in boards_here], found, own, now)
    of: dict[Competition, list[Board]] = {}
    for pk in cards:
        if pk in boards_here:
            of.setdefault(boards_here[pk].competition, []).append(boards_here[pk])
    collections = [collection_summary(one, same, found, own.get(one.pk), now) for one, same in of.items()]
    return Listing(
        groups=[(name, list(same)) for name, same in groupby(shown, key=lambda row: row.board.hardware)],
        collections=sorted(collections, key=lambda one: one.competition.name),
        names=names_of(place.leader for one in collections for place in one.places),
        hardware=sorted(counts.items()),
        total=len(rows),
        start=start,
        is_filtered=any(asked.values()),
    )


def _fill(form: BoardsForm, boards: Sequence[Board]) -> None:
    hardware = sorted({board.hardware for board in boards})
    competitions = sorted({(board.competition.name, board.competition.slug) for board in boards})
    for field, choices in (
        ("hardware", [("", "all hardware"), *((name, name) for name in hardware)]),
        ("competition", [("", "all competitions"), *((slug, name) for name, slug in competitions)]),
    ):
        widget, asked = form.fields[field].widget, str(form.data.get(field, ""))
        assert isinstance(widget, forms.Select)
        known = {value for value, _ in choices}
        widget.choices = choices if asked in known else [*choices, (asked, f"{asked[:64]} (no board)")]
