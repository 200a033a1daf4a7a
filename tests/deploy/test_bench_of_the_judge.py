"""`make bench` prints where a job's time went: parts add up, and medians are of the jobs that ran."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.judge import SUBMISSION, Took, five_cases, run_job, table
from runner import config
from runner.daemon.spool import Spool
from runner.wire import Report

PHASES = {"building": 0.25, "oracle": 0.25, "checking": 1.0, "timing": 8.0}
PARTS = {"calls": 4.0, "steps": 5.0, "inputs": 3.0, "problem": 2.0, "comparing": 0.5}


def took(warm: float) -> Took:
    evidence = {"phases_s": {**PHASES, **PARTS}}
    return Took(2.0, warm, 0.5, Report("a1", 0, "passed", evidence=evidence), claimed_at=0.0)


def cells(jobs: list[Took]) -> dict[str, tuple[str, str]]:
    rows = [line.strip("|").split("|") for line in table(jobs)][2:]
    return {name.replace("&nbsp;", "").strip(): (median.strip(), around.strip()) for name, median, around in rows}


def test_overhead_is_what_is_left_of_the_warm_time_beside_the_jobs_work() -> None:
    shown = cells([took(10.0)])
    assert shown["cold: from nothing to report"][0] == "12.00"
    assert shown["platform overhead: neither building, checking nor timing"][0] == "0.75"
    assert shown["warm less the calls alone"][0] == "6.00"
    assert shown["less waiting for inputs"][0] == "3.00"
    assert shown["less that and all steps of a call"][0] == "2.00"
    assert shown["the rest: hand-over, end of the candidate, verdict, report"][0] == "0.50"


def test_median_and_range_are_over_the_jobs() -> None:
    assert cells([took(14.0), took(10.0), took(11.0)])["warm: claim to report"] == ("11.00", "10.00 … 14.00")


def test_bench_problem_has_five_timed_cases_and_its_own_digest() -> None:
    problem = five_cases()
    assert len(problem.benchmarks) == 5
    assert problem.digest != replace(problem, benchmarks=problem.benchmarks[:2]).digest


@pytest.mark.docker
@pytest.mark.slow
def test_a_job_goes_the_daemons_way_and_its_parts_fit_into_the_whole(tmp_path: Path) -> None:
    settings = config.JudgeSettings(sandbox_image=os.environ.get("SANDBOX_IMAGE", "photofinish-sandbox:latest"))
    problem = replace(five_cases(), benchmarks=({"rows": 64, "cols": 1024, "seed": 1},), fuzz=None)
    one = run_job(settings, problem, SUBMISSION.read_text(), Spool(tmp_path / "state", 20_000_000))
    assert one.report.outcome in ("passed", "unmeasurable")
    assert 0 < one.phase("calls") <= one.phase("steps")
    assert 0 < one.phase("problem") <= one.phase("inputs")
    assert one.phase("steps") + one.phase("inputs") + one.phase("comparing") < one.warm
    assert len(list((tmp_path / "state" / "spool").iterdir())) == 1
