"""A layout from the problem's container is believed only where it fits its regions."""

from __future__ import annotations

from typing import Any

import pytest

from runner.judge.faults import OracleFailed
from runner.judge.layout import parse_layout


def slot(**changes: Any) -> dict[str, Any]:
    whole = {"role": "out", "dtype": "float32", "shape": [4], "stride": [1], "nbytes": 16, "input": -1, "output": 0}
    return whole | changes


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
        layout(slot(shape=[-4])),
        layout(slot(shape=[2, 2])),
        layout(slot(), output_bytes=1 << 40),
        layout(slot(), input_bytes=-1),
        layout(*[slot()] * 300),
        layout(slot(shape=[0], nbytes=0)),
        layout(),
        {},
        None,
        [],
        layout({"role": "out"}),
    ],
    ids=str,
)
def test_a_bad_one_is_the_problems_fault(bad: Any) -> None:
    with pytest.raises(OracleFailed):
        parse_layout(bad, 4096, 4096)
