"""What pages and the API read of the standings: Entry and nothing else. Times are on the scale of their board.

A board is ranked within one timing epoch, and nothing here ever mixes two: the current one is that of its hardware
which became current last among those that it has lines of. Lines of earlier epochs stay, to be seen when asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from leaderboard.competitions.models import Board
from leaderboard.judging.models import Epoch
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking import Place, Run, Value, pool, rank, scale_us
from leaderboard.submissions.models import Submission


@dataclass(frozen=True)
class BoardEpoch:
    """A timing epoch that a board has lines of."""

    name: str  # "": of runners that said none
    since: datetime | None
    is_current: bool


@dataclass(frozen=True)
class RankedEntry:
    rank: int
    is_tied: bool  # shares its rank, within the noise, with others
    value: Value  # of all runs of this kernel
    entry: Entry  # of the first of them
    score_us: float  # the value on the board's scale
    telemetry: str  # the least that was watched in any run


@dataclass(frozen=True)
class Standing:
    """Where one published submission stands, with all runs of the same kernel of its owner."""

    rank: int | None  # None: behind a faster kernel of its owner, or of an earlier epoch
    is_tied: bool
    is_current: bool  # of the epoch that the board ranks
    value: Value
    score_us: float


def board_epochs(board: Board) -> list[BoardEpoch]:
    """Those that this board has lines of, the current one first."""
    names = set(Entry.objects.filter(board=board).order_by().values_list("epoch", flat=True).distinct())
    known = Epoch.objects.filter(hardware=board.hardware, name__in=names).order_by("-current_since", "-pk")
    found: list[tuple[str, datetime | None]] = [(epoch.name, epoch.opened_at) for epoch in known]
    found += [(name, None) for name in sorted(names - {name for name, _ in found})]
    return [BoardEpoch(name, since, is_current=not place) for place, (name, since) in enumerate(found)]


def board_entries(board: Board, epoch: str) -> list[RankedEntry]:
    """The board in one epoch: best first, one line an entrant."""
    entries = _entries(board, epoch)
    if not entries:
        return []
    scale = _scale(entries.values())
    return [_ranked(place, entries, scale) for place in rank(map(run_of, entries.values()))]


def standing_of(submission: Submission) -> Standing | None:
    """None where the submission is not published."""
    epoch = Entry.objects.filter(submission=submission).values_list("epoch", flat=True).first()
    if epoch is None:
        return None
    entries = _entries(submission.board, epoch)
    runs = [run_of(entry) for entry in entries.values()]
    value = next(value for value in pool(runs) if submission.pk in value.submissions)
    place = next((place for place in rank(runs) if place.value == value), None)
    is_current = epoch == board_epochs(submission.board)[0].name
    return Standing(
        rank=place.rank if place and is_current else None,
        is_tied=place.is_tied if place and is_current else False,
        is_current=is_current,
        value=value,
        score_us=value.ratio * _scale(entries.values()),
    )


def published_times(submissions: Iterable[int]) -> dict[int, float]:
    """Submission id → its time on its board's scale; absent: not published. Two queries however many there are."""
    published = {entry.submission_id: entry for entry in Entry.objects.filter(submission__in=list(submissions))}
    scored: dict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
    rows = Entry.objects.filter(board__in={entry.board_id for entry in published.values()})
    for board_id, epoch, score_us, ratio in rows.values_list("board_id", "epoch", "score_us", "ratio"):
        scored[board_id, epoch].append((score_us, ratio))
    scales = {where: scale_us(pairs) for where, pairs in scored.items()}
    return {pk: entry.ratio * scales[entry.board_id, entry.epoch] for pk, entry in published.items()}


def incumbent_ratio(*, board: Board, epoch: str, without: Submission) -> float | None:
    """The best published value of a board in this epoch, not counting one submission's run."""
    entries = Entry.objects.filter(board=board, epoch=epoch).exclude(submission=without)
    return min((value.ratio for value in pool(map(run_of, entries))), default=None)


def _entries(board: Board, epoch: str) -> dict[int, Entry]:
    rows = Entry.objects.filter(board=board, epoch=epoch).select_related("owner", "entrant")
    return {entry.submission_id: entry for entry in rows}


def run_of(entry: Entry) -> Run:
    """What ranking.py takes of a line."""
    return Run(
        ratio=entry.ratio,
        half_width=entry.half_width,
        forgeable=entry.forgeable,
        submitted_at=entry.submitted_at,
        submission_id=entry.submission_id,
        entrant_id=entry.entrant_id,
        code=entry.code_digest,
    )


def _ranked(place: Place, entries: dict[int, Entry], scale: float) -> RankedEntry:
    runs = [entries[pk] for pk in place.value.submissions]
    return RankedEntry(
        rank=place.rank,
        is_tied=place.is_tied,
        value=place.value,
        entry=runs[0],
        score_us=place.value.ratio * scale,
        telemetry=_least([entry.telemetry for entry in runs]),
    )


def _scale(entries: Iterable[Entry]) -> float:
    return scale_us((entry.score_us, entry.ratio) for entry in entries)


def _least(levels: Sequence[str]) -> str:
    return next(level for level in ("", "none", "mask_only", "full") if level in levels)
