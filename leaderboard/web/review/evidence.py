"""A stored report for reviewers and its owner: rows of cases, both clocks, telemetry; the diff of two sources. Pure.

A report was written by a runner and is stored unchanged. Evidence that does not fit the schema is left out, and the
amount that is drawn is bounded. Times are in microseconds, drawings in the units of an SVG's viewBox.

A clock's panel has time upwards, and the calls from left to right in the order in which they were made. The judge's
clock sees the whole call with the copies of its data and a constant overhead. The tenant's sees the kernel alone, and
only the tenant vouches for it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import or_
from typing import Any, Final

from leaderboard.web.boards.curves import Tick
from leaderboard.wording.figures import caution, duration_us, times_alone
from runner.evidence.sample import CANDIDATE, SIDES
from runner.evidence.schema import Evidence, ReportError, parse
from runner.evidence.throttle import Window

MOST_CASES: Final = 12  # in the strip of telemetry
MOST_SEEDS: Final = 5  # of a timed case
MOST_DRAWN: Final = 6  # cases whose clocks are drawn
MOST_FACTS: Final = 24  # of the machine
MOST_NAME_CHARS: Final = 200
MOST_BLOCKS: Final = 400  # per case
MOST_CALLS: Final = 10_000  # per case
LARGEST: Final = 1e30
LEFT, RIGHT, TOP, BOTTOM = 60.0, 408.0, 10.0, 150.0  # of a panel
MOST_POINTS: Final = 600  # per side and panel; of more points every second, third, …
ABOVE: Final = 0.99  # the share of samples that a panel's scale fits; higher samples lie on the upper edge
STEPS: Final = 3
STRIP_WIDTH, STRIP_HEIGHT = 800.0, 40.0
REASONS: Final = {  # bits of NVML's mask; docs/how-it-measures.md explains their meaning for a run
    0x4: ("power cap", "plain"),
    0x8: ("hardware slowdown", "bad"),
    0x10: ("sync boost", "warn"),
    0x20: ("software thermal", "warn"),
    0x40: ("hardware thermal", "bad"),
    0x80: ("power brake", "bad"),
    0x1: ("idle", "plain"),
    0x2: ("application clocks", "plain"),
    0x100: ("display clocks", "plain"),
}
ENDED: Final = {  # runner/evidence/schedule.py
    "converged": "timed until the interval was narrow enough",
    "quads": "timed for the most rounds that a case gets",
    "budget": "timed until the time for it was over",
    "voids": "ended by too many disturbed rounds",
    "set_aside": "ended because the device was set aside",
}
UNKNOWN: Final = ("unknown reason", "warn")
PROVENANCE: Final = {  # facts of a machine that a page shows first, with their units
    "gpu": ("GPU", ""),
    "power_limit_w": ("power limit", " W"),
    "max_sm_mhz": ("highest clock", " MHz"),
    "cpu": ("CPU", ""),
    "driver": ("driver", ""),
    "cuda": ("CUDA", ""),
    "torch": ("PyTorch", ""),
    "python": ("Python", ""),
    "photofinish": ("judge", ""),
}
FACTS: Final = PROVENANCE | {
    "hardware": ("hardware of the board", ""),
    "cpus": ("cores of the runner", ""),
    "memory_bytes": ("memory of the host", " bytes"),
    "machine": ("instruction set", ""),
    "kernel": ("Linux kernel", ""),
    "timing_version": ("version of the timing method", ""),
    "torch_cuda": ("CUDA that PyTorch was built for", ""),
    "pcie": ("PCI Express link", ""),
    "gpu_uuid": ("identity of the GPU", ""),
}


@dataclass(frozen=True)
class Block:
    side: str
    wall_us: tuple[float, ...]  # of the judge's clock, the whole call
    inner_us: tuple[float, ...]  # of the tenant's
    void: str  # why it does not count; "": it does
    heat: Window


@dataclass(frozen=True)
class Timed:
    """A benchmark case, with its blocks in the order of time."""

    case: str
    blocks: tuple[Block, ...]
    ended: str

    @property
    def ending(self) -> str:
        """Return how the timing ended, in words."""
        return ENDED.get(self.ended, self.ended)


@dataclass(frozen=True)
class CaseRow:
    """A case with all its points of comparison; None: not known."""

    case: str
    measured_us: float | None
    baseline_us: float | None
    ratio: float | None  # candidate / baseline
    half_width: float | None
    incumbent_ratio: float | None  # the incumbent's candidate / baseline, of its own run
    light_us: float | None  # the speed of light: no kernel on this hardware is faster
    measured_limit_us: float | None  # reached by the project's own kernels
    resource: str  # the resource that sets the limit
    eager_us: float | None

    @property
    def caution(self) -> str:
        """The explanation of a speedup below the quotient of its two times."""
        return caution(times_alone(self.ratio, self.measured_us, self.baseline_us))

    @property
    def against_incumbent(self) -> float | None:
        """The candidate's ratio / the incumbent's, so below 1 is faster."""
        return self.ratio / self.incumbent_ratio if self.ratio and self.incumbent_ratio else None

    @property
    def light_share(self) -> float | None:
        """The share of the speed of light; above 1 is impossible."""
        return self.light_us / self.measured_us if self.light_us and self.measured_us else None


@dataclass(frozen=True)
class SeedRow:
    """Inputs of a case: the arguments of its generator, and the first seeds."""

    case: str
    kind: str  # "public" or "secret" of a check; "timed"
    arguments: Mapping[str, Any]
    seeds: tuple[int, ...]
    more: int  # further seeds


def seed_rows(evidence: Evidence | None) -> list[SeedRow]:
    """Return the inputs of the checks, then those of the candidate's timed calls."""
    if evidence is None:
        return []
    rows = [
        SeedRow(check.case, "public" if check.public else "secret", check.arguments, (check.seed,), 0)
        for check in evidence.checks
    ]
    for timing in evidence.timing:
        seeds = [seed for quad in timing.quads for block in quad.of(CANDIDATE) for seed in block.seeds]
        if seeds:
            shown, more = tuple(seeds[:MOST_SEEDS]), max(0, len(seeds) - MOST_SEEDS)
            rows.append(SeedRow(timing.case, "timed", timing.arguments, shown, more))
    return rows


def evidence_of(report: Mapping[str, Any]) -> Evidence | None:
    """Return the evidence of a report, of a confirmation that of its first run; None if it does not fit the schema."""
    try:
        evidence = parse(report.get("evidence"))
    except ReportError:
        return None
    return evidence if isinstance(evidence, Evidence) else evidence.runs[0]


def timings(evidence: Evidence | None) -> list[Timed]:
    """Return the cases to be drawn, with their first blocks."""
    found = []
    for timing in evidence.timing[:MOST_CASES] if evidence else []:
        blocks: list[Block] = []
        calls = 0
        for void, block in ((quad.void, block) for quad in timing.quads for block in quad.blocks):
            calls += len(block.calls)
            if len(blocks) >= MOST_BLOCKS or calls > MOST_CALLS:
                break
            wall_us = tuple(sample.wall_ns / 1e3 for sample in block.calls)
            inner_us = tuple(sample.inner_ns / 1e3 for sample in block.calls)
            blocks.append(Block(block.side, wall_us, inner_us, void, block.heat))
        found.append(Timed(timing.case, tuple(blocks), timing.ended))
    return found


def case_rows(
    report: Mapping[str, Any], evidence: Evidence | None, incumbent: Mapping[str, Any] | None = None
) -> list[CaseRow]:
    """Return the rows of a report's timed cases. `incumbent`: the report of the submission in first place, if any."""
    rivals = {name: number(case.get("ratio")) for name, case in _timed_cases(incumbent or {})}
    rows = []
    for name, case in _timed_cases(report):
        measured, baseline = number(case.get("measured_us")), number(case.get("baseline_us"))
        limits = evidence.limits.of(name) if evidence else None
        hard, reached = (limits.hard, limits.measured) if limits else (None, None)
        eager = [timing.eager_ns for timing in evidence.timing if timing.case == name] if evidence else []
        row = CaseRow(
            case=name,
            measured_us=measured,
            baseline_us=baseline,
            ratio=number(case.get("ratio")) or (measured / baseline if measured and baseline else None),
            half_width=number(case.get("half_width")),
            incumbent_ratio=rivals.get(name),
            light_us=_us(hard and hard.ns),
            measured_limit_us=_us(reached and reached.ns),
            resource=hard.resource[:200] if hard else "",
            eager_us=_us(eager[-1] if eager else None),
        )
        rows.append(row)
    return rows


def drawings(report: Mapping[str, Any], incumbent: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the template context of a report.

    It has parsed, case_rows, drawn, not_drawn, strip, has_masks, image, fingerprint and, in words, machine.
    """
    known = evidence_of(report)
    timed = timings(known)
    fingerprint = sorted(known.fingerprint.items())[:MOST_FACTS] if known else []
    drawn = [(case, panels(case)) for case in timed[:MOST_DRAWN]]
    return {
        "parsed": known,
        "case_rows": case_rows(report, known, incumbent),
        "drawn": [(case, panels) for case, panels in drawn if panels],
        "not_drawn": len(timed) - len(drawn),
        "strip": strip(timed),
        "has_masks": any(block.heat.masks for case in timed for block in case.blocks),
        "image": known.image[:MOST_NAME_CHARS] if known else "",
        "fingerprint": fingerprint,
        "machine": described(dict(fingerprint)),
    }


def described(machine: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return facts of a machine as titles and values with units; a fact of an unknown name has its name in words."""
    places = {name: place for place, name in enumerate(FACTS)}
    found = []
    for name in sorted(machine, key=lambda name: (places.get(name, len(places)), name)):
        title, unit = FACTS.get(name, (name.replace("_", " "), ""))
        found.append((title, f"{machine[name]}{unit}"))
    return found


def number(value: object) -> float | None:
    """Return a positive number, or None."""
    return found if (found := real(value)) and found > 0 else None


def real(value: object) -> float | None:
    """Return a number that a float can hold, or None. A bool is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < LARGEST else None


def _timed_cases(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    cases = report.get("cases")
    for case in cases if isinstance(cases, list) else []:
        if isinstance(case, dict) and (number(case.get("measured_us")) or number(case.get("ratio"))):
            name = case.get("name")
            yield name[:200] if isinstance(name, str) else "", case


def _us(ns: object) -> float | None:
    return value / 1e3 if (value := number(ns)) else None


@dataclass(frozen=True)
class Points:
    side: str
    path: str  # a dot per call: pieces of no length with round ends
    calls: int
    median_us: float


@dataclass(frozen=True)
class Span:
    """Blocks that do not count."""

    x: float
    width: float
    why: str


@dataclass(frozen=True)
class Panel:
    clock: str
    sides: tuple[Points, ...]
    up: tuple[Tick, ...]
    void: tuple[Span, ...]
    said: str  # text alternative
    left: float = LEFT
    right: float = RIGHT
    top: float = TOP
    bottom: float = BOTTOM


def panels(timed: Timed) -> list[Panel]:
    """Draw the judge's clock, then the tenant's. A clock without kept samples has no panel."""
    clocks = {
        "judge's clock": [block.wall_us for block in timed.blocks],
        "tenant's clock": [block.inner_us for block in timed.blocks],
    }
    drawn = (_panel(clock, timed.blocks, times) for clock, times in clocks.items())
    return [panel for panel in drawn if panel]


def _panel(clock: str, blocks: Sequence[Block], times: Sequence[Sequence[float]]) -> Panel | None:
    samples = sorted(time for calls in times for time in calls if time > 0)
    if not samples:
        return None
    low, high = samples[0] * 0.97, samples[int(ABOVE * (len(samples) - 1))] * 1.03
    total = sum(map(len, times))

    def x(place: int) -> float:
        return LEFT + (RIGHT - LEFT) * (place + 0.5) / total

    def y(time: float) -> float:
        share = (min(time, high) - low) / (high - low)
        return BOTTOM - (BOTTOM - TOP) * share

    placed: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    void, at = [], 0
    for block, calls in zip(blocks, times, strict=True):
        placed[block.side] += [(x(place), time) for place, time in enumerate(calls, at) if time > 0]
        if block.void and calls:
            void.append(Span(x(at), x(at + len(calls)) - x(at), block.void))
        at += len(calls)
    sides = []
    for side, points in placed.items():
        if points:
            shown = points[:: -(-len(points) // MOST_POINTS)]
            path = "".join(f"M{across:.1f} {y(time):.1f}h0" for across, time in shown)
            ordered = sorted(time for _, time in points)
            sides.append(Points(side, path, len(points), ordered[len(ordered) // 2]))
    levels = [low + (high - low) * step / STEPS for step in range(STEPS + 1)]
    ticks = tuple(Tick(y(value), duration_us(value)) for value in levels)
    said = "; ".join(f"{one.side}: {one.calls} calls, median {duration_us(one.median_us)}" for one in sides)
    return Panel(clock, tuple(sides), ticks, tuple(void), said)


@dataclass(frozen=True)
class Line:
    """A quantity, with a point for each block that has a reading."""

    title: str
    unit: str
    path: str
    low: float
    high: float


@dataclass(frozen=True)
class Bar:
    x: float
    width: float


@dataclass(frozen=True)
class Reason:
    title: str
    tone: str
    bars: tuple[Bar, ...]
    blocks: int


@dataclass(frozen=True)
class Strip:
    lines: tuple[Line, ...]
    reasons: tuple[Reason, ...]
    void: tuple[Bar, ...]
    borders: tuple[float, ...]  # between cases
    blocks: int
    right: float = STRIP_WIDTH
    height: float = STRIP_HEIGHT


def strip(cases: Sequence[Timed]) -> Strip | None:
    """Return the strip, or None if no block has a reading."""
    blocks = [block for timed in cases for block in timed.blocks]

    def x(place: float) -> float:
        return round(STRIP_WIDTH * place / len(blocks), 1)

    def bar(place: int) -> Bar:
        return Bar(x(place), max(1.0, x(place + 1) - x(place)))

    def y(value: float, low: float, high: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return STRIP_HEIGHT - 3 - (STRIP_HEIGHT - 6) * share

    lines, reasons = [], []
    for title, unit, read in QUANTITIES:
        found = {place: value for place, block in enumerate(blocks) if (value := read(block.heat)) is not None}
        if found:
            ends = min(found.values()), max(found.values())
            path = " ".join(f"{x(place + 0.5):.1f},{y(value, *ends):.1f}" for place, value in found.items())
            lines.append(Line(title, unit, path, *ends))
    masks = [reduce(or_, block.heat.masks, 0) for block in blocks]
    for bits, (title, tone) in {**REASONS, ~reduce(or_, REASONS): UNKNOWN}.items():
        bars = tuple(bar(place) for place, mask in enumerate(masks) if mask & bits)
        if bars:
            reasons.append(Reason(title, tone, bars, len(bars)))
    if not lines and not reasons:
        return None
    borders = tuple(x(end) for end in accumulate(len(timed.blocks) for timed in cases[:-1]))
    void = tuple(bar(place) for place, block in enumerate(blocks) if block.void)
    return Strip(tuple(lines), tuple(reasons), void, borders, len(blocks))


def _after(name: str) -> Callable[[Window], float | None]:
    return lambda heat: real(getattr(heat.after, name))


def _share_of_time(name: str) -> Callable[[Window], float | None]:
    """Return a reader of the share of a block that a CPU spent elsewhere, in per cent of one core."""

    def read(heat: Window) -> float | None:
        began, ended = _sum(getattr(heat.before, name)), _sum(getattr(heat.after, name))
        length = (real(heat.after.at_ns) or 0) - (real(heat.before.at_ns) or 0)
        return None if began is None or ended is None or length <= 0 else 100 * max(0.0, ended - began) / length

    return read


QUANTITIES: Final = (
    ("SM or core clock", "MHz", _after("clock_mhz")),
    ("memory clock", "MHz", _after("memory_mhz")),
    ("temperature", "°C", _after("temperature_c")),
    ("power", "W", _after("power_w")),
    ("others on these cores", "%", _share_of_time("foreign_ns")),
    ("waited for a core", "%", _share_of_time("waited_ns")),
    ("stolen by the host", "%", _share_of_time("steal_ns")),
    ("thermal throttling", "%", _share_of_time("throttled_ns")),
)


def _sum(value: object) -> float | None:
    if isinstance(value, tuple):
        return float(sum(number for item in value if (number := real(item)) is not None)) if value else None
    return real(value)
