"""Pure: from when on the code of a published line is public.

Code is its owner's until the contest is over (calendar.is_over_at), and until nothing of the standing is frozen any
more. What is sent after the end, and to a board that has none, stays private. An owner may publish theirs earlier. Code
is shown with its line: what is held, rejected, retracted, or not shown yet has none.
"""

from __future__ import annotations

from datetime import datetime

from leaderboard.competitions.calendar import Schedule, Stage, is_frozen_at, is_over_at, stage_of


def code_public_at(schedule: Schedule, board_deadline: datetime | None, submitted_at: datetime) -> datetime | None:
    """When that is, but for a freeze; None: not by itself."""
    if stage_of(schedule, submitted_at, board_deadline=board_deadline) is Stage.AFTERWARDS:
        return None
    return schedule.deadline or schedule.final_at or board_deadline


def is_code_public(
    schedule: Schedule, board_deadline: datetime | None, submitted_at: datetime, *, is_released: bool, now: datetime
) -> bool:
    """Of a line that is shown."""
    if is_released:
        return True
    if code_public_at(schedule, board_deadline, submitted_at) is None or is_frozen_at(schedule, now):
        return False
    return is_over_at(schedule, now, board_deadline=board_deadline)
