"""Evidence of a run, made by hand: honest unless a test changes it."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from runner.evidence import speed_of_light as limits
from runner.evidence.ceilings import Ceilings
from runner.evidence.schedule import ABBA, ABIIBA, A, B, I
from tests.runner.evidence.whole import whole

WAY_NS = 300_000  # cost of the way of a call, on the wall clock
Times = Callable[[str], float]  # of one call of a side, in ns


def noisy(times: dict[str, float], noise: float = 0.005, seed: int = 1) -> Times:
    chance = random.Random(seed)
    return lambda side: times[side] * chance.lognormvariate(0, noise)


def sample(ns: float, probe_ns: float = 15_000) -> list[int]:
    """Sample with the same time on both clocks."""
    return [round(ns) + WAY_NS + 70_000, 40_000, 30_000, round(ns), round(probe_ns), 0, 0]


def quad(times: Times, order: Sequence[str] = ABBA, calls: int = 5, **told: Any) -> dict[str, Any]:
    blocks = [{"side": side, "calls": [sample(times(side)) for _ in range(calls)], "heat": None} for side in order]
    return {"blocks": blocks, "void": "", "charged": ""} | told


def case(candidate: float = 1e6, baseline: float = 1e6, name: str = "n=8", **told: Any) -> dict[str, Any]:
    """One timed case; times in ns. `incumbent`: time of an incumbent; `times`: replaces all of these; `quads`: number
    of quads."""
    incumbent = told.pop("incumbent", None)
    times = told.pop("times", None) or noisy({A: baseline, B: candidate, I: incumbent or 0.0})
    order = ABBA if incumbent is None else ABIIBA
    return {
        "case": name,
        "arguments": {},
        "idle": [sample(0)] * 5,
        "warm": {},
        "calls": 5,
        "quads": [quad(times, order) for _ in range(told.pop("quads", 12))],
        "repeats": [],
        "ended": "converged",
        "ended_why": "",
        "probe_limit_ns": 175_000.0,
        "input_bytes": 4096,
        "output_bytes": 4096,
        "eager_ns": None,
    } | told


def repeat(side: str, fresh: float, again: float, **told: Any) -> dict[str, Any]:
    return {"side": side, "fresh": sample(fresh), "again": sample(again), "same_bits": True} | told


def evidence(*cases: dict[str, Any], **told: Any) -> dict[str, Any]:
    return whole({"clock": "event", "tuned": True, "checks": [], "timing": list(cases)} | told)


@cache
def steady(ratio: float) -> dict[str, Any]:
    """Evidence of one case with this ratio, rounded up, in all samples. Callers share it and must not change it."""
    return evidence(case(times={A: 1e6, B: math.ceil(ratio * 1e6) + 1}.__getitem__, quads=6))


def bounded(
    speed_of_light: dict[str, Any], arguments: dict[str, Any], ceilings: Ceilings | None, precision: Any = None
) -> dict[str, Any]:
    """evidence["limits"] of a single case named n=8."""
    found = asdict(limits.limits(speed_of_light, [arguments], ceilings, precision))
    return {**found, "cases": [{**found["cases"][0], "case": "n=8"}]}
