"""Which time of a call counts: what the judge's own clock vouches for. Pure.

A sample is one call: [wall_ns, put_ns, take_ns, inner_ns, probe_ns]. The first three are the judge's (all of it, and
its own copying in and out as parts of it), `inner_ns` is the tenant's word.

`wall` (cpu hardware): the wall clock less the judge's copying, during which a certified tenant is frozen, less the
constant that an idle call of the baseline costs. The tenant's word never counts.
`event` (GPUs): the device's events, raised to what the wall clock vouches for where they lie below. The constant
between the two clocks is calibrated on the baseline's blocks of the same case, whose events are ours; `spread_ns` is
how well it is known (95 %), and so the most by which an event time could be forged unseen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from runner.judge import stats

WALL, EVENT = "wall", "event"
MISMATCH_SPREADS: Final = 3.0  # events this many spreads under the wall clock's time are no accident
LEAST_SPREAD_NS: Final = 1_000.0  # no calibration is better than this

Sample = Sequence[float]
Timing = dict[str, Any]  # one entry of the evidence's `timing`


@dataclass(frozen=True)
class Certified:
    """Block times of one case in ns, four a quad in ABBA order; how much could be forged; whether something was."""

    quads: list[list[float]]
    spread_ns: float = 0.0
    mismatch: bool = False


def certify(timing: Timing, *, clock: str, certified: bool) -> Certified:
    """The times that count, of all blocks of a case."""
    return _event(timing) if clock == EVENT else _wall(timing, certified=certified)


def at_once_ns(sample: Sample, constant: float, *, clock: str, certified: bool) -> float:
    """A call's time as far as it is known while measuring goes on: good enough to decide when to stop."""
    return sample[3] if clock == EVENT else spent_ns(sample, certified=certified) - constant


def spent_ns(sample: Sample, *, certified: bool) -> float:
    """The part of a call's wall time in which the tenant could run; all of it where it could not be frozen."""
    wall, put, take, *_ = sample
    return wall - put - take if certified else wall


def constant_ns(timing: Timing, *, certified: bool) -> float:
    """What the way of a call costs by itself, from idle calls of the baseline; taken off both sides alike.

    The lower quartile: one that is too small moves a ratio a little towards 1, one that a disturbance made too large
    could make any kernel look fast.
    """
    return stats.lower_quartile([spent_ns(sample, certified=certified) for sample in timing["idle"]])


def _wall(timing: Timing, *, certified: bool) -> Certified:
    constant = constant_ns(timing, certified=certified)

    def block_ns(block: Timing) -> float:
        return stats.median([spent_ns(sample, certified=certified) for sample in block["calls"]]) - constant

    return Certified([[block_ns(block) for block in quad] for quad in timing["quads"]])


def _event(timing: Timing) -> Certified:
    """All of a case's blocks together: one block's gap strays by hundreds of µs, their median hardly moves.

    The candidate's events are raised by what the gap between the clocks is larger than the baseline's, less the spread.
    """
    ours = [_gap_ns(block) for quad in timing["quads"] for block in (quad[0], quad[3])]
    theirs = [_gap_ns(block) for quad in timing["quads"] for block in (quad[1], quad[2])]
    spread = max(math.sqrt(2) * stats.median_estimate(ours).half_width, LEAST_SPREAD_NS)
    hidden = stats.median(theirs) - stats.median(ours)
    raised = max(0.0, hidden - spread)
    quads = [
        [
            _event_median(first),
            _event_median(second) + raised,
            _event_median(third) + raised,
            _event_median(fourth),
        ]
        for first, second, third, fourth in timing["quads"]
    ]
    return Certified(quads, spread, mismatch=hidden > MISMATCH_SPREADS * spread)


def _gap_ns(block: Timing) -> float:
    return _wall_median(block) - _event_median(block)


def _wall_median(block: Timing) -> float:
    return stats.median([sample[0] for sample in block["calls"]])


def _event_median(block: Timing) -> float:
    return stats.median([sample[3] for sample in block["calls"]])
