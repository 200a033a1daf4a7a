"""Limits of a construction and of a call follow the reference's own time, and that of an import its source."""

from types import SimpleNamespace
from typing import cast

import pytest

from runner.commands.local import find_problem
from runner.evidence.schedule import CPU, B
from runner.judge import limits
from runner.judge.calls import Calls, Stage
from runner.judge.data.call import Stopwatch
from runner.judge.data.faults import Fault
from runner.judge.data.memory import Memory
from runner.judge.limits import CALL_S, COMPILE_S, FIRST_CALL_S, MOST_CALL_S, MOST_CONSTRUCTION_S, MOST_FIRST_CALL_S
from runner.judge.sides.oracle import Oracle
from runner.judge.sides.tenant import Tenant
from runner.judge.trial import Trial


@pytest.mark.parametrize(
    ("reference_s", "limit_s"), [(0.0, CALL_S), (2.5, CALL_S), (12.0, 48.0), (900.0, MOST_CONSTRUCTION_S)]
)
def test_a_construction_gets_four_times_the_references(reference_s: float, limit_s: float) -> None:
    assert limits.construction(reference_s).seconds == limit_s


@pytest.mark.parametrize(
    ("reference_s", "limit_s"), [(0.0, FIRST_CALL_S), (15.0, FIRST_CALL_S), (20.0, 80.0), (900.0, MOST_FIRST_CALL_S)]
)
def test_a_first_call_gets_four_times_the_references(reference_s: float, limit_s: float) -> None:
    assert limits.first_call(reference_s).seconds == limit_s


@pytest.mark.parametrize(("reference_s", "limit_s"), [(0.0, CALL_S), (2.5, CALL_S), (9.0, 36.0), (900.0, MOST_CALL_S)])
def test_a_later_call_gets_four_times_the_references_first(reference_s: float, limit_s: float) -> None:
    assert limits.call(CALL_S, reference_s).seconds == limit_s


def test_a_longer_limit_of_all_calls_is_the_floor_of_a_construction() -> None:
    """The admission test allows a call a minute."""
    assert limits.construction(0.1, 60.0).seconds == 60.0


def test_a_stage_cuts_a_limit_at_half_of_its_time() -> None:
    stage = Stage("Checking", 100.0, Stopwatch())
    assert stage.left_s(limits.construction(30.0).seconds) == pytest.approx(50.0, abs=0.1)


def test_a_timeout_names_the_limit_and_its_origin() -> None:
    fault = Fault("timeout", "call", "No answer within 48 s while ModelNew was being constructed.")
    assert limits.construction(12.0).explain(fault).message == (
        "No answer within 48 s while ModelNew was being constructed. A construction of ModelNew may take 10 s or 4 "
        "times Model's own time (12.0 s here), whichever is more, at most 120 s and half of its stage's time."
    )


def test_other_failures_and_plain_calls_get_no_explanation() -> None:
    raised = Fault("runtime_error", "raised", "ValueError")
    assert limits.construction(12.0).explain(raised) is raised
    late = Fault("timeout", "call", "No answer within 10 s in a call of the kernel.")
    assert limits.call(CALL_S).explain(late) is late
    assert "4 times the reference's own time (3.0 s here)" in limits.call(CALL_S, 3.0).explain(late).message


@pytest.mark.parametrize(
    ("line", "more_s"),
    [("import torch", 0.0), ("from torch.utils.cpp_extension import load_inline", COMPILE_S)],
)
def test_an_import_that_compiles_has_time_for_the_compiler(line: str, more_s: float) -> None:
    problem, limits_s = find_problem("vectoradd"), list[float]()
    side = cast(Tenant, SimpleNamespace(load=lambda limit_s, **told: limits_s.append(limit_s)))
    calls = Calls(problem, cast(Oracle, SimpleNamespace(held_bytes=0)), {B: side}, Memory())
    Trial(calls, "test", profile=CPU, emit=lambda *told: None).load(line)
    assert limits_s == [problem.test_timeout_s + more_s]
