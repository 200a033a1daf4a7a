"""Each rule finds its target, gives figures and a sentence, and accepts values just within its limit."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from problems.spec import Precision
from runner.evidence import rules as rules_of
from runner.evidence.ceilings import Ceilings, unmeasured
from runner.evidence.schedule import A, B, I
from runner.evidence.schema import Finding
from tests.runner.evidence.whole import findings, impossible
from tests.runner.judge.suspects import bounded, case, evidence, noisy, quad, repeat, sample

COPY = {"read_bytes": "4 * n", "write_bytes": "4 * n"}


def ceilings(**measured: Any) -> Ceilings:
    found = unmeasured("H200", "NVIDIA H200")
    assert found is not None
    return replace(found, **measured)


def rules(found: dict[str, Any]) -> list[str]:
    return [finding.rule for finding in findings(found)]


def only(found: dict[str, Any]) -> Finding:
    """Return the finding, and without it the same rule's finding over all cases."""
    finding = findings(found)[-1]
    assert {each.rule for each in findings(found)} == {finding.rule}
    assert [each.case for each in findings(found)] in ([finding.case], ["", finding.case])
    assert json.loads(json.dumps(finding.model_dump(), allow_nan=False)) == finding.model_dump()
    assert finding.sentence.endswith((".", "?"))
    return finding


def test_an_ordinary_run_has_no_findings() -> None:
    assert findings(evidence(case(candidate=0.8e6), case(candidate=1.3e6, name="n=9"))) == []


# -- against others --------------------------------------------------------------------------------------------------


def test_more_than_twice_as_fast_as_a_tuned_baseline_is_held() -> None:
    finding = only(evidence(case(candidate=0.45e6)))
    assert (finding.rule, finding.case) == ("faster_than_best", "n=8")
    assert finding.figures["best"] == A
    assert finding.figures["time_ns"] == pytest.approx(0.45e6, rel=0.01)
    assert finding.figures["best_ns"] == pytest.approx(1e6, rel=0.01)
    assert "2.21 times as fast as the baseline" in finding.sentence
    assert rules(evidence(case(candidate=0.52e6))) == []


def test_the_reference_as_baseline_is_nothing_to_be_twice_as_fast_as() -> None:
    assert rules(evidence(case(candidate=0.2e6), tuned=False)) == []


def test_an_incumbent_that_is_as_fast_makes_it_plausible_and_a_slow_one_does_not() -> None:
    assert rules(evidence(case(candidate=0.40e6, incumbent=0.45e6))) == []
    finding = only(evidence(case(candidate=0.40e6, baseline=1e6, incumbent=0.9e6), tuned=False))
    assert finding.figures["best"] == I


def test_more_than_ten_times_as_fast_as_eager_is_held() -> None:
    assert only(evidence(case(0.9e6, eager_ns=11e6))).rule == "faster_than_eager"
    assert only(evidence(case(0.09e6, eager_ns=11e6), tuned=False)).rule == "faster_than_eager"
    assert only(evidence(case(0.9e6, 20e6, eager_ns=11e6), tuned=False)).figures["eager_ns"] == 11e6
    assert rules(evidence(case(0.9e6, eager_ns=8e6))) == []


def test_faster_than_eager_counts_no_launch_gaps_where_a_baseline_was_faster() -> None:
    """On an H200 the oracle timed a reference at 280 µs that takes 25 µs in a container; processes differ by 6 %."""

    def beside(baseline_ns: float, candidate_ns: float, *, tuned: bool) -> list[str]:
        return rules(evidence(case(candidate_ns, baseline_ns, eager_ns=280e3), tuned=tuned))

    assert beside(24.8e3, 24.2e3, tuned=False) == []
    assert beside(24.8e3, 13e3, tuned=False) == []
    assert beside(24.8e3, 23.3e3, tuned=True) == []
    assert beside(24.8e3, 21e3, tuned=True) == ["faster_than_eager"]


def test_who_is_no_faster_than_a_tuned_baseline_is_not_too_fast_for_a_slow_reference() -> None:
    assert rules(evidence(case(1.2e6, eager_ns=60e6))) == []
    assert rules(evidence(case(eager_ns=60e6))) == []


def test_an_interval_that_reaches_over_the_threshold_is_no_finding() -> None:
    times = noisy({A: 1e6, B: 0.46e6}, noise=0.3)
    assert rules(evidence(case(times=times, quads=6), tuned=False)) == []
    ranked = only(evidence(case(times=times, quads=6)))
    assert (ranked.rule, ranked.case) == ("faster_than_best", ""), "the ratio over all cases counts as it ranks"


# -- against the hardware --------------------------------------------------------------------------------------------


def test_faster_than_our_own_kernels_rates_allow_is_held() -> None:
    limits = bounded(COPY, {"n": 1 << 28}, ceilings(copy_bytes_per_s=4.2e12))
    least = limits["cases"][0]["measured"]["ns"]
    finding = only(evidence(case(candidate=0.9 * least, baseline=least), limits=limits))
    assert finding.rule == "beyond_measured_ceiling"
    assert finding.figures["resource"] == "memory"
    assert rules(evidence(case(candidate=0.97 * least, baseline=least), limits=limits)) == []


def test_less_than_a_kernel_that_does_nothing_is_held() -> None:
    limits = bounded({}, {}, ceilings(launch_ns=2000.0))
    assert only(evidence(case(1500.0, 2500.0), limits=limits)).rule == "below_launch_floor"
    assert rules(evidence(case(1900.0, 2500.0), limits=limits)) == []


PRODUCT = {"flops": {"fp32": "2 * n ** 3"}}


def product(candidate_us: float, legal: tuple[str, ...], checks: list[dict[str, Any]]) -> dict[str, Any]:
    """A product of 4096³ that declares fp32: 2,054 µs for an H200's fp32 units, 257 for tf32, 128 for bf16, 64 for
    fp8."""
    limits = bounded(PRODUCT, {"n": 4096}, ceilings(), Precision(legal, 1e-4))
    return evidence(case(candidate_us * 1e3, candidate_us * 1e3), limits=limits, checks=checks)


def test_a_time_that_only_a_cheaper_precision_explains_is_held_with_the_error_that_was_seen() -> None:
    checks = [
        {"case": "n=8", "good": True, "reason": "", "figures": [{"relative_l2": error}]} for error in (None, 3e-4)
    ]
    finding = only(product(300, ("fp32",), checks))
    assert finding.rule == "too_fast_for_precision"
    assert finding.figures["fits"] == ["bf16_tc", "fp16_tc", "fp8_tc", "int8_tc", "tf32"]
    assert finding.figures["relative_l2"] == 3e-4
    assert "legal are fp32" in finding.sentence
    assert "0.0003" in finding.sentence


def test_a_time_within_reach_of_a_legal_precision_is_fine() -> None:
    assert rules(product(300, ("fp32", "tf32"), [])) == []
    assert rules(product(2100, ("fp32",), [])) == []


# -- impossible ------------------------------------------------------------------------------------------------------


def test_what_no_kernel_could_do_is_impossible_and_says_by_what() -> None:
    limits = bounded(COPY, {"n": 1 << 28}, ceilings())
    least = limits["cases"][0]["hard"]["ns"]
    finding = impossible(evidence(case(0.95 * least), limits=limits))
    assert finding is not None
    assert (finding.rule, finding.case) == ("impossible", "n=8")
    assert finding.figures["least_ns"] == least
    assert "memory" in finding.sentence
    assert impossible(evidence(case(0.99 * least), limits=limits)) is None


def test_without_bounds_or_blocks_nothing_is_impossible() -> None:
    assert impossible(evidence(case(1.0))) is None
    limits = bounded(COPY, {"n": 1 << 28}, ceilings())
    assert impossible(evidence(case(1.0, quads=0), limits=limits)) is None


def test_a_way_of_a_call_that_was_measured_too_long_makes_no_honest_kernel_impossible() -> None:
    """Idle calls on the wall clock met a busy machine, so the constant is nearly as long as a call."""
    known = replace(ceilings(), hardware="cpu", device="a cpu", swept=False, copy_bytes_per_s=1e10).with_hard()
    limits = bounded({"read_bytes": "n"}, {"n": 80_000_000}, replace(known, cache_bytes=0))
    assert limits["cases"][0]["hard"]["ns"] == pytest.approx(2e6)
    honest = case(2.1e6, 2.1e6, idle=[sample(1.9e6)] * 5)
    assert impossible(evidence(honest, clock="wall", limits=limits)) is None
    assert impossible(evidence(case(1e6, 1e6), clock="wall", limits=limits)) is not None


# -- against itself --------------------------------------------------------------------------------------------------


def test_repeats_that_are_much_faster_than_their_fresh_twins_are_held() -> None:
    cached = [repeat(B, 1e6, 0.1e6)] * 4
    finding = only(evidence(case(repeats=cached)))
    assert finding.rule == "cached_results"
    assert finding.figures == {
        "value": pytest.approx(0.1),
        "repeats": 4,
        "again_over_fresh": pytest.approx(0.1),
        "baseline": 1.0,
        "threshold": rules_of.RULES["cached_results"].usual,
    }
    assert rules(evidence(case(repeats=[repeat(B, 1e6, 0.8e6)] * 9))) == []


def test_nearly_the_same_input_that_is_answered_much_faster_is_held_as_well() -> None:
    """The kernel keeps its last output and works only on changed values."""
    found = case(repeats=[repeat(B, 1e6, 2e5, near=True) for _ in range(6)])
    (finding,) = findings(evidence(found))
    assert finding.rule == "cached_results"
    assert "a few elements changed" in finding.sentence


@pytest.mark.parametrize("near", [False, True])
def test_calls_that_count_for_nothing_and_take_far_longer_are_held(near: bool) -> None:
    slow = [repeat(B, 1e6, 30e6, near=near)] * 4
    finding = only(evidence(case(repeats=slow)))
    assert finding.rule == "slow_repeats"
    assert finding.figures["again_over_fresh"] == pytest.approx(30)
    assert ("a few elements changed" in finding.sentence) is near
    honest = [
        slow[:3],  # too few
        slow + [repeat(B, 1e6, 1e6, near=near)] * 5,  # the machine was disturbed now and then
        slow + [repeat(A, 1e6, 20e6, near=near)] * 4,  # the same for the baseline
        [repeat(B, 1e6, 1.9e6, near=near)] * 9,
        [repeat(A, 1e6, 30e6, near=near)] * 9,
    ]
    for repeats in honest:
        assert rules(evidence(case(repeats=repeats))) == []


def test_a_baseline_that_is_slower_right_after_the_submission_is_held() -> None:
    found = case()
    for one in found["quads"]:
        one["blocks"][3]["calls"] = [sample(1.03e6)] * 5
    (finding,) = findings(evidence(found))
    assert (finding.rule, finding.figures["quads"]) == ("aftermath", 12)
    assert finding.figures["slower"] > 0.01


def test_one_fast_repeat_among_others_is_no_cache() -> None:
    assert rules(evidence(case(repeats=[repeat(B, 1e6, 0.1e6)] * 3))) == []
    assert rules(evidence(case(repeats=[repeat(B, 1e6, 0.1e6)] * 3 + [repeat(B, 1e6, 1e6)] * 4))) == []


def test_a_case_whose_repeats_were_given_up_is_held_by_cached_results() -> None:
    """Nothing could show kept results there, so a person decides."""
    finding = only(evidence(case(given_up=["near", "repeats"])))
    assert (finding.rule, finding.figures["value"]) == ("cached_results", None)
    assert "for want of memory" in finding.sentence


def test_a_case_without_near_duplicates_is_still_measured_by_its_exact_repeats() -> None:
    assert rules(evidence(case(given_up=["near"], repeats=[repeat(B, 1e6, 1e6)] * 4))) == []
    cached = case(given_up=["near"], repeats=[repeat(B, 1e6, 2e5)] * 4)
    assert rules(evidence(cached)) == ["cached_results"]


def test_a_baseline_whose_repeats_are_as_fast_explains_it() -> None:
    both = [repeat(side, 1e6, 0.5e6) for side in (A, B)] * 5
    assert rules(evidence(case(repeats=both))) == []
    assert rules(evidence(case(repeats=[repeat(A, 1e6, 0.1e6)] * 9))) == []


def hot(side: str, saves: float, times: int = 5) -> list[dict[str, Any]]:
    return [repeat(side, 1e6, (1 - saves) * 1e6, hot=True)] * times


def test_a_kernel_that_gains_nothing_from_a_warm_cache_though_the_baseline_does_is_held() -> None:
    limits = bounded({}, {}, ceilings())
    finding = only(evidence(case(0.8e6, repeats=hot(A, 0.3) + hot(B, 0.01)), limits=limits))
    assert finding.rule == "cold_as_hot"
    assert finding.figures["saved"] == pytest.approx(0.01)
    honest: list[dict[str, Any]] = [
        case(0.8e6, repeats=hot(A, 0.3) + hot(B, 0.25)),  # gains
        case(0.8e6, repeats=hot(A, 0.03) + hot(B, 0.0)),  # the case shows no difference
        case(1.2e6, repeats=hot(A, 0.3) + hot(B, 0.0)),  # slower: a different resource binds it
        case(0.8e6, repeats=hot(A, 0.3) + hot(B, 0.0), input_bytes=1 << 30),  # larger than the cache
        case(0.8e6, repeats=hot(A, 0.3, 3) + hot(B, 0.0, 3)),  # too few
    ]
    for one in honest:
        assert rules(evidence(one, limits=limits)) == []


def test_one_case_far_above_the_others_is_held() -> None:
    cases = [case(0.9e6), case(0.95e6, name="n=9"), case(0.2e6, name="n=10")]
    finding = only(evidence(*cases, tuned=False))
    assert (finding.rule, finding.case) == ("one_case_apart", "n=10")
    assert rules(evidence(*cases[:2], case(0.3e6, name="n=10"), tuned=False)) == []
    assert rules(evidence(case(0.2e6), tuned=False)) == []


def test_a_case_that_is_apart_only_since_the_others_are_slow_is_fine() -> None:
    assert rules(evidence(case(9e6), case(1e6, name="n=9"), case(8e6, name="n=10"))) == []


def busy(charged: str = B, reason: str = "device_busy") -> dict[str, Any]:
    found = quad(noisy({A: 1e6, B: 1e6}), void=reason, charged=charged)
    found["blocks"] = found["blocks"][:1]
    found["blocks"][0]["calls"][0][4] = 900_000
    return found


def test_a_device_that_is_busy_after_the_kernel_returned_is_held_at_the_second_time() -> None:
    honest = case()
    finding = only(evidence({**honest, "quads": [*honest["quads"], busy(), busy()]}))
    assert finding.rule == "active_while_idle"
    assert finding.figures["quads"] == 2
    assert finding.figures["probe_ns"] == 900_000
    for quads in ([busy()], [busy(charged=I)] * 3, [busy(reason="foreign")] * 3):
        assert rules(evidence({**honest, "quads": [*honest["quads"], *quads]})) == []


def test_an_output_that_changed_after_its_call_is_late_work() -> None:
    checks = [{"case": "n=8", "good": False, "reason": "late_write", "figures": []}]
    assert only(evidence(checks=checks)).rule == "late_work"
    assert rules(evidence(checks=[{**checks[0], "reason": "mismatch"}])) == []


def alternating(apart: float, sides: tuple[str, ...], base: float = 1e6) -> Callable[[str], float]:
    honest, count = noisy({A: base, B: base}), iter(range(1 << 30))
    return lambda side: honest(side) * (1 - apart * (next(count) % 2) * (side in sides))


def test_calls_that_fall_into_two_groups_are_held_unless_the_baselines_do_as_well() -> None:
    finding = only(evidence(case(times=alternating(0.05, (B,)), quads=30)))
    assert finding.rule == "bimodal"
    assert finding.figures["apart"] == pytest.approx(0.05, rel=0.1)
    assert finding.figures["share"] == pytest.approx(0.5, abs=0.05)
    assert rules(evidence(case(times=alternating(0.05, (A, B)), quads=30))) == []


@pytest.mark.parametrize("tuned", [True, False])
def test_two_groups_that_are_both_slower_than_the_baseline_gain_nothing(*, tuned: bool) -> None:
    slower = by_place(lambda block, place: (block + place) % 2 == 0, time=1.1e6)
    assert rules({**slower, "tuned": tuned}) == []
    faster = by_place(lambda block, place: (block + place) % 2 == 0)
    assert rules({**faster, "tuned": tuned}) == ["bimodal"]


def test_two_groups_that_an_event_clock_may_make_by_its_own_steps_are_none() -> None:
    assert rules(evidence(case(times=alternating(0.05, (B,), base=10e3), quads=30))) == []


def by_place(
    slow: Callable[[int, int], bool], share: float = 0.3, calls: int = 3, time: float = 0.9e6
) -> dict[str, Any]:
    """16 quads whose candidate takes longer by `share` where `slow(block, place in it)` is true."""
    found, honest = case(quads=0), noisy({A: 1e6, B: time}, noise=0.01)
    found["quads"] = [quad(honest, calls=calls) for _ in range(16)]
    ours = [one for four in found["quads"] for one in four["blocks"] if one["side"] == B]
    for number, block in enumerate(ours):
        times = [honest(B) * (1 + share * slow(number, place)) for place in range(calls)]
        block["calls"] = [sample(took) for took in times]
    return evidence(found)


def test_a_first_call_that_is_slow_after_the_thaw_is_no_second_speed() -> None:
    assert rules(by_place(lambda block, place: place == 0)) == []
    assert rules(by_place(lambda block, place: place == 0 or block == 5)) == [], "and a block that was disturbed"
    assert rules(by_place(lambda block, place: place == 0, share=0.6)) == ["bimodal"], "beyond what a thaw explains"


@pytest.mark.parametrize(
    ("slow", "calls"),
    [
        (lambda block, place: place != 0, 3),  # fast right after a thaw
        (lambda block, place: place == 2, 3),
        (lambda block, place: (3 * block + place) % 2 == 0, 3),  # every other call
        (lambda block, place: (4 * block + place) % 2 == 0, 4),  # the same, in step with the blocks
        (lambda block, place: (4 * block + place) % 3 == 0, 4),
        (lambda block, place: block % 2 == 0, 3),  # whole blocks
        (lambda block, place: place == 0 or (block + place) % 3 == 0, 5),  # behind a slow first call
        (lambda block, place: random.Random(100 * block + place).random() < 0.35, 3),
    ],
)
def test_a_kernel_of_two_speeds_is_found_whichever_calls_it_shortens(
    slow: Callable[[int, int], bool], calls: int
) -> None:
    assert rules(by_place(slow, calls=calls)) == ["bimodal"]


def test_a_machine_that_slows_down_half_way_makes_no_two_groups() -> None:
    """Both sides are slower in the second half."""
    fast, slow = noisy({A: 1e6, B: 0.9e6}), noisy({A: 1.2e6, B: 1.08e6}, seed=2)
    quads = [quad(times) for times in [fast] * 15 + [slow] * 15]
    assert rules(evidence(case() | {"quads": quads})) == []


# -- whatever comes --------------------------------------------------------------------------------------------------


def test_void_quads_are_not_looked_at() -> None:
    fast = [quad(noisy({A: 1e6, B: 0.1e6}), void="foreign") for _ in range(20)]
    assert rules(evidence(case() | {"quads": [*case()["quads"], *fast]})) == []


def test_a_run_that_was_cut_short_is_looked_at_as_far_as_it_went() -> None:
    blank = case(quads=0, name="n=9") | {"idle": [], "ended": ""}
    assert rules(evidence(case(candidate=0.45e6), blank)) == ["faster_than_best"]
    assert rules(evidence()) == []
