"""Schedule of the blocks: a pure state machine that emits commands and consumes events.

The schedule of a case begins with a warm-up of every side until its windows agree. Quads of blocks in ABBA order follow
(A the baseline, B the candidate; with an incumbent ABIIBA), until the interval is narrow enough, or the quads, the
budget or the patience are spent. A block that throttle.py rules out voids its quad: rest, warm up, begin the quad
again. Every quad is kept; void quads carry their reason and the side that is to blame.

Pure.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from runner.evidence import stats
from runner.evidence.sample import BASELINE, CANDIDATE, EVENT, INCUMBENT, WALL
from runner.evidence.throttle import LOAD, SET_ASIDE, VOID, WARM_AGAIN, Ruling

A, B, I = BASELINE, CANDIDATE, INCUMBENT  # noqa: E741  the letters of the orders below
ABBA: Final = (A, B, B, A)
ABIIBA: Final = (A, B, I, I, B, A)
INCUMBENT_VOIDS: Final = 2  # an incumbent that voids this often is no longer timed beside the candidate
QUADS_TO_KNOW_THE_BASELINE: Final = 4  # before a quad's baseline can be called slow
NOISE_FACTOR: Final = 4.5  # median absolute deviations: three standard deviations of a normal distribution
FIRST_LOOK: Final = 7  # quads of a case, after which a candidate that cannot beat a bar is let go: bar.py
VOIDS_TO_GIVE_UP: Final = 3  # fewer prove nothing about the device

# How a case ended.
CONVERGED, QUADS, BUDGET, VOIDS, UNFIT = "converged", "quads", "budget", "voids", "set_aside"


@dataclass(frozen=True)
class Profile:
    """Length of a measurement, by class of hardware. Times in seconds; half-widths and shares relative."""

    clock: str  # the time that counts: certificate.py
    block_s: float
    least_calls: int
    most_calls: int
    first_look: int  # quads
    look_every: int
    most_quads: int
    stop_half_width: float
    case_budget_s: float  # of the judge's wall clock, inputs and comparing included
    idle_calls: int
    warm_agree: float  # two windows of a side that differ by less are warm
    most_windows: int  # of warm-up, per side; a side that has not settled by then is measured as it is
    most_void: float  # share of quads; beyond it the device is unusable
    slowed: float  # a quad whose baseline is slower than usual by this share is void
    agree_ns: float = 0.0  # a half-width of this many ns is narrow enough, if that is more
    widest_half_width: float = 0.0  # up to this half-width
    wavering: float = 0.0  # `slowed` also needs a difference below the usual by this many absolute deviations
    # Noise. The defaults are the rules of reports that lack these fields.
    unsteady: float = 0.30  # half-width of a case's interval beyond which its ratio is not worth ranking
    believed: float = 0.0  # a ratio stands at most this far below the upper end of its interval; 0: no limit
    noisy: float = 0.0  # half-width above which a case is measured longer; 0: never
    noisy_quads: int = 0  # replaces most_quads then
    noisy_budget_s: float = 0.0  # replaces case_budget_s then
    lean_calls: int = 0  # of a block, beside the others
    lean_to_ns: float = 0.0  # unless the baseline takes longer: a call may then outlast its context's turn
    load_voids: int = 0  # after this many quads voided by foreign load, load no longer voids; 0: it always does
    context_ns: float = 0.0  # standard deviation of a kernel's times from context to context; a run has one a side

    def within(self, stage_s: float, cases: int) -> Profile:
        """Return the profile for a run of this many cases: noise takes at most half of the stage's time limit."""
        return replace(self, noisy_budget_s=min(self.noisy_budget_s, stage_s / 2 / max(cases, 1)))

    @property
    def for_first_look(self) -> Profile:
        """The profile of a first look, with half as many calls in a block and no lean ones: bar.py."""
        calls = max(self.most_calls // 2, self.least_calls)
        return replace(self, first_look=FIRST_LOOK, most_quads=FIRST_LOOK, most_calls=calls, lean_calls=0, noisy=0.0)

    def narrow_at(self, time_ns: float) -> float:
        """Return the half-width to stop at for a time."""
        return max(self.stop_half_width, min(self.agree_ns / time_ns, self.widest_half_width))


CPU: Final = Profile(
    clock=WALL,
    block_s=0.008,
    least_calls=3,
    most_calls=25,
    first_look=6,
    look_every=2,
    most_quads=16,
    stop_half_width=0.02,
    case_budget_s=12.0,
    idle_calls=7,
    warm_agree=0.10,
    most_windows=4,
    most_void=0.5,  # a virtual machine has neighbours
    slowed=0.25,
    wavering=NOISE_FACTOR,
    unsteady=0.50,
    believed=0.03,
    noisy=0.10,
    noisy_quads=48,
    noisy_budget_s=30.0,
    load_voids=VOIDS_TO_GIVE_UP,
)
GPU: Final = Profile(
    clock=EVENT,
    block_s=0.02,
    least_calls=3,
    most_calls=8,
    first_look=8,
    look_every=4,
    most_quads=100,
    stop_half_width=0.0025,
    case_budget_s=20.0,
    idle_calls=5,
    warm_agree=0.02,
    most_windows=6,
    most_void=0.2,
    slowed=0.03,
    wavering=NOISE_FACTOR,
    # two containers with the same code agree within this; far less than could be forged
    agree_ns=100.0,
    widest_half_width=0.015,
    lean_calls=2,
    lean_to_ns=1_000_000.0,
    context_ns=60.0,  # of calls of one kernel, measured in 68 jobs: docs/lab-notebook/2026-11-29.md
)


@dataclass(frozen=True)
class Run:
    """Command: run this many calls of this side. `warm` calls are not measured; `calls` 0: chance decides. `lean`: this
    many calls more are lean."""

    side: str
    calls: int
    warm: bool = False
    lean: int = 0


@dataclass(frozen=True)
class Rest:
    """Command: wait until the cause of a void block is over (throttle.pause_is_over)."""

    why: str


@dataclass(frozen=True)
class End:
    """End of the commands: how (CONVERGED, QUADS, BUDGET, VOIDS or UNFIT) and, after a failure, its reason."""

    how: str
    reason: str = ""


Command = Run | Rest | End


@dataclass
class Quad:
    """Times of the blocks in ns in the order of `order`, as far as they were run."""

    order: tuple[str, ...]
    times: list[float] = field(default_factory=list)
    void: str = ""
    charged: str = ""

    @property
    def complete(self) -> bool:
        return len(self.times) == len(self.order)

    def of(self, side: str) -> list[float]:
        return [time for name, time in zip(self.order, self.times, strict=True) if name == side]


@dataclass
class Schedule:
    """State machine of a case. Ask `next`, execute the command, report `ran` or `rested`; repeat until End.
    `most_calls` bounds a block from outside (the judge's memory for outputs), and `saves_inputs` by what inputs cost.
    A replay knows neither, but the calls that a block had."""

    profile: Profile
    order: tuple[str, ...] = ABBA
    most_calls: int = 1 << 20
    saves_inputs: bool = False
    quads: list[Quad] = field(default_factory=list)
    windows: dict[str, list[float]] = field(default_factory=dict)  # of warm-up: in ns, all of them
    calls: int = 0  # of a block; 0 until the sides are warm
    lean: int = 0  # calls of a block beside them
    spent_s: float = 0.0
    _each_s: dict[str, float] = field(default_factory=dict)  # by side: of a call, with its input where it made one
    _ours: list[float] = field(default_factory=list)  # the baseline's calls, in ns
    _queue: list[Command] = field(default_factory=list)
    _end: End | None = None

    def __post_init__(self) -> None:
        self._warm(self._sides)

    @property
    def _sides(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.order))

    @property
    def valid(self) -> list[Quad]:
        return [quad for quad in self.quads if quad.complete and not quad.void]

    def next(self) -> Command:
        while self._end is None and not self._queue:
            if not self.calls:
                if cold := [side for side in self._sides if self._is_cold(self.windows.get(side, []))]:
                    self._warm(cold)
                    break
                # By the slower side: all sides make equally many calls.
                slower = max(windows[-1] for windows in self.windows.values())
                calls = round(self.profile.block_s * 1e9 / max(slower, 1.0)) if math.isfinite(slower) else 0
                least, most = self._least_and_most_calls()
                self.calls = max(min(max(min(calls, most), least), self.most_calls), 1)
                self.lean = self._lean_calls()
            self._end = self._finished()
            if self._end is None:
                self.quads.append(Quad(self.order))
                self._queue += [Run(side, self.calls, lean=self.lean) for side in self.order]
        return self._end or self._queue[0]

    @property
    def expected(self) -> Run | None:
        """Return the Run that follows the present one if its block is valid; None if its times decide on that."""
        if len(self._queue) > 1:
            following = self._queue[1]
            return following if isinstance(following, Run) and following.calls else None
        present = self._queue[0]
        valid = len(self.valid) + (isinstance(present, Run) and not present.warm)
        looks = valid >= self.profile.first_look and not (valid - self.profile.first_look) % self.profile.look_every
        return Run(self.order[0], self.calls, lean=self.lean) if self.calls and not looks else None

    def ran(self, times_ns: Sequence[float], wall_s: float, ruling: Ruling, charged: str = "") -> None:
        """Record the outcome of a Run: the times of its calls that count; its total wall time, with preparing inputs
        and comparing outputs; the ruling; and the side to blame.

        Foreign load that came after the warm-up and stays cannot be waited out: after `load_voids` quads it voids no
        more, falls on both sides like load from before the warm-up, and widens the interval.
        """
        command = self._queue.pop(0)
        assert isinstance(command, Run)
        self.spent_s += wall_s
        # A device's events of short work gather at a few places (on an H200 some 0.2 µs apart), hence their midmean.
        average = stats.midmean if self.profile.clock == EVENT else stats.median
        time_ns = average(times_ns) if times_ns else math.nan
        under_load = sum(quad.void in LOAD for quad in self.quads)
        stays = ruling.action == VOID and ruling.reason in LOAD and 0 < self.profile.load_voids <= under_load
        if ruling.action == SET_ASIDE:
            self._void(ruling.reason, charged)
            self._end = End(UNFIT, ruling.reason)
        elif command.warm:
            self.windows.setdefault(command.side, []).append(time_ns)
            each_s = wall_s / max(len(times_ns), 1)
            self._each_s[command.side] = min(self._each_s.get(command.side, each_s), each_s)
        elif ruling.action in (VOID, WARM_AGAIN) and not stays:
            self._void(ruling.reason, charged)
            if ruling.action == VOID:
                self._queue.append(Rest(ruling.reason))
            self._warm(self._sides)
        else:
            quad = self.quads[-1]
            quad.times.append(time_ns)
            self._ours += times_ns if command.side == A else []
            if quad.complete and self._baseline_slowed(quad):
                self._void("baseline_slowed", "")

    def rested(self) -> None:
        command = self._queue.pop(0)
        assert isinstance(command, Rest)

    # -- warming up ----------------------------------------------------------------------------------------------

    def _warm(self, sides: Sequence[str]) -> None:
        self._queue += [Run(side, self.calls, warm=True) for side in sides]

    def _is_cold(self, windows: Sequence[float]) -> bool:
        """Return whether a side's last two windows do not agree yet."""
        if len(windows) >= self.profile.most_windows:
            return False
        agree = len(windows) > 1 and abs(windows[-1] - windows[-2]) <= self.profile.warm_agree * abs(windows[-2])
        return not agree

    def _least_and_most_calls(self) -> tuple[int, int]:
        """Return the least and the most calls of a block.

        At most so many that the first look takes half of the budget: where inputs take long to make, all of it would go
        into the fewest quads. A side's quickest window counts: sides that share inputs have the cost of half of them,
        as in the quads. At least one, where the baseline's calls alone would spend all of the budget until the first
        look, or its calls with their inputs four times as much: an input serves two blocks. The candidate's own times
        have no part in that. The first call of a block finds a cold processor.
        """
        profile = self.profile
        if not self.saves_inputs:
            return profile.least_calls, profile.most_calls
        block_s = profile.case_budget_s / (profile.first_look * len(self.order))
        most = min(block_s / 2 / max(statistics.fmean(self._each_s.values()), 1e-9), profile.most_calls)
        call_s = max(min(self.windows[A]) / 1e9, self._each_s[A] / 4)
        return 1 if profile.least_calls * call_s > block_s else profile.least_calls, int(most)

    def _lean_calls(self) -> int:
        """Return the lean calls of a block, none beside a single call. The baseline's time decides."""
        profile = self.profile
        fits = self.calls > 1 and self.windows[A][-1] <= profile.lean_to_ns
        return min(profile.lean_calls, self.most_calls - self.calls) if fits else 0

    # -- measuring -----------------------------------------------------------------------------------------------

    def _void(self, reason: str, charged: str) -> None:
        """Void the open quad, if any, and drop the rest of its commands."""
        self._queue.clear()
        if not self.quads or self.quads[-1].void:
            return
        self.quads[-1].void, self.quads[-1].charged = reason, charged
        if sum(quad.charged == I for quad in self.quads) >= INCUMBENT_VOIDS:
            self.order = ABBA

    def _baseline_slowed(self, quad: Quad) -> bool:
        """Return whether both blocks of the baseline slowed down while the candidate's did not. If all sides slow down,
        the ratio stands."""
        others = self.valid[:-1]
        if (
            len(others) < QUADS_TO_KNOW_THE_BASELINE
            or min(time for other in [*others, quad] for time in other.times) <= 0
        ):
            return False
        known = [median for other in others for median in other.of(A)]
        usual = stats.median(known)
        noise = stats.median([abs(median - usual) for median in known]) / usual
        slack = max(math.log1p(self.profile.slowed), NOISE_FACTOR * noise)
        before, now = self._differences(B, others), self._differences(B, [quad])
        if not before or not now or min(quad.of(A)) <= usual * math.exp(slack):
            return False
        expected = stats.median(before)
        wavering = self.profile.wavering * stats.median([abs(one - expected) for one in before])
        return expected - now[0] > max(slack / 2, wavering)

    def _finished(self) -> End | None:
        valid, profile = self.valid, self.profile
        void = [quad for quad in self.quads if quad.void]
        if len(void) >= VOIDS_TO_GIVE_UP and len(void) > profile.most_void * max(len(self.quads), profile.first_look):
            return End(VOIDS, void[-1].void)
        if len(valid) < profile.first_look:
            return None
        timed = [side for side in self._sides if side != A]
        noisy = profile.noisy > 0 and any(self._half_width(side) > profile.noisy for side in timed)
        if len(valid) >= (max(profile.most_quads, profile.noisy_quads) if noisy else profile.most_quads):
            return End(QUADS)
        if self.spent_s >= (max(profile.case_budget_s, profile.noisy_budget_s) if noisy else profile.case_budget_s):
            return End(BUDGET)
        if (len(valid) - profile.first_look) % profile.look_every:
            return None
        for side in timed:
            goal = profile.stop_half_width
            ours, theirs = ([time for quad in valid for time in quad.of(name)] for name in (A, side))
            if profile.clock == EVENT and min(ours + theirs) > 0:
                medians = stats.median(ours), stats.median(theirs)
                # No finer than the clock's steps, which more quads do not make smaller.
                goal = max(profile.narrow_at(min(medians)), share_of(stats.tick(self._ours), *medians))
            if self._half_width(side) > goal:
                return None
        return End(CONVERGED)

    def _half_width(self, side: str) -> float:
        found = self._differences(side, self.valid)
        found += [math.inf] * sum(bool(quad.void) and quad.charged == side for quad in self.quads)  # as in verdict.py
        return stats.median_estimate(found).half_width if found else math.inf

    def _differences(self, side: str, quads: Sequence[Quad]) -> list[float]:
        return differences([abba(quad.of(A), quad.of(side)) for quad in quads if side in quad.order])


def share_of(ns: float, ours_ns: float, theirs_ns: float) -> float:
    """Return `ns` on each of two sides as a share of their ratio."""
    return ns * (1 / ours_ns + 1 / theirs_ns) / 2


def abba(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return two blocks of each of two sides, in the order in which they were run."""
    return [ours[0], *theirs, ours[1]]


def differences(quads: Sequence[Sequence[float]]) -> list[float]:
    """Return ln(B / A) of each quad, given in the order A B B A, if all its blocks took some time."""
    return [stats.quad_difference(*quad) for quad in quads if all(block > 0 for block in quad)]
