"""A message names a pattern that the wrong elements share, and stays silent if they share none."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.spec import Tolerance
from runner.judge.data import compare, hints
from runner.judge.data.compare import Rule
from runner.judge.data.layout import Slot
from tests.runner.judge.held_against import held, judged

Array = np.ndarray[Any, Any]
RULE = Rule(Tolerance(1e-5, 1e-6))


def said(expected: Array, got: Array, *, dtype: str = "") -> str:
    return " ".join(judged(held(expected, dtype=dtype), got, RULE).hints)


def normal(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def broken(expected: Array, where: Any, value: Any = None) -> Array:
    """Copy with noise, or a value, at some places."""
    got = expected.copy()
    got[where] = normal(*got[where].shape, seed=2) * 3 if value is None else value
    return got


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        (np.s_[990:], "They are the last 10 of 1000 elements, from [990] on: a tail that no block covers?"),
        (np.s_[:8], "They are the first 8 of 1000 elements."),
        (np.s_[100:200], "They lie in one piece of 100 elements, from [100] on."),
        (np.s_[500:501], "It is the only wrong one of 1000."),
        (np.s_[1::2], "Every second element is wrong, from [1] on, and no other."),
        (np.s_[5::32], "Every 32nd element is wrong, from [5] on, and no other."),
        (np.s_[:], "Every element is wrong."),
    ],
)
def test_where_in_a_vector(where: Any, sentence: str) -> None:
    expected = normal(1000)
    assert said(expected, broken(expected, where)).startswith(sentence)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        (np.s_[-1], "Only row 39 of 40 is wrong, all of it."),
        (np.s_[-3:], "Only the last 3 of 40 rows are wrong: a tail that no block covers?"),
        (np.s_[:, 48:], "Only the last 2 of 50 columns are wrong: a tail that no block covers?"),
        (np.s_[:, 7], "Only column 7 of 50 is wrong, all of it."),
        (np.s_[4, :30], "Only row 4 of 40 is wrong, not all of it."),
        (np.s_[1::4], "Only every 4th row is wrong, from 1 on."),
        ((np.array([3, 4, 9]),), "Only 3 of 40 rows are wrong, the first is 3."),
    ],
)
def test_where_in_a_matrix(where: Any, sentence: str) -> None:
    expected = normal(40, 50)
    assert said(expected, broken(expected, where)).startswith(sentence)


def test_where_along_an_outer_axis() -> None:
    expected = normal(6, 10, 10)
    assert said(expected, broken(expected, 4)).startswith("Only index of axis 0 4 of 6 is wrong, all of it.")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda e: e * 0, "All wrong elements are 0."),
        (lambda e: e * 0 + 7.5, "All wrong elements are 7.5."),
        (lambda e: e / 2, "All wrong elements are 0.5 times what is expected."),
        (lambda e: -e, "All wrong elements have the wrong sign and nothing else."),
        (lambda e: e - 1, "All wrong elements are off by -1."),
        (lambda e: e.astype(np.float16).astype(np.float32), "looks rounded to float16 or TF32"),
        (lambda e: (e.view(np.uint32) & 0xFFFF0000).view(np.float32), "looks rounded to bfloat16"),
        (lambda e: np.roll(e, 1), "shifted by one place along its last axis, towards the end."),
        (lambda e: np.roll(e, -1), "shifted by one place along its last axis, towards the start."),
        (lambda e: np.where(abs(e) > 2, np.float32(99), e) + 0 * e, "Only elements with |expected| ≥ 2."),
    ],
)
def test_what_the_values_have_in_common(change: Any, sentence: str) -> None:
    expected = normal(2000)
    if "≥" in sentence:
        assert sentence in said(expected, np.where(abs(expected) > 2, normal(2000, seed=3) * 9, expected))
    else:
        assert sentence in said(expected, change(expected).astype(np.float32))


@pytest.mark.parametrize("shape", [(30, 30), (20, 45), (3, 10, 20)])
def test_a_transposed_result_is_named(shape: tuple[int, ...]) -> None:
    expected = normal(*shape)
    got = np.ascontiguousarray(expected.swapaxes(-1, -2)).reshape(shape)
    assert "right but transposed" in said(expected, got)


def test_nans_in_constant_rows_are_named() -> None:
    expected = normal(20, 30)
    expected[[3, 11]] = 0.25
    assert "rows whose expected values are all equal" in said(expected, broken(expected, [3, 11], np.nan))
    assert "all equal" not in said(expected, broken(expected, [3, 12], np.nan))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8"])
def test_a_place_that_was_never_written_is_named(dtype: str) -> None:
    kind = {"bfloat16": "uint16"}.get(dtype, dtype)
    expected = np.random.default_rng(1).integers(1, 100, 1000).astype(np.float32 if dtype == "bfloat16" else kind)
    if dtype == "bfloat16":
        expected = (expected.view(np.uint32) >> 16).astype(np.uint16)
    got = expected.copy()
    poison = np.full(1000, 0x9D3C5A7E12F4B861, np.uint64).view(np.uint8)[: got.nbytes].view(kind)
    got[960:] = poison[960:]
    assert "never written" in said(expected, got, dtype=dtype)
    got[960:] = 3
    assert "never written" not in said(expected, got, dtype=dtype)


def test_a_complex_result_with_its_parts_swapped_has_no_made_up_hint() -> None:
    expected = normal(100) + 1j * normal(100, seed=2)
    assert said(expected, (expected.imag + 1j * expected.real).astype(np.complex64)) == "Every element is wrong."
    assert "0.5 times" in said(expected, expected / 2)


def test_a_permuted_output_is_described_as_its_author_indexes_it() -> None:
    expected = normal(6, 8)  # of a tensor of shape (8, 6) with strides (1, 8)
    slot = Slot("out", "float32", (8, 6), (1, 8), 192, -1, 0)
    got = broken(expected, np.s_[:, 7])
    found = hints.of(
        slot, expected.reshape(-1), got.reshape(-1), (expected != got).reshape(-1), got.reshape(-1).view(np.uint8)
    )
    assert found[0] == "Only row 7 of 8 is wrong, all of it."


def test_noise_has_no_hint_but_its_place() -> None:
    expected = normal(50, 50)
    where = np.random.default_rng(5).random((50, 50)) < 0.5
    assert said(expected, broken(expected, where)) == ""


def test_hints_are_for_public_cases_only() -> None:
    found = judged(held(normal(100)), normal(100) / 2, RULE)
    assert "0.5 times" in compare.explain("n=100", found, 0, 1)
    assert "0.5" not in compare.explain_secret(found)
    assert "0.5 times" not in str(found.to_json(public=False))


@given(st.data())
def test_whatever_comes_hints_are_few_and_plain(data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from([(), (1,), (7,), (4, 6), (2, 3, 4), (1, 1)]))
    values = st.sampled_from([0.0, 1.0, -2.5, np.nan, np.inf, -np.inf, 1e38, 1e-45])
    count = int(np.prod(shape))
    expected, got = (
        np.array(data.draw(st.lists(values, min_size=count, max_size=count)), np.float32).reshape(shape)
        for _ in range(2)
    )
    found = judged(held(expected), got, RULE)
    assert len(found.hints) <= hints.MOST
    assert all(sentence.endswith((".", "?")) for sentence in found.hints)
    assert bool(found.hints) <= (not found.good)
