"""Comparing: every element counts, non-finite ones first, and the message lets an honest person find the bug."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.tolerance import Tolerance
from runner.judge import compare
from runner.judge.layout import Layout, Slot

TIGHT = Tolerance(rtol=1e-5, atol=1e-6)


def layout_of(shape: tuple[int, ...], dtype: str = "float32", size: int = 4) -> Layout:
    count = int(np.prod(shape))
    stride = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    slot = Slot("out", dtype, shape, stride, count * size, -1, 0)
    return Layout((slot,), 0, count * size, b"")


def figures(expected: Any, got: Any, tolerance: Tolerance | None = TIGHT, dtype: str = "float32") -> compare.Figures:
    left, right = np.ascontiguousarray(expected), np.ascontiguousarray(got)
    layout = layout_of(left.shape, dtype, left.dtype.itemsize)
    (found,) = compare.compare(layout, left.reshape(-1).view(np.uint8), right.reshape(-1).view(np.uint8), tolerance)
    return found


def row(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.float32)


def test_equal_outputs_are_good() -> None:
    found = figures(row(1, 2, 3), row(1, 2, 3))
    assert found.good
    assert found.relative_l2 == 0


def test_one_wrong_element_at_the_tail_is_found() -> None:
    expected = np.zeros((100, 100), np.float32)
    got = expected.copy()
    got[-1, -1] = 1
    found = figures(expected, got)
    assert found.different == 1
    assert found.first == ([99, 99], "0", "1")


@pytest.mark.parametrize(("value", "reason"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "inf")])
def test_a_non_finite_value_is_named(value: float, reason: str) -> None:
    assert figures(row(1, 2), row(1, value)).reason == reason


def test_expected_non_finite_values_must_be_the_same() -> None:
    expected = row(np.nan, np.inf, -np.inf, 1)
    assert figures(expected, expected.copy()).good
    assert figures(expected, row(np.nan, -np.inf, -np.inf, 1)).different == 1
    assert figures(expected, row(0, np.inf, -np.inf, 1)).different == 1


def test_integers_and_booleans_are_compared_exactly() -> None:
    left = np.array([1, 2, 2**40], dtype=np.int64)
    assert figures(left, left.copy(), dtype="int64").good
    assert figures(left, left + np.array([0, 0, 1]), dtype="int64").different == 1


def test_each_part_of_a_complex_number_counts_by_itself() -> None:
    expected = np.array([1 + 2j, complex(np.nan, 1)], dtype=np.complex64)
    assert figures(expected, expected.copy(), dtype="complex64").good
    found = figures(expected, np.array([1 + 2j, complex(np.nan, 77)], dtype=np.complex64), dtype="complex64")
    assert found.different == 1
    assert found.first == ([1], "1", "77")


def test_bfloat16_is_read_by_its_bits() -> None:
    bits = np.array([0x3F80, 0x4000, 0xC000], dtype=np.uint16)  # 1, 2, -2
    assert figures(bits, bits.copy(), None, dtype="bfloat16").good
    found = figures(bits, np.array([0x3F80, 0x4000, 0x4000], dtype=np.uint16), None, dtype="bfloat16")
    assert found.first == ([2], "-2", "2")


def test_the_worst_row_shows_what_the_whole_hides() -> None:
    expected = np.ones((1000, 10), np.float32)
    got = expected.copy()
    got[7] *= 1.5
    found = figures(expected, got, Tolerance(1.0, 1.0))
    assert found.worst_row == pytest.approx(0.5)
    assert found.relative_l2 is not None
    assert found.relative_l2 < 0.02


def test_half_precision_shows_in_the_relative_error() -> None:
    x = np.random.default_rng(1).normal(size=10_000).astype(np.float32)
    assert 1e-5 < (figures(x, x.astype(np.float16).astype(np.float32)).relative_l2 or 0) < 1e-3


def test_a_permuted_output_is_indexed_as_its_author_writes_it() -> None:
    slot = Slot("out", "float32", (2, 3), (1, 2), 24, -1, 0)
    assert [slot.index_of(n) for n in range(6)] == [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2]]


def test_a_public_message_has_case_index_expected_and_got() -> None:
    found = figures(row(1, 2, 3), row(1, 2.5, 9))
    assert compare.explain("n=3", found, 0, 1) == (
        "Case n=3: 2 of 3 elements are wrong. First at [1]: expected 2, got 2.5. Worst at [2]: expected 3, got 9."
    )


def test_a_secret_message_has_no_index_and_no_value() -> None:
    found = figures(row(1.2345, 2, 3), row(7.6543, 2, 3))
    text = compare.explain_secret(found)
    assert "1.2345" not in text
    assert "7.6543" not in text
    assert "33.3 %" in text
    assert "first" not in found.to_json(public=False)


def test_what_is_found_does_not_depend_on_where_a_chunk_ends() -> None:
    expected = np.ones((3, compare.CHUNK - 1), np.float32)
    got = expected.copy()
    got[0, -1] = got[2, 5] = 3
    found = figures(expected, got)
    assert found.different == 2
    assert found.first == ([0, compare.CHUNK - 2], "1", "3")


@given(st.lists(st.floats(width=32), min_size=1, max_size=50), st.data())
def test_it_agrees_with_the_definition_element_by_element(values: list[float], data: st.DataObject) -> None:
    got = [data.draw(st.sampled_from([v, 0.0, np.nan, np.inf, v * 1.000001, v + 1e-7])) for v in values]
    with np.errstate(all="ignore"):
        expected, actual = np.array(values, np.float32), np.array(got, np.float32)
        same = [
            bool(np.isnan(a) and np.isnan(e))
            or a == e
            or bool(np.isfinite(e) and abs(a - e) <= np.float32(TIGHT.rtol) * abs(e) + np.float32(TIGHT.atol))
            for e, a in zip(expected, actual, strict=True)
        ]
    assert figures(expected, actual).different == same.count(False)
