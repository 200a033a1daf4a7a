"""Pure: which phase a competition is in, whether it takes submissions, and which of them a standing shows at a moment.

All by the time of submission, never by the time of judging. A time that is not set does not bind: a competition
without any is a contest that never ends.

    practice_at ─ practice ─ contest_at ─ contest ─ freeze_at ─ frozen ─ deadline ─ review ─ final_at ─ open (or final)

A submission belongs to one *stage* for ever: practice, contest or afterwards. Each stage has a standing of its own.
What was sent while frozen is shown once the standing is revealed, or final.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Phase(StrEnum):
    BEFORE = "before"  # not begun
    PRACTICE = "practice"
    CONTEST = "contest"
    FROZEN = "frozen"  # contest goes on, its standing stands still
    REVIEW = "review"  # deadline passed, not final
    FINAL = "final"  # over, closed for good
    OPEN = "open"  # over, taking submissions apart from the contest


class Stage(StrEnum):
    PRACTICE = "practice"
    CONTEST = "contest"
    AFTERWARDS = "afterwards"


TAKING = frozenset({Phase.PRACTICE, Phase.CONTEST, Phase.FROZEN, Phase.OPEN})


@dataclass(frozen=True)
class Schedule:
    """A competition's times, all in UTC; None: not set."""

    practice_at: datetime | None = None
    contest_at: datetime | None = None
    freeze_at: datetime | None = None
    deadline: datetime | None = None
    revealed_at: datetime | None = None
    final_at: datetime | None = None
    stays_open: bool = True


@dataclass(frozen=True)
class Window:
    """Submissions from `since` (included) until `until` (excluded); None: no bound."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, submitted_at: datetime) -> bool:
        return (self.since is None or self.since <= submitted_at) and (self.until is None or submitted_at < self.until)


def phase_at(schedule: Schedule, moment: datetime) -> Phase:
    if _is_past(schedule.deadline, moment):
        if not _is_past(schedule.final_at, moment):
            return Phase.REVIEW
        return Phase.OPEN if schedule.stays_open else Phase.FINAL
    if schedule.contest_at is not None and moment < schedule.contest_at:
        return Phase.PRACTICE if _is_past(schedule.practice_at, moment) else Phase.BEFORE
    if schedule.practice_at is not None and moment < schedule.practice_at:
        return Phase.BEFORE
    return Phase.FROZEN if _is_past(schedule.freeze_at, moment) else Phase.CONTEST


def stage_of(schedule: Schedule, submitted_at: datetime) -> Stage:
    if schedule.contest_at is not None and submitted_at < schedule.contest_at:
        return Stage.PRACTICE
    return Stage.AFTERWARDS if _is_past(schedule.deadline, submitted_at) else Stage.CONTEST


def window_of(schedule: Schedule, stage: Stage) -> Window:
    """All submissions of a stage."""
    return {
        Stage.PRACTICE: Window(until=schedule.contest_at),
        Stage.CONTEST: Window(since=schedule.contest_at, until=schedule.deadline),
        Stage.AFTERWARDS: Window(since=schedule.deadline),
    }[stage]


def shown_at(schedule: Schedule, stage: Stage, moment: datetime) -> Window:
    """Of a stage, the submissions that its public standing counts at this moment."""
    window = window_of(schedule, stage)
    if stage is Stage.CONTEST and is_frozen_at(schedule, moment):
        return Window(since=window.since, until=schedule.freeze_at)
    return window


def is_frozen_at(schedule: Schedule, moment: datetime) -> bool:
    """Whether the public standing of the contest stands still: from the freeze until it is revealed or final."""
    is_shown = _is_past(schedule.revealed_at, moment) or _is_past(schedule.final_at, moment)
    return _is_past(schedule.freeze_at, moment) and not is_shown


def current_stage(schedule: Schedule, moment: datetime) -> Stage:
    """Whose standing a board shows unless asked for another: practice before the contest, then the contest's."""
    if schedule.contest_at is not None and moment < schedule.contest_at:
        return Stage.PRACTICE
    return Stage.CONTEST


def closes_at(schedule: Schedule, board_deadline: datetime | None) -> datetime | None:
    """When a board stops taking submissions for the contest: at its own deadline or its competition's."""
    return min((time for time in (schedule.deadline, board_deadline) if time is not None), default=None)


def takes_at(schedule: Schedule, moment: datetime, *, board_deadline: datetime | None = None) -> bool:
    """Whether a board takes a submission at this moment. One that closed early opens again with its competition."""
    phase = phase_at(schedule, moment)
    if phase is Phase.OPEN:
        return True
    return phase in TAKING and not _is_past(board_deadline, moment)


def is_over_at(schedule: Schedule, moment: datetime) -> bool:
    """Whether the contest's deadline is past: code and answers may be published."""
    return _is_past(schedule.deadline, moment)


def _is_past(time: datetime | None, moment: datetime) -> bool:
    return time is not None and time <= moment
