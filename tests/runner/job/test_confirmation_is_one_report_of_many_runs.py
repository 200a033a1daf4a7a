"""A confirmation makes k runs with the incumbent in the blocks and yields one report that can be replayed."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from runner.commands import local, main, render, replay
from runner.config import JudgeSettings
from runner.evidence import schema
from runner.evidence.recorder import Recorder
from runner.evidence.records import INCUMBENT_FAILED
from runner.evidence.schedule import ABIIBA, CPU, A, B, I
from runner.job import execute
from runner.job.confirm import confirm
from runner.job.execute import OnEvent, report_of
from runner.wire import Event, Incumbent, Job, Report
from tests.conftest import SANDBOX_IMAGE
from tests.runner.evidence.test_report_schema import simulated
from tests.runner.judge.simulated import FakeSide, Race

ADD = local.LIBRARY / "kernels101" / "vectoradd" / "submissions"
JOB = Job(
    attempt_id="7",
    token=3,
    lease_s=60,
    hardware="cpu",
    mode="ranked",
    submission_id="2",
    filename="ada.py",
    source="# ada's",
    problem={},
    problem_digest="sha256:0",
    incumbent=Incumbent("# ben's", "ben.py", "1"),
    runs=5,
)
TIMES = {"# ada's": 3.92e6, "# ben's": 4e6}
SETTINGS = JudgeSettings()


class FakeJudge:
    """Simulation of each requested run; `ends` gives a different ending for some runs."""

    def __init__(self, **ends: Callable[[dict[str, Any]], None]) -> None:
        self.ends = {int(name.removeprefix("run")): change for name, change in ends.items()}
        self.jobs: list[Job] = []

    def __call__(self, job: Job, settings: JudgeSettings, on_event: OnEvent) -> Report:
        self.jobs.append(job)
        for seq, state in enumerate(("building", "timing"), 1):
            on_event(Event(seq=seq, kind="state", state=state))
        on_event(Event(seq=3, kind="progress", state="timing", message="n=1", data={"quads": 6}))
        evidence = simulated(self._race(job))
        self.ends.get(len(self.jobs), lambda evidence: None)(evidence)
        return report_of(
            Report(attempt_id=job.attempt_id, token=job.token, outcome="infra_error"), schema.parse_run(evidence), {}
        )

    def _race(self, job: Job) -> Race:
        made = Race(seed=len(self.jobs), order=ABIIBA if job.incumbent else (A, B, B, A))
        made.sides = {A: FakeSide(made, A, 4.2e6), B: FakeSide(made, B, TIMES[job.source])}
        if job.incumbent:
            made.sides[I] = FakeSide(made, I, TIMES[job.incumbent.source])
        return made


def ended(outcome: str, reason: str, message: str = "It ended.") -> Callable[[dict[str, Any]], None]:
    def change(evidence: dict[str, Any]) -> None:
        evidence["fault"] = {"outcome": outcome, "reason": reason, "message": message}

    return change


def disturbed(evidence: dict[str, Any]) -> None:
    """A run whose incumbent voided its blocks, and whose remaining blocks went without it."""
    for quad in evidence["timing"][0]["quads"]:
        quad["blocks"] = [block for block in quad["blocks"] if block["side"] != I]


def run(judge: FakeJudge, **changes: Any) -> Report:
    made = confirm(replace(JOB, **changes), SETTINGS, lambda event: None, judge)
    return Report.from_json(json.loads(json.dumps(made.to_json())))


def test_five_runs_and_one_report() -> None:
    judge = FakeJudge()
    report = run(judge)
    assert [(job.runs, job.incumbent == JOB.incumbent) for job in judge.jobs] == [(1, True)] * 5
    assert (report.attempt_id, report.token, report.outcome) == ("7", 3, "passed")
    assert report.confirmation["accepted"] is True
    assert report.confirmation["incumbent"] == "1"
    assert report.confirmation["median_gain"] == pytest.approx(0.02, abs=0.003)
    ratios = [replay.replay(one).runs[0].ratio for one in report.evidence["runs"]]
    assert report.ratio == sorted(ratio or 0 for ratio in ratios)[2]


def test_it_can_be_replayed() -> None:
    found = replay.replay(json.loads(json.dumps(run(FakeJudge()).to_json())))
    assert found.same
    assert found.record is not None
    assert found.record.accepted


def test_events_are_one_stream() -> None:
    heard: list[Event] = []
    confirm(replace(JOB, runs=2), SETTINGS, heard.append, FakeJudge())
    assert [event.seq for event in heard] == [1, 2, 3, 4]
    assert [event.state for event in heard if event.kind == "state"] == ["building", "timing"]
    assert [event.message for event in heard if event.kind == "progress"] == ["run 1 of 2, n=1", "run 2 of 2, n=1"]


def test_a_candidate_that_fails_ends_it_with_its_own_verdict() -> None:
    judge = FakeJudge(run2=ended("timeout", "call", "No answer within 10 s."))
    report = run(judge)
    assert len(judge.jobs) == 2
    assert (report.outcome, report.reason, report.message) == ("timeout", "call", "No answer within 10 s.")
    assert (report.confirmation["accepted"], report.confirmation["reason"]) == (False, "candidate_failed")


def test_a_run_that_could_not_be_measured_is_made_again() -> None:
    judge = FakeJudge(run2=ended("unmeasurable", "voids"), run3=ended("infra_error", "sandbox"))
    assert run(judge).confirmation["accepted"]
    assert len(judge.jobs) == 7


def test_but_not_for_ever() -> None:
    judge = FakeJudge(**{f"run{n}": ended("unmeasurable", "voids") for n in (1, 2, 3)})
    report = run(judge)
    assert (report.outcome, report.confirmation["reason"], len(judge.jobs)) == ("unmeasurable", "run_failed", 3)


def test_a_device_that_is_unfit_ends_it_at_once() -> None:
    judge = FakeJudge(run1=lambda evidence: evidence.update(set_aside="xid_79"))
    report = run(judge)
    assert (report.set_aside, len(judge.jobs), report.confirmation["accepted"]) == ("xid_79", 1, False)


def test_an_incumbent_that_voids_its_blocks_is_timed_alone_and_held() -> None:
    judge = FakeJudge(run2=disturbed)
    report = run(judge)
    assert [job.source for job in judge.jobs] == ["# ada's", "# ada's", "# ben's", "# ada's", "# ada's", "# ada's"]
    assert [one is not None for one in report.evidence["alone"]] == [False, True, False, False, False]
    assert (report.confirmation["accepted"], report.confirmation["held"]) == (True, True)
    assert len(report.confirmation["gains"]) == 5


def test_an_incumbent_that_fails_in_company_is_left_out_of_the_rest() -> None:
    judge = FakeJudge(run1=ended("unmeasurable", INCUMBENT_FAILED, "The incumbent failed: timeout (call)."))
    report = run(judge, runs=2)
    beside = [(job.source, job.incumbent is not None) for job in judge.jobs]
    assert beside == [("# ada's", True), *[("# ada's", False), ("# ben's", False)] * 2]
    assert report.confirmation["incumbent_failures"] == ["The incumbent failed: timeout (call)."]
    assert report.confirmation["held"] is True


def test_what_the_incumbent_says_of_itself_reaches_no_rival() -> None:
    judge = FakeJudge(run1=disturbed, run2=ended("build_error", "import", "Traceback: line 1 of ben's secret kernel"))
    report = run(judge, runs=1)
    assert report.confirmation["reason"] == "incumbent_failed"
    assert "secret kernel" not in json.dumps(report.to_json())


def test_a_host_that_fails_before_there_is_evidence_is_reported_as_it_is() -> None:
    def broken(job: Job, settings: JudgeSettings, on_event: OnEvent) -> Report:
        return Report(attempt_id="7", token=3, outcome="infra_error", reason="sandbox", evidence={"phases_s": {}})

    report = confirm(JOB, SETTINGS, lambda event: None, broken)
    assert (report.outcome, report.reason, report.confirmation) == ("infra_error", "sandbox", {})


def shown(report: Report) -> str:
    screen = Console(file=io.StringIO(), width=400)
    render.confirmation(screen, report)
    text: str = screen.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_a_person_sees_each_run_and_the_sentence_that_decides() -> None:
    lines = shown(run(FakeJudge())).splitlines()
    assert [line.split(":")[0] for line in lines[:5]] == [f"run {n}" for n in range(1, 6)]
    assert lines[5].startswith("A record: ")
    assert "Held: a person must look" in shown(run(FakeJudge(run2=disturbed)))


def test_a_person_sees_why_nothing_was_decided() -> None:
    text = shown(run(FakeJudge(run2=ended("timeout", "call", "No answer within 10 s."))))
    assert text.startswith("timeout (call)\nNo answer within 10 s.")
    assert "Run 2 of 2 decides nothing" in text


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_command_refuses_what_it_cannot_judge(tmp_path: Path) -> None:
    good = str(ADD / "accepted" / "torch_out.py")
    for arguments, says in (
        (
            ["nothing", good, "--incumbent", good],
            "neither a folder with a task.yml or a problem.json nor in the library",
        ),
        (["vectoradd", str(tmp_path / "none.py"), "--incumbent", good], "No such file"),
        (["vectoradd", good, "--incumbent", str(tmp_path / "none.py")], "No such file"),
        (["vectoradd", good, "--incumbent", good, "-k", "10"], "9"),
        (["vectoradd", good], "incumbent"),
    ):
        result = CliRunner().invoke(main.app, ["confirm", *arguments])
        assert result.exit_code == 2
        assert says in " ".join(result.stderr.split())


@pytest.mark.docker
def test_a_real_run_has_all_three_in_its_blocks(tmp_path: Path) -> None:
    settings = JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu", runner_locks=tmp_path)
    whole, accepted = local.find_problem("vectoradd"), ADD / "accepted"
    small = {**whole.benchmarks[0], "size": 400_000}
    fewer = replace(whole, tests=(), benchmarks=(small,), fuzz=None)  # the command test needs no more cases
    problem = replace(fewer, untuned_on=("cpu",), ranked_timeout_s=40.0)  # a busy machine lengthens no case for long
    candidate, incumbent = accepted / "torch_out.py", accepted / "torch_temporary.py"
    job = local.confirmation_job(problem, candidate, incumbent, 1, settings.runner_hardware)
    report = local.judge_here(job, settings, lambda event: None)
    sides = {block["side"] for quad in report.evidence["runs"][0]["timing"][0]["quads"] for block in quad["blocks"]}
    assert sides == {A, B, I}
    assert not report.evidence["runs"][0]["tuned"]
    assert replay.replay(json.loads(json.dumps(report.to_json()))).same


@pytest.mark.parametrize(
    ("stays", "outcome", "reason"),
    [((), None, None), ((B,), "policy", "unfreezable"), ((I,), "unmeasurable", INCUMBENT_FAILED)],
    ids=["none", "the candidate", "the incumbent"],
)
def test_who_cannot_be_ended_is_to_blame_and_nobody_else(
    stays: tuple[str, ...], outcome: str | None, reason: str | None
) -> None:
    killed: list[str] = []
    sides: Any = {
        name: SimpleNamespace(
            container=SimpleNamespace(
                kill=lambda name=name: killed.append(name), wait_dead=lambda name=name: name not in stays
            )
        )
        for name in (A, B, I)
    }
    recorder = Recorder()
    recorder.begin(mode="ranked", ranking_by="geom", profile=CPU)
    execute.end_foreign_code(sides, recorder)
    assert sorted(killed) == [B, I]
    fault = recorder.evidence.fault
    assert (fault and fault.outcome, fault and fault.reason) == (outcome, reason)
