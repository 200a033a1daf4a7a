"""The submission loses a stage's time only if the submission itself spent it."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from runner.evidence.schedule import A, B, I
from runner.judge.calls import Calls, Stage
from runner.judge.data.call import Stopwatch
from runner.judge.data.faults import Fault, IncumbentFailed, OracleFailed
from runner.judge.data.memory import Memory
from runner.judge.limits import CALL_S


def test_a_call_gets_what_is_left_and_no_more_than_a_call_may_take() -> None:
    assert Stage("Checking", 1000, Stopwatch()).left_s() == CALL_S
    assert 0 < Stage("Checking", 2, Stopwatch()).left_s() <= 2


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Time that passes only when a test adds to it, in s."""
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_slow_kernel_is_told_so(clock: list[float]) -> None:
    stage = Stage("Checking", 60, Stopwatch())
    clock[0] += 25
    with stage.spent_by(B):
        clock[0] += 35
    with pytest.raises(Fault, match=r"Checking took longer than its 60 s in all; make the kernel faster\."):
        stage.left_s()


def test_where_most_of_it_passed_between_calls_the_problem_is_at_fault(clock: list[float]) -> None:
    """Outputs are compared there, and inputs made: a faster kernel could not have been in time."""
    asked = Stopwatch()
    asked.seconds = 500.0  # of earlier stages only
    stage = Stage("Checking", 60, asked)
    with asked.running():
        clock[0] += 12
    with stage.spent_by(B):
        clock[0] += 25
    clock[0] += 24
    said = "36 s of them between calls, 12 s to make inputs and expected outputs: choose smaller sizes"
    with pytest.raises(OracleFailed, match=said):
        stage.left_s()


@pytest.mark.parametrize(
    ("spent_s", "expected"),
    [
        ({B: 3.0}, Fault),
        ({A: 1.0, B: 3.0}, Fault),
        ({A: 1.0, B: 2.5, I: 2.0}, Fault),
        ({A: 3.0, B: 0.5}, OracleFailed),
        ({A: 3.0, B: 3.2}, OracleFailed),
        ({A: 1.0, B: 1.0, I: 3.0}, IncumbentFailed),
    ],
)
def test_whoever_took_the_time_is_at_fault(
    spent_s: dict[str, float], expected: type[Exception], clock: list[float]
) -> None:
    """This holds even if a candidate as fast as the baseline could not have finished in time."""
    stage = Stage("Timing", 0, Stopwatch())
    for side, seconds in spent_s.items():
        with stage.spent_by(side):
            clock[0] += seconds
    with pytest.raises(expected):
        stage.left_s()


class Slow:
    """Tenant that takes this long to lay data out, and then for its call."""

    queues = False

    def __init__(self, clock: list[float], layout_s: float, call_s: float) -> None:
        self.clock, self.layout_s, self.call_s = clock, layout_s, call_s

    def lay_out(self, layout: Any, limit_s: float) -> None:
        self.clock[0] += self.layout_s

    def call(self, given: Any, into: Any, limit_s: float, **how: Any) -> None:
        self.clock[0] += self.call_s
        raise Fault("timeout", "call", "No answer.")


@pytest.mark.parametrize(("layout_s", "call_s"), [(70.0, 0.0), (40.0, 30.0)])
def test_the_time_of_a_layout_is_its_sides(layout_s: float, call_s: float, clock: list[float]) -> None:
    sides: Any = {B: Slow(clock, layout_s, call_s)}
    problem: Any = SimpleNamespace(interface="function")
    oracle: Any = SimpleNamespace(rest=lambda: None)
    calls = Calls(problem, oracle, sides, Memory())
    given: Any = SimpleNamespace(case="n=1", layout=SimpleNamespace(output_bytes=8), reference_s=0.0)
    with pytest.raises(Fault, match="make the kernel faster"):
        calls.call(B, given, Stage("Checking", 60, Stopwatch()), 0)
