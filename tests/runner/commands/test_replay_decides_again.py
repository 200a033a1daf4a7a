"""A report is decided again from its stored evidence: the verdict is the same, and every change is detected."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runner.commands import local, main, replay
from runner.commands.replay import ReplayError
from runner.config import JudgeSettings
from runner.evidence import certificate, rules, schema, verdict
from runner.evidence.schedule import ABIIBA, GPU, A, B, I
from runner.job import execute
from runner.wire import Report
from tests.conftest import SANDBOX_IMAGE
from tests.runner.evidence.test_report_schema import changed, simulated
from tests.runner.judge.simulated import FakeSide, Race, at_block, counted, race

ADD = local.LIBRARY / "kernels101" / "vectoradd" / "submissions"
BLANK = Report(attempt_id="1", token=0, outcome="infra_error")


def told(evidence: dict[str, Any]) -> dict[str, Any]:
    """The judge's report of this evidence."""
    found: dict[str, Any] = json.loads(json.dumps(execute.report_of(BLANK, schema.parse_run(evidence), {}).to_json()))
    return found


def three(**incumbent: Any) -> Race:
    made = Race(order=ABIIBA, **incumbent)
    made.sides = {name: FakeSide(made, name, time) for name, time in ((A, 4e6), (B, 3.9e6), (I, 4e6))}
    return made


HOT = at_block(9, before={"counters": counted(270, 0)}, counters=counted(270, 5_000_000))
RACES = {
    "steady": lambda: race(0.5),
    "noisy": lambda: race(0.5, noise=0.05),
    "by events": lambda: race(0.5, profile=GPU),
    "a hot block": lambda: race(0.5, heat=HOT),
    "a device that breaks": lambda: race(0.5, heat=at_block(9, xids=(79,))),
    "a device that breaks while it warms up": lambda: race(0.5, heat=at_block(1, xids=(79,))),
    "idle at first": lambda: race(0.5, heat=at_block(6, mask=1, clock_mhz=300.0)),
    "a clock that runs backwards": lambda: race(0.5, wall=lambda wall, at: -wall if len(at.blocks) == 9 else wall),
    "with an incumbent": three,
    "an incumbent that voids": lambda: three(heat=HOT),
}


@pytest.mark.parametrize("name", list(RACES))
def test_the_same_comes_out(name: str) -> None:
    found = replay.replay(told(simulated(RACES[name]())))
    assert found.differences == ()
    assert found.compared
    assert found.blocks >= 0


def test_a_race_that_voids_is_worth_replaying() -> None:
    """The race above must really void, as its name claims."""
    voids = [quad["void"] for quad in simulated(RACES["a hot block"]())["timing"][0]["quads"]]
    assert "hw_thermal" in voids
    assert simulated(RACES["a device that breaks"]())["set_aside"] == "xid_79"


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        ("outcome", "wrong", "outcome"),
        ("ratio", 0.4, "ratio"),
        ("score_us", 1.0, "score_us"),
        ("half_width", 1e-6, "half_width"),
        ("flags", ["not_converged"], "flags"),
        ("epoch", "sha256:other", "epoch"),
        ("telemetry", "none", "telemetry"),
        ("evidence.timing.0.ended", "budget", "case n=1: ended"),
        ("evidence.timing.0.calls", 4, "case n=1"),
        ("evidence.timing.0.contexts", {"candidate": 100.0}, "case n=1: contexts"),
        ("evidence.timing.0.gaps", {"candidate": 100.0}, "case n=1: gaps"),
        ("evidence.timing.0.quads.3.void", "hw_thermal", "case n=1"),
        ("evidence.timing.0.quads.2.charged", "candidate", "case n=1, quad 3: void"),
        ("evidence.timing.0.quads.2.blocks.1.ruling", {"reason": "steal"}, "quad 3, a block of the candidate: ruling"),
        ("evidence.timing.0.quads.2.blocks.1.heat.after.xids", [13], "quad 3, a block of the candidate: ruling"),
        ("evidence.timing.0.quads.2.blocks.1.side", "baseline", "case n=1"),
        ("evidence.timing.0.quads.5.blocks.3", ..., "case n=1"),
        ("evidence.timing.0.quads.5", ..., "case n=1"),
        ("evidence.timing.0.quads.2.blocks.0.took_ns", 10**12, "case n=1"),
        ("evidence.timing.0.warm_ups.1", ..., "case n=1"),
        ("evidence.certified", False, "flags"),
        (
            "evidence.findings",
            [{"rule": "faster_than_best", "case": "n=1", "figures": {}, "sentence": "?"}],
            "findings",
        ),
    ],
)
def test_whatever_is_changed_is_seen(path: str, value: Any, what: str) -> None:
    found = replay.replay(changed(told(simulated()), path, value))
    assert not found.same
    assert any(what in difference.what for difference in found.differences), found.differences


def test_a_report_of_before_gaps_were_compared_is_decided_as_then() -> None:
    own = {side: [[450_000 + 900 * (side == B), 0, 0, 3_000, 0, 0, 0]] * certificate.LEAST_OWN_CALLS for side in (A, B)}
    report = changed(told(simulated()), "evidence.own_calls", own)
    report = changed(report, "evidence.timing.0.contexts", {B: 0.0})
    assert replay.replay(changed(report, "evidence.timing.0.gaps", None)).same
    assert replay.replay(changed(report, "evidence.timing.0.gaps", ...)).same
    assert replay.replay(changed(report, "evidence.timing.0.gaps", {B: 900.0})).same
    assert not replay.replay(changed(report, "evidence.timing.0.gaps", {B: 0.0})).same
    nothing = told(simulated())
    assert replay.replay(changed(nothing, "evidence.timing.0.contexts", ...)).same, "the schema does not ask for it"


@pytest.mark.parametrize(("gaps", "same"), [({A: 450_000, B: 450_900}, True), ({A: 450_000}, False), (None, False)])
def test_gaps_of_lean_calls_follow_from_own_calls(gaps: dict[str, int] | None, same: bool) -> None:
    report = told(simulated())
    for name, told_ns in (("own_long", 18_000), ("own_lean", 0)):
        own = {side: [[468_000 + 900 * (side == B), 0, 0, told_ns, 0, 0, 0]] * 32 for side in (A, B)}
        report = changed(report, f"evidence.{name}", own)
    assert replay.replay(changed(report, "evidence.timing.0.lean_gaps", gaps)).same is same


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda cases: cases[-1].update(measured_us=1.0), "measured_us"),
        (lambda cases: cases[-1].pop("forgeable"), "forgeable"),
        (lambda cases: cases[0].update(good=False, reason="wrong"), "good"),
        (lambda cases: cases.clear(), "cases"),
    ],
)
def test_what_people_see_of_a_case_is_held_against_the_evidence(change: Any, what: str) -> None:
    data = told(simulated(race(0.5)))
    change(data["cases"])
    found = replay.replay(data)
    assert what in found.differences[0].what


def test_a_forged_time_is_seen_in_the_ratio() -> None:
    given = told(simulated())
    for quad in given["evidence"]["timing"][0]["quads"]:
        for block in quad["blocks"]:
            if block["side"] == B:
                block["calls"] = [[wall * 0.8, *rest] for wall, *rest in block["calls"]]
    assert "ratio" in {difference.what for difference in replay.replay(given).differences}


def test_a_finding_that_was_taken_away_is_seen() -> None:
    """Four times as fast as a tuned baseline: the result is held, and must stay held."""
    evidence = simulated(race(0.25)) | {"tuned": True}
    found = [finding.model_dump() for finding in rules.findings(schema.parse_run(evidence))]
    assert found
    kept = replay.replay(evidence | {"findings": found})
    assert kept.same
    assert not replay.replay(evidence | {"findings": []}).same
    assert not replay.replay(evidence | {"findings": [*found, *found]}).same


def test_a_finding_of_the_comparing_is_believed() -> None:
    told = {"rule": "cheaper_precision", "case": "n=1", "figures": {"relative_l2": 0.01}, "sentence": "?"}
    assert replay.replay(simulated() | {"findings": [told]}).same


def test_bare_evidence_is_decided_and_compared_with_nothing() -> None:
    evidence = simulated()
    found = replay.replay(evidence)
    assert (found.same, found.compared) == (True, False)
    assert found.runs == (verdict.decide(schema.parse_run(evidence)),)


def test_a_confirmation_is_decided_again() -> None:
    evidence = {"version": 3, "runs": [simulated(three(seed=seed)) for seed in range(5)], "alone": []}
    record = replay.replay(evidence).record
    assert record is not None
    assert record.accepted
    given = asdict(BLANK) | {"outcome": "passed", "confirmation": record.to_json(), "evidence": evidence}
    del given["ratio"], given["score_us"], given["half_width"], given["forgeable"]
    assert replay.replay(given).same
    given["confirmation"] |= {"accepted": False}
    assert [one.what for one in replay.replay(given).differences] == ["confirmation.accepted"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "no evidence in it"),
        ({"evidence": {}, "outcome": "passed"}, "anything to decide from"),
        ({"evidence": {"version": 1}, "outcome": "passed"}, "Judge the submission again"),
        ({"evidence": {"version": 9}, "outcome": "passed"}, "upgrade it"),
        ({"evidence": {"version": 3}, "outcome": "infra_error"}, "no verdict to replay"),
        ({"evidence": {"version": 3}, "outcome": "passed"}, "evidence.mode"),
    ],
)
def test_what_cannot_be_replayed_says_why(data: dict[str, Any], says: str) -> None:
    with pytest.raises(ReplayError, match=says):
        replay.replay(data)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("flags", None, "report.flags"),
        ("ratio", "fast", "report.ratio"),
        ("confirmation", None, "report.confirmation"),
        ("confirmation", [1], "report.confirmation"),
        ("confirmation", {"gains": 5}, "report.confirmation.gains"),
        ("evidence.profile.patience", 3, "evidence.profile.patience"),
        ("evidence.profile.look_every", 0, "look_every is 0"),
        ("evidence.profile.look_every", "2", "evidence.profile.look_every"),
        ("evidence.profile.slowed", -2.0, "slowed is -2"),
        ("evidence.timing.0.idle", [], "idle is empty"),
        ("evidence.timing.0.reference_ns", -1.0, "evidence.timing.0.reference_ns"),
        ("evidence.timing.0.quads.1.blocks.2.calls", [], "a block without calls"),
        ("evidence.limits", {"cases": 3}, "evidence.limits.cases: Input should be a valid array"),
    ],
)
def test_what_nothing_follows_from_is_said_where_it_stands(path: str, value: Any, says: str) -> None:
    with pytest.raises(ReplayError, match=says):
        replay.replay(changed(told(simulated()), path, value))


def test_a_confirmation_without_runs_is_none() -> None:
    with pytest.raises(ReplayError, match=r"evidence\.runs"):
        replay.replay({"version": 3, "runs": [], "alone": []})


def test_a_case_has_an_end_unless_something_cut_it_short() -> None:
    (found,) = replay.replay(changed(told(simulated()), "evidence.timing.0.ended", "")).differences
    assert (found.what, found.said, found.found) == ("case n=1: ended", "", "converged")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("fault", {"outcome": "timeout", "reason": "call", "message": "It took too long."}),
        ("checks.0.good", False),
    ],
)
def test_a_case_that_was_cut_short_needs_none(path: str, value: Any) -> None:
    assert replay.replay(changed(changed(simulated(), "timing.0.ended", ""), path, value)).same


# -- the command -----------------------------------------------------------------------------------------------------


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(main.app, ["replay", *arguments])


def test_the_command_ends_with_0_when_the_same_comes_out(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(told(simulated())))
    result = invoke(str(file))
    assert (result.exit_code, "The report says the same" in result.stdout) == (0, True)
    as_json = invoke(str(file), "--json")
    assert json.loads(as_json.stdout)["same"] is True


def test_the_command_ends_with_1_when_it_does_not(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(told(simulated()) | {"ratio": 0.1}))
    result = invoke(str(file))
    assert result.exit_code == 1
    assert "does not follow from its own evidence" in result.stdout


def test_nothing_in_a_report_steers_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    report = told(simulated()) | {"outcome": "wrong\x1b[2J", "message": "\u202eevil"}
    file.write_text(json.dumps(report))
    result = invoke(str(file))
    assert (result.exit_code, "wrong\ufffd[2J" in result.stdout) == (1, True)
    assert not {"\x1b", "\u202e"} & set(result.stdout)
    file.write_text(json.dumps(told(simulated()) | {"cases": [{f"\x1b]0;owned\u202e{'x' * 9_999}": [1]}]}))
    result = invoke(str(file))
    assert (result.exit_code, "\ufffd]0;owned" in result.stderr) == (2, True)
    assert not {"\x1b", "\u202e"} & set(result.stderr)
    assert len(result.stderr) < 1_000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "No such file"),
        ('{"evidence": {"vers', "fetch the report again"),
        ("[1, 2]", "expected an object"),
        ("\x00\xff", "fetch the report again"),
        ('{"outcome": "passed", "ratio": NaN}', "fetch the report again"),
        ('{"outcome": "passed", "ratio": 1e999}', "fetch the report again"),
        ('{"outcome": "passed", "ratio": 1' + 400 * "0" + "}", "fetch the report again"),
    ],
)
def test_the_command_refuses_what_is_no_report(tmp_path: Path, text: str | None, says: str) -> None:
    file = tmp_path / "report.json"
    if text is not None:
        file.write_bytes(text.encode("latin-1"))
    result = invoke(str(file))
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/"])
def test_the_command_reads_files_alone(path: str) -> None:
    result = invoke(path)
    assert result.exit_code == 2
    assert "is no file" in " ".join(result.stderr.split())


def test_the_command_reads_no_more_than_a_report_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MOST_BYTES", 4_000_000)
    file = tmp_path / "report.json"
    file.write_text('{"a": "' + "x" * 4_000_000 + '"}')
    result = invoke(str(file))
    assert result.exit_code == 2
    assert "more than 3 MiB" in " ".join(result.stderr.split())


@pytest.mark.docker
def test_a_real_report_is_decided_again(tmp_path: Path) -> None:
    settings = JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu", runner_locks=tmp_path)
    whole = local.find_problem("vectoradd")
    problem = replace(whole, benchmarks=({**whole.benchmarks[0], "size": 400_000},))
    job = local.job_of(problem, ADD / "accepted" / "torch_out.py", "ranked", settings.runner_hardware)
    report = local.judge_here(job, settings, lambda event: None)
    found = replay.replay(json.loads(json.dumps(report.to_json())))
    assert found.differences == ()
    assert found.blocks > 0
