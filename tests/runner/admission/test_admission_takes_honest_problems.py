"""The admission test takes honest problems, however their data, outputs and references are written."""

from pathlib import Path

import pytest

from problems.spec import MODEL, Tolerance
from tests.runner.admission_here import ALL, INPUTS, examined, lines, problem

PARTS = (
    INPUTS
    + """
from typing import NamedTuple
class Parts(NamedTuple):
    total: float
    sums: torch.Tensor
def ref_kernel(data):
    sums = data[0] * data[1]
    return {"parts": Parts(float(sums.double().abs().sum()), sums), "count": sums.numel()}
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
ONLY_SINGLE = """
import torch
def generate_input(*, size, seed):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))
def ref_kernel(data):
    %s
    return torch.exp(data)
"""
OWN_CLASS = """
import torch
from dataclasses import dataclass, field
@dataclass
class Given:
    x: torch.Tensor
    count: int = field(init=False)
    def __post_init__(self):
        self.x, self.count = self.x / 2, self.x.numel()
def generate_input(*, size, seed):
    return Given(torch.randn(size, generator=torch.Generator().manual_seed(seed)))
def ref_kernel(data):
    return torch.exp(data.x) + data.count
"""
PACKED = """
import torch
def generate_input(*, size, seed):
    return torch.randint(0, 256, (size,), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))
def ref_kernel(data):
    return (data ^ 1).view(torch.float4_e2m1fn_x2)
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


def test_data_may_hold_a_module_with_a_state(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(CACHE), tmp_path)
    assert found.passed, found
    assert lines(found) == {"speed_of_light": None} | dict.fromkeys((*ALL, "each_output"), True)


def test_no_margin_is_told_where_the_answer_is_one_of_several(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(SIGNS, tolerance=None), tmp_path)
    assert found.passed, found
    assert lines(found)["margin"] is None
    assert "answer is another one" in str(found.lines)


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


@pytest.mark.parametrize("refusal", ["assert data.dtype == torch.float32", "({torch.float32: 1})[data.dtype]"])
def test_a_reference_may_refuse_other_precisions_in_any_way(tmp_path: Path, refusal: str) -> None:
    pytest.importorskip("torch")
    found = examined(problem(ONLY_SINGLE % refusal), tmp_path)
    assert found.passed, found
    assert (lines(found)["half"], lines(found)["margin"]) == (None, None)


def test_data_may_be_of_a_class_that_computes_what_it_holds(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(OWN_CLASS), tmp_path)
    assert found.passed, found


def test_outputs_may_pack_two_numbers_into_a_byte(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(PACKED), tmp_path)
    assert found.passed, found
    assert [lines(found)[name] for name in ("zeros", "ones", "constant", "input", "previous")] == [True] * 5
