"""Rules find suspect results in a report's samples.

They ignore the judge's conclusion, pass values just within the limits, and count the judge's own findings.
"""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from leaderboard.review.rules.findings import Evidence, Known, Likeness, Reported, Source, held_by, measure, read
from leaderboard.review.rules.thresholds import RULES, USUAL, parse
from problems.spec import Precision
from runner.evidence.ceilings import Ceilings, unmeasured
from runner.evidence.certificate import certify
from runner.evidence.schedule import A, B, differences
from runner.evidence.stats import median
from tests.runner.judge.suspects import bounded, case, evidence, noisy, quad, repeat, sample, steady

NOTHING, PLAIN = Known(), Source()
COPY = {"read_bytes": "4 * n", "write_bytes": "4 * n"}


def ceilings(**measured: Any) -> Ceilings:
    found = unmeasured("H200", "NVIDIA H200")
    assert found is not None
    return replace(found, **measured)


def held(run: dict[str, Any], known: Known = NOTHING, source: Source = PLAIN, **told: Any) -> list[Evidence]:
    ratio = told.pop("ratio", None) or (read({"evidence": run})[0][0].ratio if run.get("timing") else None)
    reported = Reported(ratio=ratio or 0.9, report={"evidence": run}, **told)
    return held_by(measure(reported, known, source).measures)


def rules(run: dict[str, Any], *given: Any, **told: Any) -> list[str]:
    return [found.rule for found in held(run, *given, **told)]


def test_an_ordinary_run_is_not_held() -> None:
    assert rules(evidence(case(candidate=0.8e6), case(candidate=1.3e6, name="n=9"))) == []


def test_a_finding_has_figures_threshold_samples_and_a_sentence_to_act_on() -> None:
    (found,) = held(evidence(case(candidate=0.45e6)))
    assert (found.rule, found.threshold, found.samples["case"]) == ("faster_than_best", 2.0, "n=8")
    assert found.figures["value"] == pytest.approx(2.22, rel=0.02)
    assert "as fast as the baseline" in found.sentence
    assert found.sentence.endswith(RULES["faster_than_best"].look)
    assert 0 < len(found.samples["candidate_ns"]) <= 32
    assert max(found.samples["candidate_ns"]) < min(found.samples["baseline_ns"])
    json.dumps([found.figures, found.samples], allow_nan=False)


def test_a_finding_says_what_it_compares_with() -> None:
    """If the reference was not timed by itself, the untuned baseline replaces it."""
    (found,) = held(evidence(case(candidate=0.09e6), tuned=False))
    assert "as fast as the baseline, which is" in found.sentence
    (found,) = held(evidence(case(0.9e6, eager_ns=11e6)))
    assert "as fast as the reference as it is written" in found.sentence


def test_one_case_of_many_is_held_though_the_mean_over_them_is_ordinary() -> None:
    cases = [case(candidate=1e6, name=f"n={n}") for n in range(7)]
    assert rules(evidence(*cases, case(candidate=0.4e6, name="n=7"))) == ["faster_than_best"]


def test_wavering_hides_no_speed_and_a_machine_that_wavers_accuses_nobody() -> None:
    chance = random.Random(9)
    cases = [case(candidate=1e6, name=f"n={n}") for n in range(7)]
    alone = case(times=lambda side: 1e6 if side == A else chance.choice([0.3e6] * 8 + [1e6] * 2), name="n=7")
    assert "faster_than_best" in rules(evidence(*cases, alone))
    both = case(times=lambda side: chance.choice([1.0, 3.0]) * (1e6 if side == A else 0.6e6), name="n=7")
    assert "faster_than_best" not in rules(evidence(*cases, both))


def test_a_reference_as_baseline_is_held_from_ten_times_on() -> None:
    assert rules(evidence(case(candidate=0.2e6), tuned=False)) == []
    assert rules(evidence(case(candidate=0.09e6), tuned=False)) == ["faster_than_eager"]
    assert rules(evidence(case(0.9e6, eager_ns=11e6))) == ["faster_than_eager"]
    assert rules(evidence(case(1.2e6, eager_ns=60e6))) == [], "no faster than the tuned baseline"


def test_the_incumbent_of_the_board_counts_where_the_baseline_is_none_to_beat() -> None:
    assert rules(evidence(case(candidate=0.2e6), tuned=False), Known(incumbent_ratio=0.3)) == []
    assert rules(evidence(case(candidate=0.2e6), tuned=False), Known(incumbent_ratio=0.5)) == ["faster_than_best"]


def test_a_case_far_ahead_of_all_that_stands_is_held() -> None:
    run = evidence(case(candidate=0.9e6), case(candidate=0.27e6, name="n=9"), tuned=False)
    assert rules(run, Known(case_ratios={"n=8": 0.9, "n=9": 0.8})) == []
    assert rules(run, Known(case_ratios={"n=8": 0.9, "n=9": 0.95})) == ["case_faster_than_best"]


def test_that_only_slower_results_stand_makes_nobody_fast_whose_baseline_is_tuned() -> None:
    run = evidence(case(candidate=0.68e6))
    assert rules(run, Known(incumbent_ratio=2.33, case_ratios={"n=8": 2.33})) == []


def test_times_beyond_what_the_hardware_does_are_held() -> None:
    limits = bounded(COPY, {"n": 1 << 28}, ceilings(copy_bytes_per_s=4.2e12))
    least = limits["cases"][0]["measured"]["ns"]
    assert rules(evidence(case(0.97 * least, least), limits=limits)) == []
    assert rules(evidence(case(0.92 * least, least), limits=limits)) == ["beyond_measured_ceiling"]
    assert "beyond_hard_ceiling" in rules(evidence(case(0.6 * least, least), limits=limits))
    floor = bounded({}, {}, ceilings(launch_ns=2000.0))
    assert rules(evidence(case(1500.0, 2500.0), limits=floor)) == ["below_launch_floor"]


def product(candidate_us: float, legal: tuple[str, ...]) -> dict[str, Any]:
    limits = bounded({"flops": {"fp32": "2 * n ** 3"}}, {"n": 4096}, ceilings(), Precision(legal, 1e-4))
    checks = [{"case": "n=8", "good": True, "reason": "", "figures": [{"relative_l2": 3e-4}]}]
    return evidence(case(candidate_us * 1e3, candidate_us * 1e3), limits=limits, checks=checks)


def test_a_time_that_only_a_cheaper_precision_explains_is_held_with_the_error_that_was_seen() -> None:
    (found,) = held(product(300, ("fp32",)))
    assert found.rule == "too_fast_for_precision"
    assert found.figures["relative_l2"] == 3e-4
    assert "legal are fp32" in found.sentence
    assert rules(product(300, ("fp32", "tf32"))) == []


@pytest.mark.parametrize("near", [False, True])
def test_answers_that_are_kept_are_held(near: bool) -> None:
    kept = [repeat(B, 1e6, 0.5e6, near=near) for _ in range(6)]
    (found,) = held(evidence(case(repeats=kept)))
    assert found.rule == "cached_results"
    assert len(found.samples["candidate_pairs_ns"]) == 6
    both = kept + [repeat(A, 1e6, 0.6e6, near=near) for _ in range(6)]
    assert rules(evidence(case(repeats=both))) == []


@pytest.mark.parametrize("near", [False, True])
def test_calls_that_count_for_nothing_and_take_far_longer_are_held(near: bool) -> None:
    slow = [repeat(B, 1e6, 3e6, near=near) for _ in range(6)]
    (found,) = held(evidence(case(repeats=slow)))
    assert found.rule == "slow_repeats"
    assert len(found.samples["candidate_pairs_ns"]) == 6
    assert rules(evidence(case(repeats=slow + [repeat(A, 1e6, 2.5e6, near=near) for _ in range(6)]))) == []
    assert rules(evidence(case(repeats=slow[:3]))) == []


def test_a_sweep_that_costs_nothing_is_held() -> None:
    def hot(saves: float) -> list[dict[str, Any]]:
        return [
            *(repeat(A, 1e6, 0.7e6, hot=True) for _ in range(6)),
            *(repeat(B, 0.6e6, 0.6e6 * (1 - saves), hot=True) for _ in range(6)),
        ]

    assert rules(evidence(case(0.6e6, repeats=hot(0.0)))) == ["cold_as_hot"]
    assert rules(evidence(case(0.6e6, repeats=hot(0.2)))) == []
    assert rules(evidence(case(1.1e6, repeats=hot(0.0)))) == [], "no faster than the baseline"


def test_one_case_apart_is_held() -> None:
    cases = [case(candidate=1e6, name="n=1"), case(candidate=0.22e6, name="n=2")]
    assert rules(evidence(*cases, tuned=False)) == ["one_case_apart"]


def test_work_after_its_calls_is_held() -> None:
    busy = [quad(noisy({A: 1e6, B: 1e6}), void="device_busy", charged=B) for _ in range(2)]
    quads = [quad(noisy({A: 1e6, B: 1e6})) for _ in range(12)]
    assert rules(evidence(case(quads=12) | {"quads": quads + busy})) == ["active_while_idle"]
    assert rules(evidence(case(quads=12) | {"quads": quads + busy[:1]})) == []
    late = {"case": "n=8", "good": False, "reason": "late_write", "figures": []}
    assert rules(evidence(case(), checks=[late])) == ["late_work"]


def test_a_run_that_left_out_a_step_is_held() -> None:
    assert rules(evidence(case(), left_out=["probe"])) == ["not_certified"]
    assert rules(evidence(case(), certified=False)) == ["not_certified"]


def test_the_judges_word_for_a_rule_of_its_own_is_measured_against_our_threshold() -> None:
    said = {"rule": "bimodal", "case": "n=8", "figures": {"value": 0.05}, "sentence": "Two groups."}
    run = evidence(case(), findings=[said])
    assert rules(run) == ["bimodal"]
    reported = Reported(0.99, report={"evidence": run})
    measures = measure(reported, Known(), Source()).measures
    assert held_by(measures, parse({"bimodal": 0.10})) == []
    assert held_by(measures, parse({"bimodal": "off"})) == []


def test_a_finding_of_the_judge_that_we_do_not_understand_holds() -> None:
    unknown = {"rule": "telepathy", "case": "n=8", "figures": {}, "sentence": "It knew."}
    assert rules(evidence(case(), findings=[unknown])) == ["runner_finding"]
    bare = {"rule": "bimodal", "case": "n=8", "figures": {}, "sentence": "Two groups."}
    (found,) = held(evidence(case(), findings=[bare]))
    assert (found.rule, found.figures["value"]) == ("bimodal", None)
    for name in ("n=8", ""):
        (found,) = held(evidence(case(), findings=[bare | {"case": name, "figures": {"case": ["x"], "value": "many"}}]))
        assert found.figures == {"value": None} | ({"case": name} if name else {})


def test_a_figure_that_its_own_samples_do_not_bear_out_is_held() -> None:
    run = evidence(case(candidate=0.9e6))
    assert rules(run, ratio=0.88) == []
    assert rules(run, ratio=0.7) == ["figures_disagree"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda run: run.pop("timing"),
        lambda run: run.update(timing=[{}]),
        lambda run: run["timing"][0].update(quads=[{"blocks": "no", "void": "", "charged": ""}]),
        lambda run: run["timing"][0]["quads"][0]["blocks"][0].update(calls=[]),
        lambda run: run["timing"][0]["quads"][0]["blocks"][0].update(calls=[[float("nan")] * 7]),
        lambda run: run.update(version=99),
        lambda run: run.update(limits={"cases": 3}),
        lambda run: run["timing"][0].update(repeats=[repeat(B, 1, 1) | {"fresh": None}] * 9),
        lambda run: run.update(findings=[{}]),
    ],
)
def test_samples_that_cannot_be_read_hold_and_raise_nothing(spoil: Any) -> None:
    run = evidence(case())
    spoil(run)
    assert rules(run, ratio=0.9) == ["unreadable_evidence"]


def test_a_jump_with_half_of_anothers_code_is_held() -> None:
    half, own = Source(likeness=Likeness(7, 0.6, 60, 100)), Known(own_ratio=0.9)
    assert rules(steady(0.85), own, half) == []
    (found,) = held(steady(0.6), own, half)
    assert (found.rule, found.figures["other_submission"]) == ("jump_with_copy", 7)
    assert rules(steady(0.6), Known(), half) == [], "a first submission is no jump"
    assert rules(steady(0.9), own, Source(likeness=Likeness(7, 0.9, 90, 100))) == ["similar_source"]


def test_a_time_that_is_mostly_forgeable_and_code_in_a_literal_are_held() -> None:
    assert rules(steady(0.9), forgeable=0.9) == ["forgeable"]
    assert rules(steady(0.9), forgeable=0.7) == [], "as of a kernel of 3.6 µs on a GPU: ties say that much"
    assert rules(steady(0.9), Known(), Source(opaque_chars=9000)) == ["opaque_source"]


def test_an_evidence_of_several_runs_is_held_for_any_of_them() -> None:
    runs = [evidence(case(candidate=ratio * 1e6)) for ratio in (0.9, 0.4, 0.9)]
    assert rules({"version": 3, "runs": runs, "alone": []}) == ["faster_than_best"]


def test_incumbent_alone_beside_a_confirmation_is_read() -> None:
    run, suspect = evidence(case(candidate=0.9e6)), evidence(case(candidate=0.4e6))
    given = {"version": 3, "runs": [run], "alone": [suspect]}
    assert rules(given) == ["faster_than_best"]
    measured = measure(Reported(0.9, report={"evidence": given}), NOTHING, PLAIN)
    assert measured.case_ratios["n=8"] == pytest.approx(0.9, rel=0.02), "of the candidate, not of the incumbent"


@pytest.mark.parametrize("run", [evidence(), {}])
def test_a_pass_without_a_timed_case_is_held(run: dict[str, Any]) -> None:
    assert rules(run, ratio=0.9) == ["unreadable_evidence"]


def test_nothing_is_measured_where_a_rule_is_off() -> None:
    reported = Reported(0.9, forgeable=0.9, report={"evidence": steady(0.9)})
    measures = measure(reported, Known(), Source()).measures
    assert held_by(measures, USUAL | {"forgeable": None}) == []


def test_what_a_runner_hides_is_held_by_its_samples() -> None:
    """The rules on a kernel's aftermath are the judge's, and a report may lack their findings."""
    slowed = case(quads=12)
    for four in slowed["quads"]:
        four["blocks"][3]["calls"] = [sample(1.05e6)] * 5
    assert rules(evidence(slowed, findings=[])) == ["aftermath"]


def test_ratio_that_ranks_is_the_judges() -> None:
    honest = case(candidate=0.8e6)
    forged = case(times=noisy({A: 20e3, B: 20e3}))
    for one in (block for four in forged["quads"] for block in four["blocks"] if block["side"] == B):
        one["calls"] = [[*call[:3], call[3] - 9_000, *call[4:]] for call in one["calls"]]
    queued = {"queued": True, "places": 16}
    gaps = forged | queued | {"gaps": {B: 2_000.0}, "contexts": {B: 100.0}}
    copies = forged | queued | {"copies": {A: [[100_000, 40_000]] * 8, B: [[101_000, 40_000]] * 8}}
    for timing, clock in ((honest, "wall"), *((one, "event") for one in (honest, forged, gaps, copies))):
        (run,), _ = read({"evidence": evidence(timing, clock=clock)})
        theirs = certify(run.evidence.timing[0], run.evidence)
        assert run.cases[0].ratio_of(B) == pytest.approx(2.718281828459045 ** median(differences(theirs.quads)))


def test_samples_without_a_time_hold_and_fit_into_a_database() -> None:
    """More quads are void on the candidate's account than are valid, which the report's ratio contradicts."""
    quads = [quad({A: 1e6, B: 0.9e6}.__getitem__) for _ in range(3)]
    quads += [quad({A: 1e6, B: 0.9e6}.__getitem__, void="late", charged="candidate") for _ in range(5)]
    run = evidence(case() | {"quads": quads})
    measured = measure(Reported(ratio=0.9, report={"evidence": run}), NOTHING, PLAIN)
    assert measured.case_ratios == {}
    found = held_by(measured.measures)
    assert "figures_disagree" in [one.rule for one in found]
    json.dumps([[one.figures, one.samples] for one in found], allow_nan=False)
