"""A first look ends a timing only where the bar is out of reach: simulated, and on stored runs of real machines."""

import math
import random
from dataclasses import asdict
from typing import Any

import pytest

from runner.evidence import bar, verdict
from runner.evidence.estimates import Run
from runner.evidence.schedule import CPU, FIRST_LOOK, GPU, Profile
from tests.runner.evidence.test_plausible_stored import STORED, read
from tests.runner.evidence.whole import parsed
from tests.runner.judge.simulated import race

DRAWN = 2_000


def first_look(ratio: float, profile: Profile = CPU, cases: int = 3, **given: Any) -> Any:
    """Return the evidence of a first look at a candidate with this ratio in each case."""
    found = []
    for seed in range(cases):
        one = race(ratio, profile=profile.for_first_look, seed=seed + 1, **given)
        one.run()
        found.append(one.timing | {"case": f"n={seed}"})
    return parsed(one.evidence() | {"mode": "benchmark", "rules": 3, "timing": found})


@pytest.mark.parametrize("profile", [CPU, GPU], ids=["cpu", "gpu"])
def test_a_slow_candidate_is_let_go_and_a_fast_one_is_not(profile: Profile) -> None:
    slow, fast = first_look(1.5, profile), first_look(0.8, profile)
    assert all(len(timing.quads) == FIRST_LOOK for timing in slow.timing)
    assert [bar.is_out_of_reach(slow, ratio) for ratio in (1.0, 1.4, 1.6)] == [True, True, False]
    assert [bar.is_out_of_reach(fast, ratio) for ratio in (0.5, 0.9, 1.0)] == [True, False, False]


def test_a_look_that_is_incomplete_or_no_result_lets_nobody_go() -> None:
    slow = first_look(1.5)
    missing = slow.model_copy(update={"timing": [*slow.timing[:-1], slow.timing[-1].model_copy(update={"quads": []})]})
    assert not bar.is_out_of_reach(missing, 1.0)
    assert not bar.is_out_of_reach(slow.model_copy(update={"timing": []}), 1.0)
    noisy = first_look(1.5, noise=0.9)
    assert verdict.decide(noisy).reason == "unsteady"
    assert not bar.is_out_of_reach(noisy, 0.01)


def test_the_verdict_of_a_stopped_run_says_so() -> None:
    stopped = first_look(1.5).model_copy(update={"stopped_at": 1.0})
    decided = verdict.decide(stopped)
    assert (decided.outcome, decided.ratio) == ("passed", pytest.approx(1.5, rel=0.02))
    assert verdict.STOPPED_EARLY in decided.flags
    assert verdict.STOPPED_EARLY not in verdict.decide(first_look(1.5)).flags


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name.partition(".")[0])
def test_real_runs_at_the_bar_are_let_go_as_seldom_as_stated(path: Any) -> None:
    """Quads of a real run in random order: the bar is the run's own ratio, so half of all noise lifts above it."""
    evidence = parsed(read(path) | {"profile": asdict(CPU)})
    chance, let_go = random.Random(7), 0
    quads = [[quad for quad in timing.quads if quad.compares()] for timing in evidence.timing]
    at = Run(evidence).ratio
    assert at is not None
    for _ in range(DRAWN):
        drawn = [
            timing.model_copy(update={"quads": [chance.choice(some) for _ in range(FIRST_LOOK)]})
            for timing, some in zip(evidence.timing, quads, strict=True)
        ]
        let_go += bar.is_out_of_reach(evidence.model_copy(update={"timing": drawn}), at)
    stated = DRAWN * bar.ERROR / 2  # the other half is for contexts, which the cpu does not have
    assert let_go <= stated + 4 * math.sqrt(stated)
