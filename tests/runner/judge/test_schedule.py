"""When which block runs: ABBA, until the interval is narrow or the budget is spent."""

from __future__ import annotations

import random

from runner.judge import schedule, stats
from runner.judge.schedule import CPU, A, B, Block, Schedule


def run(chance: random.Random, *, ratio: float, noise: float, drift: float = 0.0, spent_s: float = 0.01) -> Schedule:
    """Plays a schedule against simulated sides of 3 ms that drift by `drift` over 100 blocks."""
    playing = Schedule.after_warm_up(CPU, 3e6)
    block_number = 0
    while (block := playing.next()) is not None:
        base = 3e6 * (ratio if block.side == B else 1.0) * (1 + drift * block_number / 100)
        playing.took([base * chance.lognormvariate(0, noise) for _ in range(block.calls)], spent_s)
        block_number += 1
    return playing


def test_blocks_come_in_abba_order() -> None:
    playing = Schedule.after_warm_up(CPU, 3e6)
    sides = []
    for _ in range(8):
        block = playing.next()
        assert block is not None
        sides.append(block.side)
        playing.took([1.0], 0.0)
    assert sides == [A, B, B, A] * 2


def test_a_block_is_as_long_as_the_profile_says() -> None:
    assert Schedule.after_warm_up(CPU, 1e5).next() == Block(A, 25)
    assert Schedule.after_warm_up(CPU, 2e6).next() == Block(A, 4)
    assert Schedule.after_warm_up(CPU, 1e9).next() == Block(A, 3)
    assert Schedule.after_warm_up(CPU, -5.0).next() == Block(A, 25)


def test_it_stops_early_when_quiet_and_at_the_most_when_noisy() -> None:
    assert len(run(random.Random(1), ratio=0.8, noise=0.001).quads) == CPU.first_look
    assert len(run(random.Random(1), ratio=0.8, noise=0.3).quads) == CPU.most_quads


def test_it_stops_when_the_budget_is_spent_but_not_before_the_first_look() -> None:
    assert len(run(random.Random(1), ratio=0.8, noise=0.3, spent_s=5).quads) == CPU.first_look


def test_a_ramp_of_three_percent_biases_nothing() -> None:
    found = [
        stats.median_estimate(
            schedule.differences(run(random.Random(n), ratio=1.0, noise=0.003, drift=0.03).quads)
        ).value
        for n in range(40)
    ]
    assert abs(stats.median(found)) < 0.001


def test_a_quad_with_no_time_left_in_it_does_not_count() -> None:
    assert schedule.differences([[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]) == [0.0]
