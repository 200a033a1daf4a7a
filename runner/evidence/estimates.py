"""Evidence in the form that rules.py reads: each timed case with its estimates, repeats and bounds. Pure.

Times here are the certified times, with an exception: on the judge's wall clock, the cost of a call without work is not
subtracted, on all sides. A constant that a disturbed machine made too large must not make an honest kernel look
impossible.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from runner.evidence import stats
from runner.evidence.certificate import Certified, certify
from runner.evidence.sample import BASELINE, CANDIDATE, EVENT, INCUMBENT, Sample
from runner.evidence.schedule import differences, share_of
from runner.evidence.schema import Evidence, Timing
from runner.evidence.speed_of_light import CaseLimits

UNSTEADY: Final = 0.30  # half-width of a case's interval beyond which a kernel can be erratic
LEAST_QUADS: Final = 3  # fewer give no result
OWN_DOING: Final = 2.0  # times the baseline's scatter: a kernel that scatters more does it by itself
LEAST_BLOCKS: Final = 6  # the smallest number whose extremes enclose their median
WAVERS: Final = 1.30  # upper bound of the candidate's interval over its lower bound
STEADY: Final = 1.10  # the same quotient of the baseline's interval


@dataclass(frozen=True)
class CaseTime:
    """Result of a timed case. Times in ns; `estimate` of ln(candidate / baseline)."""

    case: str
    baseline_ns: float
    candidate_ns: float
    estimate: stats.Estimate
    erratic: bool = False  # its own calls differ that much: `estimate.value` is then the upper end of the interval
    forgeable: float = 0.0  # at most this share of the true time is missing
    noisy: bool = False  # the machine was disturbed: `estimate.value` is then near the upper end of the interval
    spoilt: str = ""  # why quads are void on the candidate's account
    resolution: float = 0.0  # of ln(candidate / baseline), by the clock's steps: no interval is narrower
    context_sd: float = 0.0  # standard deviation of ln(candidate / baseline) by the sides' contexts: one for all quads

    @property
    def ratio(self) -> float:
        return math.exp(self.estimate.value)

    @property
    def half_width(self) -> float:
        """Half-width of the 95 % interval, contexts included; `estimate` has the noise within the run alone."""
        return math.hypot(self.estimate.half_width, stats.NORMAL_95 * self.context_sd)


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
    def _quads(self) -> list[list[float]]:
        return certify(self.timing, self.evidence, with_constant=True).quads

    def blocks_ns(self, side: str) -> list[float]:
        """Return the times of this side's valid blocks, in ns; the module's text names the cost that is left in."""
        quads, places = self._quads, (0, 3) if side == BASELINE else (1, 2)
        if side == INCUMBENT:
            quads = certify(self.timing, self.evidence, side, with_constant=True).quads
        return [quad[place] for quad in quads for place in places if quad[place] > 0]

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
    def time(self) -> CaseTime | None:
        """The time by which the judge decides; its `ratio` ranks."""
        return case_time(self.timing, self._certified, self.evidence)

    def ratio_of(self, side: str) -> float | None:
        """Return this side over the baseline: the median over the quads, without the cost of a call without work.

        Unlike the ratio that ranks, it does not count noise and void quads against the candidate.
        """
        certified = self._certified if side == CANDIDATE else certify(self.timing, self.evidence, side)
        quads = [quad for quad in certified.quads if min(quad) > 0]
        found = [math.log(b) + math.log(c) - (math.log(a) + math.log(d)) for a, b, c, d in quads]
        return math.exp(stats.median(found) / 2) if found else None

    @cached_property
    def _certified(self) -> Certified:
        return certify(self.timing, self.evidence)

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

    def blocks(self, side: str, *, over_baseline: bool = True) -> list[list[float]]:
        """Return ln of each call's time over the baseline's in the same quad, which cancels slowdowns of both.

        By block, in the order of the calls: each block's first call came right after a thaw.
        """
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
        """The ratio that ranks, over all cases; None if a case has no time."""
        times = [case.time for case in self.cases]
        ratios = [time.ratio for time in times if time is not None]
        return rank(ratios, self.evidence.ranking_by) if ratios and len(ratios) == len(times) else None


def case_time(timing: Timing, certified: Certified, evidence: Evidence) -> CaseTime | None:
    """Return the time of a case; None if too little of the time is left for a result.

    A quad that is void on the candidate's account counts as infinitely slow: a submission gains nothing by spoiling a
    quad that goes badly. A time that varies by the candidate's own doing, while the baseline beside it is steady,
    stands at the upper end of its interval: the only certainty is that it is no longer. If the machine made the
    interval wide, the time stands no farther below that end than the profile's `believed`: luck wins no rank.
    """
    profile = evidence.profile
    step_ns = tick_ns(timing) if evidence.clock == EVENT else 0.0
    quads = certified.quads
    found = differences(quads)
    if len(found) <= len(quads) / 2 or len(found) < LEAST_QUADS:
        return None
    spoilt = [quad.void for quad in timing.quads if quad.void and quad.charged == CANDIDATE]
    estimate = stats.median_estimate([*found, *([math.inf] * len(spoilt))])
    steady = stats.median_estimate([math.log(quad[3] / quad[0]) for quad in quads if min(quad) > 0])
    scatter = UNSTEADY if evidence.rules == 1 else estimate.half_width
    erratic = UNSTEADY < estimate.half_width < math.inf and steady.half_width < scatter / OWN_DOING
    least = estimate.high - profile.believed
    could_rank = not erratic and estimate.half_width <= profile.unsteady
    noisy = bool(profile.believed) and could_rank and estimate.value < least
    baseline = stats.median([time for quad in quads for time in (quad[0], quad[3])])
    candidate = stats.median([time for quad in quads for time in (quad[1], quad[2])])
    if min(baseline, candidate) <= 0:
        return None
    resolution = share_of(step_ns, baseline, candidate)
    if erratic or noisy:
        estimate = replace(estimate, value=estimate.high if erratic else least)
    else:
        estimate = estimate.at_least(resolution)
    return CaseTime(
        case=timing.case,
        baseline_ns=baseline,
        candidate_ns=candidate,
        estimate=estimate,
        erratic=erratic,
        noisy=noisy,
        spoilt=", ".join(dict.fromkeys(spoilt)),
        resolution=resolution,
        context_sd=profile.context_ns * math.hypot(1 / baseline, 1 / candidate),
        forgeable=certified.spread_ns / (candidate + certified.spread_ns),
    )


def tick_ns(timing: Timing) -> float:
    """Return the step of the clock that timed both sides, as the baseline's samples show it."""
    return stats.tick([sample.inner_ns for sample in timing.calls_of(BASELINE)])


def context_sd(times: Sequence[CaseTime], ranking_by: str) -> float:
    """Return the standard deviation of a run's ln(candidate / baseline) by its contexts, whose part all cases share."""
    shares = weights(times, ranking_by)
    return sum(share * time.context_sd for share, time in zip(shares, times, strict=True)) / sum(shares)


def weights(times: Sequence[CaseTime], ranking_by: str) -> list[float]:
    """Return how much each case's ln(candidate / baseline) moves that of the run, relative to each other."""
    if ranking_by == "last":
        return [0.0] * (len(times) - 1) + [1.0]
    return [time.ratio if ranking_by == "mean" else 1.0 for time in times]  # a mean moves most with its largest


def rank(values: list[float], ranking_by: str) -> float:
    if ranking_by == "geom":
        return stats.geometric_mean(values)
    return sum(values) / len(values) if ranking_by == "mean" else values[-1]
