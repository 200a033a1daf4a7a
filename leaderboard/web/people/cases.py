"""Timed cases of published runs: one run with its machine, two runs side by side, the first runs of a board."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, Final

from leaderboard.judging.archive import Reading, look, look_at_all
from leaderboard.judging.models import Result
from leaderboard.standings.models import Entry
from leaderboard.standings.read.boards import RankedEntry, lines_of
from leaderboard.standings.read.table import Table
from leaderboard.web.organise.state_pages import facts_of
from leaderboard.web.review.evidence import evidence_of, real
from leaderboard.wording.figures import caution, times_alone
from runner.evidence.sample import CANDIDATE

MOST_CASES: Final = 200
MOST_COLUMNS: Final = 8  # entries of a board's matrix; each costs the reading of a report
NAME_CHARS: Final = 200


@dataclass(frozen=True)
class CaseTime:
    name: str
    measured_us: float
    baseline_us: float | None
    ratio: float | None
    half_width: float | None

    @property
    def caution(self) -> str:
        """The explanation of a speedup below the quotient of its two times."""
        return caution(times_alone(self.ratio, self.measured_us, self.baseline_us))


@dataclass(frozen=True)
class TimedCases:
    rows: Sequence[CaseTime]
    problem: str  # sentence, where the report cannot be read
    left_out: int  # cases after the first MOST_CASES


@dataclass(frozen=True)
class Machine:
    """The device of a run, with its clock as telemetry saw it at the ends of the candidate's blocks."""

    facts: Sequence[str]
    clock_mhz: tuple[float, float, float] | None  # lowest, median, highest; None: the device reports no clock


class Run:
    """A stored run, as everybody may see it who sees its line."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    @cached_property
    def timed(self) -> TimedCases:
        """Return names and times of the timed cases, never a message.

        The timed cases of a problem are public, and their mean is the line itself.
        """
        cases = self._reading.report.get("cases", [])
        rows = [row for case in cases if isinstance(case, dict) and (row := case_time(case)) is not None]
        return TimedCases(rows[:MOST_CASES], self._reading.problem, max(0, len(rows) - MOST_CASES))

    @cached_property
    def machine(self) -> Machine | None:
        """Return the machine; None if the evidence cannot be read."""
        evidence = evidence_of(self._reading.report)
        if evidence is None:
            return None
        blocks = (block for timing in evidence.timing for quad in timing.quads for block in quad.of(CANDIDATE))
        clocks = [clock for block in blocks if (clock := real(block.heat.after.clock_mhz))]
        return Machine(facts_of(evidence.fingerprint), (min(clocks), median(clocks), max(clocks)) if clocks else None)


def run_of(entry: Entry) -> Run:
    return Run(look(entry.attempt.result))


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


@dataclass(frozen=True)
class Cell:
    """A case in the run of a line."""

    line: RankedEntry
    time: CaseTime | None  # None: the run did not time the case
    is_best: bool  # no other cell of the row has a better speedup


@dataclass(frozen=True)
class Matrix:
    """The timed cases of a board by its first entries. An entry's column is the earliest run of its kernel."""

    lines: Sequence[RankedEntry]
    rows: Sequence[tuple[str, Sequence[Cell]]]  # by case
    problems: Sequence[str]  # sentences about reports that cannot be read


def matrix(table: Table) -> Matrix:
    """Return the matrix of a board's first entries, with rows in the order of the leader's run."""
    lines = lines_of(table, table.places[:MOST_COLUMNS])
    attempts = [line.entry.attempt_id for line in lines]
    results = {result.attempt_id: result for result in Result.objects.defer("inline").filter(attempt__in=attempts)}
    lines = [line for line in lines if line.entry.attempt_id in results]
    runs = [Run(reading).timed for reading in look_at_all([results[line.entry.attempt_id] for line in lines])]
    columns = [{row.name: row for row in run.rows} for run in runs]
    rows = []
    for name in list(dict.fromkeys(name for column in columns for name in column))[:MOST_CASES]:
        times = [column.get(name) for column in columns]
        best = min((time.ratio for time in times if time and time.ratio), default=None)
        pairs_of_row = zip(lines, times, strict=True)
        rows.append(
            (
                name,
                [
                    Cell(line, time, best is not None and time is not None and time.ratio == best)
                    for line, time in pairs_of_row
                ],
            )
        )
    return Matrix(lines, rows, list(dict.fromkeys(run.problem for run in runs if run.problem)))
