"""Order of blocks: warm-up until windows agree, ABBA, until the interval is narrow or a limit is reached."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.evidence import schedule, throttle
from runner.evidence.schedule import ABBA, ABIIBA, CPU, GPU, A, B, End, I, Rest, Run, Schedule
from runner.evidence.throttle import SET_ASIDE, VALID, VOID, WARM_AGAIN, Ruling

FINE = Ruling(VALID)


def warm(plan: Schedule, time_ns: float = 3e6) -> Schedule:
    """Past the warm-up, with windows that agree."""
    while isinstance(command := plan.next(), Run) and command.warm:
        plan.ran([time_ns], 0.01, FINE)
    return plan


def play(plan: Schedule, *, ratio: float = 1.0, noise: float = 0.0, spent_s: float = 0.01, seed: int = 1) -> End:
    chance = random.Random(seed)
    while not isinstance(command := plan.next(), End):
        assert isinstance(command, Run)
        time_ns = 3e6 * (ratio if command.side == B else 1.0)
        calls = command.calls or 3
        plan.ran([time_ns * chance.lognormvariate(0, noise) for _ in range(calls)], spent_s, FINE)
    return command


def test_every_side_is_warmed_until_two_windows_agree() -> None:
    plan = Schedule(CPU, ABIIBA)
    sides = []
    for time_ns in (9e6, 3e6, 3e6, 4e6, 3e6, 3e6, 3e6, 3e6):
        command = plan.next()
        assert isinstance(command, Run)
        assert command.warm
        sides.append(command.side)
        plan.ran([time_ns], 0.01, FINE)
    assert sides == [A, B, I, A, B, I, A, A]
    assert plan.next() == Run(A, 3)


def test_a_side_that_never_settles_is_measured_as_it_is() -> None:
    plan = Schedule(CPU)
    chance = random.Random(1)
    while isinstance(command := plan.next(), Run) and command.warm:
        plan.ran([chance.uniform(1e6, 9e6)], 0.01, FINE)
    assert max(len(windows) for windows in plan.windows.values()) <= CPU.most_windows


def test_blocks_come_in_order() -> None:
    plan = warm(Schedule(CPU))
    sides = []
    for _ in range(8):
        command = plan.next()
        assert isinstance(command, Run)
        sides.append(command.side)
        plan.ran([1.0], 0.0, FINE)
    assert sides == [*ABBA, *ABBA]


def test_a_block_is_as_long_as_the_profile_and_the_judges_memory_say() -> None:
    assert warm(Schedule(CPU), 1e5).next() == Run(A, 25)
    assert warm(Schedule(CPU), 2e6).next() == Run(A, 4)
    assert warm(Schedule(CPU), 1e9).next() == Run(A, 3)
    assert warm(Schedule(CPU), -5.0).next() == Run(A, 25)
    assert warm(Schedule(CPU), math.nan).next() == Run(A, 3)
    assert warm(Schedule(CPU, most_calls=2), 1e5).next() == Run(A, 2)


@pytest.mark.parametrize(
    ("profile", "baseline_s", "candidate_s", "calls"),
    [
        (GPU, 0.2, 0.2, 3),
        (GPU, 0.22, 0.22, 1),
        (GPU, 0.22, 0.001, 1),
        (GPU, 0.2, 9.0, 3),
        (CPU, 0.16, 9.0, 3),
        (CPU, 0.17, 0.001, 1),
    ],
)
def test_where_the_baseline_takes_long_a_block_has_one_call_whatever_the_candidate_takes(
    profile: schedule.Profile, baseline_s: float, candidate_s: float, calls: int
) -> None:
    plan = Schedule(profile, saves_inputs=True)
    while isinstance(command := plan.next(), Run) and command.warm:
        time_s = baseline_s if command.side == A else candidate_s
        plan.ran([time_s * 1e9] * 3, 3 * time_s, FINE)
    assert plan.next() == Run(A, calls)


@pytest.mark.parametrize(
    ("each_s", "of_b", "calls"),
    [(0.004, 1, 8), (0.1, 1, 3), (0.05, 1, 6), (0.1, 0, 6), (0.83, 1, 3), (0.84, 1, 1), (0.84, 0, 1), (0.1, 9, 3)],
)
def test_where_inputs_take_long_blocks_are_short(each_s: float, of_b: float, calls: int) -> None:
    """A side that has the other's inputs costs nothing in its windows, and halves the cost of a quad. If
    inputs take very long, a block has one call; the candidate's time does not matter."""
    plan = Schedule(GPU, saves_inputs=True)
    for first in (True, False, False, False):
        command = plan.next()
        assert isinstance(command, Run)
        own_s = 3 * each_s * (1 if command.side == A else of_b)
        plan.ran([2e6] * 3, own_s + 5.0 * first, FINE)  # the first window compiles
    assert plan.next() == Run(A, calls)


def test_the_baselines_least_window_decides_whether_calls_are_long() -> None:
    plan = Schedule(GPU, saves_inputs=True)
    for time_s in (0.002, 0.002, 0.3, 0.3):
        command = plan.next()
        assert isinstance(command, Run)
        plan.ran([time_s * 1e9] * 3, 3 * time_s, FINE)
    while isinstance(command := plan.next(), Run) and command.warm:
        plan.ran([0.3e9] * 3, 0.9, FINE)
    assert plan.next() == Run(A, 3)


def test_no_lean_call_is_made_beside_a_single_one() -> None:
    """It would need a further input, which takes long to make."""
    plan = Schedule(GPU, saves_inputs=True)
    for _ in range(4):
        plan.next()
        plan.ran([5e5] * 3, 3 * 0.9, FINE)
    assert plan.next() == Run(A, 1)


@pytest.mark.parametrize(("profile", "calls"), [(GPU, 4), (CPU, 12), (replace(GPU, most_calls=4), 3)])
def test_a_first_look_has_short_blocks_and_no_lean_calls(profile: schedule.Profile, calls: int) -> None:
    plan = warm(Schedule(profile.for_first_look), 1e4)
    assert plan.next() == Run(A, calls)
    play(plan, ratio=0.8, noise=0.2)
    assert len(plan.valid) == schedule.FIRST_LOOK


def test_it_stops_early_when_quiet_and_at_the_most_when_noisy() -> None:
    quiet, noisy = Schedule(CPU), Schedule(CPU)
    assert play(quiet, ratio=0.8, noise=0.001) == End(schedule.CONVERGED)
    assert len(quiet.quads) == CPU.first_look
    assert play(noisy, ratio=0.8, noise=0.05) == End(schedule.QUADS)
    assert len(noisy.valid) == CPU.most_quads


def test_a_schedule_measures_longer_on_cpu_only_while_the_interval_is_wide() -> None:
    wide = Schedule(CPU)
    assert play(wide, ratio=0.8, noise=0.6) == End(schedule.QUADS)
    assert len(wide.valid) == CPU.noisy_quads
    assert wide._half_width(schedule.B) < CPU.unsteady
    between = Schedule(CPU)
    assert play(between, ratio=0.8, noise=0.2) == End(schedule.QUADS)
    assert CPU.most_quads < len(between.valid) < CPU.noisy_quads
    assert between._half_width(schedule.B) <= CPU.noisy


def test_a_schedule_gives_noise_no_more_than_half_of_the_stage() -> None:
    assert CPU.within(120, 2).noisy_budget_s == 30
    assert CPU.within(120, 5).noisy_budget_s == 12
    assert replace(CPU, noisy_budget_s=0).within(120, 1).noisy_budget_s == 0


def test_a_schedule_stops_voiding_for_programs_that_stay() -> None:
    """An older profile without this bound voids until it gives up, so that its reports replay."""
    load = Ruling(throttle.VOID, throttle.FOREIGN_LOAD)
    ends = {}
    for profile in (CPU, replace(CPU, load_voids=0)):
        plan = Schedule(profile)
        while not isinstance(command := plan.next(), End):
            if isinstance(command, Rest):
                plan.rested()
            else:
                plan.ran([1e6] * max(command.calls, 1), 0.001, FINE if command.warm else load)
        ends[profile.load_voids] = (command.how, sum(quad.void == throttle.FOREIGN_LOAD for quad in plan.quads))
    assert ends == {CPU.load_voids: (schedule.CONVERGED, CPU.load_voids), 0: (schedule.VOIDS, 4)}


def test_it_stops_when_the_budget_is_spent_but_not_before_the_first_look() -> None:
    plan = Schedule(CPU)
    assert play(plan, noise=0.3, spent_s=5) == End(schedule.BUDGET)
    assert len(plan.quads) == CPU.first_look


def test_a_void_block_ends_its_quad_rests_and_warms_up_again() -> None:
    plan = warm(Schedule(CPU))
    plan.ran([3e6], 0.01, FINE)
    plan.ran([3e6], 0.01, Ruling(VOID, "steal"), B)
    assert plan.next() == Rest("steal")
    plan.rested()
    assert [plan.next(), plan.quads[0].void, plan.quads[0].charged] == [Run(A, 3, warm=True), "steal", B]
    assert warm(plan).next() == Run(A, 3)
    assert len(plan.quads) == 2


def test_an_idle_device_is_warmed_without_a_rest() -> None:
    plan = warm(Schedule(CPU))
    plan.ran([3e6], 0.01, Ruling(WARM_AGAIN, "idle"))
    assert plan.next() == Run(A, 3, warm=True)


def test_a_device_that_is_set_aside_ends_it_at_once_also_while_warming() -> None:
    plan = Schedule(CPU)
    plan.next()
    plan.ran([3e6], 0.01, Ruling(SET_ASIDE, "ecc"))
    assert plan.next() == End(schedule.UNFIT, "ecc")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([VALID] * 6 + [VOID, WARM_AGAIN]), min_size=1, max_size=40),
    st.sampled_from([ABBA, ABIIBA]),
    st.sampled_from([CPU, GPU]),
)
def test_whatever_happens_it_ends_and_every_quad_is_whole_or_void(
    rulings: list[str], order: tuple[str, ...], profile: schedule.Profile
) -> None:
    plan = Schedule(profile, order)
    done = 0
    while not isinstance(command := plan.next(), End):
        done += 1
        assert done < 2_000
        if isinstance(command, Rest):
            plan.rested()
        else:
            plan.ran([3e6 + done], 0.01, Ruling(rulings[done % len(rulings)], "some"), command.side)
    assert all(quad.void or quad.complete for quad in plan.quads)


def test_a_quad_with_no_time_left_in_it_does_not_count() -> None:
    assert schedule.differences([[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]) == [0.0]


def test_a_device_whose_clock_has_steps_is_asked_for_no_more_than_it_can_tell() -> None:
    """Two sides differ by noise below a step of 32 ns, at 4 µs: the half-width stays over the goal for ever."""
    plan = warm(Schedule(GPU), 4_000)
    chance = random.Random(4)
    while not isinstance(command := plan.next(), End):
        assert isinstance(command, Run)
        around = 4_000 + chance.choice((-16, 16))
        plan.ran([around + 32 * round(chance.gauss(0, 0.3)) for _ in range(command.calls)], 0.01, FINE)
    assert command == End(schedule.CONVERGED)
    assert len(plan.valid) <= 12


@pytest.mark.parametrize(
    ("time_ns", "goal"),
    [(400_000.0, 0.0025), (40_000.0, 0.0025), (20_000.0, 0.005), (10_000.0, 0.01), (5_000.0, 0.015), (1.0, 0.015)],
)
def test_the_shorter_the_work_the_wider_an_interval_may_be(time_ns: float, goal: float) -> None:
    assert GPU.narrow_at(time_ns) == goal
    assert CPU.narrow_at(time_ns) == CPU.stop_half_width
    assert replace(CPU, stop_half_width=0.01).narrow_at(time_ns) == 0.01


def test_short_work_with_the_same_noise_takes_fewer_quads() -> None:
    """Two jobs of the same short kernel differ by more than a narrow interval would tell apart."""

    def quads(time_ns: float) -> int:
        plan, chance = warm(Schedule(GPU), time_ns), random.Random(3)
        while isinstance(command := plan.next(), Run):
            times = [round(time_ns * chance.lognormvariate(0, 0.02)) for _ in range(command.calls)]
            plan.ran([float(time) for time in times], 0.01, FINE)
        assert command == End(schedule.CONVERGED)
        return len(plan.valid)

    assert quads(25_000) > 2 * quads(10_000) >= 2 * GPU.first_look
