"""Public GPU references sometimes answer on the host; their checks then get every submission's answers on the host."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from sandbox import protocol

INSIDE = Path(__file__).parents[2] / "sandbox" / "inside"
FILES = {
    "reference.py": """
import torch

def generate_input(n, seed):
    return torch.ones(n)

def ref_kernel(data):
    return [data + 1]

def check_implementation(data, output):
    return type(output[0]) is torch.Tensor, "on a device"
"""
}


class Far(torch.Tensor):
    """Tensor that pretends to lie on a device."""

    def cpu(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        return torch.zeros(3)


@pytest.fixture
def problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(INSIDE)
    monkeypatch.setitem(sys.modules, "protocol", protocol)
    monkeypatch.delitem(sys.modules, "reference", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    yield importlib.import_module("problem_code").Problem(FILES, "cuda", str(tmp_path))
    sys.modules.pop("reference", None)


def test_a_check_gets_what_the_reference_would_have_given(problem: Any) -> None:
    data = torch.ones(3)
    answer = [torch.zeros(3).as_subclass(Far)]
    assert not problem.answered_on_host
    problem.reference(data)
    assert problem.answered_on_host
    assert problem.check(data, answer, on_host=True)["good"]
    assert not problem.check(data, answer)["good"]
