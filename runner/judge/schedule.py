"""When to run which block: a pure state machine that emits commands and consumes samples.

One case: idle calls of the baseline (they calibrate the constant that the way of a call costs), warm-up of both sides,
then ABBA quads of blocks (A the baseline, B the candidate) until the interval is narrow enough or the budget is spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from runner.judge import stats
from runner.judge.certificate import EVENT, WALL

A, B = "baseline", "candidate"
ABBA: Final = (A, B, B, A)


@dataclass(frozen=True)
class Profile:
    """How long to measure, by class of hardware. Times in seconds; half-widths relative."""

    clock: str  # which time counts: certificate.py
    block_s: float
    least_calls: int
    most_calls: int
    first_look: int  # quads
    look_every: int
    most_quads: int
    stop_half_width: float
    case_budget_s: float  # of the judge's wall clock, calls only
    idle_calls: int


CPU: Final = Profile(
    clock=WALL,
    block_s=0.008,
    least_calls=3,
    most_calls=25,
    first_look=6,
    look_every=2,
    most_quads=16,
    stop_half_width=0.02,
    case_budget_s=3.0,
    idle_calls=7,
)
GPU: Final = Profile(
    clock=EVENT,
    block_s=0.02,
    least_calls=3,
    most_calls=25,
    first_look=8,
    look_every=4,
    most_quads=40,
    stop_half_width=0.0025,
    case_budget_s=20.0,
    idle_calls=5,
)


@dataclass(frozen=True)
class Block:
    """A command: run this many calls of this side."""

    side: str
    calls: int


@dataclass
class Schedule:
    """Feed `took` with the certified times of each block that `next` asked for, until `next` answers None."""

    profile: Profile
    calls: int
    quads: list[list[float]] = field(default_factory=list)  # finished ones: four block medians each, in ABBA order
    _open: list[float] = field(default_factory=list)
    spent_s: float = 0.0

    @classmethod
    def after_warm_up(cls, profile: Profile, slower_ns: float) -> Schedule:
        """`slower_ns`: certified time of one call of the slower side, which sets the length of a block."""
        calls = round(profile.block_s * 1e9 / max(slower_ns, 1.0))
        return cls(profile, min(max(calls, profile.least_calls), profile.most_calls))

    def next(self) -> Block | None:
        if not self._open and self._finished():
            return None
        return Block(ABBA[len(self._open)], self.calls)

    def took(self, certified_ns: Sequence[float], wall_s: float) -> None:
        self._open.append(stats.median(certified_ns))
        self.spent_s += wall_s
        if len(self._open) == len(ABBA):
            self.quads.append(self._open)
            self._open = []

    def _finished(self) -> bool:
        count, profile = len(self.quads), self.profile
        if count < profile.first_look:
            return False
        if count >= profile.most_quads or self.spent_s >= profile.case_budget_s:
            return True
        if (count - profile.first_look) % profile.look_every:
            return False
        return stats.median_estimate(differences(self.quads)).half_width <= profile.stop_half_width


def differences(quads: Sequence[Sequence[float]]) -> list[float]:
    """ln(candidate / baseline) of each quad whose blocks all took some time."""
    return [stats.quad_difference(*quad) for quad in quads if min(quad) > 0]
