"""A quad with a slow baseline and a normal candidate does not count; sides that waver by themselves are exempt."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from statistics import median

from runner.evidence.schedule import GPU, A
from tests.runner.judge.simulated import FakeSide, race


def test_a_baseline_slowed_in_some_quads_does_not_pay() -> None:
    """The candidate leaves work behind for its neighbour now and then."""

    def harmed(at_s: float, chance: random.Random) -> float:
        return 1.05 if int(at_s / 0.05) % 4 == 0 else 1.0

    found = []
    for seed in range(20):
        timed = race(seed=seed, profile=GPU, baseline_ns=50_000.0)
        timed.sides[A].model = harmed
        found.append(timed.run().ratio or math.nan)
    assert 1 - median(found) < 0.005
    assert "baseline_slowed" in [quad["void"] for quad in timed.timing["quads"]]


def test_sides_that_waver_by_themselves_are_no_slowed_baseline() -> None:
    """Both sides wander by 8 % independently, and each level lasts for a dozen blocks, like calls on an H200 that end
    with a copy to the host's memory."""

    def wandering(side: FakeSide) -> Callable[[random.Random], float]:
        at = 0.0

        def luck(chance: random.Random) -> float:
            nonlocal at
            at = 0.97 * at + math.sqrt(1 - 0.97**2) * chance.gauss(0, 0.08)
            side.model = lambda at_s, chance: math.exp(at)
            return 1.0

        return luck

    voids = dict.fromkeys((0.0, GPU.wavering), 0)  # without and with the check of how the difference itself wavers
    for wavering in voids:
        for seed in range(40):
            timed = race(seed=seed, baseline_ns=8e5, profile=replace(GPU, wavering=wavering))
            for side in timed.sides.values():
                side.luck_of = wandering(side)
            timed.run()
            voids[wavering] += sum(bool(quad["void"]) for quad in timed.timing["quads"])
    assert voids[GPU.wavering] < voids[0.0] / 2, voids
