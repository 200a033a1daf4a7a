"""A KernelBench file in the oracle: its Model's weights and state are data, and only inputs vary between calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.judge.faults import OracleFailed
from runner.judge.layout import values
from runner.judge.oracle import Oracle
from tests.runner.judge.oracle_here import oracle_of

NORMED = """
import torch
import torch.nn as nn

features = 7

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 5)
        self.norm = nn.BatchNorm1d(5)

    def forward(self, x):
        return self.norm(self.linear(x))

def get_inputs():
    return [torch.rand(64, features)]

def get_init_inputs():
    return [features]
"""
DROPPED = NORMED.replace("self.norm = nn.BatchNorm1d(5)", "self.norm = nn.Dropout(0.5)")


@pytest.fixture(scope="module")
def normed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(NORMED, tmp_path_factory.mktemp("oracle"), init_seed=11) as oracle:
        yield oracle


def test_weights_are_the_same_and_inputs_fresh_in_every_call(normed: Oracle) -> None:
    first, second = normed.make({}, 1), normed.make({}, 2)
    state, inputs = _inputs(first, "state"), _inputs(first, "inputs")
    assert all(np.array_equal(one, other) for one, other in zip(state, _inputs(second, "state"), strict=True))
    assert not np.array_equal(inputs[0], _inputs(second, "inputs")[0])


def test_state_that_a_call_changes_is_an_output(normed: Oracle) -> None:
    given = normed.make({}, 1)
    changed = [slot for slot in given.layout.slots if slot.role == "inout"]
    assert {slot.dtype for slot in changed} == {"float32", "int64"}  # running statistics, and the count of calls
    count = next(slot for slot in changed if slot.dtype == "int64")
    assert values(count, given.expected)[0] == 1, "the next call starts from the constructed state again"


def test_a_near_duplicate_keeps_the_weights(normed: Oracle) -> None:
    given, near = normed.make({}, 3), normed.make({}, 3, near=4)
    assert near.near
    assert all(
        np.array_equal(one, other) for one, other in zip(_inputs(given, "state"), _inputs(near, "state"), strict=True)
    )
    assert not np.array_equal(_inputs(given, "inputs")[0], _inputs(near, "inputs")[0])


def test_it_runs_in_double_precision(normed: Oracle) -> None:
    assert normed.make({}, 5, fp64="values").why_not64 == ""


def test_another_seed_draws_other_weights(normed: Oracle, tmp_path: Path) -> None:
    with oracle_of(NORMED, tmp_path, init_seed=12) as other:
        pairs = zip(_inputs(normed.make({}, 1), "state"), _inputs(other.make({}, 1), "state"), strict=True)
        assert any(not np.array_equal(one, two) for one, two in pairs)


def test_a_forward_that_draws_random_numbers_is_named(tmp_path: Path) -> None:
    with oracle_of(DROPPED, tmp_path, init_seed=1) as oracle, pytest.raises(OracleFailed, match="random numbers"):
        oracle.make({}, 1)


def _inputs(given: Any, part: str) -> list[Any]:
    """The bytes of the tensors below `part` of the data."""
    nodes = dict(json.loads(given.layout.text)["data"]["of"])[part]["of"]
    slots = [given.layout.slots[(node[1] if isinstance(node, list) else node)["slot"]] for node in nodes]
    return [given.inputs[slot.input : slot.input + slot.nbytes] for slot in slots]
