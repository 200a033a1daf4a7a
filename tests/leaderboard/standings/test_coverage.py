"""Coverage over k: the fit finds the two parameters, its intervals hold them, and turns count their spending."""

import random

import pytest

from leaderboard.standings.ranking.coverage import Point, Tally, Turn, fit, serial


def drawn(seed: int, *, never: float, p: float, problems: int = 60, samples: int = 24) -> list[Tally]:
    chance = random.Random(seed)
    return [
        Tally(samples, 0 if chance.random() < never else sum(chance.random() < p for _ in range(samples)))
        for _ in range(problems)
    ]


def test_the_fit_finds_the_share_that_never_succeeds_and_the_chance_of_a_sample() -> None:
    found = fit(drawn(1, never=0.3, p=0.1, problems=2_000))
    assert found is not None
    assert found.never.value == pytest.approx(0.3, abs=0.03)
    assert found.p.value == pytest.approx(0.1, abs=0.005)
    assert found.coverage(5).value == pytest.approx(0.7 * (1 - 0.9**5), abs=0.02)


def test_95_percent_intervals_hold_the_truth_about_as_often() -> None:
    held = {"never": 0, "p": 0, "coverage": 0}
    for seed in range(100):
        found = fit(drawn(seed, never=0.3, p=0.08))
        assert found is not None
        truth = {"never": (found.never, 0.3), "p": (found.p, 0.08)}
        truth["coverage"] = (found.coverage(8), Point(0.3, 0.08).coverage(8))
        for name, (share, value) in truth.items():
            held[name] += share.interval.low <= value <= share.interval.high
    assert min(held.values()) >= 88, held


def test_an_interval_has_a_width_where_all_problems_are_solved() -> None:
    found = fit([Tally(8, 4)] * 10)
    assert found is not None
    assert (found.never.value, found.p.value) == (pytest.approx(0), pytest.approx(0.5))
    assert found.never.interval.high > 0.1


@pytest.mark.parametrize("problems", [[], [Tally(5, 0)], [Tally(1, 1), Tally(1, 0)]])
def test_without_repetition_or_success_nothing_is_fitted(problems: list[Tally]) -> None:
    assert fit(problems) is None


def test_a_single_problem_has_the_binomial_fit() -> None:
    found = fit([Tally(10, 3)])
    assert found is not None
    assert (found.never.value, found.never.interval.high) == (0, 0)
    assert found.p.value == pytest.approx(0.3)
    assert 0.05 < found.p.interval.low < 0.15


def test_a_chain_spends_until_its_success() -> None:
    lost, won = Turn(False, 2.0, 0.5), Turn(True, 3.0, 0.25)
    first, second, third = serial({"a": [[lost, won, won]], "b": [[lost, lost, lost]]}, 9)
    assert (first.share.value, first.samples, first.seconds, first.cost_usd) == (0, 1, 2.0, 0.5)
    assert (second.share.value, second.samples, second.seconds, second.cost_usd) == (0.5, 2, 4.5, 0.875)
    assert (third.samples, third.share.value) == (2.5, 0.5)
    assert serial({"a": [[Turn(False)]]}, 9)[0].cost_usd is None
    assert serial({}, 9) == []
    assert len(serial({"a": [[lost] * 20_000]}, 3)) == 3
