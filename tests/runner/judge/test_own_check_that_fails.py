"""A problem's own check raises or dies: the output is at fault if the check accepts the reference's, else the
problem."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from problems.spec import Case, Problem
from runner.evidence.schedule import CPU, A, B, I
from runner.judge import timing
from runner.judge.calls import Calls, Stage
from runner.judge.data.faults import IncumbentFailed, OracleFailed
from runner.judge.data.memory import Memory
from runner.judge.device.telemetry import Blind
from runner.judge.sides.oracle import Oracle
from runner.judge.timing import TimedSide
from runner.judge.trial import Trial
from tests.runner.judge.oracle_here import Process
from tests.runner.judge.tenant_here import tenant_of

ARGSORT = """
import os
import torch

def generate_input(*, size, seed):
    return torch.rand(size, generator=torch.Generator().manual_seed(seed)), torch.empty(size, dtype=torch.int64)

def ref_kernel(data):
    x, out = data
    return out.copy_(x.argsort())

asked = []

def check_implementation(data, output):
    x, _ = data
    asked.append(output)
    if CONDITION:
        FAIL
    return torch.equal(x[output], x.sort().values), "not sorted"
"""
RIGHT = "def custom_kernel(data):\n    return data[1].copy_(data[0].argsort())\n"
WILD = "def custom_kernel(data):\n    return data[1].fill_(1 << 40)\n"
RAISES, DIES = "x[output]", "os._exit(3)"
ON_OUTPUT, ALWAYS, LATER = "int(output.max()) >= len(x)", "True", "len(asked) == 3"
SMALL: Case = {"size": 33, "seed": 1}
TIMED: Case = {"size": 300, "seed": 2}


def problem(condition: str = ON_OUTPUT, fail: str = RAISES, **changes: Any) -> Problem:
    reference = ARGSORT.replace("CONDITION", condition).replace("FAIL", fail)
    changes = {"tests": (SMALL,), "benchmarks": (TIMED,), "files": {"reference.py": reference}} | changes
    return Problem(slug="made", title="Made", description="", **changes)


@contextmanager
def trial_of(asked: Problem, source: str, folder: Path, side: str = B) -> Iterator[Trial]:
    """Loaded trial; a second oracle starts as in Prepared, in a process instead of a container."""
    with ExitStack() as stack:
        started: list[Oracle] = []

        def start() -> Oracle:
            if started:
                started[-1].close()
            place = folder / f"oracle{len(started)}"
            place.mkdir()
            container: Any = Process(place)
            started.append(Oracle(container, Memory(), 4 << 20, 4 << 20))
            stack.callback(started[-1].close)
            started[-1].connect()
            return started[-1]

        tenant = stack.enter_context(tenant_of(folder / "tenant"))
        calls = Calls(asked, start(), {side: tenant}, Memory(), another_oracle=start)
        trial = Trial(calls, "ranked", profile=CPU, emit=lambda *told: None)
        trial.load_oracle()
        trial.load(source, side)
        yield trial


@pytest.mark.parametrize(
    ("fail", "said"),
    [
        ("raise ValueError('first\\nbad \\x07 index')", "bad \N{REPLACEMENT CHARACTER} index"),
        (DIES, "it ended its own process with exit status 3."),
    ],
)
def test_what_only_this_output_makes_fail_is_wrong(tmp_path: Path, fail: str, said: str) -> None:
    with trial_of(problem(fail=fail), WILD, tmp_path) as trial:
        trial.check(Blind())
        (entry,) = trial.evidence.checks
        assert (entry.good, entry.reason) == (False, "check_failed")
        assert entry.message.startswith("Case size=33")
        assert entry.message.endswith(f"the problem's own check failed on your output: {said}")
        assert not trial.counts


@pytest.mark.parametrize(("source", "fail"), [(RIGHT, "raise ValueError('broken')"), (WILD, DIES)])
def test_a_check_that_fails_on_the_references_output_too_is_the_problems_fault(
    tmp_path: Path, source: str, fail: str
) -> None:
    with trial_of(problem(ALWAYS, fail), source, tmp_path) as trial:
        with pytest.raises(OracleFailed, match=r"broken|exit status 3"):
            trial.check(Blind())
        assert trial.evidence.checks == []


def test_a_check_that_fails_after_a_while_blames_no_right_output(tmp_path: Path) -> None:
    with trial_of(problem(LATER, DIES), RIGHT, tmp_path) as trial, pytest.raises(OracleFailed):
        trial.check(Blind())


def timed(trial: Trial, side: str) -> Any:
    one = TimedSide(trial.calls, side, TIMED, Stage("Timing", 60, trial.calls.oracle.asked))
    one.make_ready(3)
    one.run_block()
    return one.settle()


def test_a_timed_call_is_judged_alike_and_nothing_of_it_is_told(tmp_path: Path) -> None:
    with trial_of(problem(), WILD, tmp_path) as trial:
        before, asked = trial.calls.oracle, trial.calls.oracle.asked
        wrong = timed(trial, B).wrong
        assert wrong.reason == "check_failed"
        assert wrong.message == "A secret case: the problem's own check failed."
        assert trial.calls.oracle is not before
        assert trial.calls.oracle.asked is asked
        assert trial.calls.oracle.problem_s > before.problem_s > 0


OTHER = """
import torch
calls = []

def custom_kernel(data):
    calls.append(data[0].clone())
    again = len(calls) > 1 and torch.equal(calls[-1], calls[-2])
    return data[1].fill_(1 << 40) if again and OFF else data[1].copy_(data[0].argsort())
"""


@pytest.mark.parametrize(("off", "good"), [(False, True), (True, False)])
def test_the_problems_check_is_asked_once_for_equal_outputs_of_one_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, off: bool, good: bool
) -> None:
    """A repeat that differs is held against it as any output."""
    monkeypatch.setattr(timing, "NEAR_SHARE", 0.0)
    monkeypatch.setattr(timing, "REPEAT_SHARE", 1.0)
    with trial_of(problem(), OTHER.replace("OFF", str(off)), tmp_path) as trial:
        checked: list[int] = []
        check = trial.calls.oracle.check
        monkeypatch.setattr(trial.calls.oracle, "check", lambda *told: [checked.append(told[0]), check(*told)][1])
        one = TimedSide(trial.calls, B, TIMED, Stage("Timing", 60, trial.calls.oracle.asked))
        one.make_ready(1)
        assert len(one.run_block()) == 1
        settled = one.settle()
        assert (settled.wrong is None) is good
        assert len(checked) == (1 if good else 2)
        assert [repeat.same_bits for repeat in settled.repeats] == ([True] if good else [])


@pytest.mark.parametrize(("off", "good"), [(False, True), (True, False)])
def test_visits_of_places_share_an_input_and_its_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, off: bool, good: bool
) -> None:
    monkeypatch.setattr(timing, "LONG_NS", 0)  # one row of visits
    monkeypatch.setattr("tests.runner.judge.tenant_here.Tenant.begin_turns", lambda self: 3)
    with trial_of(problem(), OTHER.replace("OFF", str(off)), tmp_path) as trial:
        checked: list[int] = []
        check = trial.calls.oracle.check
        monkeypatch.setattr(trial.calls.oracle, "check", lambda *told: [checked.append(told[0]), check(*told)][1])
        one = TimedSide(trial.calls, B, TIMED, Stage("Timing", 60, trial.calls.oracle.asked))
        assert (one.visit(5) is None) is good
        assert len(checked) == (1 if good else 2)


@pytest.mark.parametrize(("side", "failure"), [(A, OracleFailed), (I, IncumbentFailed)])
def test_the_other_sides_blame_no_submission(tmp_path: Path, side: str, failure: type[Exception]) -> None:
    with trial_of(problem(fail=DIES), WILD, tmp_path, side) as trial, pytest.raises(failure):
        timed(trial, side)
