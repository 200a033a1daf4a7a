"""A device that was set aside judges again only after two canaries in a row passed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from problems.spec import Problem
from runner.config import JudgeSettings
from runner.daemon import canary
from runner.errors import JudgeFault
from runner.wire import Job, Report

EPOCH = "0123456789abcdef"


def canary_report(
    job: Job, *, outcome: str = "passed", us: float = 36.0, aside: str = "", epoch: str = EPOCH
) -> Report:
    cases = ({"stage": "check", "name": "a"}, {"stage": "time", "name": "b", "measured_us": us})
    return Report(job.attempt_id, job.token, outcome, cases=cases, set_aside=aside, epoch=epoch)


class Judge:
    """Fake judge that answers canaries from the test's list, in order, and remembers the jobs."""

    def __init__(self, *answers: Callable[[Job], Report | None]) -> None:
        self._answers: Iterator[Callable[[Job], Report | None]] = iter(answers)
        self.jobs: list[Job] = []

    def __call__(self, job: Job) -> Report | None:
        self.jobs.append(job)
        return next(self._answers)(job)


def passes(us: float = 36.0, epoch: str = EPOCH) -> Callable[[Job], Report]:
    return lambda job: canary_report(job, us=us, epoch=epoch)


def fails(**how: str) -> Callable[[Job], Report]:
    return lambda job: canary_report(job, **{"outcome": "wrong", **how})


def breaks(job: Job) -> Report:
    raise JudgeFault("judge_died", "the roof is on fire")


@pytest.fixture
def settings(tmp_path: Path) -> JudgeSettings:
    return JudgeSettings(runner_state=tmp_path / "state", runner_hardware="H200")


def test_new_runner_is_fit_without_a_canary(settings: JudgeSettings) -> None:
    judge = Judge()
    assert canary.pending(settings.runner_state) == ""
    assert canary.fit(settings, judge).ok
    assert judge.jobs == []


def test_two_passes_in_a_row_free_the_device(settings: JudgeSettings) -> None:
    canary.set_aside(settings.runner_state, "ecc")
    judge = Judge(passes(), passes())
    assert canary.run_once(settings, judge).ok
    assert canary.pending(settings.runner_state) == "ecc"
    assert canary.fit(settings, judge).ok
    assert canary.pending(settings.runner_state) == ""
    assert len(judge.jobs) == 2


def test_reason_is_known_after_a_restart(settings: JudgeSettings) -> None:
    canary.set_aside(settings.runner_state, "xid_79")
    assert '"xid_79"' in (settings.runner_state / canary.FILE).read_text()
    assert canary.pending(settings.runner_state) == "xid_79"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (fails(), "wrong"),
        (fails(outcome="passed", aside="hw_thermal"), "hw_thermal"),
        (lambda job: canary_report(job, us=0.0), "0 µs"),
        (lambda job: None, "stopped"),
        (breaks, "on fire"),
    ],
)
def test_canary_that_does_not_pass_keeps_it_aside_and_says_why(
    settings: JudgeSettings, answer: Callable[[Job], Report | None], why: str
) -> None:
    canary.set_aside(settings.runner_state, "ecc")
    found = canary.fit(settings, Judge(passes(), answer))
    assert not found.ok
    assert "ecc" in found.reason
    assert why in found.reason
    assert canary.pending(settings.runner_state) == "ecc"


@pytest.mark.parametrize("answer", [fails(), breaks])
def test_pass_before_a_failure_does_not_count(settings: JudgeSettings, answer: Callable[[Job], Report]) -> None:
    canary.set_aside(settings.runner_state, "ecc")
    canary.fit(settings, Judge(passes(), answer))
    canary.run_once(settings, Judge(passes()))
    assert canary.pending(settings.runner_state) == "ecc"
    canary.run_once(settings, Judge(passes()))
    assert canary.pending(settings.runner_state) == ""


def test_being_set_aside_again_starts_the_count_anew(settings: JudgeSettings) -> None:
    canary.set_aside(settings.runner_state, "ecc")
    canary.run_once(settings, Judge(passes()))
    canary.set_aside(settings.runner_state, "pcie_width")
    canary.run_once(settings, Judge(passes()))
    assert canary.pending(settings.runner_state) == "pcie_width"


def test_device_that_became_slow_stays_aside_in_the_same_epoch_only(settings: JudgeSettings) -> None:
    canary.run_once(settings, Judge(passes(us=36.0)))
    canary.set_aside(settings.runner_state, "hw_slowdown")
    slow = canary.fit(settings, Judge(passes(us=40.0)))
    assert not slow.ok
    assert "40 µs" in slow.reason
    assert canary.fit(settings, Judge(passes(40.0, "another"), passes(40.0, "another"))).ok


def test_healthy_time_stays_the_first_one(settings: JudgeSettings) -> None:
    for us in (36.0, 37.0, 37.5):  # a creeping loss must not become the new measure
        assert canary.run_once(settings, Judge(passes(us))).ok
    assert not canary.run_once(settings, Judge(passes(us=38.5))).ok


def test_canary_that_finds_a_broken_device_sets_it_aside(settings: JudgeSettings) -> None:
    assert not canary.run_once(settings, Judge(fails(outcome="unmeasurable", aside="ecc"))).ok
    assert canary.pending(settings.runner_state) == "ecc"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"set_aside": ""}', '{"set_aside":"","passes":0,"healthy_us":{"e":-1}}']
)
def test_file_that_cannot_be_read_keeps_the_device_aside(settings: JudgeSettings, text: str) -> None:
    settings.runner_state.mkdir()
    (settings.runner_state / canary.FILE).write_text(text)
    assert canary.FILE in canary.pending(settings.runner_state)
    assert canary.fit(settings, Judge(passes(), passes())).ok


@pytest.mark.parametrize("hardware", ["cpu", "H200"])
def test_canary_is_a_timed_job_of_the_calibration_problem(settings: JudgeSettings, hardware: str) -> None:
    judge = Judge(passes())
    canary.run_once(settings.model_copy(update={"runner_hardware": hardware}), judge)
    job = Job.from_json(judge.jobs[0].to_json())
    problem = Problem.from_bundle(job.problem)
    assert problem.digest == job.problem_digest
    assert (job.mode, job.hardware, len(problem.benchmarks)) == ("benchmark", hardware, 1)
    assert 4 * int(problem.benchmarks[0]["size"]) <= 64 << 20
