"""Pure: the phase of a competition, the submissions that it takes and that a standing shows, and when code is public.

Everything depends on the time of submission, never on the time of judging. An unset time does not bind: a competition
without times is a contest that never ends. A competition without a deadline ends when it is declared final.

    practice_at ─ practice ─ contest_at ─ contest ─ freeze_at ─ frozen ─ deadline ─ review ─ final_at ─ open (or final)

A submission belongs to one *stage* for ever: practice, contest or afterwards. Each stage has its own standing.
Submissions from the freeze are shown once the standing is revealed or final; a reveal requested before the deadline
happens at the deadline. `board_deadline` is a board's own deadline: it ends the contest there earlier, never later.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final


class Phase(StrEnum):
    BEFORE = "before"  # not begun
    PRACTICE = "practice"
    CONTEST = "contest"
    FROZEN = "frozen"  # the contest continues, its standing does not change
    REVIEW = "review"  # deadline passed, not final
    FINAL = "final"  # over, closed for ever
    OPEN = "open"  # over, taking submissions separate from the contest


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


@dataclass(frozen=True)
class Span:
    """A phase and its duration: from `since` (included) until `until` (excluded); None: no known bound."""

    phase: Phase
    since: datetime | None
    until: datetime | None


def phase_at(schedule: Schedule, moment: datetime) -> Phase:
    if is_over_at(schedule, moment):
        if not _is_past(schedule.final_at, moment):
            return Phase.REVIEW
        return Phase.OPEN if schedule.stays_open else Phase.FINAL
    if schedule.contest_at is not None and moment < schedule.contest_at:
        return Phase.PRACTICE if _is_past(schedule.practice_at, moment) else Phase.BEFORE
    if schedule.practice_at is not None and moment < schedule.practice_at:
        return Phase.BEFORE
    return Phase.FROZEN if is_frozen_at(schedule, moment) else Phase.CONTEST


def timeline(schedule: Schedule) -> list[Span]:
    """Return all phases in order, without gaps. Phases of zero length are left out."""
    times = (schedule.practice_at, schedule.contest_at, schedule.freeze_at, schedule.deadline)
    marks = sorted({time for time in (*times, schedule.revealed_at, schedule.final_at) if time is not None})
    spans = [Span(phase_at(schedule, _LONG_AGO), None, None)]
    for mark in marks:
        phase = phase_at(schedule, mark)
        if phase is not spans[-1].phase:
            spans[-1:] = [replace(spans[-1], until=mark), Span(phase, mark, None)]
    return spans


def span_at(schedule: Schedule, moment: datetime) -> Span:
    """Return the phase at this moment; its `until` is the next change."""
    return next(span for span in timeline(schedule) if span.until is None or moment < span.until)


def stage_of(schedule: Schedule, submitted_at: datetime, *, board_deadline: datetime | None = None) -> Stage:
    if schedule.contest_at is not None and submitted_at < schedule.contest_at:
        return Stage.PRACTICE
    return Stage.AFTERWARDS if _is_past(closes_at(schedule, board_deadline), submitted_at) else Stage.CONTEST


def window_of(schedule: Schedule, stage: Stage, *, board_deadline: datetime | None = None) -> Window:
    """Return the window of a stage. The three windows are disjoint and cover all times."""
    closes = closes_at(schedule, board_deadline)
    if stage is Stage.PRACTICE:
        return Window(until=schedule.contest_at or _LONG_AGO)
    if stage is Stage.CONTEST:
        return Window(since=schedule.contest_at, until=closes)
    return Window(since=max(closes, schedule.contest_at or closes)) if closes else Window(since=_NEVER)


def shown_at(schedule: Schedule, stage: Stage, moment: datetime, *, board_deadline: datetime | None = None) -> Window:
    """Return the window of the stage's submissions that its public standing counts at this moment."""
    window = window_of(schedule, stage, board_deadline=board_deadline)
    if stage is Stage.CONTEST and is_frozen_at(schedule, moment):
        return Window(since=window.since, until=_earliest(schedule.freeze_at, window.until))
    return window


def is_frozen_at(schedule: Schedule, moment: datetime) -> bool:
    """Return whether the contest's public standing is frozen: from the freeze until it is revealed or final."""
    if not _is_past(schedule.freeze_at, moment) or _is_past(schedule.final_at, moment):
        return False
    is_contest_on = schedule.deadline is not None and moment < schedule.deadline
    return is_contest_on or not _is_past(schedule.revealed_at, moment)


def current_stage(schedule: Schedule, moment: datetime) -> Stage:
    """Return the stage that a board shows by default: practice before the contest, then the contest."""
    if schedule.contest_at is not None and moment < schedule.contest_at:
        return Stage.PRACTICE
    return Stage.CONTEST


def stages_by(schedule: Schedule, moment: datetime) -> list[Stage]:
    """Return the stages that have a visible standing, in order."""
    found = [Stage.PRACTICE] if schedule.contest_at is not None else []
    if schedule.contest_at is None or schedule.contest_at <= moment:
        found.append(Stage.CONTEST)
    if phase_at(schedule, moment) is Phase.OPEN:
        found.append(Stage.AFTERWARDS)
    return found


def closes_at(schedule: Schedule, board_deadline: datetime | None) -> datetime | None:
    """Return when a board stops taking contest submissions: at its own deadline or when its competition ends."""
    return _earliest(_end(schedule), board_deadline)


def takes_at(schedule: Schedule, moment: datetime, *, board_deadline: datetime | None = None) -> bool:
    """Return whether a board takes a submission at this moment.

    A board that closed early reopens with its competition.
    """
    phase = phase_at(schedule, moment)
    return phase is Phase.OPEN or (phase in TAKING and not _is_past(board_deadline, moment))


def is_over_at(schedule: Schedule, moment: datetime, *, board_deadline: datetime | None = None) -> bool:
    """Return whether the contest is past, so that code and answers may be published.

    A board that closes early waits for its competition, unless the competition has no end.
    """
    return _is_past(over_at(schedule, board_deadline), moment)


def over_at(schedule: Schedule, board_deadline: datetime | None) -> datetime | None:
    """Return when the contest is past in the sense of `is_over_at`; None: it has no known end."""
    return _end(schedule) or board_deadline


_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)  # earlier than any submission
_NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)  # later than any submission


def _end(schedule: Schedule) -> datetime | None:
    return schedule.deadline or schedule.final_at


def _is_past(time: datetime | None, moment: datetime) -> bool:
    return time is not None and time <= moment


def _earliest(*times: datetime | None) -> datetime | None:
    return min((time for time in times if time is not None), default=None)


def code_public_at(schedule: Schedule, board_deadline: datetime | None, submitted_at: datetime) -> datetime | None:
    """Return the time of publication, apart from a freeze; None: never without the owner's act."""
    if stage_of(schedule, submitted_at, board_deadline=board_deadline) is Stage.AFTERWARDS:
        return None
    return over_at(schedule, board_deadline)


def is_code_public(
    schedule: Schedule, board_deadline: datetime | None, submitted_at: datetime, *, is_released: bool, now: datetime
) -> bool:
    """Return whether the code of a shown line is public.

    Code is private to its owner until the contest is over and no part of the standing is frozen. Code that is sent
    after the end, or to a board without an end, stays private. An owner may publish their code earlier. A result
    without a shown line (held, rejected, retracted, frozen) shows no code.
    """
    if is_released:
        return True
    if code_public_at(schedule, board_deadline, submitted_at) is None or is_frozen_at(schedule, now):
        return False
    return is_over_at(schedule, now, board_deadline=board_deadline)
