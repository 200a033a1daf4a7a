"""A competition's phase in words, for pages and the API: its meaning, its next change, and the row of all phases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from leaderboard.competitions.calendar import TAKING, Phase, Schedule, is_frozen_at, span_at, timeline

_TITLES: Final = {
    Phase.BEFORE: "Not started",
    Phase.PRACTICE: "Practice",
    Phase.CONTEST: "Contest",
    Phase.FROZEN: "Frozen",
    Phase.REVIEW: "Under review",
    Phase.FINAL: "Final",
    Phase.OPEN: "Open again",
}
_MEANINGS: Final = {
    Phase.BEFORE: "submissions are not open yet.",
    Phase.PRACTICE: "submissions do not count. The contest starts with an empty standing of its own.",
    Phase.CONTEST: "submissions count.",
    Phase.FROZEN: "submissions count, and their results appear at the reveal.",
    Phase.REVIEW: "submissions are closed, and results are reviewed before the standing becomes final.",
    Phase.FINAL: "the standing is final, and submissions are closed.",
    Phase.OPEN: "the contest's standing is final. New submissions rank in a separate standing.",
}
_CHANGES: Final = {
    Phase.BEFORE: "begins",
    Phase.PRACTICE: "practice begins",
    Phase.CONTEST: "the contest begins",
    Phase.FROZEN: "the standing freezes",
    Phase.REVIEW: "closes",
    Phase.FINAL: "becomes final",
    Phase.OPEN: "becomes final and opens again",
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
    at = spans.index(here)
    meaning = _MEANINGS[here.phase]
    if here.phase is Phase.REVIEW and is_frozen_at(schedule, now):
        meaning += " Results from the freeze on are shown at the reveal."
    states = ["past"] * at + ["now"] + ["coming"] * (len(spans) - at - 1)
    steps = [
        Step(_TITLES[span.phase], span.since, span.until, state) for span, state in zip(spans, states, strict=True)
    ]
    if spans[-1].phase is Phase.REVIEW:  # an organiser has yet to declare its end
        steps.append(Step(_TITLES[Phase.OPEN if schedule.stays_open else Phase.FINAL], None, None, "coming"))
    return PhaseShown(
        phase=here.phase,
        title=_TITLES[here.phase],
        meaning=meaning,
        tone=_TONES.get(here.phase, ""),
        until=here.until,
        change=_CHANGES[spans[at + 1].phase] if here.until is not None else "",
        steps=steps,
    )
