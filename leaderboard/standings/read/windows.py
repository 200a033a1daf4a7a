"""The published lines that a viewer sees: lines of a stage, as far as its standing is shown at a moment.

The only module that turns calendar.py's windows into queries. All code that shows lines, counts them or compares with
them in public uses it; `in_full` is for people with a role in the competition, who also see frozen lines.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from django.db.models import Q

from leaderboard.competitions.calendar import Stage, Window, shown_at, stage_of, window_of
from leaderboard.competitions.models import Board


def window(board: Board, stage: Stage, now: datetime, *, in_full: bool = False) -> Window:
    if in_full:
        return whole_window(board, stage)
    return shown_at(board.competition.schedule, stage, now, board_deadline=board.deadline)


def whole_window(board: Board, stage: Stage) -> Window:
    """Return the window without regard to a freeze."""
    return window_of(board.competition.schedule, stage, board_deadline=board.deadline)


def stage_at(board: Board, submitted_at: datetime) -> Stage:
    """Return the stage to which a submission of this time to this board belongs."""
    return stage_of(board.competition.schedule, submitted_at, board_deadline=board.deadline)


def inside(window: Window, field: str = "submitted_at") -> Q:
    """Return `Window.holds` as a query condition."""
    condition = Q()
    if window.since is not None:
        condition &= Q(**{f"{field}__gte": window.since})
    if window.until is not None:
        condition &= Q(**{f"{field}__lt": window.until})
    return condition


def inside_each(windows: Mapping[int, Window]) -> Q:
    """Match lines of any of these boards, each inside its own window. Without boards it matches no line."""
    boards: dict[Window, list[int]] = defaultdict(list)
    for board, window in windows.items():
        boards[window].append(board)
    condition = Q(pk__in=[])
    for window, same in boards.items():
        condition |= Q(inside(window), board__in=same)
    return condition


def is_shown(board: Board, submitted_at: datetime, now: datetime) -> bool:
    """Return whether a line of that time of submission is public now; if not, it counts from the reveal on."""
    return window(board, stage_at(board, submitted_at), now).holds(submitted_at)
