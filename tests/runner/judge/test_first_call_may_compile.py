"""Triton, torch.compile and similar tools compile at a kernel's first call: that call of each case has more time."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from runner.evidence.schedule import CPU, B
from runner.judge.calls import Calls, Stage
from runner.judge.data.call import Stopwatch
from runner.judge.data.faults import Fault
from runner.judge.limits import CALL_S, FIRST_CALL_S
from runner.judge.trial import Trial


class Slow:
    """Tenant that records its time limits."""

    queues = False

    def __init__(self) -> None:
        self.limits: list[float] = []

    def lay_out(self, layout: Any, limit_s: float) -> None:
        assert limit_s <= CALL_S

    def call(self, given: Any, into: Any, limit_s: float, **how: Any) -> str:
        self.limits.append(round(limit_s))
        if given.case == "bad":
            raise Fault("timeout", "call", "No answer.")
        return "answered"


def given(case: str) -> Any:
    return SimpleNamespace(case=case, layout=SimpleNamespace(output_bytes=8), reference_s=0.0)


def test_the_first_call_of_each_case_has_more_time() -> None:
    tenant, stage = Slow(), Stage("Checking", 180.0, Stopwatch())
    memory: Any = SimpleNamespace(buffer=bytearray)
    sides: Any = {B: tenant}
    problem: Any = SimpleNamespace(ranking_by="geom", ranked_timeout_s=180.0, benchmarks=(), interface="function")
    oracle: Any = SimpleNamespace(rest=lambda: None)
    trial = Trial(Calls(problem, oracle, sides, memory), "test", profile=CPU, emit=print)
    for case, idle in (("a", True), ("a", False), ("a", False), ("b", False), ("a", False)):
        trial.calls.call(B, given(case), stage, 0, idle=idle)
    assert tenant.limits == [CALL_S, FIRST_CALL_S, CALL_S, FIRST_CALL_S, CALL_S]


def test_later_calls_follow_a_reference_that_takes_seconds() -> None:
    tenant, stage = Slow(), Stage("Checking", 180.0, Stopwatch())
    problem: Any = SimpleNamespace(ranking_by="geom", ranked_timeout_s=180.0, benchmarks=(), interface="function")
    memory: Any = SimpleNamespace(buffer=bytearray)
    oracle: Any = SimpleNamespace(rest=lambda: None)
    calls = Calls(problem, oracle, {B: cast(Any, tenant)}, memory)
    slow = given("a")
    slow.reference_s = 9.0
    for _ in range(2):
        calls.call(B, slow, stage, 0)
    assert tenant.limits == [FIRST_CALL_S, 36]


@pytest.mark.parametrize(("stage_s", "first_s"), [(180.0, FIRST_CALL_S), (60.0, 30.0), (12.0, CALL_S), (4.0, 4.0)])
def test_it_never_takes_more_than_half_of_a_stage(stage_s: float, first_s: float) -> None:
    assert Stage("Checking", stage_s, Stopwatch()).left_s(FIRST_CALL_S) == pytest.approx(first_s, abs=0.1)
