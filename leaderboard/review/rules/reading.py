"""Pure: conclusions from a stored report's samples, computed anew. The judge's own conclusions are not used, except
for the costs of containers' contexts and gaps (`contexts`, `gaps`; `runner replay` computes these anew).

On the `wall` clock a call's time is the wall
clock less the judge's copying; on the `event` clock it is the time of the device's events, raised to the time that the
wall clock confirms. The fixed overhead of a call stays in on the wall clock, on all sides, as in the judge's own
rules: a constant that a disturbed machine made too large must not make an honest kernel look impossible. Only `ratio`
subtracts it.

Work is linear in the samples. Malformed evidence raises UnreadableError, and no other error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, TypeVar

from runner.evidence import gap, schema
from runner.evidence.sample import BASELINE, CANDIDATE, EVENT, INCUMBENT, WALL, Sample
from runner.evidence.schema import Evidence, Timing
from runner.evidence.speed_of_light import CaseLimits

T = TypeVar("T")
JSON = Mapping[str, Any]
Pairs = list[tuple[float, float]]

CONFIDENCE: Final = 0.95
LEAST_BLOCKS: Final = 6  # the smallest number whose extremes enclose their median with CONFIDENCE


class UnreadableError(ValueError):
    """The evidence does not fit its schema; the text names the place."""


@dataclass(frozen=True)
class Interval:
    """A median, and order statistics that enclose it at CONFIDENCE."""

    value: float
    low: float
    high: float


class Block(NamedTuple):
    side: str
    spent_ns: float  # on the clock that counts, events as reported


@dataclass(frozen=True)
class Case:
    """A timed case of a run."""

    timing: Timing
    limits: CaseLimits
    is_event: bool
    certified: bool

    @property
    def name(self) -> str:
        return self.timing.case

    @cached_property
    def quads(self) -> list[list[Block]]:
        """The quads that are not void."""
        return [[self._block(block) for block in quad.blocks] for quad in self.timing.quads if not quad.void]

    def raised_ns(self, side: str) -> float:
        """Return the ns to add to this side's events.

        This is the time that the judge's clock certainly saw beyond them, less the cost of the side's own context. It
        is taken over all calls or the fastest, whichever hide more: runner/evidence/gap.py, which the judge uses too.
        """
        quads = [quad for quad in self.timing.quads if quad.compares(side)]
        if not self.is_event or not quads or side == BASELINE:
            return 0.0
        if side not in self._raised:
            found = gap.of_case(self.timing, quads, side)
            self._raised[side] = max(one.beyond for one in found) - gap.context_ns(self.timing, side)
        return self._raised[side]

    def blocks_ns(self, side: str) -> list[float]:
        """Return the times of this side's valid blocks in ns; each is the middle of its calls."""
        if side not in self._times:
            other = CANDIDATE if side == BASELINE else side
            more = self.raised_ns(side)
            times = [block.spent_ns + more for quad in self._complete(other) for block in quad if block.side == side]
            self._times[side] = [time for time in times if time > 0]
        return self._times[side]

    @cached_property
    def _raised(self) -> dict[str, float]:
        return {}

    @cached_property
    def _times(self) -> dict[str, list[float]]:
        return {}

    @cached_property
    def candidate(self) -> Interval | None:
        return self._time(CANDIDATE)

    @cached_property
    def baseline(self) -> Interval | None:
        return self._time(BASELINE)

    @cached_property
    def incumbent(self) -> Interval | None:
        return self._time(INCUMBENT)

    @cached_property
    def ratio(self) -> float | None:
        """Candidate over baseline as it ranks: median over the quads, without the cost of an idle call."""
        idle = 0.0
        if not self.is_event and self.timing.idle:
            spent = sorted(self.spent_ns(sample) for sample in self.timing.idle)
            idle = spent[len(spent) // 4]
        found, more = [], self.raised_ns(CANDIDATE)
        for quad in self._complete(CANDIDATE):
            ours = [block.spent_ns - idle for block in quad if block.side == BASELINE]
            theirs = [block.spent_ns + more - idle for block in quad if block.side == CANDIDATE]
            if min(*ours, *theirs) > 0:
                found.append(sum(map(math.log, theirs)) - sum(map(math.log, ours)))
        return math.exp(median(found) / 2) if found else None

    def repeats(self, side: str, *, hot: bool = False, near: bool = False) -> Pairs:
        """Return (first, second) call times in ns on repeated inputs; `near`: repeated but for a few elements."""
        wanted = [one for one in self.timing.repeats if (one.side, one.hot, one.near) == (side, hot, near)]
        pairs = [(self.spent_ns(one.fresh), self.spent_ns(one.again)) for one in wanted]
        return [pair for pair in pairs if min(pair) > 0]

    def spent_ns(self, sample: Sample) -> float:
        return sample.at_once_ns(clock=EVENT if self.is_event else WALL, certified=self.certified)

    def _complete(self, side: str) -> list[list[Block]]:
        """Return the quads with two blocks of the baseline and two of this side."""
        return self._by_side.get(side, [])

    @cached_property
    def _by_side(self) -> dict[str, list[list[Block]]]:
        found: dict[str, list[list[Block]]] = {}
        for quad in self.quads:
            sides = [block.side for block in quad]
            for side in set(sides):
                if sides.count(BASELINE) == sides.count(side) == 2:
                    found.setdefault(side, []).append(quad)
        return found

    def _block(self, block: schema.Block) -> Block:
        times = [self.spent_ns(sample) for sample in block.calls]
        return Block(block.side, midmean(times) if self.is_event else median(times))

    def _time(self, side: str) -> Interval | None:
        blocks = self.blocks_ns(side)
        return interval(blocks) if len(blocks) >= LEAST_BLOCKS else None


@dataclass(frozen=True)
class Run:
    """A run of a report; a confirmation has several."""

    evidence: Evidence
    cases: tuple[Case, ...]

    @property
    def is_certified(self) -> bool:
        return self.evidence.certified and not self.evidence.left_out

    @cached_property
    def ratio(self) -> float | None:
        """The ratio over all cases, by the problem's way of ranking; None if a case has no ratio."""
        ratios = [case.ratio for case in self.cases if case.ratio is not None]
        if not ratios or len(ratios) < len(self.cases):
            return None
        how = self.evidence.ranking_by
        if how == "geom":
            return math.exp(sum(map(math.log, ratios)) / len(ratios))
        return sum(ratios) / len(ratios) if how == "mean" else ratios[-1]


def read(report: JSON) -> tuple[Run, ...]:
    """Return the runs of a report; none if it carries no evidence. Raises UnreadableError."""
    evidence = report.get("evidence")
    if not evidence:
        return ()
    try:
        parsed = schema.parse(evidence)
    except schema.ReportError as error:
        raise UnreadableError(str(error)) from None
    runs = [parsed] if isinstance(parsed, Evidence) else parsed.runs
    return guarded(lambda: tuple(Run(run, tuple(_cases(run))) for run in runs))


def guarded(work: Callable[[], T]) -> T:
    """Run `work`; any error that malformed samples cause becomes UnreadableError."""
    try:
        return work()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise UnreadableError(f"{type(error).__name__}: {str(error)[:200]}") from error


def _cases(evidence: Evidence) -> Iterator[Case]:
    for timing in evidence.timing:
        case = Case(
            timing=timing,
            limits=evidence.limits.of(timing.case),
            is_event=evidence.clock == EVENT,
            certified=evidence.certified,
        )
        if not all(math.isfinite(block.spent_ns) for quad in case.quads for block in quad):
            raise UnreadableError(f"case {case.name[:100]!r} has times that are no numbers")
        yield case


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def midmean(values: Sequence[float]) -> float:
    """Return the mean of the middle half."""
    quarter = len(values) // 4
    middle = sorted(values)[quarter : len(values) - quarter]
    return sum(middle) / len(middle)


def interval(values: Sequence[float]) -> Interval:
    """Return the median with its order statistics, without an assumption on the distribution.

    Needs at least a value.
    """
    ordered = sorted(values)
    place = _place(len(ordered))
    return Interval(median(ordered), ordered[place], ordered[-1 - place])


@lru_cache(maxsize=4096)
def _place(count: int) -> int:
    """Return how many values may be left out at each end; exact integer arithmetic, for thousands of values as well.

    The k-th smallest and largest of n enclose the median with probability 1 - 2 P(Binomial(n, 1/2) < k).
    """
    allowed = 2**count // 40  # of 2**n: half of the probability outside CONFIDENCE
    place, below, term = 0, 1, 1
    while 2 * (place + 2) <= count + 1:
        term = term * (count - place) // (place + 1)
        if below + term > allowed:
            break
        below, place = below + term, place + 1
    return place
