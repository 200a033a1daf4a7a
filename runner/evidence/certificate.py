"""Certified time of a call: the time that the judge's own clock vouches for. Pure.

A sample is a call: [wall_ns, put_ns, take_ns, inner_ns, probe_ns, thaw_ns, freeze_ns]. The judge measures all values
but `inner_ns`: the whole call, copying in and out as parts of it, the idle probe before it, and how long thawing and
freezing took. `inner_ns` is the tenant's word. Only valid quads count.

`wall` (cpu hardware): the wall clock less the judge's copying, during which a certified tenant is frozen, less the
constant that an idle call of the baseline costs. The tenant's word never counts.

`event` (GPUs): the device's events, raised to the time that the wall clock vouches for if they lie below it. The gap
between the two clocks is calibrated on the baseline's blocks of the same case, whose events are ours (gap.py).
`spread_ns` could be forged unseen: it is how far that comparison strays by itself (three standard errors), plus the
part of the gap that a tenant could spare. Extra time of a side's context and gap beyond the baseline's, as calls of our
own showed before, is subtracted (contexts.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from runner.evidence import gap, stats

WALL, EVENT = "wall", "event"
BASELINE, CANDIDATE = "baseline", "candidate"
MISMATCH_SPREADS: Final = 3.0  # events this many spreads under the wall clock's time are no accident

CALM: Final = 1.5  # times the fastest idle call; a longer call met foreign work

Sample = Sequence[float]
Timing = dict[str, Any]  # an entry of the evidence's `timing`


@dataclass(frozen=True)
class Certified:
    """Block times of a case in ns, four per quad in the order A B B A (A the baseline, B the requested side), how much
    of a time could be forged, and whether a forgery was detected."""

    quads: list[list[float]]
    spread_ns: float = 0.0
    mismatch: bool = False


def certify(timing: Timing, *, clock: str, certified: bool, side: str = CANDIDATE) -> Certified:
    """Return the certified times of all valid blocks of a case."""
    quads = [_abba(quad["blocks"], side) for quad in timing["quads"] if _counts(quad, side)]
    return _event(quads, timing, side) if clock == EVENT else _wall(quads, timing, certified=certified)


def _counts(quad: Timing, side: str) -> bool:
    """Return whether the quad is valid and finished and contains this side (an incumbent may be left out later)."""
    sides = [block["side"] for block in quad["blocks"]]
    return not quad["void"] and sides.count(BASELINE) == sides.count(side) == 2


def _abba(blocks: list[Timing], side: str) -> list[Timing]:
    first, last = (block for block in blocks if block["side"] == BASELINE)
    return [first, *(block for block in blocks if block["side"] == side), last]


def is_sane(sample: Sample) -> bool:
    """Return whether the judge's clock behaved. Parts above the whole, or time that ran backwards, void a block."""
    wall, put, take, inner, *others = sample
    finite = all(math.isfinite(value) and value >= 0 for value in (wall, put, take, *others))
    return finite and wall > 0 and put + take <= wall and math.isfinite(inner)


def at_once_ns(sample: Sample, constant: float, *, clock: str, certified: bool) -> float:
    """Return a call's time as far as it is known during measurement: good enough to decide when to stop."""
    return sample[3] if clock == EVENT else spent_ns(sample, certified=certified) - constant


def spent_ns(sample: Sample, *, certified: bool) -> float:
    """Return the part of a call's wall time in which the tenant could run; all of it if it could not be frozen."""
    wall, put, take, *_ = sample
    return wall - put - take if certified else wall


def constant_ns(timing: Timing, *, certified: bool) -> float:
    """Return the cost of a call without work, from idle calls of the baseline; it is subtracted from both sides alike.

    The lower quartile, because a constant that is too small moves a ratio a little towards 1, but a constant that a
    disturbance made too large could make any kernel look fast.
    """
    return stats.lower_quartile([spent_ns(sample, certified=certified) for sample in timing["idle"]])


def is_constant_known(idle: Sequence[Sample], *, certified: bool) -> bool:
    """Return whether enough idle calls were undisturbed: a quarter of them took little longer than the fastest."""
    spent = [spent_ns(sample, certified=certified) for sample in idle]
    return stats.lower_quartile(spent) <= CALM * min(spent)


def _wall(quads: list[list[Timing]], timing: Timing, *, certified: bool) -> Certified:
    constant = constant_ns(timing, certified=certified) if quads else 0.0

    def block_ns(block: Timing) -> float:
        return stats.median([spent_ns(sample, certified=certified) for sample in block["calls"]]) - constant

    return Certified([[block_ns(block) for block in quad] for quad in quads], spread_ns=_own_way_ns(timing))


def _own_way_ns(timing: Timing) -> float:
    """Return the part of an idle call that a tenant could save by sparing the harness all its work: all but thawing and
    freezing.

    The constant is subtracted from both sides, and at most this much of a time could be forged.
    """
    return max(0.0, stats.median([spent_ns(sample, certified=True) - sum(sample[5:7]) for sample in timing["idle"]]))


def _event(quads: list[list[Timing]], timing: Timing, side: str) -> Certified:
    """Certify all of a case's blocks together: one call's gap strays by hundreds of µs, its lower edge hardly moves.

    The candidate's events are raised by the hidden time that gap.py finds beyond doubt, among all its calls or the
    fastest. A quad's ratio moves with either of its two blocks: a tenant that forges a block in most quads forges fewer
    than half of all calls, but among the fastest calls forged calls are the majority. The ratio also moves by only half
    as much, hence half of that spread counts.
    """
    if not quads:
        return Certified([])
    calls = [([_told(first), _told(last)], [_told(second), _told(third)]) for first, second, third, last in quads]
    everywhere, fastest = gap.of_case(timing, calls, BASELINE, side)
    own_ns, apart_ns = gap.context_ns(timing, side), gap.apart_ns(timing, side)
    raised = max(everywhere.beyond, fastest.beyond)
    added = (0.0, raised - own_ns, raised - own_ns, 0.0)
    times = [[_event_block(block) + more for block, more in zip(quad, added, strict=True)] for quad in quads]
    spread = max(everywhere.spread, fastest.spread / 2) + max(0.0, own_ns) + max(0.0, apart_ns)
    spread += gap.spared_ns(timing) + gap.elsewhere_ns(timing, BASELINE, side)
    in_doubt = min(0.0, apart_ns)  # own calls alone never prove a forgery
    mismatch = any(
        found.value + in_doubt > MISMATCH_SPREADS * max(found.spread, gap.LEAST_QUEUED_NS)
        for found in (everywhere, fastest)
    )
    return Certified(times, spread, mismatch=mismatch)


def _told(block: Timing) -> list[gap.Call]:
    return [(sample[0], sample[3]) for sample in block["calls"]]


def _event_block(block: Timing) -> float:
    return block_ns([sample[3] for sample in block["calls"]], clock=EVENT)


def block_ns(times_ns: Sequence[float], *, clock: str) -> float:
    """Return the time of a block's calls, in ns.

    A device's events of short work gather at a few places (on an H200 some 0.2 µs apart), hence the midmean for them.
    """
    return stats.midmean(times_ns) if clock == EVENT else stats.median(times_ns)
