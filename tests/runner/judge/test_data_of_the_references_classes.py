"""Data made of a reference's classes, including a module with its own state, reach a submission."""

from pathlib import Path
from typing import Any

import pytest

from runner.evidence.schedule import CPU, A
from runner.judge.calls import Calls
from runner.judge.data.memory import Memory
from runner.judge.trial import Trial, files_beside
from tests.runner.judge.oracle_here import oracle_of, problem_of
from tests.runner.judge.tenant_here import LIMIT_S, agrees, output_of, tenant_of
from tests.runner.judge.two_devices import TwoDevices

REFERENCE = """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class Config:
    width: int
    weight: torch.Tensor

class Cache(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.register_buffer("rows", torch.zeros(rows, width))
        self.filled = 0

    def forward(self, row):
        self.rows[self.filled] = row
        self.filled += 1
        return self.rows[: self.filled]

def generate_input(width, seed):
    config, cache = Config(width, torch.randn(width, width)), Cache(8, width)
    for row in torch.randn(3, width):
        cache(row)
    return config, torch.randn(width), cache

def ref_kernel(data):
    config, x, cache = data
    return cache(x @ config.weight).sum(0), cache.rows

def check_implementation(data, output):
    expected = ref_kernel(data)
    return "" if all(torch.equal(*pair) for pair in zip(output, expected)) else "differs"
"""
OWN = """
def custom_kernel(data):
    config, x, cache = data
    assert type(cache).__module__ == "reference" and cache.filled == 3, cache.filled
    cache.rows[cache.filled] = x @ config.weight
    cache.filled += 1
    return cache.rows[: cache.filled].sum(0), cache.rows
"""
IMPORTED = "from reference import Config, ref_kernel\ndef custom_kernel(data):\n    return ref_kernel(data)\n"
WRONG = "def custom_kernel(data):\n    return data[1].clone(), data[2].rows\n"


@pytest.mark.parametrize("queued", [True, False], ids=["queued", "ordered"])
@pytest.mark.parametrize(("source", "is_right"), [(OWN, True), (IMPORTED, True), (WRONG, False)])
def test_every_call_has_the_cache_as_it_was_made(tmp_path: Path, source: str, is_right: bool, queued: bool) -> None:
    (tmp_path / "oracle").mkdir()
    way: dict[str, Any] = {"memory": TwoDevices(moves=False)} if queued else {}
    with oracle_of(REFERENCE, tmp_path / "oracle") as oracle, tenant_of(tmp_path / "tenant", **way) as tenant:
        files = files_beside(source, {"reference.py": REFERENCE, "eval.py": "1 / 0"})
        tenant.load({**files, "submission.py": source}, "submission.py", "custom_kernel", "function", LIMIT_S)
        for seed in (1, 2, 2):
            given = oracle.make({"width": 4}, seed)
            output = output_of(tenant, given)
            assert agrees(given, output) == is_right
            assert oracle.check(given.number, given.layout, output)[0] == is_right


def test_a_reference_goes_along_only_where_it_is_needed() -> None:
    plain = {"reference.py": "def ref_kernel(data): ...", "task.py": "", "eval.py": ""}
    assert files_beside("import torch", plain).keys() == {"task.py"}
    assert files_beside("# the reference: from reference import x", plain).keys() == {"task.py"}
    for source in ("from reference import ref_kernel", "def f():\n    import reference as r"):
        assert files_beside(source, plain).keys() == {"task.py", "reference.py"}


@pytest.mark.parametrize(
    "defines",
    [
        "class Config:\n    x: int",
        "try:\n    class Config:\n        x: int\nfinally:\n    pass",
        'Config = namedtuple("Config", "x")',
        'Config = typing.NamedTuple("Config", [("x", int)])',
        'Config = dataclasses.make_dataclass("Config", ["x"])',
        'Config = type("Config", (), {})',
    ],
)
def test_a_reference_goes_along_where_it_defines_classes(defines: str) -> None:
    assert files_beside("", {"reference.py": defines, "eval.py": ""}).keys() == {"reference.py"}


@pytest.mark.parametrize("plain", ["# of this class", "isinstance(x, type(y))", "x = x.type(torch.float32, True)"])
def test_a_reference_without_classes_stays_away(plain: str) -> None:
    assert not files_beside("", {"reference.py": plain})


def test_a_baseline_of_its_own_gets_data_of_the_references_classes(tmp_path: Path) -> None:
    (tmp_path / "oracle").mkdir()
    problem = problem_of(REFERENCE, {"width": 4, "seed": 1}, baseline=OWN)
    with oracle_of(REFERENCE, tmp_path / "oracle") as oracle, tenant_of(tmp_path / "tenant") as tenant:
        calls = Calls(problem, oracle, {A: tenant}, Memory())
        Trial(calls, "ranked", profile=CPU, emit=lambda *told: None).load_baseline()
        given = oracle.make({"width": 4}, 1)
        assert agrees(given, output_of(tenant, given))
