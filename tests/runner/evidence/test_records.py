"""First place changes hands only for a gain that independent runs agree on; the verdict gives its size."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.records import NOISES, accepted_share
from runner.evidence import records
from runner.evidence.schedule import ABIIBA, GPU, A, B, I
from tests.runner.evidence.whole import confirmation, parsed
from tests.runner.judge.simulated import FakeSide, Race


def gains(*shares: float) -> list[float]:
    return [math.log1p(-share) for share in shares]


def test_a_clear_gain_is_a_record() -> None:
    found = records.decide_differences(gains(0.010, 0.012, 0.009, 0.011, 0.010))
    assert (found.accepted, found.reason, found.held, found.wins) == (True, "confirmed", False, 5)
    assert found.median_gain == pytest.approx(0.010)
    assert found.least_gain == pytest.approx(0.0093, abs=1e-4)
    assert "1.00 % faster in the median of 5 runs" in found.sentence


@pytest.mark.parametrize(
    ("shares", "reason"),
    [
        ((0.004, 0.004, 0.004, 0.004, 0.004), "too_small"),
        ((-0.01, -0.01, -0.01, -0.01, -0.01), "too_small"),
        ((0.006, 0.006, 0.006, -0.0001, -0.0001), "too_few_wins"),
        ((0.006, 0.006, 0.006, 0.03, -0.03), "uncertain"),
        ((0.01, 0.01, 0.01, 0.01), "too_few_runs"),
        ((0.01,), "too_few_runs"),
        ((), "too_few_runs"),
    ],
)
def test_anything_less_is_none_and_says_why(shares: tuple[float, ...], reason: str) -> None:
    found = records.decide_differences(gains(*shares))
    assert (found.accepted, found.reason) == (False, reason)
    assert found.sentence.endswith(".")


def test_one_run_of_five_may_be_slower() -> None:
    assert records.decide_differences(gains(0.01, 0.01, 0.01, 0.01, -0.001)).accepted


def test_the_bound_is_students_t_on_the_runs() -> None:
    assert records.upper_bound([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(3 + 2.132 * math.sqrt(2.5 / 5))
    assert records.upper_bound([1.0, 3.0]) == pytest.approx(2 + 6.314 * math.sqrt(2 / 2))


def test_without_a_gain_hardly_ever_a_record() -> None:
    assert accepted_share(0.0, 0.003) <= 0.01


def test_a_gain_of_one_percent_is_found() -> None:
    assert accepted_share(0.01, 0.003) >= 0.99


@pytest.mark.parametrize("noise", list(NOISES))
@pytest.mark.parametrize("scale", [0.006, 0.01, 0.05])
def test_noise_buys_no_record_on_any_machine(noise: str, scale: float) -> None:
    """Twenty tries of a kernel without a gain must not pay."""
    assert accepted_share(0.0, scale, NOISES[noise], trials=4_000) <= 0.05


# -- from evidence, made by the real timing of simulated sides --------------------------------------------------------


def run(gain: float = 0.02, *, seed: int = 1, baseline_ns: float = 4e6, **incumbent: Any) -> dict[str, Any]:
    """Simulate a run of a confirmation whose incumbent takes as long as the baseline."""
    made = Race(seed=seed, order=ABIIBA)
    made.sides = {
        A: FakeSide(made, A, baseline_ns),
        B: FakeSide(made, B, baseline_ns * (1 - gain)),
        I: FakeSide(made, I, baseline_ns, **incumbent),
    }
    made.run()
    return made.evidence()


def decide_record(runs: Sequence[dict[str, Any]], *alone: Sequence[dict[str, Any]]) -> records.RecordVerdict:
    return records.decide_record(confirmation(runs, *alone))


def alone(seed: int = 1) -> dict[str, Any]:
    made = Race(seed=seed)
    made.sides = {A: FakeSide(made, A, 4e6), B: FakeSide(made, B, 4e6)}
    made.run()
    return made.evidence()


def test_a_gain_is_seen_in_the_blocks_that_all_three_share() -> None:
    found = decide_record([run(seed=seed) for seed in range(5)])
    assert (found.accepted, found.held) == (True, False)
    assert found.median_gain == pytest.approx(0.02, abs=0.002)


def test_equals_change_nothing() -> None:
    found = decide_record([run(gain=0.0, seed=seed) for seed in range(5)])
    assert (found.accepted, found.reason) == (False, "too_small")


def test_a_drifting_machine_makes_no_record() -> None:
    runs = []
    for seed in range(5):
        made = Race(seed=seed, order=ABIIBA, drift=lambda at_s, chance: 1 + 0.05 * at_s)
        made.sides = {name: FakeSide(made, name, 4e6) for name in (A, B, I)}
        made.run()
        runs.append(made.evidence())
    assert not decide_record(runs).accepted


def test_cases_count_as_the_problem_ranks() -> None:
    fast, slow = run(gain=0.5)["timing"][0], run(gain=0.0, baseline_ns=40e6, seed=2)["timing"][0]
    both = run() | {"timing": [{**fast, "case": "a"}, {**slow, "case": "b"}]}
    expected = {"geom": math.sqrt(0.5), "mean": (0.5 + 1) / 2, "last": 1.0}
    for by, ratio in expected.items():
        difference, _ = records.run_difference(parsed(both | {"ranking_by": by, "rules": records.RATIO_RULES}))
        assert math.exp(difference) == pytest.approx(ratio, rel=0.01)
    older = parsed(both | {"ranking_by": "mean", "rules": records.RATIO_RULES - 1})
    assert math.exp(records.run_difference(older)[0]) == pytest.approx((2 + 40) / 44, rel=0.01)


def test_a_candidate_that_fails_in_any_run_is_no_record() -> None:
    fault = {"outcome": "timeout", "reason": "call", "message": "No answer within 10 s."}
    found = decide_record([*[run(seed=seed) for seed in range(4)], run() | {"fault": fault}])
    assert (found.accepted, found.reason, found.held) == (False, "candidate_failed", False)
    assert found.sentence == "Run 5 of 5 decides nothing. No answer within 10 s."


def test_a_run_that_could_not_be_measured_is_nobodys_fault() -> None:
    found = decide_record([run() | {"set_aside": "xid_79"}])
    assert (found.accepted, found.reason, found.held) == (False, "run_failed", False)


def test_an_incumbent_that_fails_is_looked_at() -> None:
    fault = {"outcome": "unmeasurable", "reason": records.INCUMBENT_FAILED, "message": "The incumbent failed."}
    found = decide_record([run() | {"fault": fault}])
    assert (found.accepted, found.reason, found.held) == (False, "incumbent_failed", True)


def without_incumbent(evidence: dict[str, Any]) -> dict[str, Any]:
    """Evidence as if the incumbent had voided all its quads and the remaining quads had gone without it."""
    timing = evidence["timing"][0]
    quads = [{**quad, "blocks": [b for b in quad["blocks"] if b["side"] != I]} for quad in timing["quads"]]
    return evidence | {"timing": [timing | {"quads": quads}]}


def test_an_incumbent_that_voids_its_blocks_is_compared_over_the_baseline_and_held() -> None:
    runs = [without_incumbent(run(seed=seed)) for seed in range(5)]
    assert decide_record(runs).reason == "incumbent_failed"
    found = decide_record(runs, [alone(seed) for seed in range(5)])
    assert (found.accepted, found.held) == (True, True)
    assert found.median_gain == pytest.approx(0.02, abs=0.003)
    assert "a person" in found.sentence


def test_an_incumbent_that_forges_its_events_is_looked_at() -> None:
    """Its true time is four times its claim; the blocks of the remaining sides are honest."""
    made = Race(order=ABIIBA, profile=GPU)
    made.sides = {A: FakeSide(made, A, 4e6), B: FakeSide(made, B, 4e6), I: FakeSide(made, I, 4e6, told=0.25)}
    made.run()
    found = decide_record([made.evidence()])
    assert (found.reason, found.held) == ("incumbent_failed", True)


def test_a_verdict_goes_through_json() -> None:
    found = decide_record([run()])
    assert json.loads(json.dumps(found.to_json()))["gains"] == [pytest.approx(0.02, abs=0.003)]
