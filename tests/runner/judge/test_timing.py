"""Timing of a case: events on the machine neither bias a ratio nor pass for the competitor's fault.

All tests here run the real schedule, rules, certificate and verdict over simulated sides, heat and chance.
"""

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import pytest

from runner.evidence import schema, throttle, verdict
from runner.evidence.replay import rerun
from runner.evidence.sample import Sample
from runner.evidence.schedule import ABIIBA, CPU, GPU, A, B, I, Profile
from runner.judge.data.faults import Fault
from tests.runner.evidence.whole import parsed
from tests.runner.judge.simulated import FakeSide, Race, at_block, counted, healthy, race, window

GPU_CASE: dict[str, Any] = {"profile": GPU, "baseline_ns": 50_000.0}
FIRST_MEASURED = 4  # warm-up blocks before it: two windows for each of two sides
LASTS_S = 0.118  # duration of an undisturbed case of GPU_CASE


def passed(timed: Race) -> float:
    """Ratio of a passed case."""
    found = timed.run()
    assert found.outcome == "passed", found
    return found.ratio or math.nan


def ratios(count: int, **given: Any) -> list[float]:
    return [passed(race(seed=seed, **given)) for seed in range(count)]


def bias(found: list[float]) -> float:
    """Bias of ratios whose truth is 1."""
    return abs(median(found) - 1)


# -- the estimate ----------------------------------------------------------------------------------------------------


def test_an_aa_pair_is_a_tie() -> None:
    found = ratios(60, **GPU_CASE)
    assert abs(median(found) - 1) < 0.0005
    assert sorted(abs(math.log(ratio)) for ratio in found)[56] < 0.005


def test_an_injected_slowdown_of_one_percent_is_found() -> None:
    for seed in range(20):
        found = race(1.01, seed=seed, **GPU_CASE).run()
        assert found.times[0].estimate.low > 0.005
        assert found.ratio == pytest.approx(1.01, abs=0.005)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Stopping at the first narrow interval costs a little: 180 of 200 must hold, 190 are meant."""
    held = 0
    for seed in range(200):
        estimate = race(0.9, seed=seed, noise=0.01, **GPU_CASE).run().times[0].estimate
        held += estimate.low <= math.log(0.9) <= estimate.high
    assert held >= 180


def test_what_disturbs_a_run_below_happens_while_it_lasts() -> None:
    timed = race(**GPU_CASE)
    timed.run()
    assert timed.clock_s == pytest.approx(LASTS_S, rel=0.02)


def test_a_ramp_of_three_percent_biases_nothing() -> None:
    """The order cancels the ramp: blocks of a quad in the order A A B B would be off by twice the limit."""

    def ramp(at_s: float, chance: random.Random) -> float:
        return 1 + 0.03 * min(at_s / LASTS_S, 1.0)

    limit = 0.0008
    assert bias(ratios(40, drift=ramp, **GPU_CASE)) < limit
    assert bias(ratios(40, drift=ramp, order=(A, A, B, B), **GPU_CASE)) > limit


def test_a_step_in_mid_run_biases_nothing() -> None:
    """The median over the quads absorbs the step, which lies in a single quad: their mean would be off by twice the
    limit. (This holds in any order: the order cancels continuous drift.)"""
    limit = 0.001
    races = [
        race(drift=lambda at_s, chance: 1.05 if at_s > LASTS_S / 2 else 1.0, seed=n, **GPU_CASE) for n in range(40)
    ]
    assert bias([passed(timed) for timed in races]) < limit
    assert bias([by_the_mean(timed) for timed in races]) > limit


def by_the_mean(timed: Race) -> float:
    """Ratio from the mean over its quads, by the device's own clock."""
    medians = [
        [(block["side"], median(sample[3] for sample in block["calls"])) for block in quad["blocks"]]
        for quad in timed.timing["quads"]
    ]
    logs = [math.log(time) if side == B else -math.log(time) for quad in medians for side, time in quad]
    return math.exp(sum(logs) / 2 / len(medians))


def test_noise_that_never_converges_is_said_with_its_wide_interval() -> None:
    timed = race(noise=0.15, **GPU_CASE)
    found = timed.run()
    assert (found.outcome, found.flags) == ("passed", ("not_converged",))
    assert timed.timing["ended"] == "quads"
    assert found.times[0].estimate.half_width > GPU.stop_half_width


def test_the_budget_of_a_case_is_kept() -> None:
    timed = race(profile=CPU, baseline_ns=200e6, noise=0.1)
    found = timed.run()
    assert timed.timing["ended"] == "budget"
    assert len(timed.timing["quads"]) == CPU.first_look
    assert found.outcome in ("passed", "unmeasurable")


# -- the device ------------------------------------------------------------------------------------------------------


def test_power_cap_all_along_is_normal() -> None:
    timed = race(heat=lambda race: window(race, masks=(4, 4), mask=4, counters=counted(74, 10**9)), **GPU_CASE)
    assert timed.run().outcome == "passed"
    assert not any(quad["void"] for quad in timed.timing["quads"])


def test_five_milliseconds_of_heat_in_one_block_void_its_quad_though_no_poll_saw_them() -> None:
    heat = at_block(FIRST_MEASURED + 5, masks=(0, 0), counters=counted(270, 5_000_000))
    timed = race(heat=heat, **GPU_CASE)
    assert timed.run().outcome == "passed"
    assert [quad["void"] for quad in timed.timing["quads"]].count("hw_thermal") == 1
    assert timed.rests == ["hw_thermal"]
    void = next(quad for quad in timed.timing["quads"] if quad["void"])
    assert len(void["blocks"]) == 2
    assert void["charged"] == B


def test_a_hot_quad_does_not_count_however_slow_it_was() -> None:
    """A fifth of the baseline's blocks are three times as slow: without a ruling on them, that would pay."""

    def told(race: Race) -> Any:
        hot = race.blocks[-1] == A and race.sides[A].luck > 1
        return window(race, counters=counted(270, 1 if hot else 0))

    def hot_at_times(seed: int, heat: Callable[[Race], Any]) -> float:
        patient = replace(GPU, most_void=1.0)
        timed = race(seed=seed, noise=0.01, heat=heat, profile=patient, baseline_ns=50_000.0)
        timed.sides[A].luck_of = lambda chance: 3.0 if chance.random() < 0.2 else 1.0
        timed.sides[A].model = lambda at_s, chance: timed.sides[A].luck
        return passed(timed)

    limit = 0.001
    assert bias([hot_at_times(seed, told) for seed in range(20)]) < limit
    assert bias([hot_at_times(seed, healthy) for seed in range(20)]) > limit


@pytest.mark.parametrize(("masks", "fit"), [((0, 8, 0), True), ((0, 8, 8), False)])
def test_a_hardware_slowdown_in_two_polls_running_sets_the_device_aside(masks: tuple[int, ...], fit: bool) -> None:
    timed = race(heat=at_block(FIRST_MEASURED + 3, masks=masks), **GPU_CASE)
    found = timed.run()
    assert (found.outcome == "passed") is fit
    assert bool(timed.evidence()["set_aside"]) is not fit
    if not fit:
        assert (found.outcome, found.reason) == ("unmeasurable", "device_unfit")


@pytest.mark.parametrize(
    ("told", "void"),
    [
        ({"masks": (0x400,)}, "unknown_reason"),
        ({"strangers": 1}, "foreign_process"),
        ({"memory_mhz": 1593.0}, "memory_clock"),
        ({"clock_mhz": 1600.0}, "slow_clock"),
    ],
)
def test_what_is_unusual_voids_one_quad(told: dict[str, Any], void: str) -> None:
    timed = race(heat=at_block(FIRST_MEASURED + 6, **told), **GPU_CASE)
    assert timed.run().outcome == "passed"
    assert [quad["void"] for quad in timed.timing["quads"] if quad["void"]] == [void]


def test_an_idle_device_is_warmed_again_and_never_cooled() -> None:
    timed = race(heat=at_block(FIRST_MEASURED + 2, mask=1, masks=(1,), clock_mhz=345.0), **GPU_CASE)
    assert timed.run().outcome == "passed"
    assert timed.rests == []
    assert "idle" in [quad["void"] for quad in timed.timing["quads"]]


def test_an_idle_start_is_what_warming_up_is_for() -> None:
    def cold(at_s: float, chance: random.Random) -> float:
        return 1 + 2.0 * math.exp(-at_s / 0.004)

    timed = race(drift=cold, **GPU_CASE)
    assert timed.run().ratio == pytest.approx(1, abs=0.004)
    windows = timed.timing["warm"][A]
    assert len(windows) > 2
    assert windows[0] > 1.5 * windows[-1]


def test_an_uncorrected_memory_error_ends_the_run() -> None:
    timed = race(heat=at_block(FIRST_MEASURED + 1, ecc_errors=1), **GPU_CASE)
    assert timed.run().reason == "device_unfit"
    assert timed.evidence()["set_aside"] == "ecc"


def test_counters_that_are_not_supported_leave_the_mask() -> None:
    timed = race(heat=lambda race: window(race, before={"counters": {}}, counters={}), **GPU_CASE)
    assert timed.run().outcome == "passed"
    masked = race(
        heat=lambda race: window(race, before={"counters": {}}, counters={}, masks=(0x20,) * (len(race.blocks) == 9)),
        **GPU_CASE,
    )
    masked.run()
    assert "sw_thermal" in [quad["void"] for quad in masked.timing["quads"]]


def test_a_device_that_voids_all_the_time_says_nothing() -> None:
    timed = race(heat=lambda race: window(race, strangers=1), **GPU_CASE)
    found = timed.run()
    assert (found.outcome, found.reason) == ("unmeasurable", "voids")
    assert len(timed.timing["quads"]) <= 5


def test_a_foreign_process_of_one_second_costs_quads_and_no_verdict() -> None:
    def heat(race: Race) -> Any:
        return window(race, strangers=1) if 0.05 < race.clock_s < 1.05 else healthy(race)

    timed = race(heat=heat, **GPU_CASE)
    assert timed.run().outcome == "passed"
    assert 1 <= sum(quad["void"] == "foreign_process" for quad in timed.timing["quads"]) <= 2


# -- the others ------------------------------------------------------------------------------------------------------


def test_what_a_submission_left_on_the_device_before_idle_calls_widens_no_limit() -> None:
    """As checks leave work, until the submission's first timed call tells it to end."""
    idle, before = ([Sample(10**6, 0, 0, 0, probe, 0, 0)] * 5 for probe in (2_400_000, 30_000))
    assert throttle.probe_limit_ns(idle, before) == throttle.probe_limit_ns(before) == 650_000
    assert throttle.probe_limit_ns(idle) > 10e6  # default without a measurement
    assert throttle.probe_limit_ns([Sample(10**6, 0, 0, 0, 0, 0, 0)]) == 0


def test_work_left_on_the_device_is_charged_to_the_guest_that_ran_last() -> None:
    def probe(race: Race) -> float:
        return 2e6 if 8 <= len(race.blocks) <= 9 else 15_000.0

    timed = race(probe_ns=probe, **GPU_CASE)
    timed.run()
    charged = [(quad["void"], quad["charged"]) for quad in timed.timing["quads"] if quad["void"]]
    assert charged[0] == ("device_busy", B)


def test_a_candidate_that_keeps_the_device_busy_is_refused_and_gets_no_second_try() -> None:
    timed = race(probe_ns=lambda race: 2e6 if race.blocks and race.blocks[-1] == B else 15_000.0, **GPU_CASE)
    found = timed.run()
    assert (found.outcome, found.reason) == ("policy", "device_busy")
    assert {quad["charged"] for quad in timed.timing["quads"]} == {B}


def test_voiding_the_quads_that_go_badly_does_not_pay() -> None:
    """A candidate of 50 µs ± 20 % leaves work on the device whenever it was slow, seen by the probe alone."""

    def unlucky(race: Race) -> float:
        slow = race.blocks and race.blocks[-1] == B and race.sides[B].luck > 1.1
        return 2e6 if slow else 15_000.0

    def erratic(at_s: float, chance: random.Random) -> float:
        return timed.sides[B].luck

    honest, spoilt = [], []
    for seed in range(12):
        for found, probe in ((honest, lambda race: 0.0), (spoilt, unlucky)):
            timed = race(seed=seed, probe_ns=probe, **GPU_CASE)
            timed.sides[B].model = erratic
            timed.sides[B].luck_of = lambda chance: chance.choice([0.9, 1.0, 1.2])
            found.append(timed.run())
    passed = [one.ratio for one in spoilt if one.outcome == "passed" and one.ratio]
    assert all(one.outcome == "passed" for one in honest)
    assert not passed or median(passed) >= 0.97 * median([one.ratio or math.nan for one in honest])


def test_an_error_that_the_driver_reports_of_the_candidate_ends_it_as_its_own() -> None:
    timed = race(heat=lambda race: window(race, xids=(31,) if race.blocks[-1] == B else ()), **GPU_CASE)
    with pytest.raises(Fault) as raised:
        timed.run()
    assert (raised.value.outcome, raised.value.reason) == ("runtime_error", "device_error")


@pytest.mark.parametrize(
    "broken",
    [lambda wall, race: math.nan, lambda wall, race: -wall, lambda wall, race: 0.0, lambda wall, race: math.inf],
    ids=["nan", "negative", "zero", "infinite"],
)
def test_a_clock_that_lies_all_the_time_gives_no_time(broken: Callable[[float, Race], float]) -> None:
    timed = race(wall=lambda wall, race: broken(wall, race) if len(race.blocks) > FIRST_MEASURED else wall, **GPU_CASE)
    found = timed.run()
    assert (found.outcome, found.reason) == ("unmeasurable", "voids")
    assert {quad["void"] for quad in timed.timing["quads"]} == {"clock"}


def test_a_clock_that_ran_backwards_once_costs_one_quad() -> None:
    timed = race(wall=lambda wall, race: -5.0 if len(race.blocks) == FIRST_MEASURED + 9 else wall, **GPU_CASE)
    assert timed.run().ratio == pytest.approx(1, abs=0.005)
    assert [quad["void"] for quad in timed.timing["quads"] if quad["void"]] == ["clock"]


# -- three sides -----------------------------------------------------------------------------------------------------


def three(**given: Any) -> Race:
    timed = race(0.98, order=ABIIBA, **GPU_CASE, **given)
    timed.sides[I] = FakeSide(timed, I, 50_000.0 * 0.99)
    return timed


def test_an_incumbent_is_in_every_quad_between_the_candidates_blocks() -> None:
    timed = three()
    assert timed.run().ratio == pytest.approx(0.98, abs=0.004)
    assert [block["side"] for block in timed.timing["quads"][0]["blocks"]] == list(ABIIBA)


def test_an_incumbent_that_voids_twice_is_left_out() -> None:
    blocks = [0]

    def busy(race: Race) -> float:
        """State after a call of the incumbent: before the first call of a block no side was at work."""
        first, blocks[0] = len(race.blocks) != blocks[0], len(race.blocks)
        return 2e6 if race.blocks and race.blocks[-1] == I and not first else 15_000.0

    timed = three(probe_ns=busy)
    found = timed.run()
    assert found.outcome == "passed"
    assert [quad["charged"] for quad in timed.timing["quads"]].count(I) == 2
    assert {block["side"] for block in timed.timing["quads"][-1]["blocks"]} == {A, B}


# -- replay ----------------------------------------------------------------------------------------------------------


def test_a_replay_from_json_rules_and_decides_the_same() -> None:
    timed = race(heat=at_block(FIRST_MEASURED + 5, counters=counted(270, 5_000_000)), **GPU_CASE)
    found = timed.run()
    stored = json.loads(json.dumps(timed.evidence()))
    assert verdict.decide(parsed(stored)) == found
    for quad in parsed(stored).timing[0].quads:
        rulings = [throttle.rule(block.heat, None) for block in quad.blocks]
        assert [ruling.reason for ruling in rulings if ruling.reason] == ([quad.void] if quad.void else [])


@pytest.mark.parametrize("profile", [GPU, CPU], ids=["gpu", "cpu"])
def test_long_calls_come_in_blocks_of_one_whose_report_replays(profile: Profile) -> None:
    """Here the first call of a block takes 2 ms longer; the ratio stays where it is."""
    timed = race(0.7, profile=profile, baseline_ns=400e6, saves_inputs=True, rules=schema.RULES)
    for side in timed.sides.values():
        side.cold = 2e6 / 400e6
    found = timed.run()
    assert (found.outcome, found.reason, timed.timing["calls"]) == ("passed", "", 1)
    assert found.ratio == pytest.approx(0.7, rel=0.01)
    stored = parsed(json.loads(json.dumps(timed.evidence())))
    assert verdict.decide(stored) == found
    assert rerun(stored.timing[0], stored) == []


def test_blocks_are_no_longer_than_the_judges_memory_allows() -> None:
    timed = race(**GPU_CASE)
    timed.profile = replace(GPU, most_calls=5)
    timed.run()
    assert timed.timing["calls"] == 5


def test_neither_are_those_of_warming_up() -> None:
    timed = race(most_calls=1, **GPU_CASE)
    timed.run()
    assert {side.longest for side in timed.sides.values()} == {1}
