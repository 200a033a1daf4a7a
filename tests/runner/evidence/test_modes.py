"""Two groups are found where they exist, and hardly ever in a single group, whatever its shape."""

import math
import random
from collections.abc import Callable

import pytest

from runner.evidence.stats import FALSE_ALARM, LEAST_SAMPLES, two_modes

Draw = Callable[[random.Random], float]

ONE_PEAK: dict[str, Draw] = {
    "normal": lambda chance: chance.gauss(0, 0.01),
    "uniform": lambda chance: chance.uniform(0, 0.03),
    "lognormal": lambda chance: chance.lognormvariate(0, 0.05),
    "heavy lognormal": lambda chance: math.log1p(0.01 * chance.lognormvariate(0, 1)),
    "exponential": lambda chance: 0.01 * chance.expovariate(1),
    "heavy tails": lambda chance: 0.01 * chance.gauss(0, 1) / max(0.1, chance.random()),
    "outliers": lambda chance: chance.gauss(0, 0.01) + (chance.random() < 0.05) * chance.uniform(0, 0.5),
}


@pytest.mark.parametrize("draw", ONE_PEAK.values(), ids=ONE_PEAK)
def test_one_peak_is_seldom_taken_for_two(draw: Draw) -> None:
    """At most 0.1 % of 4,000 honest samples of every length that a run may have."""
    chance = random.Random(7)
    alarms = sum(
        two_modes([draw(chance) for _ in range(count)]) is not None for count in (24, 36, 60, 150) for _ in range(1000)
    )
    assert alarms <= 4


@pytest.mark.parametrize(("count", "found_at_least"), [(150, 0.95), (300, 1.0), (1000, 1.0)])
def test_two_modes_five_percent_apart_are_found_at_one_percent_noise(count: int, found_at_least: float) -> None:
    chance = random.Random(3)

    def sample() -> list[float]:
        return [chance.gauss(0, 0.01) + math.log(1.05) * (n % 2) for n in range(count)]

    found = [two_modes(sample()) for _ in range(40)]
    seen = [modes for modes in found if modes is not None]
    assert len(seen) >= found_at_least * 40
    for modes in seen:
        assert modes.high - modes.low == pytest.approx(math.log(1.05), rel=0.2)
        assert modes.share > 0.4


def test_a_smaller_group_is_found_as_well() -> None:
    chance = random.Random(5)
    modes = two_modes([chance.gauss(0, 0.005) + (-0.2 if n % 5 == 0 else 0.0) for n in range(400)])
    assert modes is not None
    assert modes.share == pytest.approx(0.2, abs=0.01)
    assert modes.high - modes.low == pytest.approx(0.2, rel=0.05)


def test_a_few_that_are_far_off_are_outliers_and_no_group() -> None:
    chance = random.Random(5)
    assert two_modes([chance.gauss(0, 0.005) + (n % 20 == 0) for n in range(400)]) is None


def test_too_few_samples_say_nothing() -> None:
    assert two_modes([0.0, 1.0] * (LEAST_SAMPLES // 2 - 1)) is None
    assert two_modes([]) is None


@pytest.mark.parametrize("count", [125, 126, 400])
def test_many_samples_need_no_exact_chance(count: int) -> None:
    """Half as many in the middle as in the core: the most that the chance is looked at for."""
    between = count // 3
    assert sum(math.comb(count, number) for number in range(between + 1)) / 2**count < FALSE_ALARM


def test_a_report_of_many_samples_takes_no_hours() -> None:
    assert two_modes([number / 60_000 for number in range(60_000)]) is None
    assert two_modes([float(number % 2) for number in range(60_000)]) is not None


def test_samples_that_are_all_the_same_are_one_group() -> None:
    assert two_modes([3.0] * 100) is None


def test_exactly_two_values_are_two_groups() -> None:
    modes = two_modes([1.0] * 30 + [2.0] * 20)
    assert modes is not None
    assert (modes.low, modes.high, modes.share) == (1.0, 2.0, 0.4)
