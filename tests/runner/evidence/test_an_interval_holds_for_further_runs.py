"""On a device a run's interval allows for the contexts of its sides, which lift all their times: simulated runs."""

import math
import random
from dataclasses import asdict, replace

import pytest

from runner.evidence import bar, stats, verdict
from runner.evidence.schedule import GPU, A, B, Profile
from tests.runner.evidence.test_bar import first_look
from tests.runner.evidence.test_verdict import evidence
from tests.runner.evidence.whole import parsed
from tests.runner.judge.simulated import FakeSide, Race

RUNS = 150
SHORT = replace(GPU, most_quads=GPU.first_look)
WITHOUT = replace(SHORT, context_ns=0.0)


def of_a_kernel_against_itself(profile: Profile, time_ns: float) -> float:
    """Return the share of runs whose interval contains a ratio of 1, where each run's sides have contexts of their
    own."""
    chance, held = random.Random(5), 0
    for seed in range(RUNS):
        race = Race(profile=profile, seed=seed, noise=0.004)
        race.sides = {name: FakeSide(race, name, time_ns + chance.gauss(0, GPU.context_ns)) for name in (A, B)}
        decided = race.run()
        assert decided.ratio is not None
        assert decided.half_width is not None
        held += abs(math.log(decided.ratio)) <= decided.half_width
    return held / RUNS


@pytest.mark.parametrize("time_ns", [5_000.0, 40_000.0])
def test_the_interval_contains_the_true_ratio_in_95_of_100_runs(time_ns: float) -> None:
    assert of_a_kernel_against_itself(SHORT, time_ns) >= 0.95 - 2 * math.sqrt(0.95 * 0.05 / RUNS)
    assert of_a_kernel_against_itself(WITHOUT, time_ns) < 0.8  # so the contexts matter here


def test_the_interval_of_a_call_of_5_us_is_as_wide_as_the_contexts_need_it() -> None:
    timed = first_look(1.0, SHORT, cases=1, baseline_ns=5_000.0, noise=0.0).timing
    found = verdict.decide(parsed(evidence()).model_copy(update={"timing": timed, "profile": SHORT, "clock": "event"}))
    assert found.half_width == pytest.approx(stats.NORMAL_95 * 60 * math.sqrt(2) / 5_000, rel=0.02)


@pytest.mark.parametrize(("by", "shared"), [("geom", 0.015), ("mean", (0.02 + 3 * 0.01) / 4), ("last", 0.01)])
def test_more_cases_average_the_noise_but_not_the_contexts(by: str, shared: float) -> None:
    told = (("a", 1.0, 0.02), ("b", 3.0, 0.01))  # name, ratio, standard deviation by contexts
    estimates = [
        stats.Estimate(math.log(ratio), math.log(ratio) - 0.02, math.log(ratio) + 0.02, 0.95) for _, ratio, _ in told
    ]
    times = [
        verdict.CaseTime(name, 1e4, 1e4 * ratio, estimate, context_sd=lift)
        for (name, ratio, lift), estimate in zip(told, estimates, strict=True)
    ]
    noise = {"geom": 0.02 / math.sqrt(2), "mean": math.hypot(0.02, 3 * 0.02) / 4, "last": 0.02}[by]
    found = verdict._passed(parsed(evidence(ranking_by=by, rules=5)), times)
    assert found.half_width == pytest.approx(math.hypot(noise, stats.NORMAL_95 * shared))
    before = verdict._passed(parsed(evidence(ranking_by=by, rules=4)), times).half_width
    as_before = 0.02 if by == "last" else 0.02 / math.sqrt(2)
    assert before == pytest.approx(math.hypot(as_before, stats.NORMAL_95 * shared))
    assert [one["half_width"] for one in verdict.shown_cases(parsed(evidence()), found) if one["stage"] == "time"] == [
        pytest.approx(math.hypot(0.02, stats.NORMAL_95 * time.context_sd)) for time in times
    ]


def test_a_report_without_the_field_replays_as_it_was_decided() -> None:
    told = evidence(profile={name: value for name, value in asdict(GPU).items() if name != "context_ns"})
    times = verdict.decide(parsed(told)).times
    assert len(times) == 2
    assert all(time.half_width == time.estimate.half_width for time in times)


def test_a_candidate_as_fast_as_the_bar_is_let_go_as_seldom_as_stated() -> None:
    """Each run's sides have contexts of their own, and little noise beside them."""
    chance = random.Random(11)
    let_go = {SHORT: 0, WITHOUT: 0}
    for seed in range(RUNS):
        times = {name: 10_000 + chance.gauss(0, GPU.context_ns) for name in (A, B)}
        for profile in let_go:
            race = Race(profile=profile.for_first_look, seed=seed, noise=0.001)
            race.sides = {name: FakeSide(race, name, time_ns) for name, time_ns in times.items()}
            race.run()
            told = parsed(race.evidence() | {"mode": "benchmark", "rules": 3})
            let_go[profile] += bar.is_out_of_reach(told, 1.0)
    assert let_go[SHORT] <= RUNS * bar.ERROR + 3 * math.sqrt(RUNS * bar.ERROR)
    assert let_go[WITHOUT] > RUNS / 4  # by a lift that all quads share


def test_a_candidate_is_not_let_go_for_an_unlucky_context() -> None:
    """All quads of a run are slower by the same time: independent noise alone would rule out the bar."""
    slow = 1 + GPU.context_ns / 10_000  # one standard deviation of a single context
    with_contexts, without = (
        first_look(slow, profile, baseline_ns=10_000.0, noise=0.001) for profile in (SHORT, WITHOUT)
    )
    assert bar.is_out_of_reach(without, 1.0)
    assert not bar.is_out_of_reach(with_contexts, 1.0)
    assert bar.is_out_of_reach(first_look(1.1, SHORT, baseline_ns=10_000.0, noise=0.001), 1.0)
