"""The submission loses a stage's time only if the submission itself spent it."""

import time

import pytest

from runner.evidence.schedule import A, B, I
from runner.judge.calls import Stage
from runner.judge.data.call import Stopwatch
from runner.judge.data.faults import Fault, IncumbentFailed, OracleFailed
from runner.judge.limits import CALL_S


def test_a_call_gets_what_is_left_and_no_more_than_a_call_may_take() -> None:
    assert Stage("Checking", 1000, Stopwatch()).left_s() == CALL_S
    assert 0 < Stage("Checking", 2, Stopwatch()).left_s() <= 2


def test_a_slow_kernel_is_told_so() -> None:
    with pytest.raises(Fault, match=r"Checking took longer than its 0 s in all; make the kernel faster\."):
        Stage("Checking", 0, Stopwatch()).left_s()


def test_where_the_problem_itself_took_most_of_it_the_problem_is_at_fault() -> None:
    asked = Stopwatch()
    asked.seconds = 500.0  # of earlier stages only
    stage = Stage("Timing", 1e-9, asked)
    asked.seconds += 150
    with pytest.raises(OracleFailed, match="150 s of them to make inputs and expected outputs"):
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
    spent_s: dict[str, float], expected: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds even if a candidate as fast as the baseline could not have finished in time."""
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stage = Stage("Timing", 0, Stopwatch())
    for side, seconds in spent_s.items():
        with stage.spent_by(side):
            now[0] += seconds
    with pytest.raises(expected):
        stage.left_s()


def test_earlier_stages_do_not_excuse_a_slow_kernel() -> None:
    asked = Stopwatch()
    asked.seconds = 500.0
    with pytest.raises(Fault, match="make the kernel faster"):
        Stage("Timing", 1e-9, asked).left_s()
