"""Certified time of a call: the time that the judge's own clock vouches for. Pure.

Only valid quads count.

`wall` (cpu hardware): the wall clock less the judge's copying, during which a certified tenant is frozen, less the
constant that an idle call of the baseline costs. The tenant's word never counts.

`event` (GPUs): the device's events, raised to the time that the wall clock vouches for if they lie below it. The gap
between the two clocks is calibrated on the baseline's blocks of the same case, whose events are ours (gap.py).
`spread_ns` could be forged unseen: it is how far that comparison strays by itself (three standard errors), plus the
part of the gap that a tenant could spare. Extra time of a side's context and gap beyond the baseline's, as calls of our
own showed before, is subtracted (contexts.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runner.evidence import gap, stats
from runner.evidence.sample import BASELINE, CANDIDATE, EVENT, Sample, block_ns
from runner.evidence.schema import Block, Evidence, Quad, Timing

MISMATCH_SPREADS: Final = 3.0  # events this many spreads under the wall clock's time are no accident

CALM: Final = 1.5  # times the fastest idle call; a longer call met foreign work


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
        return _event(quads, timing, side)
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


def _event(quads: list[Quad], timing: Timing, side: str) -> Certified:
    """Certify all of a case's blocks together: one call's gap strays by hundreds of µs, its lower edge hardly moves.

    The candidate's events are raised by the hidden time that gap.py finds beyond doubt, among all its calls or the
    fastest. A quad's ratio moves with either of its two blocks: a tenant that forges a block in most quads forges fewer
    than half of all calls, but among the fastest calls forged calls are the majority. The ratio also moves by only half
    as much, hence half of that spread counts.
    """
    if not quads:
        return Certified([])
    everywhere, fastest = gap.of_case(timing, quads, side)
    own_ns, apart_ns = gap.context_ns(timing, side), gap.apart_ns(timing, side)
    raised = max(everywhere.beyond, fastest.beyond)
    added = (0.0, raised - own_ns, raised - own_ns, 0.0)
    times = [
        [
            block_ns([sample.inner_ns for sample in block.calls], clock=EVENT) + more
            for block, more in zip(abba(quad, side), added, strict=True)
        ]
        for quad in quads
    ]
    spread = max(everywhere.spread, fastest.spread / 2) + max(0.0, own_ns) + max(0.0, apart_ns)
    spread += gap.spared_ns(timing) + gap.elsewhere_ns(timing, side)
    in_doubt = min(0.0, apart_ns)  # own calls alone never prove a forgery
    mismatch = any(
        found.value + in_doubt > MISMATCH_SPREADS * max(found.spread, gap.LEAST_QUEUED_NS)
        for found in (everywhere, fastest)
    )
    return Certified(times, spread, mismatch=mismatch)
