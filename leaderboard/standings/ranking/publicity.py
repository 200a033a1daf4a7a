"""Pure: the time from which the code of a published line is public.

Code is private to its owner until the contest is over (calendar.is_over_at) and no part of the standing is frozen.
Code that is sent after the end, or to a board without an end, stays private. An owner may publish their code earlier.
Code is shown with its line: a result that is held, rejected, retracted or not shown yet shows none.
"""

from __future__ import annotations

from datetime import datetime

from leaderboard.competitions.calendar import Schedule, Stage, is_frozen_at, is_over_at, stage_of


def code_public_at(schedule: Schedule, board_deadline: datetime | None, submitted_at: datetime) -> datetime | None:
    """Return the time of publication, apart from a freeze; None: never without the owner's act."""
    if stage_of(schedule, submitted_at, board_deadline=board_deadline) is Stage.AFTERWARDS:
        return None
    return schedule.deadline or schedule.final_at or board_deadline


def is_code_public(
    schedule: Schedule, board_deadline: datetime | None, submitted_at: datetime, *, is_released: bool, now: datetime
) -> bool:
    """Return whether the code of a shown line is public."""
    if is_released:
        return True
    if code_public_at(schedule, board_deadline, submitted_at) is None or is_frozen_at(schedule, now):
        return False
    return is_over_at(schedule, now, board_deadline=board_deadline)
