"""A simulated race: sides, telemetry and chance set by a test, driven by the real timing, certificate and verdict. Time
passes only where a fake makes it pass."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from runner.evidence import certificate, schedule, throttle, verdict
from runner.evidence.recorder import CaseRecorder
from runner.evidence.sample import Sample
from runner.evidence.schedule import ABBA, CPU, A, B, Profile, Schedule
from runner.evidence.throttle import Poll, Reading, Window
from runner.judge import timing
from runner.judge.device.telemetry import nothing
from tests.runner.evidence.whole import parsed

GAP_NS = 300_000.0  # cost of the way of a call

Model = Callable[[float, random.Random], float]  # share by which a call at this second is slower; and its chance
Heat = Callable[["Race"], Window]  # telemetry of the block that just ended


def steady(at_s: float, chance: random.Random) -> float:
    return 1.0


@dataclass
class FakeSide:
    race: Race
    name: str
    time_ns: float
    model: Model = steady
    told: float = 1.0  # the tenant's claim, as a share of the truth
    luck: float = 1.0  # drawn anew for each block
    luck_of: Callable[[random.Random], float] = lambda chance: 1.0
    cold: float = 0.0  # share by which the first call of a block, right after a thaw, takes longer
    calls: int = 0
    lean_calls: int = 0
    longest: int = 0  # most calls of a block so far

    def make_ready(self, calls: int, lean: int = 0) -> None:
        self.calls, self.lean_calls = calls, lean
        self.longest = max(self.longest, calls)

    def make_ahead(self, calls: int, lean: int) -> None:
        self.ahead = calls, lean

    def run_block(self) -> list[Sample]:
        self.race.blocks.append(self.name)
        self.luck = self.luck_of(self.race.chance)
        return [self.race.call(self, 1.0 + self.cold * (number == 0)) for number in range(self.calls)]

    def settle(self) -> timing.Settled:
        lean = [self.race.call(self)._replace(inner_ns=0) for _ in range(self.lean_calls)]
        return timing.Settled(lean=lean)


@dataclass
class Race:
    """One case between sides of the given true times (ns). `run` returns the verdict; `timing` is its JSON."""

    sides: dict[str, FakeSide] = field(default_factory=dict)
    profile: Profile = CPU
    noise: float = 0.003
    drift: Model = steady  # of the device: affects all sides alike
    heat: Heat | None = None
    seed: int = 1
    order: tuple[str, ...] = ABBA
    probe_ns: Callable[[Race], float] = lambda race: 0.0
    wall: Callable[[float, Race], float] = lambda wall, race: wall
    clock_s: float = 0.0
    began_s: float = 0.0
    rests: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    level: str = "full"
    rules: int = 2
    most_calls: int = 1 << 20  # per block: the capacity of the judge's memory
    saves_inputs: bool = False
    timing: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def call(self, side: FakeSide, slow: float = 1.0) -> Sample:
        slow *= self.drift(self.clock_s, self.chance) * side.model(self.clock_s, self.chance)
        true = side.time_ns * slow * self.chance.lognormvariate(0, self.noise)
        wall = true + GAP_NS + self.chance.gauss(0, 300)
        self.clock_s += wall / 1e9
        return Sample(self.wall(wall, self), 0, 0, true * side.told, self.probe_ns(self), 0, 0)

    def run(self) -> verdict.Verdict:
        recorder = CaseRecorder("n=1", {"n": 1})
        idle = self.idle(FakeSide(self, A, 1.0))
        recorder.add(idle=idle, probe_limit_ns=throttle.probe_limit_ns(idle))
        constant = certificate.constant_ns(idle, certified=True)
        plan = Schedule(self.profile, self.order, most_calls=self.most_calls, saves_inputs=self.saves_inputs)
        run = timing.CaseTiming(
            plan=plan,
            sides=self.sides,
            telemetry=self,
            clock=self,
            times=lambda sample: sample.at_once_ns(constant, clock=self.profile.clock, certified=True),
            pause=self._pause,
            chance=self.chance,
            recorder=recorder,
            progress=lambda quads: None,
        )
        try:
            assert run.run() is None
        finally:
            self.timing = recorder.timing.model_dump(mode="json")
        around = parsed(self.evidence() | {"timing": []})  # samples may be no numbers, which JSON lacks
        return verdict.decide(around.model_copy(update={"timing": [recorder.timing]}))

    def idle(self, side: FakeSide) -> list[Sample]:
        return [self.call(side) for _ in range(self.profile.idle_calls)]

    def evidence(self) -> dict[str, Any]:
        return {
            "version": 3,
            "rules": self.rules,
            "mode": "ranked",
            "ranking_by": "geom",
            "profile": asdict(self.profile),
            "clock": self.profile.clock,
            "certified": True,
            "telemetry": self.level,
            "set_aside": self.timing["ended_why"] if self.timing["ended"] == schedule.UNFIT else "",
            "fault": None,
            "checks": [{"case": "n=1", "public": True, "good": True, "reason": "", "message": ""}],
            "timing": [self.timing],
            "findings": [],
            "limits": {},
        }

    def _pause(self, why: str) -> None:
        self.rests.append(why)
        self.clock_s += 1

    def now_ns(self) -> int:
        return round(self.clock_s * 1e9)

    # -- Telemetry -----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self.began_s = self.clock_s

    def end(self, meanwhile: Callable[[], object] = nothing) -> Window:
        meanwhile()
        return (self.heat or healthy)(self)

    def temperature_c(self) -> float | None:
        return 50.0

    def close(self) -> None: ...


def race(ratio: float = 1.0, *, baseline_ns: float = 4e6, **given: Any) -> Race:
    """Race of baseline and candidate whose true times have this ratio."""
    made = Race(**given)
    made.sides = {A: FakeSide(made, A, baseline_ns), B: FakeSide(made, B, baseline_ns * ratio)}
    return made


def look(race: Race, **told: Any) -> Reading:
    """Reading of a device that is warm and well except for the given changes."""
    well: dict[str, Any] = {
        "at_ns": round(race.clock_s * 1e9),
        "mask": 0,
        "counters": dict.fromkeys(throttle.COUNTERS, 0),
        "memory_mhz": 2619.0,
        "clock_mhz": 1980.0,
        "temperature_c": 50.0,
        "power_w": 300.0,
        "ecc_errors": 0,
        "strangers": 0,
        "limits": {"power_limit_mw": 700_000},
        "pcie_width": 16,
        "pcie_width_most": 16,
    }
    return Reading(**(well | told))


def healthy(race: Race) -> Window:
    return window(race)


def window(race: Race, before: dict[str, Any] | None = None, masks: tuple[int, ...] = (), **after: Any) -> Window:
    began = {"at_ns": round(race.began_s * 1e9)}
    polls = tuple(Poll(began["at_ns"] + n + 1, mask, 0) for n, mask in enumerate(masks))
    return Window(look(race, **(began | (before or {}))), look(race, **after), polls)


def at_block(number: int, **told: Any) -> Heat:
    """Telemetry with an event in one block, counted from 0 over all blocks; the device is well in the remaining
    blocks."""

    def heat(race: Race) -> Window:
        return window(race, **told) if len(race.blocks) - 1 == number else healthy(race)

    return heat


def counted(number: int, ns: int) -> dict[int, int]:
    """Counters, one of which stands at `ns`."""
    return {**dict.fromkeys(throttle.COUNTERS, 0), number: ns}
