"""Pure: conclusions from a stored report's samples, computed anew. The judge's own conclusions are not used, except
for the costs of containers' contexts and gaps (`contexts`, `gaps`; `runner replay` computes these anew).

A sample is a call: [wall, put, take, inner, probe, thaw, freeze] in ns; all but `inner` are the judge's (the schema
is docs/report.schema.json, the way of a call docs/how-it-measures.md). On the `wall` clock a call's time is the wall
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

T = TypeVar("T")
JSON = Mapping[str, Any]
Pairs = list[tuple[float, float]]

CONFIDENCE: Final = 0.95
LEAST_BLOCKS: Final = 6  # the smallest number whose extremes enclose their median with CONFIDENCE
BASELINE, CANDIDATE, INCUMBENT = "baseline", "candidate", "incumbent"
EVENT: Final = "event"


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
    calls: list[gap.Call]  # by both clocks, if there are two


@dataclass(frozen=True)
class Case:
    """A timed case of a run."""

    timing: JSON
    bounds: JSON  # of limits.cases: hard, measured, legal, work
    is_event: bool
    certified: bool

    @property
    def name(self) -> str:
        return str(self.timing["case"])

    @cached_property
    def quads(self) -> list[list[Block]]:
        """The quads that are not void."""
        return [[self._block(block) for block in quad["blocks"]] for quad in self.timing["quads"] if not quad["void"]]

    def raised_ns(self, side: str) -> float:
        """Return the ns to add to this side's events.

        This is the time that the judge's clock certainly saw beyond them, less the cost of the side's own context. It
        is taken over all calls or the fastest, whichever hide more: runner/evidence/gap.py, which the judge uses too.
        """
        quads = self._complete(side)
        if not self.is_event or not quads or side == BASELINE:
            return 0.0
        if side not in self._raised:
            self._raised[side] = self._hidden_ns(quads, side)
        return self._raised[side]

    def _hidden_ns(self, quads: list[list[Block]], side: str) -> float:
        calls = [(_calls(quad, BASELINE), _calls(quad, side)) for quad in quads]
        found = gap.of_case(self.timing, calls, BASELINE, side)
        return max(one.beyond for one in found) - gap.context_ns(self.timing, side)

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
        if not self.is_event and self.timing["idle"]:
            spent = sorted(self.spent_ns(sample) for sample in self.timing["idle"])
            idle = spent[len(spent) // 4]
        found, more = [], self.raised_ns(CANDIDATE)
        for quad in self._complete(CANDIDATE):
            ours = [block.spent_ns - idle for block in quad if block.side == BASELINE]
            theirs = [block.spent_ns + more - idle for block in quad if block.side == CANDIDATE]
            if min(*ours, *theirs) > 0:
                found.append(sum(map(math.log, theirs)) - sum(map(math.log, ours)))
        return math.exp(median(found) / 2) if found else None

    def limit(self, kind: str) -> tuple[float, str] | None:
        """Return (least ns, resource) of the `hard`, `measured` or `legal` limit."""
        found = self.bounds.get(kind)
        return (float(found["ns"]), str(found["resource"])) if found else None

    def repeats(self, side: str, *, hot: bool = False, near: bool = False) -> Pairs:
        """Return (first, second) call times in ns on repeated inputs; `near`: repeated but for a few elements."""
        found = [one for one in self.timing["repeats"] if one["side"] == side]
        wanted = [one for one in found if (one.get("hot", False), one.get("near", False)) == (hot, near)]
        pairs = [(self.spent_ns(one["fresh"]), self.spent_ns(one["again"])) for one in wanted]
        return [pair for pair in pairs if min(pair) > 0]

    def spent_ns(self, sample: Sequence[float]) -> float:
        if self.is_event:
            return sample[3]
        return sample[0] - sample[1] - sample[2] if self.certified else sample[0]

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

    def _block(self, block: JSON) -> Block:
        times = [self.spent_ns(sample) for sample in block["calls"]]
        if not self.is_event:
            return Block(str(block["side"]), median(times), [])
        return Block(str(block["side"]), midmean(times), [(sample[0], sample[3]) for sample in block["calls"]])

    def _time(self, side: str) -> Interval | None:
        blocks = self.blocks_ns(side)
        return interval(blocks) if len(blocks) >= LEAST_BLOCKS else None


def _calls(quad: list[Block], side: str) -> list[list[gap.Call]]:
    return [block.calls for block in quad if block.side == side]


@dataclass(frozen=True)
class Run:
    """A run of a report; a confirmation has several."""

    evidence: JSON
    cases: tuple[Case, ...]

    @property
    def is_tuned(self) -> bool:
        return bool(self.evidence.get("tuned"))

    @property
    def ceilings(self) -> JSON:
        return self._limits.get("ceilings") or {}

    @property
    def legal(self) -> list[str]:
        return [str(name) for name in self._limits.get("legal") or ()]

    @property
    def checks(self) -> Sequence[JSON]:
        return self.evidence.get("checks") or ()

    @property
    def findings(self) -> Sequence[JSON]:
        return self.evidence.get("findings") or ()

    @property
    def is_certified(self) -> bool:
        return bool(self.evidence["certified"]) and not self.evidence.get("left_out")

    @property
    def _limits(self) -> JSON:
        return self.evidence.get("limits") or {}

    @cached_property
    def ratio(self) -> float | None:
        """The ratio over all cases, by the problem's way of ranking; None if a case has no ratio."""
        ratios = [case.ratio for case in self.cases if case.ratio is not None]
        if not ratios or len(ratios) < len(self.cases):
            return None
        how = self.evidence.get("ranking_by", "geom")
        if how == "geom":
            return math.exp(sum(map(math.log, ratios)) / len(ratios))
        return sum(ratios) / len(ratios) if how == "mean" else ratios[-1]


def read(report: JSON) -> tuple[Run, ...]:
    """Return the runs of a report; none if it carries no evidence. Raises UnreadableError."""
    evidence = report.get("evidence")
    if not evidence:
        return ()
    try:
        schema.parse(evidence)
    except schema.ReportError as error:
        raise UnreadableError(str(error)) from None
    return guarded(lambda: tuple(_run(one) for one in (evidence.get("runs") or [evidence])))


def guarded(work: Callable[[], T]) -> T:
    """Run `work`; any error that malformed samples cause becomes UnreadableError."""
    try:
        return work()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise UnreadableError(f"{type(error).__name__}: {str(error)[:200]}") from error


def _run(evidence: JSON) -> Run:
    bounds = {one["case"]: one for one in (evidence.get("limits") or {}).get("cases", ())}
    return Run(evidence, tuple(_cases(evidence, bounds)))


def _cases(evidence: JSON, bounds: JSON) -> Iterator[Case]:
    for timing in evidence["timing"]:
        case = Case(
            timing=timing,
            bounds=bounds.get(timing["case"], {}),
            is_event=evidence["clock"] == EVENT,
            certified=bool(evidence["certified"]),
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
