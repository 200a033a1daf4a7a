"""A competition's phase in words, for pages and the API: its meaning, its next change, and the row of all phases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from leaderboard.competitions.calendar import TAKING, Phase, Schedule, Span, is_frozen_at, span_at, timeline

_TITLES: Final = {
    Phase.BEFORE: "Not begun",
    Phase.PRACTICE: "Practice",
    Phase.CONTEST: "Contest",
    Phase.FROZEN: "Frozen",
    Phase.REVIEW: "Under review",
    Phase.FINAL: "Final",
    Phase.OPEN: "Open again",
}
_MEANINGS: Final = {
    Phase.BEFORE: "nothing is taken yet.",
    Phase.PRACTICE: "does not count. The contest has a standing of its own, which begins empty.",
    Phase.CONTEST: "what is sent now counts.",
    Phase.FROZEN: "what is sent now counts, and is shown at the reveal.",
    Phase.REVIEW: "nothing more is taken, and what was sent is looked at before the standing is final.",
    Phase.FINAL: "the standing stands, and nothing more is taken.",
    Phase.OPEN: "the contest's standing is final; what is sent now ranks apart from it.",
}
_CHANGES: Final = {
    Phase.BEFORE: "begins",
    Phase.PRACTICE: "practice begins",
    Phase.CONTEST: "the contest begins",
    Phase.FROZEN: "the standing freezes",
    Phase.REVIEW: "closes",
    Phase.FINAL: "is final",
    Phase.OPEN: "is final, and open again",
}
_TONES: Final = {Phase.PRACTICE: "running", Phase.CONTEST: "good", Phase.FROZEN: "warn", Phase.REVIEW: "warn"}


@dataclass(frozen=True)
class Step:
    """A phase of the timeline."""

    title: str
    since: datetime | None
    until: datetime | None
    state: str  # past, now, coming


@dataclass(frozen=True)
class PhaseShown:
    phase: Phase
    title: str
    meaning: str  # follows the title
    tone: str  # of its chip
    is_hidden: bool  # a part of the standing waits for the reveal
    until: datetime | None  # the next change; None: none is known
    change: str  # the event at `until`
    steps: list[Step]

    @property
    def takes(self) -> bool:
        return self.phase in TAKING

    @property
    def is_plain(self) -> bool:
        """Whether this is a contest that counts, which needs no notice to competitors."""
        return self.phase is Phase.CONTEST


def phase_shown(schedule: Schedule, now: datetime) -> PhaseShown:
    spans, here = timeline(schedule), span_at(schedule, now)
    after = spans[spans.index(here) + 1] if here.until is not None else None
    is_hidden = is_frozen_at(schedule, now)
    meaning = _MEANINGS[here.phase]
    if here.phase is Phase.REVIEW and is_hidden:
        meaning += " The end of it is shown at the reveal."
    return PhaseShown(
        phase=here.phase,
        title=_TITLES[here.phase],
        meaning=meaning,
        tone=_TONES.get(here.phase, ""),
        is_hidden=is_hidden,
        until=here.until,
        change=_CHANGES[after.phase] if after else "",
        steps=[_step(span, here) for span in spans] + _to_come(spans[-1], schedule),
    )


def _step(span: Span, here: Span) -> Step:
    state = "now" if span == here else "past" if _starts(span) < _starts(here) else "coming"
    return Step(_TITLES[span.phase], span.since, span.until, state)


def _to_come(last: Span, schedule: Schedule) -> list[Step]:
    """Return the step after a review, which a person has yet to declare; empty in other phases."""
    if last.phase is not Phase.REVIEW:
        return []
    return [Step(_TITLES[Phase.OPEN if schedule.stays_open else Phase.FINAL], None, None, "coming")]


def _starts(span: Span) -> float:
    return span.since.timestamp() if span.since is not None else float("-inf")
