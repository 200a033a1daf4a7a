"""Honest runs are seldom held: at most 1 % of simulated runs, driven by the real timing."""

import random
from dataclasses import asdict, replace
from typing import Any

import pytest

from runner.evidence import rules, speed_of_light
from runner.evidence.ceilings import Ceilings, unmeasured
from runner.evidence.schedule import CPU, GPU, A, B, Profile
from tests.runner.evidence.whole import parsed
from tests.runner.judge.simulated import FakeSide, Race, steady

RUNS = 200
Drift = Any


def neighbours(at_s: float, chance: random.Random) -> float:
    """One call in ten meets a neighbour: up to half as long again."""
    return 1.0 + (chance.random() < 0.1) * chance.uniform(0, 0.5)


def bursts(at_s: float, chance: random.Random) -> float:
    """In one of three random stretches of 0.1 s, all calls are a fifth slower."""
    return 1.2 if random.Random(round(at_s * 10)).random() < 1 / 3 else 1.0


def crowded(at_s: float, chance: random.Random) -> float:
    """Five programs on every core: a call takes from as long to four times as long, at random."""
    return chance.choice([1.0, chance.uniform(1, 2), chance.uniform(1, 4)])


def warming(at_s: float, chance: random.Random) -> float:
    return 1.0 + 0.03 * min(at_s, 1.0)


def ceilings(profile: Profile) -> Ceilings:
    """Ceilings measured in a quiet hour by kernels as good as the baseline's."""
    if profile is GPU:
        found = unmeasured("H200", "NVIDIA H200")
        assert found is not None
        return replace(found, copy_bytes_per_s=4.2e12, launch_ns=1900.0)
    measured = Ceilings("cpu", "a cpu", copy_bytes_per_s=20e9, cache_bytes_per_s=90e9, launch_ns=300_000.0)
    return replace(measured, cache_bytes=32 << 20).with_hard()


def honest(profile: Profile, drift: Drift, chance: random.Random, *, cold: bool = False) -> dict[str, Any]:
    """A case that is bound by memory; the candidate takes from three quarters to three times the baseline's time.
    `cold`: its first call after a thaw takes up to a third longer, the baseline's up to a tenth."""
    known = ceilings(profile)
    traffic = round(chance.uniform(2e6, 4e9) if profile is GPU else chance.uniform(40e6, 400e6))
    rate = (known.copy_bytes_per_s or 0) * chance.uniform(0.6, 0.98)
    baseline_ns = traffic / rate * 1e9 + (known.launch_ns or 0)
    ratio = chance.uniform(0.75, 3.0)
    fastest = traffic / (known.copy_bytes_per_s or 1) * 1e9 + (known.launch_ns or 0)
    race = Race(profile=profile, drift=drift, noise=chance.choice([0.001, 0.005, 0.02]), seed=chance.getrandbits(31))
    race.sides = {A: FakeSide(race, A, baseline_ns), B: FakeSide(race, B, max(baseline_ns * ratio, fastest))}
    if cold:
        race.sides[A].cold, race.sides[B].cold = chance.uniform(0, 0.1), chance.uniform(0, 0.35)
    race.run()
    race.timing["eager_ns"] = baseline_ns * 2
    race.timing["repeats"] = [_repeat(race, side) for side in (A, B) for _ in range(chance.randrange(12))]
    declared = {"read_bytes": str(traffic // 2), "write_bytes": str(traffic // 2)}
    bounds = asdict(speed_of_light.limits(declared, [{"n": 1}], known))
    return race.evidence() | {"tuned": True, "limits": bounds, "profile": asdict(profile)}


def _repeat(race: Race, side: str) -> dict[str, Any]:
    fresh, again = (race.call(race.sides[side]) for _ in range(2))
    return {"side": side, "fresh": fresh, "again": again, "same_bits": True}


@pytest.mark.parametrize("drift", [steady, neighbours, bursts, crowded, warming])
@pytest.mark.parametrize("profile", [CPU, GPU], ids=["cpu", "gpu"])
def test_at_most_one_honest_run_in_a_hundred_is_held_and_none_rejected(profile: Profile, drift: Drift) -> None:
    chance = random.Random(11)
    held: list[str] = []
    for _ in range(RUNS if profile is CPU else RUNS // 4):
        evidence = parsed(honest(profile, drift, chance))
        assert rules.impossible(evidence) is None
        held += sorted({finding.rule for finding in rules.findings(evidence)})
    assert len(held) <= (RUNS if profile is CPU else RUNS // 4) / 100, held


@pytest.mark.parametrize("drift", [steady, neighbours])
def test_first_calls_that_are_slow_after_a_thaw_are_no_second_speed(drift: Drift) -> None:
    chance = random.Random(12)
    runs = [honest(CPU, drift, chance, cold=True) for _ in range(RUNS)]
    held = [finding.rule for run in runs for finding in rules.findings(parsed(run))]
    assert len(held) <= RUNS / 100, held
