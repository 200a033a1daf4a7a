"""A KernelBench file in the oracle: its Model's weights and state are data, and only inputs vary between calls."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.judge.data.faults import OracleFailed
from runner.judge.data.layout import values
from runner.judge.sides.oracle import Oracle
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


def test_loaded_again_it_constructs_the_model_of_the_next_run(tmp_path: Path) -> None:
    """The next job of a judge that stays finds torch and the reference imported, and nothing else of the last."""
    folders = tmp_path / "kept", tmp_path / "fresh"
    for folder in folders:
        folder.mkdir()
    with oracle_of(NORMED, folders[0], init_seed=11) as kept:
        before = kept.make({}, 1, fp64="spread")
        kept.load({"reference.py": NORMED}, 12)
        after = kept.make({}, 1, fp64="spread")
        with oracle_of(NORMED, folders[1], init_seed=12) as fresh:
            given = fresh.make({}, 1, fp64="spread")
        assert after.layout.text == given.layout.text
        for name in ("inputs", "expected", "expected64"):
            assert np.array_equal(getattr(after, name), getattr(given, name)), name
        assert not np.array_equal(before.expected, after.expected)


def test_a_forward_that_draws_random_numbers_is_named(tmp_path: Path) -> None:
    with oracle_of(DROPPED, tmp_path, init_seed=1) as oracle, pytest.raises(OracleFailed, match="random numbers"):
        oracle.make({}, 1)


RECURRENT = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.randn(4, 8)
        self.line = nn.Linear(16, 8)

    def forward(self, x, start=None):
        if start is not None:
            self.hidden.copy_(start)
        self.hidden = torch.tanh(self.line(torch.cat((x, self.hidden), 1)))
        return self.hidden * 2

def get_inputs():
    return [torch.rand(4, 8)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("inputs", ["[torch.rand(4, 8)]", "[torch.rand(4, 8), torch.rand(4, 8)]"])
def test_a_hidden_state_in_an_attribute_starts_afresh(tmp_path: Path, inputs: str) -> None:
    """This holds in double precision, too, and right after it: the reference keeps a result there."""
    with oracle_of(RECURRENT.replace("[torch.rand(4, 8)]", inputs), tmp_path, init_seed=1) as oracle:
        first, wide, again = oracle.make({}, 1), oracle.make({}, 2, fp64="values"), oracle.make({}, 1)
        assert wide.why_not64 == ""
        slot = next(iter(first.layout.outputs))
        assert np.array_equal(values(slot, first.expected), values(slot, again.expected))


def test_a_start_that_the_result_forgets_may_be_drawn(tmp_path: Path) -> None:
    source = RECURRENT.replace("is not None", "is None").replace(
        "self.hidden.copy_(start)", "start = torch.rand(4, 8); self.hidden = self.hidden + 0 * start"
    )
    with oracle_of(source, tmp_path, init_seed=1) as oracle:
        oracle.make({}, 1)


def test_what_else_is_kept_between_calls_is_named(tmp_path: Path) -> None:
    counting = RECURRENT.replace(
        "return self.hidden * 2", "self.calls = getattr(self, 'calls', 0) + 1; return x * self.calls"
    )
    with (
        oracle_of(counting, tmp_path, init_seed=1) as oracle,
        pytest.raises(OracleFailed, match="from one call to the"),
    ):
        oracle.make({}, 1)


def test_a_buffer_that_gets_another_shape_is_named(tmp_path: Path) -> None:
    growing = RECURRENT.replace("self.hidden = torch.randn(4, 8)", "self.register_buffer('hidden', torch.zeros(1, 8))")
    growing = growing.replace("self.hidden), 1)", "self.hidden.expand(4, 8)), 1)")
    with oracle_of(growing, tmp_path, init_seed=1) as oracle, pytest.raises(OracleFailed, match="its buffer hidden"):
        oracle.make({}, 1)


def test_a_model_may_have_a_thousand_parameters(tmp_path: Path) -> None:
    line = "self.line = nn.Linear(16, 8)"
    rest = "self.a_name_of_some_length = nn.ModuleList([nn.Linear(1, 1) for _ in range(500)])"
    with oracle_of(RECURRENT.replace(line, f"{line}; {rest}"), tmp_path, init_seed=1) as oracle:
        assert len(oracle.make({}, 1).layout.outputs) == 1


def test_inputs_may_lie_in_lists(tmp_path: Path) -> None:
    several = RECURRENT.replace(
        "return [torch.rand(4, 8)]", "return [[torch.rand(4, 8), torch.rand(4, 8)], {'scale': 2.0}]"
    )
    source = several.replace(
        "def forward(self, x, start=None):", "def forward(self, parts, told):\n        x, start = parts"
    )
    with oracle_of(source, tmp_path, init_seed=1) as oracle:
        assert len(oracle.make({}, 1).layout.outputs) == 1


def _inputs(given: Any, part: str) -> list[Any]:
    """Bytes of the tensors below `part` of the data."""
    nodes = dict(json.loads(given.layout.text)["data"]["of"])[part]["of"]
    slots = [given.layout.slots[(node[1] if isinstance(node, list) else node)["slot"]] for node in nodes]
    return [given.inputs[slot.input : slot.input + slot.nbytes] for slot in slots]


SLOW = "import time\n" + NORMED.replace("        super", "        time.sleep(0.2)\n        super")


def test_the_time_of_a_construction_and_of_a_first_call_is_reported(tmp_path: Path) -> None:
    slow = SLOW.replace("    def forward(self, x):\n", "    def forward(self, x):\n        time.sleep(0.1)\n")
    with oracle_of(slow, tmp_path, init_seed=11) as oracle:
        assert 0.2 <= oracle.constructed_s < 5
        first, second = oracle.make({}, 1), oracle.make({}, 2)
        assert 0.1 <= first.reference_s < 5
        assert second.reference_s == first.reference_s, "of the first call alone"
