"""Runs of a simulated race as the judge reports them: whole samples, full telemetry, every field of the schema."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from problems.spec import Precision
from runner.evidence import certificate, rules, schema, throttle
from runner.evidence import speed_of_light as limits
from runner.evidence.ceilings import Ceilings, unmeasured
from runner.evidence.sample import Sample
from runner.evidence.schedule import ABIIBA, CPU, GPU, A, B, I
from runner.evidence.throttle import Reading, Window
from runner.job import execute
from runner.wire import Report
from tests.runner.judge.simulated import GAP_NS, FakeSide, Race, window

JSON = dict[str, Any]
MB = 1 << 20
PUT_NS, TAKE_NS, THAW_NS, FREEZE_NS, PROBE_NS = 40_000, 30_000, 55_000, 28_000, 15_000
BLANK = Report(attempt_id="1", token=0, outcome="infra_error")
CIRCUMSTANCES: JSON = {
    "problem_digest": "sha256:" + "0" * 64,
    "image": "sha256:" + "1" * 64,
    "left_out": [],
    "cores": {"judge": [0], "tenant": [1]},
    "phases_s": {"start": 3.1782, "timing": 2.25, "all": 6.5},
    "init_seed": None,
    "own_calls": {},
    "tuned": False,
    "limits": {},
}
ON_CPU: JSON = {
    "hardware": "cpu",
    "fingerprint": {"hardware": "cpu", "cpu": "a cpu", "cpus": 2, "timing_version": 12},
    "epoch": "0123456789abcdef",
}
ON_GPU: JSON = {
    "hardware": "H200",
    "fingerprint": {"hardware": "H200", "gpu": "NVIDIA H200", "driver": "570.00", "timing_version": 12},
    "epoch": "fedcba9876543210",
}


@dataclass
class Whole(Race):
    """Race whose samples are whole nanoseconds and include copying, thawing and freezing."""

    copying_ns: dict[str, float] = field(default_factory=dict)  # by side: time to put data, beyond PUT_NS
    longer_gap_ns: dict[str, float] = field(default_factory=dict)  # by side
    idle_longer_ns: float = 0.0
    tail_ns: float = 0.0  # mean time of a gap beyond its edge
    told_by: Callable[[str, float], float] = lambda side, true: true

    def call(self, side: FakeSide, slow: float = 1.0) -> Sample:
        slow *= self.drift(self.clock_s, self.chance) * side.model(self.clock_s, self.chance) * side.luck
        true = side.time_ns * slow * self.chance.lognormvariate(0, self.noise)
        gap = GAP_NS + self.longer_gap_ns.get(side.name, 0.0) + self.chance.gauss(0, 300)
        if self.tail_ns:
            gap += self.chance.expovariate(1 / self.tail_ns)
        put = PUT_NS + self.copying_ns.get(side.name, 0.0)
        wall = true + gap + put + TAKE_NS
        self.clock_s += wall / 1e9
        probe = self.probe_ns(self)
        told = self.told_by(side.name, true * side.told)
        sample = [self.wall(wall, self), put, TAKE_NS, told, probe, THAW_NS, FREEZE_NS]
        return Sample._make(round(value) for value in sample)

    def idle(self, side: FakeSide) -> list[Sample]:
        found = [self.call(side) for _ in range(self.profile.idle_calls)]
        return [one._replace(wall_ns=one.wall_ns + round(self.idle_longer_ns)) for one in found]


def cpu(ratio: float = 0.9, *, baseline_ns: float = 4e6, incumbent: float = 0.0, **given: Any) -> Whole:
    """Return a race timed by the judge's clock. `incumbent`: its time over the baseline's; 0 for a race without."""
    made = Whole(**{"profile": CPU, "heat": cpu_is_well, "level": "mask_only"} | given)
    return _sides(made, ratio, baseline_ns, incumbent)


def gpu(ratio: float = 0.9, *, baseline_ns: float = 50_000.0, incumbent: float = 0.0, **given: Any) -> Whole:
    """Return a race timed by a device's events, with an idle probe before each call."""
    made = Whole(**{"profile": replace(GPU, most_calls=5), "probe_ns": lambda race: PROBE_NS} | given)
    return _sides(made, ratio, baseline_ns, incumbent)


def _sides(made: Whole, ratio: float, baseline_ns: float, incumbent: float) -> Whole:
    made.sides = {A: FakeSide(made, A, baseline_ns), B: FakeSide(made, B, baseline_ns * ratio)}
    if incumbent:
        made.sides[I] = FakeSide(made, I, baseline_ns * incumbent)
        made.order = ABIIBA
    return made


def reading(race: Race, at_s: float, **told: Any) -> Reading:
    well: JSON = {
        "at_ns": round(at_s * 1e9),
        "cores": 2,
        "foreign_ns": (5_000_000_000, 8_000_000_000),
        "waited_ns": 900_000_000,
        "steal_ns": 10_000_000,
        "steal_grain_ns": 10_000,
    }
    return Reading(**(well | told))


def cpu_is_well(race: Race, **after: Any) -> Window:
    return Window(reading(race, race.began_s), reading(race, race.clock_s, **after))


def length_ns(race: Race) -> int:
    return max(1, round(race.clock_s * 1e9) - round(race.began_s * 1e9))


def heats(by_block: dict[int, Callable[[Race], Window]], well: Callable[[Race], Window] = window) -> Any:
    """Return telemetry that differs in blocks with these numbers, counted from 0 over all blocks of the race."""
    return lambda race: by_block.get(len(race.blocks) - 1, well)(race)


def grown(counter: int, share: float, **more: Any) -> Callable[[Race], Window]:
    """Return telemetry in which a counter grows by this share of the block."""

    def heat(race: Race) -> Window:
        counters = dict.fromkeys(throttle.COUNTERS, 0)
        return window(race, counters=counters | {counter: round(share * length_ns(race))}, **more)

    return heat


def repeats(side: str, fresh: float, again: float, times: int = 6, **told: Any) -> list[JSON]:
    def sample(ns: float) -> list[int]:
        return [round(ns) + PUT_NS + TAKE_NS, PUT_NS, TAKE_NS, round(ns), PROBE_NS, THAW_NS, FREEZE_NS]

    blank = {"same_bits": True, "hot": False, "near": False}
    return [{"side": side, "fresh": sample(fresh), "again": sample(again), **blank, **told} for _ in range(times)]


def own_calls(told_ns: float, gap_ns: float, scatter_ns: float = 0.0, calls: int = 48) -> JSON:
    """Return the harness's own calls, longer for the candidate by `told_ns` in time and by `gap_ns` in gap."""
    chance = random.Random(3)
    return {
        side: [
            [
                round(450_000 + 3_000 + more * (told_ns + gap_ns) + chance.gauss(0, scatter_ns)),
                0,
                0,
                round(3_000 + more * told_ns),
                0,
                0,
                0,
            ]
            for _ in range(calls)
        ]
        for side, more in ((A, 0), (B, 1))
    }


def queued(made: Whole, *, places: int = 16, own: JSON | None = None, copies: JSON | None = None, **told: Any) -> Whole:
    """Run the race as on a device that does whole calls by itself; return it."""
    samples = {side: [Sample(*call) for call in calls] for side, calls in (own or {}).items()}
    apart = certificate.offsets(samples, rules=made.rules)
    return timing_of(made, queued=True, places=places, copies=copies or {}, **apart, **told)


def timing_of(made: Whole, **told: Any) -> Whole:
    """Run the race once, and set fields of its case that no schedule depends on; return it."""
    if not made.timing:
        made.run()
    made.timing |= told
    return made


def evidence(*races: Race, **told: Any) -> JSON:
    """Return the evidence that the judge stores of a run with these cases. `told` replaces fields of it."""
    for race in races:
        if not race.timing:
            race.run()
    first = races[0]
    found = first.evidence() | CIRCUMSTANCES | (ON_GPU if first.profile.clock == "event" else ON_CPU)
    found["timing"] = [
        race.timing | {"case": f"n={number}", "arguments": {"n": number}} for number, race in enumerate(races, 1)
    ]
    found["checks"] = [check()]
    found["set_aside"] = next((one["set_aside"] for race in races if (one := race.evidence())["set_aside"]), "")
    found |= told
    whole: JSON = json.loads(json.dumps(found))
    if "findings" not in told:
        whole["findings"] = [finding.model_dump() for finding in rules.findings(schema.parse_run(whole))]
    return whole


def check(**told: Any) -> JSON:
    blank = {"case": "n=1", "seed": 7, "public": True, "good": True, "reason": "", "message": "", "figures": []}
    return blank | {"arguments": {"n": 1}} | told


def report(found: JSON, **told: Any) -> JSON:
    """Return the report that a runner makes of this evidence."""
    made: JSON = json.loads(json.dumps(execute.report_of(BLANK, schema.parse_run(found), {}).to_json()))
    return made | told


def run(*races: Race, **told: Any) -> JSON:
    return report(evidence(*races, **told))


def silent(made: JSON) -> JSON:
    """Return the report as from a runner that hides the findings of its own rules."""
    return made | {"evidence": made["evidence"] | {"findings": []}}


def ceilings(**measured: Any) -> Ceilings:
    found = unmeasured("H200", "NVIDIA H200")
    assert found is not None
    return replace(found, **measured)


def bounded(speed_of_light: JSON, arguments: JSON, known: Ceilings | None, precision: Precision | None = None) -> JSON:
    """Return the limits of a run with the single case n=1."""
    found = asdict(limits.limits(speed_of_light, [arguments], known, precision))
    return {**found, "cases": [{**found["cases"][0], "case": "n=1"}]}


def at_the_edge(
    make: Callable[[float], JSON], low: float, high: float, is_beyond: Callable[[JSON], bool], near: float = 0.002
) -> Iterator[tuple[str, JSON]]:
    """Yield two nearly equal reports, on both sides of the point where `is_beyond` begins to hold."""
    first, last = make(low), make(high)
    if is_beyond(first) == is_beyond(last):
        raise ValueError(f"from {low} to {high} nothing changes")
    held = is_beyond(last)
    while abs(high - low) > near * max(abs(low), abs(high)):
        middle = (low + high) / 2
        found = make(middle)
        if is_beyond(found) == held:
            high, last = middle, found
        else:
            low, first = middle, found
    yield from (("within", first), ("beyond", last)) if held else (("beyond", first), ("within", last))
