"""Output of `runner once` at home: figures with their precision, and a site's likely decision about them."""

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from runner.commands import local, render
from runner.evidence import schema
from runner.job.execute import report_of
from runner.wire import Event, Expectation, Report
from tests.runner.evidence.test_report_schema import simulated
from tests.runner.judge.simulated import race


def made(**changes: Any) -> Report:
    evidence = simulated(race(0.5)) | changes
    return report_of(Report(attempt_id="1", token=0, outcome="infra_error"), schema.parse_run(evidence), {})


def shown(report: Report) -> str:
    screen = Console(file=io.StringIO(), width=400)
    render.report(screen, report)
    text: str = screen.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_a_pass_shows_its_figures() -> None:
    text = shown(made())
    assert text.startswith("passed\n")
    assert "1 of 1 checked cases are right (1 public, 0 secret)" in text
    assert "2.0" in text.split("n=1")[1].splitlines()[0]
    assert re.search(r"\b2(\.00\d)?× as fast as the baseline", text)
    assert "on a site, its hardware and seeds of its own count" in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"certified": False}, "Not certified"),
        ({"telemetry": "none"}, "a site does not rank such a run"),
        ({"telemetry": "mask_only"}, "Only part of the device's state"),
        (
            {"findings": [{"rule": "above_datasheet", "case": "n=1", "figures": {}, "sentence": "Too fast."}]},
            "A site would hold this for review (above_datasheet): Too fast.",
        ),
    ],
)
def test_what_bears_on_trust_is_said(changes: dict[str, Any], says: str) -> None:
    assert says in shown(made(**changes))
    assert says not in shown(made())


def test_the_share_that_the_clock_does_not_confirm_is_said_where_there_is_one() -> None:
    assert "The judge's clock confirms all but 2.5 % of the time" in shown(replace(made(), forgeable=0.025))
    assert "confirms" not in shown(replace(made(), forgeable=0.0))


def test_a_speedup_below_the_quotient_of_its_times_is_explained_in_the_words_of_the_site() -> None:
    report = made()
    [case] = [case for case in report.cases if case["stage"] == "time"]
    assert "cautious" not in shown(report)
    cautious = replace(report, cases=(case | {"measured_us": 80.0, "baseline_us": 160.0, "ratio": 0.625},))
    assert "n=1: cautious for noise; the two times alone give 2.000×" in shown(cautious)


def test_the_share_of_the_speed_of_light_is_shown_where_it_is_known() -> None:
    report = made()
    (timed,) = [case for case in report.cases if case["stage"] == "time"]
    bound = {"case": "n=1", "hard": {"resource": "memory", "ns": timed["measured_us"] * 1e3 / 2}}
    lit = replace(report, evidence=report.evidence | {"limits": {"cases": [bound]}})
    assert "of light, %" not in shown(report)
    row = next(line for line in shown(lit).splitlines() if line.startswith("n=1"))
    assert row.split()[-1] == "50"


def test_every_flag_of_a_verdict_is_explained() -> None:
    for flag in ("not_certified", "not_converged", "erratic", "noisy", "bimodal"):
        assert render.EXPLAINED[flag] in shown(replace(made(), flags=(flag,)))


def test_a_failure_shows_what_to_do_and_no_figures() -> None:
    fault = {"outcome": "build_error", "reason": "syntax", "message": "submission.py, line 3: '(' was never closed"}
    text = shown(replace(made(fault=fault), logs={"stderr": "[red]as it is[/red]"}))
    assert text.startswith("build_error (syntax)\nsubmission.py, line 3")
    assert "[red]as it is[/red]" in text
    assert "µs" not in text


NASTY = "\x1b]0;owned\x07\x9b2J\u202e[red]"


def test_foreign_text_cannot_steer_the_terminal() -> None:
    """Names of samples come from a problem's folder, names of cases and words of a report from its code."""
    report = made(findings=[{"rule": NASTY, "case": "n=1", "figures": {}, "sentence": NASTY}])
    cases = tuple(case | {"name": NASTY, "measured_us": 80.0, "baseline_us": 160.0} for case in report.cases)
    report = replace(report, cases=cases, message=NASTY, reason=NASTY, flags=(NASTY,), set_aside=NASTY)
    report = replace(report, logs={NASTY: NASTY})
    screen = Console(file=io.StringIO(), width=400)
    line = Expectation(NASTY, "wrong", NASTY, False, NASTY)
    render.verified(screen, line)
    render.verification(screen, [line, replace(line, judged=False)])
    screen.print(render.progress(Event(1, "progress", "timing", NASTY, {"quads": 1, "quads_at_most": 2})))
    decided = {"gains": [], "sentence": NASTY, "accepted": False, "held": False, "reason": "slower"}
    render.confirmation(screen, replace(report, confirmation=decided))
    for text in (shown(report), screen.file.getvalue()):  # type: ignore[attr-defined]
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
        assert text.count("owned") > 4
        assert "[red]" in text


def test_a_device_that_must_not_go_on_is_said() -> None:
    assert "The device is not fit to judge any more: xid_79" in shown(made(set_aside="xid_79"))


def test_a_job_here_asks_what_the_board_of_this_hardware_asks() -> None:
    problem = local.find_problem("softmax")
    for hardware, rows in (("cpu", 1531), ("H200", 8192)):
        job = local.job_from(problem, "", "", "ranked", hardware)
        assert job.problem_digest == problem.on(hardware).digest
        assert job.problem["benchmarks"][0]["rows"] == rows
        assert "benchmarks_on" not in job.problem
