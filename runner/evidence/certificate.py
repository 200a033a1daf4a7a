"""Certified time of a call: the time that the judge's own clock vouches for. Pure.

Only valid quads count. docs/how-it-measures.md derives the method.

`wall` (cpu hardware): the wall clock less the judge's copying, during which a certified tenant is frozen, less the
constant that an idle call of the baseline costs. The tenant's word never counts.

`event` (GPUs): the device's events, raised by the *hidden* time where they lie below the wall clock's. The gap between
the two clocks is calibrated on the baseline's blocks of the same case and corrected by the offsets between the two
containers. `spread_ns` could be forged unseen: three standard errors of that comparison, and the part of the gap that a
tenant could spare (SPARED_EARLY_NS). From rules 4 on, lean calls bound the times as well, where there are enough: next
to nothing of them can be spared (SPARED_LEAN_NS).
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Final, TypeVar

from runner.evidence import stats
from runner.evidence.sample import BASELINE, CANDIDATE, EVENT, Sample
from runner.evidence.schema import RULES, Block, Evidence, Quad, Timing

MISMATCH_SPREADS: Final = 3.0  # events this many spreads under the wall clock's time are no accident

CALM: Final = 1.5  # times the fastest idle call; a longer call met foreign work

# From these rules on own gaps leave out the judge's copying, by chance up to 1.8 µs longer in one container: with it,
# honest times were raised by up to 0.65 µs (docs/lab-notebook/2026-11-30.md). Calls with events raise a time less where
# lean calls bound it, and the baseline's copying counts no further than the candidate's explains.
GAP_RULES: Final = 7
CONTEXT_RULES: Final = 8  # from these on, device times of own calls count beyond OWN_STRAY_NS only

# The gap between the two clocks:
QUANTILE: Final = 0.05
LEAST_RANK: Final = 3  # of few calls the third smallest, whatever share that is
MOST_POINTS: Final = 2048  # that represent the reported times; a case has fewer calls
# Older rules took 16 quantiles of them, whose edge lay up to a call beside that of the wall times: of honest kernels
# of 0.4 s that waver by 2 %, one in three mismatched.
EXACT_RULES: Final = 6
FEW_POINTS: Final = 16
GROUPS: Final = 10  # of quads, each left out once: the error of the estimate
ERRORS: Final = 3.0  # standard errors that an honest candidate may stray
# The gaps of two containers with the same code differ by up to that (docs/lab-notebook). If data take places in turn,
# `gap_offsets` of the harness's own calls, on 3 MB, predicts by how much. By older rules the rest was within these
# limits in 76 of 78 cases of 4 MB and more and in 109 of 111 smaller cases, by GAP_RULES in 103 of 105 of 16 MB, and
# 0.65 µs beyond them at most. With one place it depends on the kernel.
LEAST_SPREAD_NS: Final = 5_000.0  # if threads wake up between the clocks
LEAST_AT_ONE_PLACE_NS: Final = 2_500.0  # if devices do the whole call, and data lie in fewer than MANY_PLACES places
MANY_PLACES: Final = 8
# In MANY_PLACES or more; there are copies to be timed, or no prediction exists, or lean calls bound the time.
LEAST_QUEUED_NS: Final = 1_700.0
LEAST_SMALL_NS: Final = 1_500.0  # and the difference of the gaps is known
LEAST_COMPARED_NS: Final = 1_000.0  # and the data are at least as large as in the calls that predicted it
# Of several devices one may open its gate earlier: its events grow by as much as the gap shrinks. With two H200 honest
# code seemed to hide up to 2.8 µs (docs/lab-notebook).
LEAST_OF_RANKS_NS: Final = 3_000.0
SMALL_BYTES: Final = 4 << 20  # of a call's inputs and outputs
LARGE_BYTES: Final = 256 << 20  # from here on tenant.py times the copies; below, their difference is lost in gaps
# A baseline whose calls end on the host (`.cpu()`) hides in its reported times that the device turns from its context
# to the judge's: 125 µs on an H200. Idle calls, and all calls that only hand out kernels, do not.
TURN_NS: Final = (60_000.0, 250_000.0)  # of five idle calls the shortest strays by up to 47 µs
COPIES_STRAY: Final = 1 / 1000  # of the judge's copying, if that was timed (tenant.py); 1.9 µs of 1.6 ms were seen
COPIES_APART: Final = 1 / 50  # of it: half a per cent was seen between two containers
# A tenant that takes over from the harness spares the work around a kernel: on an H200 a recorded graph, in a stream of
# its own and without events, leaves up to this much less of a gap (g16 in tests/attacks/gpu). It looks exactly like an
# honest kernel that is as much slower. 4.9 µs were seen; if hosts take part in a call 23, of compiled code that
# launches a graph as soon as the order is there (g18). If a second stream echoes at once as well, the judge's device
# turns to the read while the graph works, and the output is right all the same: 7.8 µs were seen on an H100 (g22).
SPARED_NS: Final = 6_000.0  # by rules 1 and 2
SPARED_EARLY_NS: Final = 8_000.0  # from rules 3 on
SPARED_BY_HOST_NS: Final = 25_000.0
# Lean calls count from rules 4 on. The attacks of tests/attacks/gpu spare no more than SPARED_LEAN_NS of them. A call
# shorter than SHORT_NS has a shorter gap by itself, by 0.6 µs at 10 µs and 2.6 at 5.
LEAN_RULES: Final = 4
LEAST_LEAN: Final = 32  # lean calls of each side in a case; fewer certify nothing
SPARED_LEAN_NS: Final = 1_500.0
SHORT_NS: Final = 12_000.0
DRIFT_NS: Final = 700.0  # the gap of a baseline with one kernel differed from that of own calls by 0.9 µs at the most
EVENT_DRIFT_NS: Final = 1_000.0  # and was longer by 0.8 in calls with events
# The device turns to the judge later where a further call waits at its gate: the gap of own calls is longer by 4.8 to
# 6.4 µs then (docs/lab-notebook).
FOLLOWED_NS: Final = 4_800.0
# Longer copying outlasts the turn of the judge's context, and a tenant without waiting work would be given less of it.
LONGEST_COPYING_NS: Final = 1_500_000.0

# Offsets between containers, from queued calls of the harness's own kernel:
LEAST_OWN_CALLS: Final = 32  # per side; fewer allow no comparison
# No two contexts were seen to differ by this much: a side was disturbed, and the offset stays unknown.
MOST_OFFSET_NS: Final = 2_000.0  # of device times
# Contexts that were drawn to be alike differ by up to 129 ns. Subtracting that made the two sides of one kernel differ
# more from job to job in seven of nine cases (docs/lab-notebook/2026-12-01.md).
OWN_STRAY_NS: Final = 150.0
MOST_GAP_OFFSET_NS: Final = 3_000.0
# Standard error of a gap's difference, of which the largest seen was 190, or of a lean gap (250). It is the same in
# all of a case's blocks, and the job cannot show how far it strays: a host whose gaps scatter more gets no difference.
MOST_ERROR_NS: Final = 300.0
OWN_GROUPS: Final = 8  # of consecutive calls, each left out once

P = TypeVar("P")
Call = tuple[float, float]  # wall time, reported time
Calls = tuple[list[list[Call]], list[list[Call]]]  # the baseline's two blocks, the candidate's two


@dataclass(frozen=True)
class Certified:
    """Block times of a case in ns, four per quad in the order A B B A (A the baseline, B the requested side), how much
    of a time could be forged, and whether a forgery was detected."""

    quads: list[list[float]]
    spread_ns: float = 0.0
    mismatch: bool = False


def certify(timing: Timing, evidence: Evidence, side: str = CANDIDATE, *, with_constant: bool = False) -> Certified:
    """Return the certified times of all valid blocks of a case that contain this side.

    `with_constant`: on the wall clock, the cost of a call without work is not subtracted.
    """
    quads = [quad for quad in timing.quads if quad.compares(side)]
    if evidence.clock == EVENT:
        return _event(quads, timing, evidence, side)
    constant: float = 0
    if quads and not with_constant:
        constant = constant_ns(timing.idle, certified=evidence.certified)

    def time_ns(block: Block) -> float:
        return stats.median([sample.spent_ns(certified=evidence.certified) for sample in block.calls]) - constant

    # The constant is subtracted from both sides, and a tenant could save an idle call but for thawing and freezing, by
    # sparing the harness all its work: at most this much of a time could be forged.
    own = [sample.spent_ns(certified=True) - (sample.thaw_ns + sample.freeze_ns) for sample in timing.idle]
    spread_ns = max(0.0, stats.median(own)) if own else 0.0  # a case that is summed up has no idle calls
    return Certified([[time_ns(block) for block in abba(quad, side)] for quad in quads], spread_ns)


def abba(quad: Quad, side: str) -> list[Block]:
    """Return the blocks of the baseline and of this side, in the order A B B A."""
    first, last = quad.of(BASELINE)
    return [first, *quad.of(side), last]


# -- on the wall clock -----------------------------------------------------------------------------------------------


def constant_ns(idle: Sequence[Sample], *, certified: bool) -> float:
    """Return the cost of a call without work, from idle calls of the baseline; it is subtracted from both sides alike.

    The lower quartile, because a constant that is too small moves a ratio a little towards 1, but a constant that a
    disturbance made too large could make any kernel look fast.
    """
    return stats.lower_quartile([sample.spent_ns(certified=certified) for sample in idle])


def is_constant_known(idle: Sequence[Sample], *, certified: bool) -> bool:
    """Return whether enough idle calls were undisturbed: a quarter of them took little longer than the fastest."""
    spent = [sample.spent_ns(certified=certified) for sample in idle]
    return stats.lower_quartile(spent) <= CALM * min(spent)


# -- on the device's clock -------------------------------------------------------------------------------------------


def _event(quads: list[Quad], timing: Timing, evidence: Evidence, side: str) -> Certified:
    """Certify all of a case's blocks together: one call's gap strays by hundreds of µs, its lower edge hardly moves.

    The candidate's events are raised by the hidden time that is beyond doubt, among all its calls or the fastest. A
    quad's ratio moves with either of its two blocks: a tenant that forges a block in most quads forges fewer than half
    of all calls, but among the fastest calls forged calls are the majority. The ratio also moves by only half as much,
    hence half of that spread counts.
    """
    if not quads:
        return Certified([])
    is_lean = evidence.rules >= LEAN_RULES and has_lean_calls(timing, quads, side)
    slowed_ns = slowed_by_ns(timing, quads, evidence) if evidence.rules >= LEAN_RULES else 0.0
    everywhere, fastest = hidden_of_case(
        timing, quads, side, is_lean=is_lean, slowed_ns=slowed_ns, rules=evidence.rules
    )
    gap_ns = apart_ns(timing, side)
    # Own calls alone never prove a forgery, and neither does a gap that drifted for the baseline, too.
    found = [(hidden, min(0.0, gap_ns)) for hidden in (everywhere, fastest)]
    spared_ns = SPARED_BY_HOST_NS if not timing.queued else SPARED_EARLY_NS if evidence.rules > 2 else SPARED_NS
    spread = max(everywhere.spread, fastest.spread / 2) + max(0.0, gap_ns) + spared_ns
    # The judge's copying takes longer within the baseline's calls than on an otherwise empty device. Copies of over
    # 2 ms are longer than a device's time slice: the device then looks for ready work of the tenant, which takes 0.2 ms
    # (docs/lab-notebook). A tenant without waiting work spares that.
    if own_copy_ns := _copies_ns(timing, side)[0]:
        spread += max(0.0, stats.median(_within(timing, BASELINE)) - own_copy_ns)
    if is_lean:
        lean, apart_by_ns = lean_hidden_of_case(timing, quads, side), lean_apart_ns(timing, side)
        drift_ns = max(0.0, lean_drift_ns(timing, quads, BASELINE))
        found.append((lean, min(0.0, apart_by_ns) - max(0.0, drift_ns - DRIFT_NS)))
        spared_ns = SPARED_LEAN_NS + max(0.0, SHORT_NS - _ranked(quads, side)) / 2
        spared_ns += min(drift_ns, DRIFT_NS) if evidence.rules >= GAP_RULES else 0.0
        spread = min(spread, lean.spread + max(0.0, apart_by_ns) + spared_ns)
    # By how much the side's context lengthens a queued call's reported time; unknown, and 0, for other calls.
    own_ns = float(timing.contexts.get(side, 0.0)) if timing.queued else 0.0
    raised = max(hidden.beyond for hidden, _ in found) - own_ns
    times = [
        [_reported(block) + more for block, more in zip(abba(quad, side), (0.0, raised, raised, 0.0), strict=True)]
        for quad in quads
    ]
    mismatch = any(
        hidden.value + in_doubt > MISMATCH_SPREADS * max(hidden.spread, LEAST_QUEUED_NS) for hidden, in_doubt in found
    )
    return Certified(times, spread + max(0.0, own_ns), mismatch=mismatch)


@dataclass(frozen=True)
class Hidden:
    """Time that the events leave out, and how far that can stray by itself."""

    value: float
    spread: float

    @property
    def beyond(self) -> float:
        """Part of the hidden time that is certain."""
        return max(0.0, self.value - self.spread)


def hidden_of_case(
    timing: Timing,
    quads: Sequence[Quad],
    side: str,
    *,
    is_lean: bool = False,
    slowed_ns: float = 0.0,
    rules: int = RULES,
) -> tuple[Hidden, Hidden]:
    """Return the hidden time of all calls of a case and of the fastest, from calls with events.

    First the innocent causes of longer gaps are subtracted: the difference between the containers themselves and, where
    data are large, the judge's own copying as it was measured afterwards. A case with lean calls needs no measurement:
    all copying within its calls is subtracted. `slowed_ns` of the baseline's gap do not count, and neither does
    copying that its calls alone show.
    """
    copying = not is_lean or timing.input_bytes + timing.output_bytes < LARGE_BYTES
    own, theirs, copies_stray = _copies_ns(timing, side) if copying else (0.0, 0.0, 0.0)
    if copying and not own and rules >= GAP_RULES:
        ours_ns, theirs_ns = (stats.median(_within(timing, name)) for name in (BASELINE, side))
        slowed_ns += max(0.0, ours_ns - (1 + COPIES_APART) * theirs_ns - EVENT_DRIFT_NS)
    calls = calls_of(quads, side, own + slowed_ns, theirs + apart_ns(timing, side), copying=copying)
    is_bound = is_lean and rules >= GAP_RULES
    least_ns = _least_spread_ns(timing, side, is_bound=is_bound) + _turn_ns(timing) + copies_stray
    find = partial(hidden, calls, least_ns=least_ns, exact=rules >= EXACT_RULES)
    return find(fastest=False), find(fastest=True)


def has_lean_calls(timing: Timing, quads: Sequence[Quad], side: str) -> bool:
    """Return whether lean calls bound this side's times: both sides have enough, in every block; each was ready; the
    judge's copying was short; and own calls show the gaps of both containers."""
    both = (BASELINE, side)
    if not timing.queued or not set(both) <= set(timing.lean_gaps or {}):
        return False
    if any(block.unready for quad in timing.quads for name in both for block in quad.of(name)):
        return False
    blocks = [[block for quad in quads for block in quad.of(name)] for name in both]
    if not all(block.lean for found in blocks for block in found):
        return False
    if min(sum(len(block.lean) for block in found) for found in blocks) < LEAST_LEAN:
        return False
    is_short = _lean_midmean(blocks[0], lambda sample: sample.copying_ns) <= LONGEST_COPYING_NS
    return is_short and abs(lean_apart_ns(timing, side)) <= MOST_GAP_OFFSET_NS


def lean_hidden_of_case(timing: Timing, quads: Sequence[Quad], side: str) -> Hidden:
    """Return the hidden time by lean calls: the drift of the side's gap less that of the baseline's.

    The baseline's is limited to DRIFT_NS: a tenant could slow its calls, and events between the kernels of a call take
    time that lean calls do not need. The judge's copying lies outside, but counts where it takes longer than the
    baseline's: then other work ran meanwhile.
    """
    if timing.places < MANY_PLACES:
        least_ns = LEAST_AT_ONE_PLACE_NS
    else:
        size = timing.input_bytes + timing.output_bytes
        least_ns = LEAST_SMALL_NS if size < SMALL_BYTES else LEAST_COMPARED_NS

    def value(parts: Sequence[Sequence[Quad]]) -> float:
        part = list(chain.from_iterable(parts))
        ours, theirs = (
            _lean_midmean([block for quad in part for block in quad.of(name)], lambda sample: sample.copying_ns)
            for name in (BASELINE, side)
        )
        longer = max(0.0, theirs - (1 + COPIES_APART) * ours)
        drift = min(max(lean_drift_ns(timing, part, BASELINE), -DRIFT_NS), DRIFT_NS)
        return lean_drift_ns(timing, part, side) - drift + longer

    groups = min(GROUPS, len(quads))
    return _with_spread([list(quads[group::groups]) for group in range(groups)], value, least_ns)


def lean_drift_ns(timing: Timing, quads: Sequence[Quad], side: str) -> float:
    """Return by how much the gap of this side's lean calls exceeds that of its own calls: the time from the gate to the
    read, less the reported time, less the gap.

    It is the median over quads, in which a device is equally fast for all calls. The same of all quads together is
    compared with the very time that ranks, and counts if it is more, unless a device of several speeds shows: then the
    baseline's is beyond DRIFT_NS, too.
    """
    gap_ns = float((timing.lean_gaps or {})[side])
    by_quad = stats.median([_lean_time([quad], side) - _ranked([quad], side) for quad in quads]) - gap_ns
    together = _lean_time(quads, side) - _ranked(quads, side) - gap_ns
    if side == BASELINE:
        return by_quad
    ours = _lean_time(quads, BASELINE) - _ranked(quads, BASELINE) - float((timing.lean_gaps or {})[BASELINE])
    return max(by_quad, together) if abs(ours) <= DRIFT_NS else by_quad


def _ranked(quads: Sequence[Quad], side: str) -> float:
    """Return the reported time as it ranks: the median over quads of the geometric mean of their two blocks."""
    return stats.median([math.sqrt(math.prod(max(_reported(block), 0.0) for block in quad.of(side))) for quad in quads])


def _reported(block: Block) -> float:
    """Return the reported time of a block: the midmean of its calls, as in schedule.py."""
    return stats.midmean([sample.inner_ns for sample in block.calls])


def _lean_time(quads: Sequence[Quad], side: str) -> float:
    """Return the time of lean calls from the gate to the read. It scatters evenly, by a microsecond or two."""
    blocks = [block for quad in quads for block in quad.of(side)]
    return _lean_midmean(blocks, lambda sample: sample.spent_ns(certified=True))


def _lean_midmean(blocks: Sequence[Block], value: Callable[[Sample], float]) -> float:
    return stats.midmean([value(sample) for block in blocks for sample in block.lean])


def slowed_by_ns(timing: Timing, quads: Sequence[Quad], evidence: Evidence) -> float:
    """Return by how much the gap of the baseline's calls with events is longer than innocent causes make it.

    A tenant can slow the baseline's calls: streams that wait in contexts of its own did so by 28 µs (g28). The gap of
    own calls was measured before, and a gap that grew by more than EVENT_DRIFT_NS since is no measure of the
    candidate's. How gaps grow with kernels of over a millisecond is not known.
    """
    own, longest_ns = evidence.own_long.get(BASELINE, []), evidence.profile.lean_to_ns
    if not timing.queued or len(own) < LEAST_OWN_CALLS or _ranked(quads, BASELINE) > longest_ns:
        return 0.0
    usual = stats.midmean([_gap(sample) for sample in own])
    grown = [
        _gap(sample) - usual + (FOLLOWED_NS if block.alone else 0.0)
        for quad in quads
        for block in quad.of(BASELINE)
        for sample in block.calls
    ]
    return max(0.0, stats.midmean(grown) - EVENT_DRIFT_NS)


def is_long(evidence: Evidence) -> bool:
    """Return whether the baseline's calls take so long in every case that offsets between containers are lost."""
    told = [[sample.inner_ns for sample in timing.calls_of(BASELINE, valid=True)] for timing in evidence.timing]
    longest_ns = evidence.profile.lean_to_ns  # of a call that lean calls bound
    return bool(longest_ns and told) and all(times and stats.median(times) > longest_ns for times in told)


def _gap(sample: Sample) -> float:
    return sample.spent_ns(certified=True) - sample.inner_ns


def calls_of(
    quads: Sequence[Quad], side: str, own_ns: float = 0.0, theirs_ns: float = 0.0, *, copying: bool = True
) -> list[Calls]:
    """Return the calls of the baseline and of this side, with `own_ns` and `theirs_ns` subtracted from wall times, and
    the judge's copying, too, unless `copying`."""

    def calls(blocks: Sequence[Block], less_ns: float) -> list[list[Call]]:
        return [
            [(sample.spent_ns(certified=not copying) - less_ns, sample.inner_ns) for sample in block.calls]
            for block in blocks
        ]

    return [(calls(quad.of(BASELINE), own_ns), calls(quad.of(side), theirs_ns)) for quad in quads]


def _least_spread_ns(timing: Timing, side: str, *, is_bound: bool) -> float:
    """Return how far honest code strays in this case, at least. `is_bound`: by lean calls."""
    if not timing.queued:
        return LEAST_SPREAD_NS
    if timing.ranks > 1:
        return LEAST_OF_RANKS_NS
    if timing.places < MANY_PLACES:
        return LEAST_AT_ONE_PLACE_NS
    size = timing.input_bytes + timing.output_bytes
    if is_bound or side not in (timing.gaps or {}) or size >= LARGE_BYTES:
        return LEAST_QUEUED_NS
    return LEAST_SMALL_NS if size < SMALL_BYTES else LEAST_COMPARED_NS


def apart_ns(timing: Timing, side: str) -> float:
    """Return by how much the gap of this side's queued calls exceeds the baseline's, as `gap_offsets` measured."""
    known = timing.queued and timing.places >= MANY_PLACES
    return float((timing.gaps or {}).get(side, 0.0)) if known else 0.0


def lean_apart_ns(timing: Timing, side: str) -> float:
    """Return by how much the gap of this side's lean calls exceeds the baseline's, in own calls."""
    gaps = timing.lean_gaps or {}
    return float(gaps[side]) - float(gaps[BASELINE])


def _turn_ns(timing: Timing) -> float:
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


def _copies_ns(timing: Timing, side: str) -> tuple[float, float, float]:
    """Return the part of each gap that the judge's own copying takes, for the baseline and this side, as tenant.py
    measured, and how far these may stray; 0 without a measurement.

    The second is believed only as far as the same copies took as long within calls, and as two allocations were ever
    seen to differ: a tenant gains no time by slowing the judge down while this is measured. They stray by a thousandth
    and three standard errors as measured, up to the share by which two allocations may differ.
    """
    found = timing.copies
    if not (found.get(BASELINE) and found.get(side)):
        return 0.0, 0.0, 0.0
    rows = [[put + take for put, take in found[name]] for name in (BASELINE, side)]
    own, theirs = map(stats.midmean, rows)
    if timing.ranks > 1:  # all devices copy at once within calls, which takes less time than afterwards
        own = min(own, (1 + COPIES_STRAY) * stats.median(_within(timing, BASELINE)))
    theirs = min(theirs, (1 + COPIES_STRAY) * stats.median(_within(timing, side)), (1 + COPIES_APART) * own)
    if not own:
        return own, theirs, 0.0
    errors = [statistics.stdev(row) / math.sqrt(len(row)) for row in rows]
    stray = COPIES_STRAY * max(own, theirs) + min(ERRORS * math.hypot(*errors), COPIES_APART * own)
    return own, theirs, stray


def _within(timing: Timing, side: str) -> list[float]:
    """Return how long the copies took within this side's calls."""
    return [sample.copying_ns for sample in timing.calls_of(side)]


def hidden(quads: Sequence[Calls], *, fastest: bool, least_ns: float, exact: bool = True) -> Hidden:
    """Estimate the hidden time of all the candidate's calls, or (`fastest`) of the faster half of the calls in the
    faster half of its blocks. `exact`: all reported times count.

    A few forged calls do not show among all calls, but they gather among the fastest. The spread comes from a jackknife
    over groups of quads, since a disturbance of a call also disturbs its neighbours; it is `least_ns` at least.
    """
    groups = min(GROUPS, len(quads))
    parts = [_Part.of(quads[group::groups], fastest) for group in range(groups)]
    return _with_spread(parts, partial(_hidden, exact=exact), least_ns)


def _with_spread(parts: Sequence[P], of: Callable[[Sequence[P]], float], least_ns: float) -> Hidden:
    """Return the estimate `of` all groups of quads, with its spread: a jackknife over the groups."""
    value = of(parts)
    if len(parts) < 2:
        return Hidden(value, math.inf)
    without = [of([*parts[:left_out], *parts[left_out + 1 :]]) for left_out in range(len(parts))]
    return Hidden(value, max(ERRORS * stats.jackknife_error(without), least_ns))


@dataclass(frozen=True)
class _Part:
    """Some quads: the baseline's gaps, the candidate's wall times and its reported times. Each sorted."""

    gaps: list[float]
    walls: list[float]
    told: list[float]

    @classmethod
    def of(cls, quads: Sequence[Calls], fastest: bool) -> _Part:
        blocks = [block for _, theirs in quads for block in theirs]
        if fastest:
            blocks.sort(key=lambda block: sorted([told for _, told in block])[len(block) // 2])
            calls = sorted(chain.from_iterable(blocks[: (len(blocks) + 1) // 2]), key=itemgetter(1))
            calls = calls[: (len(calls) + 1) // 2]
        else:
            calls = [call for block in blocks for call in block]
        gaps = sorted([wall - told for ours, _ in quads for block in ours for wall, told in block])
        return cls(gaps, sorted([wall for wall, _ in calls]), sorted([told for _, told in calls]))


def _hidden(parts: Sequence[_Part], *, exact: bool) -> float:
    """Return the hidden time of these parts together.

    The wall time of a rank is held against the sums around it: of those between this rank and the next, the middle.
    """
    gaps = sorted(chain.from_iterable(part.gaps for part in parts))
    walls = sorted(chain.from_iterable(part.walls for part in parts))
    told = sorted(chain.from_iterable(part.told for part in parts))
    share = min(max(QUANTILE, LEAST_RANK / len(walls)), 0.5)
    rank = int(share * len(walls))
    count = min(MOST_POINTS if exact else FEW_POINTS, len(told))
    told = [told[int((index + 0.5) * len(told) / count)] for index in range(count)]
    return walls[rank] - _sum_quantile(told, gaps, (rank + 0.5) / len(walls) if exact else share)


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


# -- offsets of containers -------------------------------------------------------------------------------------------


Own = Mapping[str, Sequence[Sample]]  # own calls by side


def offsets(
    own_calls: Own, own_long: Own | None = None, own_lean: Own | None = None, *, rules: int = RULES
) -> dict[str, Any]:
    """Return the offsets as the fields of a timing; those of lean calls, where some were made."""
    found = {"contexts": device_offsets(own_calls, rules=rules), "gaps": gap_offsets(own_calls, rules=rules)}
    return found | ({"lean_gaps": lean_gaps(own_long or {}, own_lean)} if own_lean else {})


def device_offsets(found: Mapping[str, Sequence[Sample]], *, rules: int = RULES) -> dict[str, float]:
    """Return the offset of device times, in ns, of every side but the baseline: the value of timing's `contexts`."""
    stray_ns = OWN_STRAY_NS if rules >= CONTEXT_RULES else 0.0
    apart = _apart(found, lambda sample: sample.inner_ns, MOST_OFFSET_NS).items()
    return {name: ns - max(-stray_ns, min(ns, stray_ns)) for name, ns in apart}


def gap_offsets(found: Mapping[str, Sequence[Sample]], *, rules: int = RULES) -> dict[str, float]:
    """Return the offset of gaps, in ns, of every side but the baseline: the value of timing's `gaps`. A side whose gaps
    scatter too much is left out. The judge's copying does not count, except by rules before GAP_RULES."""
    gap = _gap if rules >= GAP_RULES else attrgetter("gap_ns")
    apart = _apart(found, gap, MOST_GAP_OFFSET_NS)
    return {name: ns for name, ns in apart.items() if gap_error_ns(found[name], found[BASELINE], gap) <= MOST_ERROR_NS}


def gap_error_ns(theirs: Sequence[Sample], ours: Sequence[Sample], gap: Callable[[Sample], float] = _gap) -> float:
    """Return the standard error of the difference, by a jackknife over groups."""
    return _error_ns(*([gap(sample) for sample in samples] for samples in (theirs, ours)))


def _error_ns(*found: Sequence[float]) -> float:
    """Return the standard error of a midmean, or of the difference of two, by a jackknife over groups."""

    def midmean(values: Sequence[float], left_out: int) -> float:
        first, last = (len(values) * number // OWN_GROUPS for number in (left_out, left_out + 1))
        return stats.midmean([*values[:first], *values[last:]])

    rest = [[midmean(values, left_out) for values in found] for left_out in range(OWN_GROUPS)]
    return stats.jackknife_error([first - sum(others) for first, *others in rest])


def lean_gaps(own_long: Own, own_lean: Own) -> dict[str, float]:
    """Return the time of a lean call from the gate to the read, beyond the kernel's, in ns by side: the value of
    timing's `lean_gaps`. The kernel's time is that of the same calls with events."""
    found = {}
    for name, samples in own_lean.items():
        told = own_long.get(name, [])
        if min(len(samples), len(told)) >= LEAST_OWN_CALLS:
            spent, kernel = (
                [sample.spent_ns(certified=True) for sample in samples],
                [sample.inner_ns for sample in told],
            )
            if _error_ns(spent, kernel) <= MOST_ERROR_NS:
                found[name] = stats.midmean(spent) - stats.midmean(kernel)
    return found


def _apart(found: Mapping[str, Sequence[Sample]], value: Callable[[Sample], float], most_ns: float) -> dict[str, float]:
    if BASELINE not in found or min(map(len, found.values())) < LEAST_OWN_CALLS:
        return {}
    usual = {name: stats.midmean([value(sample) for sample in samples]) for name, samples in found.items()}
    apart = {name: ns - usual[BASELINE] for name, ns in usual.items() if name != BASELINE}
    return {name: ns for name, ns in apart.items() if abs(ns) <= most_ns}
