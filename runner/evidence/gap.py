"""Comparison of the judge's wall clock with the candidate's device events. Pure; times in ns.

A call's wall time is its device time and a gap: copies, switches between contexts, threads that wake up. The gap has a
sharp lower edge and a long tail (on an H200: 5 % of the gaps of one case lie within 8 µs, the upper half over 250 µs),
and hence the sides are compared near the edge. The baseline's gaps, each added to each of the candidate's reported
times, give the distribution that the candidate's wall times should have if the reports are true. `hidden` is by how
much a low quantile of the true wall times lies above that: positive if reported times are too short. A tenant can
shorten a wall time only by sparing part of the gap (SPARED_NS).
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Final

from runner.evidence import stats
from runner.evidence.sample import BASELINE
from runner.evidence.schema import Block, Timing
from runner.evidence.schema import Quad as StoredQuad

QUANTILE: Final = 0.05
LEAST_RANK: Final = 3  # of few calls the third smallest, whatever share that is
TOLD_POINTS: Final = 16  # the reported times are represented by this many of their quantiles
GROUPS: Final = 10  # of quads, each left out once: the error of the estimate
ERRORS: Final = 3.0  # standard errors that an honest candidate may stray
# The gaps of two containers with the same code differ by up to that (docs/lab-notebook). If data take places in
# turn, the harness's own calls, on 3 MB, predict by how much (contexts.py): the rest is within these limits in 76 of 78
# cases of 4 MB and more, in 109 of 111 smaller cases, and 0.5 µs beyond them at most. With one place it depends on the
# kernel.
LEAST_SPREAD_NS: Final = 5_000.0  # if threads wake up between the clocks
LEAST_AT_ONE_PLACE_NS: Final = 2_500.0  # if devices do the whole call, and data lie in fewer than MANY_PLACES places
MANY_PLACES: Final = 8
LEAST_QUEUED_NS: Final = 1_700.0  # in MANY_PLACES or more; there are copies to be timed, or no prediction exists
LEAST_SMALL_NS: Final = 1_500.0  # and the difference of the gaps is known
LEAST_COMPARED_NS: Final = 1_000.0  # and the data are at least as large as in the calls that predicted it
SMALL_BYTES: Final = 4 << 20  # of a call's inputs and outputs
LARGE_BYTES: Final = 256 << 20  # from here on own_times.py times the copies; below, their difference is lost in gaps
# A baseline whose calls end on the host (`.cpu()`) hides in its reported times that the device turns from its context
# to the judge's: 125 µs on an H200. Idle calls, and all calls that only hand out kernels, do not.
TURN_NS: Final = (60_000.0, 250_000.0)  # of five idle calls the shortest strays by up to 47 µs
COPIES_STRAY: Final = 1 / 1000  # of the judge's copying, if that was timed (own_times.py); 1.9 µs of 1.6 ms were seen
COPIES_APART: Final = 1 / 50  # of it: half a per cent was seen between two containers
# A tenant that takes over from the harness spares the work around a kernel: on an H200 a recorded graph, in a stream of
# its own and without events, leaves up to this much less of a gap (g16 in tests/attacks/gpu). It looks exactly like an
# honest kernel that is as much slower. 4.9 µs were seen; if hosts take part in a call 23, of compiled code that
# launches a graph as soon as the order is there (g18).
SPARED_NS: Final = 6_000.0
SPARED_BY_HOST_NS: Final = 25_000.0

Call = tuple[float, float]  # wall time, reported time
Quad = tuple[list[list[Call]], list[list[Call]]]  # the baseline's two blocks, the candidate's two


@dataclass(frozen=True)
class Hidden:
    """Time that the events leave out, and how far that can stray by itself."""

    value: float
    spread: float

    @property
    def beyond(self) -> float:
        """Part of the hidden time that is certain."""
        return max(0.0, self.value - self.spread)


def least_spread_ns(timing: Timing, side: str) -> float:
    """Return how far honest code strays in this case, at least."""
    if not timing.queued:
        return LEAST_SPREAD_NS
    if timing.places < MANY_PLACES:
        return LEAST_AT_ONE_PLACE_NS
    if side not in (timing.gaps or {}):
        return LEAST_QUEUED_NS
    size = timing.input_bytes + timing.output_bytes
    if size >= LARGE_BYTES:
        return LEAST_QUEUED_NS
    return LEAST_SMALL_NS if size < SMALL_BYTES else LEAST_COMPARED_NS


def apart_ns(timing: Timing, side: str) -> float:
    """Return by how much the gap of this side's queued calls exceeds the baseline's, as contexts.py measured."""
    known = timing.queued and timing.places >= MANY_PLACES
    return float((timing.gaps or {}).get(side, 0.0)) if known else 0.0


def turn_ns(timing: Timing) -> float:
    """Return by how much the gap of code that hands out kernels and returns may exceed the baseline's.

    It is the distance of the shortest idle call from the edge of the baseline's gaps. Queued calls all return before
    they begin.
    """
    ours = sorted([sample.gap_ns - sample.copying_ns for sample in timing.calls_of(BASELINE, valid=True)])
    most_ns = timing.probe_limit_ns or math.inf  # beyond it a call met foreign work
    idle = [sample.gap_ns - sample.copying_ns for sample in timing.idle if sample.probe_ns <= most_ns]
    if timing.queued or not ours or len(idle) < LEAST_RANK:
        return 0.0
    beyond, (least, most) = min(idle) - ours[int(QUANTILE * len(ours))], TURN_NS
    return min(beyond, most) if beyond >= least else 0.0


def spared_ns(timing: Timing) -> float:
    return SPARED_NS if timing.queued else SPARED_BY_HOST_NS


def hidden(quads: Sequence[Quad], *, fastest: bool, least_ns: float) -> Hidden:
    """Estimate the hidden time of all the candidate's calls, or (`fastest`) of the faster half of the calls in the
    faster half of its blocks.

    A few forged calls do not show among all calls, but they gather among the fastest. The spread comes from a jackknife
    over groups of quads, since a disturbance of a call also disturbs its neighbours; it is `least_ns` at least.
    """
    groups = min(GROUPS, len(quads))
    parts = [_Part.of(quads[group::groups], fastest) for group in range(groups)]
    value = _hidden(parts)
    if groups < 2:
        return Hidden(value, math.inf)
    without = [_hidden(parts[:left_out] + parts[left_out + 1 :]) for left_out in range(groups)]
    return Hidden(value, max(ERRORS * stats.jackknife_error(without), least_ns))


def calls_of(quads: Sequence[StoredQuad], side: str) -> list[Quad]:
    """Return the calls of the baseline and of this side."""

    def calls(blocks: Sequence[Block]) -> list[list[Call]]:
        return [[(sample.wall_ns, sample.inner_ns) for sample in block.calls] for block in blocks]

    return [(calls(quad.of(BASELINE)), calls(quad.of(side))) for quad in quads]


def of_case(timing: Timing, quads: Sequence[StoredQuad], side: str) -> tuple[Hidden, Hidden]:
    """Return the hidden time of all calls of a case and of the fastest. First the innocent causes of longer gaps are
    subtracted: the judge's copying, and the difference between the containers themselves."""
    own, theirs = copies_ns(timing, side)
    theirs += apart_ns(timing, side)
    calls = [(_less(ours, own), _less(others, theirs)) for ours, others in calls_of(quads, side)]
    least_ns = least_spread_ns(timing, side) + turn_ns(timing) + copies_spread_ns(timing, side)
    everywhere, fastest = (hidden(calls, fastest=only, least_ns=least_ns) for only in (False, True))
    return everywhere, fastest


def _less(blocks: list[list[Call]], taken_off_ns: float) -> list[list[Call]]:
    return [[(wall - taken_off_ns, told) for wall, told in block] for block in blocks]


def context_ns(timing: Timing, side: str) -> float:
    """Return by how much this side's context lengthens a queued call's reported time over the baseline's, as
    contexts.py measured. For calls that are not queued the offset is unknown, and 0."""
    return float(timing.contexts.get(side, 0.0)) if timing.queued else 0.0


def copies_ns(timing: Timing, side: str) -> tuple[float, float]:
    """Return the part of each gap that the judge's own copying takes, for the baseline and this side, as own_times.py
    measured; 0 without a measurement.

    The second is believed only as far as the same copies took as long within calls, and as two allocations were ever
    seen to differ: a tenant gains no time by slowing the judge down while this is measured.
    """
    found = timing.copies
    if not (found.get(BASELINE) and found.get(side)):
        return 0.0, 0.0
    own, theirs = (stats.midmean([put + take for put, take in found[name]]) for name in (BASELINE, side))
    within = stats.median(_within(timing, side))
    return own, min(theirs, (1 + COPIES_STRAY) * within, (1 + COPIES_APART) * own)


def copies_spread_ns(timing: Timing, side: str) -> float:
    """Return how far `copies_ns` may stray: a thousandth, and three standard errors as measured. They are believed up
    to the share by which two allocations may differ."""
    own, theirs = copies_ns(timing, side)
    if not own:
        return 0.0
    rows = [[put + take for put, take in timing.copies[name]] for name in (BASELINE, side)]
    errors = [statistics.stdev(row) / math.sqrt(len(row)) for row in rows]
    return COPIES_STRAY * max(own, theirs) + min(ERRORS * math.hypot(*errors), COPIES_APART * own)


def elsewhere_ns(timing: Timing, side: str) -> float:
    """Return by how much the judge's copying takes longer within the baseline's calls than on an otherwise empty
    device.

    Copies of over 2 ms are longer than a device's time slice: the device then looks for ready work of the tenant, which
    takes 0.2 ms (docs/lab-notebook). A tenant without waiting work spares that.
    """
    own, _ = copies_ns(timing, side)
    return max(0.0, stats.median(_within(timing, BASELINE)) - own) if own else 0.0


def _within(timing: Timing, side: str) -> list[float]:
    """Return how long the copies took within this side's calls."""
    return [sample.copying_ns for sample in timing.calls_of(side)]


@dataclass(frozen=True)
class _Part:
    """Some quads: the baseline's gaps, the candidate's wall times and its reported times. Each sorted."""

    gaps: list[float]
    walls: list[float]
    told: list[float]

    @classmethod
    def of(cls, quads: Sequence[Quad], fastest: bool) -> _Part:
        blocks = [block for _, theirs in quads for block in theirs]
        if fastest:
            blocks.sort(key=lambda block: sorted([told for _, told in block])[len(block) // 2])
            calls = sorted(chain.from_iterable(blocks[: (len(blocks) + 1) // 2]), key=itemgetter(1))
            calls = calls[: (len(calls) + 1) // 2]
        else:
            calls = [call for block in blocks for call in block]
        gaps = sorted([wall - told for ours, _ in quads for block in ours for wall, told in block])
        return cls(gaps, sorted([wall for wall, _ in calls]), sorted([told for _, told in calls]))


def _hidden(parts: Sequence[_Part]) -> float:
    gaps = sorted(chain.from_iterable(part.gaps for part in parts))
    walls = sorted(chain.from_iterable(part.walls for part in parts))
    told = sorted(chain.from_iterable(part.told for part in parts))
    share = min(max(QUANTILE, LEAST_RANK / len(walls)), 0.5)
    count = min(TOLD_POINTS, len(told))
    points = [told[int((index + 0.5) * len(told) / count)] for index in range(count)]
    return walls[int(share * len(walls))] - _sum_quantile(points, gaps, share)


def _sum_quantile(told: list[float], gaps: list[float], share: float) -> float:
    """Return the quantile `share` of all sums of an item of `told` and an item of `gaps` (sorted), to a nanosecond.

    Bisection, between the sums of that quantile of the gaps with the least and the greatest of `told`.
    """
    edge = gaps[min(int(share * len(gaps)), len(gaps) - 1)]
    low, high = told[0] + edge, told[-1] + edge
    wanted = share * len(told) * len(gaps)
    while high - low > 1.0:
        middle = (low + high) / 2
        if not low < middle < high:  # the reported times are too long for a number to lie between
            break
        if sum(bisect_right(gaps, middle - one) for one in told) > wanted:
            high = middle
        else:
            low = middle
    return high
