"""Rewards of verdicts by `reward/1`: 0 without a standing pass, bounds from the interval, and the same every time."""

import json
import math

import pytest

from runner.evidence import schema, verdict
from runner.evidence.reward import Judged, Parameters, reward
from tests.runner.judge.suspects import steady

PASSED = {"outcome": "passed", "ratio": 0.5, "half_width": 0.1}


def test_reward_of_a_correct_kernel_is_weight_plus_speedup() -> None:
    found = reward(Judged(**PASSED))
    assert (found.value, found.speedup, found.reason) == (2.3, 2.0, "correct")
    assert found.low == pytest.approx(0.3 + 1 / 0.55)
    assert found.high == pytest.approx(0.3 + 1 / 0.45)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"outcome": "wrong", "ratio": None}, "not_passed"),
        ({"outcome": "policy", "reason": "impossible", "ratio": None}, "not_passed"),
        ({"held_by": ["faster_than_best"]}, "held"),
        ({"is_rejected": True}, "rejected"),
    ],
)
def test_reward_is_0_without_a_standing_pass(changes: dict[str, object], reason: str) -> None:
    found = reward(Judged(**{**PASSED, **changes}))  # type: ignore[arg-type]
    assert (found.value, found.low, found.high, found.reason) == (0.0, 0.0, 0.0, reason)
    assert all(word in found.sentence for word in changes.get("held_by", []))  # type: ignore[attr-defined]


def test_reward_is_unknown_where_the_machine_spoiled_the_verdict() -> None:
    found = reward(Judged("unmeasurable", "unsteady", is_spoiled=True))
    assert (found.value, found.low, found.reason) == (None, None, "spoiled")


def test_reward_of_a_mode_without_times_is_the_weight_alone() -> None:
    found = reward(Judged("passed"), Parameters(correct=0.5))
    assert (found.value, found.speedup, found.reason) == (0.5, None, "not_timed")


def test_cap_bounds_the_reward_and_its_interval() -> None:
    found = reward(Judged("passed", ratio=0.01, half_width=0.2), Parameters(cap=4))
    assert (found.value, found.low, found.high, found.speedup) == (4.3, 4.3, 4.3, 100.0)
    wide = reward(Judged("passed", ratio=0.5, half_width=1.5))
    assert wide.high == 10.3, "an interval without an upper end reaches the cap"


def test_only_correct_leaves_the_speedup_out() -> None:
    found = reward(Judged(**PASSED), Parameters(only_correct=True))
    assert (found.value, found.low, found.high, found.speedup) == (0.3, 0.3, 0.3, 2.0)


def test_an_unknown_interval_gives_no_bounds() -> None:
    found = reward(Judged("passed", ratio=0.5))
    assert (found.value, found.low, found.high) == (2.3, None, None)


@pytest.mark.parametrize(
    ("name", "value"),
    [("correct", -0.1), ("correct", 101.0), ("cap", 0.0), ("cap", 10_001.0), ("cap", math.nan), ("cap", math.inf)],
)
def test_parameters_have_limits_that_the_error_names(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"{name}: .* from .* to"):
        Parameters(**{name: value})


@pytest.mark.parametrize("ratio", [0.05, 0.5, 0.999, 1.0, 3.0, 1e6])
@pytest.mark.parametrize("half_width", [0.0, 0.001, 0.3, 0.999, 2.0])
def test_bounds_enclose_the_reward(ratio: float, half_width: float) -> None:
    found = reward(Judged("passed", ratio=ratio, half_width=half_width))
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high <= 10.3


def test_reward_of_a_stored_report_is_the_same_every_time() -> None:
    text = json.dumps(steady(0.8))
    found = set()
    for _ in range(3):
        decided = verdict.decide(schema.parse_run(json.loads(text)))
        found.add(reward(Judged(decided.outcome, decided.reason, decided.ratio, decided.half_width)))
    [same] = found
    assert same.value == pytest.approx(0.3 + 1 / 0.8, rel=0.02)
