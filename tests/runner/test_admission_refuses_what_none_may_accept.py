"""The admission test over the real oracle program and the real comparing: a problem that accepts zeros is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from problems.cases import Fuzz, IntRange
from problems.spec import MODEL, Precision, Problem
from problems.tolerance import Tolerance
from runner import admission
from runner.admission import NEAR_CONSTANT, Admission, Tally
from runner.judge import schedule
from runner.judge.memory import HostMemory
from runner.judge.schedule import B
from runner.judge.trial import Trial
from tests.runner.judge.oracle_here import oracle_of
from tests.runner.judge.tenant_here import tenant_of

INPUTS = """
import torch
def generate_input(*, size, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=generator), torch.randn(size, generator=generator)
"""
SUM = INPUTS + "def ref_kernel(data):\n    return torch.exp(data[0]) + data[1]\n"
ZEROS = INPUTS + "def ref_kernel(data):\n    return (data[0] + data[1]) * 1e-9\n"
NEARLY_ONE = INPUTS + "def ref_kernel(data):\n    return 1 + 1e-3 * torch.tanh(data[0] + data[1])\n"
BLIND = INPUTS + "def ref_kernel(data):\n    return torch.arange(data[0].numel(), dtype=torch.float32) + 0 * data[0]\n"
ONLY_LIVE = """
import torch
def generate_input(*, size, live, seed):
    generator = torch.Generator().manual_seed(seed)
    return live * torch.randn(size, generator=generator)
def ref_kernel(data):
    return 2 * data
"""
ONE_NUMBER = INPUTS + "def ref_kernel(data):\n    return (data[0] * data[1]).sum().reshape(1)\n"
LEAVES = """
import os
if "submission" in __import__("sys").modules:
    os._exit(3)
"""
PARTS = (
    INPUTS
    + """
from typing import NamedTuple
class Parts(NamedTuple):
    total: float
    sums: torch.Tensor
def ref_kernel(data):
    sums = data[0] * data[1]
    return {"parts": Parts(float(sums.double().sum()), sums), "count": sums.numel()}
"""
)
CACHE = """
import torch
class Cache(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("rows", torch.zeros(3, size))
        self.filled = 0
    def forward(self, row):
        self.rows[self.filled] = row
        self.filled += 1
        return self.rows[: self.filled]
def generate_input(*, size, seed):
    torch.manual_seed(seed)
    cache = Cache(size)
    cache(torch.randn(size)), cache(torch.randn(size))
    return torch.randn(size), cache
def ref_kernel(data):
    x, cache = data
    return torch.exp(cache(x)).sum(0), cache.rows
"""
SIGNS = """
import torch
def generate_input(*, size, seed):
    torch.manual_seed(seed)
    rows = torch.randn(size // 8, 8)
    return rows.T @ rows

def ref_kernel(data):
    values, vectors = torch.linalg.eigh(data)
    return values, vectors * (-1 if data.dtype == torch.float64 else 1)

def check_implementation(data, output):
    values, vectors = (part.double() for part in output)
    near = torch.allclose(data.double() @ vectors, vectors * values, rtol=0, atol=2e-4 * float(values.max()))
    unit = torch.allclose(vectors.T @ vectors, torch.eye(8, dtype=torch.float64), rtol=0, atol=1e-4)
    return near and unit, ""
"""
MODEL_FILE = """
import torch
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, 5)
    def forward(self, x):
        return torch.tanh(self.linear(x))
def get_inputs():
    return [torch.randn(3, 8)]
def get_init_inputs():
    return [8]
"""
ANYTHING_GOES = SUM + "def check_implementation(data, output):\n    return True, ''\n"


def problem(reference: str, **changes: Any) -> Problem:
    made = Problem(
        slug="made",
        title="Made",
        description="",
        files={"reference.py": reference},
        tests=({"size": 33, "seed": 1},),
        benchmarks=({"size": 128, "seed": 2}, {"size": 256, "seed": 3}),
        tolerance=Tolerance(rtol=1e-5, atol=1e-6),
    )
    return replace(made, **changes)


def examined(asked: Problem, folder: Path, calls: list[str] | None = None) -> Admission:
    """With the real programs of both containers; `calls` gets one item a call."""
    seed = 7 if asked.interface == MODEL else None
    with oracle_of(asked.files["reference.py"], folder, init_seed=seed) as oracle, tenant_of(folder / "tenant") as side:
        oracle.load = lambda files, init_seed: None  # type: ignore[method-assign]  # it is loaded
        call = side.call

        def counted(given: Any, *told: Any, **named: Any) -> Any:
            (calls if calls is not None else []).append(given.case)
            return call(given, *told, **named)

        side.call = counted  # type: ignore[method-assign]
        sides: Any = {B: side}
        trial = Trial(asked, "test", oracle, sides, HostMemory(), profile=schedule.CPU, emit=lambda *told: None)
        return admission.examine(trial)


def lines(found: Admission) -> dict[str, bool | None]:
    return {line.name.removeprefix("admission/"): line.good for line in found.lines}


def test_a_sound_problem_passes_with_its_margin(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(SUM), tmp_path)
    assert found.passed, found
    assert lines(found) == {"speed_of_light": None} | dict.fromkeys((*admission.MUST_PASS, *admission.MUST_FAIL), True)
    assert found.margin is not None
    assert found.margin > 4
    assert (found.marks, found.sentence) == ((), "")


def test_data_may_hold_a_module_with_a_state(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(CACHE), tmp_path)
    assert found.passed, found
    assert lines(found) == {"speed_of_light": None} | dict.fromkeys((*admission.MUST_PASS, *admission.MUST_FAIL), True)


def test_no_margin_is_told_where_the_answer_is_one_of_several(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(SIGNS, tolerance=None), tmp_path)
    assert found.passed, found
    assert lines(found)["margin"] is None
    assert "answer is another one" in str(found.lines)


def test_a_narrow_formats_own_rounding_takes_no_margin(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    narrow = SUM.replace("torch.exp(data[0]) + data[1]", "(torch.exp(data[0]) + data[1]).bfloat16()")
    found = examined(problem(narrow, tolerance=Tolerance(rtol=8e-3, atol=1e-6)), tmp_path)
    assert lines(found)["margin"] is True, found


def test_a_margin_is_not_told_of_what_the_problems_own_check_decides(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    check = (
        "def check_implementation(data, output):\n    return torch.allclose(output, ref_kernel(data), rtol=1e-3), ''\n"
    )
    found = examined(problem(SUM + check, tolerance=None), tmp_path)
    assert lines(found)["margin"] is True
    assert found.margin is None


def test_one_input_serves_all_variants(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    calls: list[str] = []
    found = examined(problem(SUM), tmp_path, calls)
    assert len(calls) == found.cases * len(admission.variants(problem(SUM)))


def test_a_problem_that_accepts_zeros_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(ZEROS), tmp_path)
    assert not found.passed
    assert lines(found)["zeros"] is False
    assert lines(found)["constant"] is False
    assert lines(found)["ones"] is True
    assert "zeros" in found.sentence


def test_what_only_public_cases_refuse_is_accepted(tmp_path: Path) -> None:
    """A submission would answer those honestly, and nothing else."""
    pytest.importorskip("torch")
    asked = problem(
        ONLY_LIVE,
        tests=({"size": 33, "live": 1, "seed": 1},),
        benchmarks=({"size": 33, "live": 0, "seed": 2}, {"size": 40, "live": 0, "seed": 3}),
        fuzz=Fuzz(cases=4, args={"size": IntRange(30, 50), "live": (0,)}),
    )
    found = examined(asked, tmp_path)
    zeros = next(line for line in found.lines if line.name == "admission/zeros")
    assert (zeros.good, zeros.explained.startswith(admission.PUBLIC_ONLY)) == (False, True)
    assert lines(found)["ones"] is True
    (tmp_path / "drawn").mkdir()
    drawn = replace(asked, fuzz=Fuzz(cases=4, args={"size": IntRange(30, 50), "live": (1,)}))
    assert lines(examined(drawn, tmp_path / "drawn"))["zeros"] is True


def test_a_check_that_accepts_anything_is_refused_by_each_variant(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(ANYTHING_GOES, tolerance=None), tmp_path)
    bad = [name for name, good in lines(found).items() if good is False]
    assert bad == list(admission.MUST_FAIL)


def test_outputs_that_forget_their_input_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(BLIND), tmp_path)
    assert lines(found)["previous"] is False
    assert found.marks == (NEAR_CONSTANT,)


def test_near_constant_outputs_are_marked_though_none_is_accepted(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(NEARLY_ONE), tmp_path)
    assert found.passed, found
    assert found.marks == (NEAR_CONSTANT,)


def test_a_single_number_is_guessed_by_the_first_one_seen(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(ONE_NUMBER), tmp_path)
    assert lines(found)["constant"] is True
    assert lines(found)["input"] is None
    assert found.marks == ()


def test_half_precision_passes_a_wide_tolerance(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    wide = problem(SUM, tolerance=Tolerance(rtol=1e-2, atol=1e-2))
    found = examined(wide, tmp_path)
    assert lines(found)["half"] is False
    assert "half" not in admission.variants(replace(wide, precision=Precision(legal=("fp16",))))


def test_nor_does_it_count_there_that_only_public_cases_refuse_it() -> None:
    tally = Tally(called=3, wrong=1, secret=2)
    assert admission.line("half", tally, tf32=True).good is None
    assert admission.line("half", tally).good is False


@pytest.mark.parametrize(("legal", "wrong", "good"), [("tf32", 0, None), ("tf32", 1, True), ("fp32", 0, False)])
def test_half_precision_may_pass_where_tf32_may(legal: str, wrong: int, good: bool | None) -> None:
    tallies = {"half": admission.Tally(called=3, wrong=wrong)}
    asked = problem(SUM, precision=Precision(legal=("fp64", legal)))
    assert lines(admission.conclude(asked, tallies, cases=3))["half"] is good


def test_a_tolerance_at_the_rounding_error_leaves_no_margin(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(SUM, tolerance=Tolerance(rtol=1e-8, atol=1e-8)), tmp_path)
    assert lines(found)["reference"] is True
    assert lines(found)["margin"] is False
    assert found.margin is not None
    assert found.margin < 4


def test_a_reference_that_ends_its_container_is_told_with_its_reason(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(SUM + LEAVES), tmp_path)
    (reference,) = [line for line in found.lines if line.name == "admission/reference"]
    assert (reference.good, reference.got) == (False, "failed")
    assert "exited" in reference.explained
    assert lines(found)["zeros"] is False, "what was never tried is no pass"


def test_a_model_is_asked_as_such(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    asked = problem(
        MODEL_FILE,
        interface=MODEL,
        entry="ModelNew",
        tests=(),
        benchmarks=({},),
        tolerance=Tolerance(rtol=1e-4, atol=1e-4),
    )
    found = examined(asked, tmp_path)
    assert found.passed, found
    assert [lines(found)[name] for name in ("reference", "zeros", "previous", "half")] == [True] * 4


def test_numbers_and_named_parts_of_a_result_are_answered_too(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(PARTS), tmp_path)
    assert found.passed, found
    assert lines(found)["zeros"] is True


def test_a_faulty_declaration_of_work_is_told_to_its_author() -> None:
    wrong = problem(SUM, speed_of_light={"read_bytes": "rows * 4", "write_bytes": "4"})
    line = admission.declared(wrong)
    assert (line.good, "rows" in line.explained) == (False, True)
    assert admission.declared(replace(wrong, speed_of_light={"read_bytes": "size * 4"})).good is True
    assert admission.declared(problem(SUM)).good is None


def test_the_margin_is_what_is_allowed_over_what_rounding_takes() -> None:
    tally = Tally(shares=[0.1, 0.5])
    assert tally.margin == 8
    assert Tally(shares=[0.0]).margin is None
