"""The verdict is a function of the evidence: the first failure decides, and a replay yields the same verdict."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from operator import itemgetter
from statistics import fmean
from typing import Any

import pytest

from runner.evidence import replay, schedule, stats, verdict
from runner.evidence.schema import parse_run
from tests.runner.evidence.whole import parsed, whole


def decide(found: dict[str, Any]) -> verdict.Verdict:
    return verdict.decide(parsed(found))


def evidence(**changes: Any) -> dict[str, Any]:
    return {
        "mode": "ranked",
        "rules": 2,
        "ranking_by": "geom",
        "profile": asdict(schedule.CPU),
        "set_aside": "",
        "limits": {},
        "findings": [],
        "hardware": "cpu",
        "fault": None,
        "clock": "wall",
        "certified": True,
        "checks": [check()],
        "timing": [timing("a", 1.0), timing("b", 0.25)],
    } | changes


def check(**changes: Any) -> dict[str, Any]:
    return {"case": "n=1", "public": True, "good": True, "reason": "", "message": ""} | changes


def timing(
    case: str, ratio: float, constant: float = 1e6, baseline: float = 4e6, spread: float = 0.001
) -> dict[str, Any]:
    quads = []
    for n in range(6):
        wobble = 1 + spread * (n - 2.5)
        a, b = constant + baseline, constant + baseline * ratio * wobble
        blocks = [block("baseline", a), block("candidate", b), block("candidate", b), block("baseline", a)]
        quads.append({"blocks": blocks, "void": "", "charged": ""})
    idle = [[constant, 0, 0, 1, 0, 0, 0]] * 5
    ended = {"ended": "budget" if spread > 0.01 else "converged", "ended_why": "", "repeats": [], "eager_ns": None}
    return {"case": case, "idle": idle, "reference_ns": None, "quads": quads, **ended}


def block(side: str, wall: float, put: float = 0.0, take: float = 0.0) -> dict[str, Any]:
    return {"side": side, "calls": [[wall + put + take, put, take, 1, 0, 0, 0]] * 3}


def test_the_constant_is_taken_off_before_the_ratio() -> None:
    found = decide(evidence())
    assert found.outcome == "passed"
    assert [time.ratio for time in found.times] == pytest.approx([1.0, 0.25], rel=0.01)
    assert found.ratio == pytest.approx(0.5, rel=0.01)
    assert found.score_us == pytest.approx(2000, rel=0.01)


@pytest.mark.parametrize("clock", ["wall", "event"])
@pytest.mark.parametrize("summary", [{}, {"quads": 6}])
def test_a_case_without_idle_calls_was_not_timed_and_that_is_our_failure(clock: str, summary: dict[str, int]) -> None:
    quads = timing("b", 0.25)["quads"] if summary else []
    given = whole(evidence(clock=clock, timing=[timing("a", 1.0), timing("b", 0.25) | {"quads": quads, "ended": ""}]))
    given["timing"][1] |= {"idle": [], "summary": summary}
    stored = parse_run(given)
    found = verdict.decide(stored)
    assert (found.outcome, found.reason) == ("infra_error", "nothing_timed")
    assert [one.what for one in replay.rerun(stored.timing[1], stored)] == ["case b: idle"]


def test_score_us_is_the_measured_time_whatever_the_reference_time_is() -> None:
    timings = [timing("a", 0.5) | {"reference_ns": 10e6}]
    found = decide(evidence(timing=timings))
    assert found.score_us == pytest.approx(found.times[0].candidate_ns / 1e3) == pytest.approx(2000, rel=0.01)


@pytest.mark.parametrize(("by", "rule"), [("geom", stats.geometric_mean), ("mean", fmean), ("last", itemgetter(-1))])
def test_score_us_combines_the_measured_times_as_the_problem_ranks(
    by: str, rule: Callable[[list[float]], float]
) -> None:
    found = decide(evidence(ranking_by=by))
    assert found.score_us == pytest.approx(rule([time.candidate_ns / 1e3 for time in found.times]))


@pytest.mark.parametrize(("by", "expected"), [("geom", 0.5), ("mean", 0.625), ("last", 0.25)])
def test_cases_are_combined_as_the_problem_says(by: str, expected: float) -> None:
    assert decide(evidence(ranking_by=by)).ratio == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("by", ["geom", "mean", "last"])
def test_what_could_be_forged_is_what_it_did_to_the_ratio(by: str) -> None:
    """The cases' lengths do not matter: a short case counts as much as a long case where boards rank."""
    exact = stats.Estimate(0.0, 0.0, 0.0, 0.95)
    told = (("a", 8e3, 0.5), ("b", 5e6, 0.1))
    times = [verdict.CaseTime(name, ns, ns, exact, ns, forgeable=share) for name, ns, share in told]
    found = verdict._passed(parsed(evidence(ranking_by=by)), times).forgeable
    true = {"geom": math.sqrt(2 / 0.9), "mean": (2 + 1 / 0.9) / 2, "last": 1 / 0.9}[by]
    assert found == pytest.approx(1 - 1 / true)


def test_the_inner_clock_decides_nothing() -> None:
    forged = evidence()
    for timed in forged["timing"]:
        for quad in timed["quads"]:
            for one in quad["blocks"]:
                one["calls"] = [[*sample[:3], 0, *sample[4:]] for sample in one["calls"]]
    assert decide(forged) == decide(evidence())


def test_the_judges_own_copying_counts_only_where_a_tenant_could_run_meanwhile() -> None:
    """A thread that works while inputs arrive gains no time: frozen it cannot run, unfrozen it pays for the time."""
    noisy = timing("a", 0.5)
    for quad in noisy["quads"]:
        quad["blocks"][1] = block("candidate", 3e6, put=9e6, take=1e6)
        quad["blocks"][2] = block("candidate", 3e6, put=5e6, take=1e6)
    certified = decide(evidence(timing=[noisy]))
    assert certified.ratio == pytest.approx(0.5, rel=0.01)
    uncertified = decide(evidence(timing=[noisy], certified=False))
    assert (uncertified.ratio or 0) > 2


def test_a_fault_comes_before_everything() -> None:
    fault = {"outcome": "timeout", "reason": "call", "message": "m"}
    found = decide(evidence(fault=fault, checks=[check(good=False, reason="nan")]))
    assert (found.outcome, found.reason, found.score_us) == ("timeout", "call", None)


def test_a_wrong_output_scores_nothing() -> None:
    found = decide(evidence(checks=[check(), check(good=False, reason="mismatch", message="at [1]")]))
    assert (found.outcome, found.reason, found.message, found.score_us) == ("wrong", "mismatch", "at [1]", None)


def test_test_mode_needs_no_timing() -> None:
    assert decide(evidence(mode="test", timing=[])).outcome == "passed"


def test_work_that_vanishes_in_the_constant_cannot_be_timed() -> None:
    found = decide(evidence(timing=[timing("a", ratio=-0.1)]))
    assert (found.outcome, found.reason) == ("unmeasurable", "below_resolution")


def test_what_is_hardly_known_does_not_rank_where_the_machine_was_disturbed() -> None:
    disturbed = timing("a", 1.0, spread=0.2)
    for n, quad in enumerate(disturbed["quads"]):
        quad["blocks"][3] = block("baseline", 1e6 + 4e6 * (1 - 0.2 * (n - 2.5)))
    found = decide(evidence(timing=[disturbed]))
    assert (found.outcome, found.reason, found.score_us) == ("unmeasurable", "unsteady", None)


def test_a_time_that_varies_beside_a_steady_baseline_stands_at_the_upper_end_of_its_interval() -> None:
    """An entrant that sees a bad run cannot make it unmeasurable and try again."""
    found = decide(evidence(timing=[timing("a", 1.0, spread=0.2)]))
    assert (found.outcome, found.flags) == ("passed", ("erratic", "not_converged"))
    assert found.ratio == pytest.approx(1.5, rel=0.01)


def test_a_quad_spoilt_by_the_candidate_counts_against_it() -> None:
    given = timing("a", 0.5, spread=0.01)
    given["quads"] *= 3
    given["quads"] = [dict(quad) for quad in given["quads"]]
    assert decide(evidence(timing=[given])).ratio == pytest.approx(0.5, rel=0.001)
    for charged, ratio in (("candidate", 0.505), ("", 0.5025)):
        for quad in given["quads"][::6]:  # the quads in which it was fastest
            quad |= {"void": "hw_thermal", "charged": charged}
        assert decide(evidence(timing=[given])).ratio == pytest.approx(ratio, rel=0.0005)


def test_disturbed_idle_calls_do_not_make_a_kernel_fast() -> None:
    disturbed = timing("a", 0.5)
    disturbed["idle"] = [[1e6, 0, 0, 1, 0, 0, 0]] * 3 + [[3e6, 0, 0, 1, 0, 0, 0]] * 4
    assert decide(evidence(timing=[disturbed])).ratio == pytest.approx(0.5, rel=0.01)


def test_a_wide_interval_is_said() -> None:
    wide = timing("a", 1.0, spread=0.01) | {"ended": "budget"}
    assert decide(evidence(timing=[wide])).flags == ("not_converged",)
    assert decide(evidence(timing=[wide | {"ended": "converged"}])).flags == (), "a hair beyond what it stopped at"
    assert decide(evidence(timing=[timing("a", 1.0) | {"ended": "budget"}])).flags == ()
    assert decide(evidence()).flags == ()


@pytest.mark.parametrize(("bound_ns", "outcome"), [(4.95e6, "passed"), (5.2e6, "policy")])
def test_a_time_below_what_any_kernel_needs_is_rejected(bound_ns: float, outcome: str) -> None:
    """On the judge's clock the 1 ms cost of a call stays in the time that is held against the bound."""
    limits = {"cases": [{"case": "a", "hard": {"resource": "memory", "ns": bound_ns}}, {"case": "b", "hard": None}]}
    found = decide(evidence(limits=limits))
    assert found.outcome == outcome
    if outcome == "policy":
        assert found.reason == "impossible"
        assert found.message.startswith("Case a: ")
        assert "5200 µs (memory)" in found.message


def test_a_device_that_is_not_fit_is_never_the_submissions_fault() -> None:
    voids = timing("a", 1.0) | {"ended": "voids", "ended_why": "foreign_process"}
    found = decide(evidence(timing=[voids]))
    assert (found.outcome, found.reason, found.score_us) == ("unmeasurable", "voids", None)
    found = decide(evidence(set_aside="ecc"))
    assert (found.outcome, found.reason) == ("unmeasurable", "device_unfit")


def test_a_replay_from_stored_json_says_the_same() -> None:
    given = evidence()
    assert decide(json.loads(json.dumps(given))) == decide(given)


def test_a_broken_device_comes_before_what_a_submission_did_on_it() -> None:
    fault = {"outcome": "runtime_error", "reason": "died", "message": "It died."}
    for reason, expected in (("xid_79", "device_unfit"), ("ecc", "device_unfit"), ("hw_thermal", "died")):
        assert decide(evidence(set_aside=reason, fault=fault)).reason == expected


def scattered(case: str, scale: float, places: tuple[int, ...]) -> dict[str, Any]:
    """Blocks at these places of the quads take from e^(-2.5 scale) to e^(2.5 scale) times as long."""
    found = timing(case, 1.0)
    for number, quad in enumerate(found["quads"]):
        for place in places:
            quad["blocks"][place] = block(quad["blocks"][place]["side"], 1e6 + 4e6 * math.exp(scale * (number - 2.5)))
    return found


def test_a_case_that_the_machine_disturbed_is_not_hidden_by_one_that_scatters_by_itself() -> None:
    erratic, unsteady = scattered("erratic", 0.8, (1, 2)), scattered("unsteady", 0.5, (3,))
    assert decide(evidence(timing=[erratic])).outcome == "passed"
    for timings in ([unsteady], [erratic, unsteady], [unsteady, erratic]):
        found = decide(evidence(timing=timings))
        assert (found.outcome, found.reason) == ("unmeasurable", "unsteady")
        assert "Case unsteady" in found.message


@pytest.mark.parametrize("below_ns", [0.0, 1e3, 3e3])
def test_a_case_of_which_half_takes_no_time_gives_none(below_ns: float) -> None:
    none = timing("a", 1.0)
    for number, quad in enumerate(none["quads"]):
        time = 1e6 + (-below_ns if number < 3 else 1e3)
        quad["blocks"][1:3] = [block("candidate", time)] * 2
    assert decide(evidence(timing=[none])).reason == "below_resolution"


def test_who_spoils_too_much_is_told_so() -> None:
    spoilt = timing("a", 0.5)
    spoilt["quads"] += [{"blocks": [], "void": "cpu_throttled", "charged": "candidate"}]
    found = decide(evidence(timing=[spoilt]))
    assert (found.outcome, found.reason) == ("unmeasurable", "self_disturbed")
    assert "for what your code did (cpu_throttled)" in found.message
    before = decide(evidence(timing=[spoilt], rules=1))
    assert (before.reason, before.message) == ("unsteady", found.message), "an older report replays as it was decided"


def test_who_spoils_one_case_is_not_excused_by_a_machine_that_disturbed_another() -> None:
    """The site does not repeat the run for the case that the machine spoilt."""
    spoilt = timing("spoilt", 0.5)
    spoilt["quads"] += [{"blocks": [], "void": "cpu_throttled", "charged": "candidate"}]
    voids = timing("voids", 1.0) | {"ended": "voids", "ended_why": "foreign_load"}
    for timings in ([spoilt, voids], [voids, spoilt], [scattered("b", 0.8, (3,)), spoilt]):
        assert decide(evidence(timing=timings)).reason == "self_disturbed"


@pytest.mark.parametrize(("own", "reason"), [(4, "self_disturbed"), (3, "voids")])
def test_voids_that_the_candidate_caused_are_its_own(own: int, reason: str) -> None:
    given = timing("a", 0.5) | {"ended": "voids", "ended_why": "memory_clock"}
    sides = ["candidate"] * own + ["baseline"] * (5 - own)
    given["quads"] += [{"blocks": [], "void": "memory_clock", "charged": side} for side in sides]
    assert decide(evidence(timing=[given])).reason == reason
    assert decide(evidence(timing=[given], rules=1)).reason == "voids"


def two_ms(idle_us: tuple[int, ...]) -> dict[str, Any]:
    """A kernel of 2 ms beside a baseline of 2.4 ms; a call costs 0.25 ms by itself, and idle calls took this long."""
    found = timing("a", 2.0 / 2.4, constant=0.25e6, baseline=2.4e6)
    return found | {"idle": [[us * 1e3, 0, 0, 1, 0, 0, 0] for us in idle_us]}


def test_below_resolution_is_never_said_of_a_kernel_of_2_ms() -> None:
    """Idle calls come from a busy machine: most took longer than the kernel."""
    disturbed = two_ms((3259, 7369, 7686, 8078, 12678, 12903, 10031, 9962, 8846))
    found = decide(evidence(timing=[disturbed]))
    assert (found.outcome, found.reason) == ("unmeasurable", "unsteady")
    assert "the machine was so disturbed that its idle calls took longer than the work" in found.message
    before = decide(evidence(timing=[disturbed], rules=1))
    assert before.reason == "below_resolution", "an older report replays as it was decided"
    calm = decide(evidence(timing=[two_ms((3259, 260, 7686, 250, 255, 9962, 8846))]))
    assert (calm.outcome, calm.ratio) == ("passed", pytest.approx(2.0 / 2.4, rel=0.02))


def test_a_noisy_time_stands_near_the_upper_end_of_its_interval() -> None:
    """Luck does not win: the value of a wide interval lies little below its upper end."""
    noisy = scattered("a", 0.12, (1, 2, 3)) | {"ended": "budget"}
    found = decide(evidence(timing=[noisy]))
    assert (found.outcome, found.flags) == ("passed", ("noisy", "not_converged"))
    (time,) = found.times
    assert schedule.CPU.believed < time.estimate.half_width < schedule.CPU.unsteady
    assert time.estimate.value == pytest.approx(time.estimate.high - schedule.CPU.believed)
    narrow = decide(evidence(timing=[scattered("a", 0.02, (1, 2, 3))]))
    assert narrow.ratio == pytest.approx(1.0, rel=0.03)
    profile = {name: value for name, value in asdict(schedule.CPU).items() if name not in ("believed", "unsteady")}
    before = decide(evidence(timing=[noisy], profile=profile, rules=1))
    assert before.ratio == pytest.approx(1.0, rel=0.01), "a report of before stands where it was decided"


def test_a_run_that_cannot_rank_shows_what_was_measured() -> None:
    given = evidence(timing=[timing("a", 0.5), scattered("b", 0.5, (3,))])
    found = decide(given)
    assert (found.reason, found.score_us, found.ratio, found.half_width) == ("unsteady", None, None, None)
    shown = [case for case in verdict.shown_cases(parsed(given), found) if case["stage"] == "time"]
    assert [case["name"] for case in shown] == ["a", "b"]
    assert [case["ratio"] for case in shown] == pytest.approx([0.5, 1.0], rel=0.8)
    assert shown[1]["half_width"] > 0.5
    json.dumps(shown, allow_nan=False)
    assert decide(given | {"rules": 1}).times == ()


@pytest.mark.parametrize(("candidate", "baseline", "outcome"), [(0.5, 0.5, "unmeasurable"), (0.5, 0.12, "passed")])
def test_a_kernel_that_scatters_far_more_than_its_baseline_gets_no_excuse(
    candidate: float, baseline: float, outcome: str
) -> None:
    """This holds on a noisy machine as well: otherwise a bad run could scatter on purpose and be measured again."""
    given = scattered("a", candidate, (1, 2))
    for number, quad in enumerate(given["quads"]):
        quad["blocks"][3] = block("baseline", 1e6 + 4e6 * math.exp(baseline * (number - 2.5)))
    found = decide(evidence(timing=[given]))
    assert found.outcome == outcome
    if outcome == "passed":
        assert "erratic" in found.flags
        assert found.times[0].estimate.value == found.times[0].estimate.high
