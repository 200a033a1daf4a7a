"""A layout from the problem's container is believed only if it fits its regions."""

from typing import Any

import numpy as np
import pytest
import torch

from runner.judge.data.faults import OracleFailed
from runner.judge.data.layout import FLOAT8, Slot, parse_layout, values


def slot(**changes: Any) -> dict[str, Any]:
    whole = {"role": "out", "dtype": "float32", "shape": [4], "stride": [1], "nbytes": 16, "input": -1, "output": 0}
    return whole | changes


def view(**changes: Any) -> dict[str, Any]:
    return {"role": "view", "of": 0, "at": 4, "dtype": "float32", "shape": [3], "stride": [1]} | changes


def layout(*slots: dict[str, Any], input_bytes: int = 0, output_bytes: int = 256) -> dict[str, Any]:
    return {"slots": list(slots), "input_bytes": input_bytes, "output_bytes": output_bytes}


def test_a_good_one_is_taken() -> None:
    found = parse_layout(layout(slot()), 4096, 4096)
    assert found.outputs[0].shape == (4,)


@pytest.mark.parametrize(
    "bad",
    [
        layout(slot(output=250)),
        layout(slot(output=-5)),
        layout(slot(nbytes=1 << 40)),
        layout(slot(nbytes=15)),
        layout(slot(dtype="object")),
        layout(slot(stride=[2])),
        layout(slot(stride=[0])),
        layout(slot(shape=[2, 2], stride=[1, 1])),
        layout(slot(), view(at=8)),
        layout(slot(), view(at=-4)),
        layout(slot(), view(at=2, shape=[1])),
        layout(slot(), view(of=1)),
        layout(slot(), view(of=-1)),
        layout(slot(), view(of=True)),
        layout(slot(), view(of=7)),
        layout(slot(), view(at=0.0)),
        layout(slot(), view(shape=[2], stride=[3])),
        layout(slot(), view(stride=[-1])),
        layout(view(of=1), slot(), view(of=0)),
        layout(slot(shape=[-4])),
        layout(slot(shape=[2, 2])),
        layout(slot(), output_bytes=1 << 40),
        layout(slot(), input_bytes=-1),
        layout(*[slot()] * 2000),
        layout(slot(shape=[0], nbytes=0)),
        layout(),
        {},
        None,
        [],
        layout({"role": "out"}),
    ],
    ids=lambda bad: str(bad)[:150],
)
def test_a_bad_one_is_the_problems_fault(bad: Any) -> None:
    with pytest.raises(OracleFailed):
        parse_layout(bad, 4096, 4096)


@pytest.mark.parametrize(
    "good",
    [
        view(),
        view(at=16, shape=[0]),
        view(at=0, shape=[1000], stride=[0]),
        view(at=0, shape=[3, 2], stride=[1, 1]),
        view(at=15, dtype="uint8", shape=[1]),
    ],
)
def test_a_view_may_repeat_and_skip_what_it_looks_at_but_has_no_bytes_of_its_own(good: dict[str, Any]) -> None:
    found = parse_layout(layout(slot(), good), 4096, 4096)
    assert found.outputs == found.slots[:1]
    assert found.slots[1].nbytes == 0


@pytest.mark.parametrize("name", FLOAT8)
def test_the_judge_reads_every_pattern_of_eight_bits_as_torch_does(name: str) -> None:
    expected = torch.arange(256).to(torch.uint8).view(getattr(torch, name)).float().numpy()
    assert np.array_equal(FLOAT8[name], expected, equal_nan=True)


def test_the_judge_reads_every_pattern_of_bfloat16_as_the_upper_half_of_a_float32() -> None:
    patterns = np.arange(1 << 16, dtype=np.uint16)
    found = values(Slot("out", "bfloat16", (1 << 16,), (1,), 1 << 17, -1, 0), patterns.view(np.uint8))
    assert np.array_equal(found.view(np.uint32), patterns.astype(np.uint32) << 16)
