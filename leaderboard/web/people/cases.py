"""Timed cases of published runs: what a run measured case by case, and two runs side by side."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from leaderboard.judging.archive import look
from leaderboard.standings.models import Entry

MOST_CASES: Final = 200
NAME_CHARS: Final = 200


@dataclass(frozen=True)
class CaseTime:
    name: str
    measured_us: float
    baseline_us: float | None
    ratio: float | None
    half_width: float | None


@dataclass(frozen=True)
class TimedCases:
    rows: Sequence[CaseTime]
    problem: str  # sentence, where the report cannot be read
    left_out: int  # cases after the first MOST_CASES


def timed_cases(entry: Entry) -> TimedCases:
    """Return names and times of the timed cases of an entry's run, never a message.

    Everybody who sees a line may see them: the timed cases of a problem are public, and their mean is the line itself.
    """
    reading = look(entry.attempt.result)
    cases = reading.report.get("cases", [])
    rows = [row for case in cases if isinstance(case, dict) and (row := case_time(case)) is not None]
    return TimedCases(rows[:MOST_CASES], reading.problem, max(0, len(rows) - MOST_CASES))


def case_time(case: Mapping[str, Any]) -> CaseTime | None:
    measured = positive(case.get("measured_us"))
    if measured is None or not case.get("public", True):
        return None
    baseline, ratio = positive(case.get("baseline_us")), positive(case.get("ratio"))
    if ratio is None and baseline is not None:
        ratio = measured / baseline
    return CaseTime(str(case.get("name", ""))[:NAME_CHARS], measured, baseline, ratio, positive(case.get("half_width")))


def positive(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and value > 0 else None


@dataclass(frozen=True)
class Pair:
    """A case of two runs. `change`: speedup of the second over the first."""

    name: str
    first: CaseTime | None
    second: CaseTime | None

    @property
    def change(self) -> float | None:
        """How many times as fast the second is, from the ratios to the baseline that ran beside each."""
        if self.first is None or self.second is None or self.first.ratio is None or self.second.ratio is None:
            return None
        return self.first.ratio / self.second.ratio


def pairs(first: Sequence[CaseTime], second: Sequence[CaseTime]) -> list[Pair]:
    """Match cases by name, in the order of the first run, then the second run's further cases."""
    one, other = ({row.name: row for row in rows} for rows in (first, second))
    return [Pair(name, one.get(name), other.get(name)) for name in dict.fromkeys([*one, *other])]
