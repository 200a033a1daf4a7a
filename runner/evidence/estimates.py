"""Evidence in the form that rules.py reads: each timed case with its estimates, repeats and bounds. Pure.

Times here are the certified times, with an exception: on the judge's wall clock, the cost of a call without work is not
subtracted, on all sides. A constant that a disturbed machine made too large must not make an honest kernel look
impossible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from runner.evidence import stats
from runner.evidence.certificate import certify
from runner.evidence.sample import BASELINE, CANDIDATE, INCUMBENT, Sample
from runner.evidence.schema import Evidence, Timing
from runner.evidence.speed_of_light import CaseLimits

LEAST_BLOCKS: Final = 6  # the smallest number whose extremes enclose their median
WAVERS: Final = 1.30  # upper bound of the candidate's interval over its lower bound
STEADY: Final = 1.10  # the same quotient of the baseline's interval


@dataclass(frozen=True)
class TimedCase:
    """Timed case with the run's limits for it."""

    timing: Timing
    evidence: Evidence

    @property
    def name(self) -> str:
        return self.timing.case

    @cached_property
    def limits(self) -> CaseLimits:
        return self.evidence.limits.of(self.timing.case)

    @cached_property
    def _blocks_ns(self) -> dict[str, list[float]]:
        return {}

    def blocks_ns(self, side: str) -> list[float]:
        """Return the times of this side's valid blocks, in ns; the module's text names the cost that is left in."""
        if side not in self._blocks_ns:
            sides = {BASELINE: (0, 3), CANDIDATE: (1, 2)} if side != INCUMBENT else {INCUMBENT: (1, 2)}
            quads = certify(self.timing, self.evidence, list(sides)[-1], with_constant=True).quads
            for name, places in sides.items():
                self._blocks_ns[name] = [quad[place] for quad in quads for place in places if quad[place] > 0]
        return self._blocks_ns[side]

    @cached_property
    def candidate(self) -> stats.Estimate | None:
        return self._estimate(CANDIDATE)

    @cached_property
    def compared(self) -> stats.Estimate | None:
        """The candidate's time as rules compare it: `high` is the median if it wavers beside a steady baseline.

        Such a candidate causes the wide interval itself, and must not profit from it.
        """
        time, baseline = self.candidate, self.baseline
        is_steady = baseline is not None and baseline.high <= STEADY * baseline.low
        return replace(time, high=time.value) if time and is_steady and time.high > WAVERS * time.low else time

    @cached_property
    def baseline(self) -> stats.Estimate | None:
        return self._estimate(BASELINE)

    @cached_property
    def incumbent(self) -> stats.Estimate | None:
        return self._estimate(INCUMBENT)

    @cached_property
    def ratio(self) -> float | None:
        """Candidate over baseline: the median over the quads, without the cost of a call without work."""
        quads = [quad for quad in certify(self.timing, self.evidence).quads if min(quad) > 0]
        found = [math.log(b) + math.log(c) - (math.log(a) + math.log(d)) for a, b, c, d in quads]
        return math.exp(stats.median(found) / 2) if found else None

    def repeats(self, side: str, *, hot: bool = False, near: bool = False) -> list[tuple[float, float]]:
        """Return (fresh, again) in ns of this side's repeats.

        `hot` selects repeats before which the cache was left as it was; `near`, repeats of an input that was slightly
        changed.
        """
        pairs = [
            (self.time_ns(one.fresh), self.time_ns(one.again))
            for one in self.timing.repeats
            if (one.side, one.hot, one.near) == (side, hot, near)
        ]
        return [pair for pair in pairs if min(pair) > 0]

    def calls(self, side: str, *, over_baseline: bool = True) -> list[float]:
        """Return ln of each call's time over the baseline's in the same quad, which cancels slowdowns of both."""
        return [call for block in self.blocks(side, over_baseline=over_baseline) for call in block]

    def blocks(self, side: str, *, over_baseline: bool = True) -> list[list[float]]:
        """Return the values of `calls` by block, in the order of the calls: each block's first call came right after a
        thaw."""
        found = []
        for quad in self.timing.quads:
            if not quad.compares():
                continue
            ours = [self.time_ns(call) for block in quad.of(BASELINE) for call in block.calls]
            scale = stats.median(ours) if over_baseline else 1.0
            for block in quad.of(side):
                times = [self.time_ns(call) for call in block.calls]
                found.append([math.log(time / scale) for time in times if scale > 0 and time > 0])
        return found

    def time_ns(self, sample: Sample) -> float:
        return sample.at_once_ns(clock=self.evidence.clock, certified=self.evidence.certified)

    def _estimate(self, side: str) -> stats.Estimate | None:
        blocks = self.blocks_ns(side)
        return stats.median_estimate(blocks) if len(blocks) >= LEAST_BLOCKS else None


class Run:
    """Timed cases of an evidence."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.ceilings = evidence.limits.ceilings
        self.cases = [TimedCase(timing, evidence) for timing in evidence.timing]

    @cached_property
    def ratio(self) -> float | None:
        """Ratio over all cases, by the problem's way of ranking; None if a case has no ratio."""
        ratios = [case.ratio for case in self.cases if case.ratio is not None]
        if not ratios or len(ratios) < len(self.cases):
            return None
        if self.evidence.ranking_by == "geom":
            return stats.geometric_mean(ratios)
        return sum(ratios) / len(ratios) if self.evidence.ranking_by == "mean" else ratios[-1]
