"""Results of constant data need be computed only once: the admission test reports constant data."""

import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from problems.spec import MODEL
from runner.admission import outputs
from runner.judge.data.memory import Memory
from runner.judge.sides.oracle import Oracle
from tests.runner.admission_here import problem
from tests.runner.judge.oracle_here import oracle_of

KINDS = """
import torch
AGREED = iter([1.0, 1.0, 1.0])
KINDS = {
    "places": lambda size, seed: (torch.arange(size).flip(0),),
    "other places": lambda size, seed: (torch.randperm(size, generator=torch.Generator().manual_seed(seed)),),
    "a view": lambda size, seed: (torch.arange(size)[::2],),  # of 127
    "behind the last word": lambda size, seed: (torch.tensor([0, 0, seed % 1021], dtype=torch.int32),),
    "no whole words": lambda size, seed: (torch.tensor([0, 0, 7], dtype=torch.int32),),
    "whole numbers first": lambda size, seed: (torch.ones(size), torch.arange(size)),
    "many": lambda size, seed: tuple(torch.ones(size) for _ in range(9)),
    "another size": lambda size, seed: (torch.ones(size), torch.ones(2 + seed % 1021)),
    "two of three": lambda size, seed: (torch.full((2,), next(AGREED, 2.0)),),
}
def generate_input(*, kind, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(128, generator=generator), *KINDS[kind](128, seed), torch.zeros(128)
def ref_kernel(data):
    data[-1][...] = torch.exp(data[0])
    return data[-1]
"""
LAYER = """
import torch
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
    def forward(self, x, y):
        return self.linear(x) + y
def get_inputs():
    return [torch.randn(64, 8), torch.ones(8)]
def get_init_inputs():
    return [8]
"""


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    pytest.importorskip("torch")
    with oracle_of(KINDS, tmp_path_factory.mktemp("oracle")) as oracle:
        yield oracle


def told(oracle: Oracle, case: dict[str, Any], **changes: Any) -> list[str]:
    calls: Any = SimpleNamespace(chance=random.Random(1), memory=Memory(), oracle=oracle)
    trial: Any = SimpleNamespace(calls=calls, problem=problem("", **changes))
    return [line.got for line in outputs.fixed([outputs.draw(trial, case)])]


@pytest.mark.parametrize(
    ("kind", "got"),
    [
        ("places", ["the same: int64 [128]"]),
        ("other places", []),
        ("a view", ["the same: int64 [127]"]),
        ("behind the last word", []),
        ("no whole words", ["the same: int32 [3]"]),
        ("whole numbers first", ["the same: int64 [128], float32 [128]"]),
        ("many", ["the same: " + ", ".join(["float32 [128]"] * 4) + ", …"]),
        ("another size", ["the same: float32 [128]"]),
        ("two of three", []),
    ],
)
def test_a_part_of_the_data_that_no_seed_changes_is_told(oracle: Oracle, kind: str, got: list[str]) -> None:
    """Whole numbers come first, since near-duplicates keep them; the result's place is not listed."""
    assert told(oracle, {"kind": kind, "seed": 1}) == got


def test_a_models_weights_are_drawn_anew_for_each_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with oracle_of(LAYER, tmp_path, init_seed=7) as oracle:
        assert told(oracle, {"seed": 1}, interface=MODEL) == ["the same: float32 [8]"]
