"""The error model: any honest order of a sum passes, at any length; zeros, guesses and cheaper formats do not."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from problems.spec import Precision
from runner.judge.data import compare, error_model
from runner.judge.data.compare import Rule
from tests.runner.judge.held_against import MODEL, Held, held, judged

Array = np.ndarray[Any, Any]
LENGTHS = (10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)
NUMBERS = 2_000_000  # numbers drawn per test, unless a single sum needs more


def rows_of(length: int) -> int:
    return max(min(200, NUMBERS // length), 1)


def drawn_data(kind: str, length: int, seed: int) -> Array:
    chance, shape = np.random.default_rng(seed), (rows_of(length), length)
    if kind == "normal":
        return chance.standard_normal(shape)
    if kind == "uniform":
        return chance.random(shape)
    if kind == "octaves":
        return np.ldexp(chance.standard_normal(shape), chance.integers(-12, 13, shape))
    if kind == "rows":  # each row of a different size
        return np.ldexp(chance.standard_normal(shape), chance.integers(-20, 20, (shape[0], 1)))
    raise AssertionError(kind)


def one_by_one(x: Array) -> Array:
    return np.cumsum(x, axis=1, dtype=x.dtype)[:, -1]


def in_lanes(x: Array, lanes: int = 256) -> Array:
    padded = np.pad(x, ((0, 0), (0, -x.shape[1] % lanes))).reshape(x.shape[0], -1, lanes)
    return one_by_one(np.cumsum(padded, axis=1, dtype=x.dtype)[:, -1])


def shuffled(x: Array) -> Array:
    return one_by_one(x[:, np.random.default_rng(5).permutation(x.shape[1])])


ORDERS: dict[str, Callable[[Array], Array]] = {
    "one by one": one_by_one,
    "backwards": lambda x: one_by_one(x[:, ::-1]),
    "shuffled": shuffled,
    "in lanes": in_lanes,
    "pairwise": lambda x: x.sum(axis=1, dtype=x.dtype),
}


def sums(x: Array, *, dtype: str = "") -> Held:
    """Compare the row sums of x with their true values, with the spread of a sum."""
    wide = x.astype(np.complex128 if np.iscomplexobj(x) else np.longdouble)
    truth = wide.sum(axis=1)
    parts = wide.view(np.float64).reshape(*x.shape, 2) if np.iscomplexobj(x) else wide[..., None]
    spread = np.sqrt(np.square(parts.astype(np.float64)).sum(axis=1)).reshape(-1)
    return held(stored(truth, dtype or x.dtype.name), dtype=dtype, truth=truth, spread=spread, inputs=(x.shape,))


def stored(values: Array, dtype: str) -> Array:
    if dtype == "bfloat16":
        return bits(rounded(values, 8))
    return values.astype(dtype)


def bits(values: Array) -> Array:
    """Bits of bfloat16 numbers."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def rounded(x: Array, digits: int) -> Array:
    """Round to this many significant bits, to nearest."""
    fraction, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(np.round(np.ldexp(fraction, digits)), exponent - digits)


def cut(x: Array, digits: int) -> Array:
    fraction, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(np.trunc(np.ldexp(fraction, digits)), exponent - digits)


# -- honest ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", ["normal", "uniform", "octaves", "rows"])
def test_every_order_of_a_float32_sum_passes(kind: str, length: int) -> None:
    """The exception is a single running total of ten million."""
    x = drawn_data(kind, length, seed=length).astype(np.float32)
    given = sums(x)
    for name, order in ORDERS.items():
        if length > 1_000_000 and name not in ("in lanes", "pairwise"):
            continue
        found = judged(given, order(x))
        assert found.good, (name, found)
        assert found.worst_share is not None
        assert found.worst_share < 0.5, name


@pytest.mark.parametrize("length", LENGTHS)
def test_equal_numbers_pass_in_lanes_and_in_pairs(length: int) -> None:
    """The number of lanes fits a sum of that length: errors of equal sign add up."""
    x = np.repeat(np.random.default_rng(1).standard_normal((rows_of(length), 1)), length, axis=1).astype(np.float32)
    lanes = 256 if length <= 1_000_000 else 4096
    for order in (lambda x: in_lanes(x, lanes), ORDERS["pairwise"]):
        assert judged(sums(x), order(x)).good


@pytest.mark.parametrize("length", [1_000_000, 10_000_000, 30_000_000])
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_a_sum_of_every_second_number_does_not_pass_for_the_sum(kind: str, length: int) -> None:
    """Sums of squares, as a loss has them, fail in most draws; with their full number under the root they passed."""
    misses = 0
    for seed in range(8):
        x = np.square(drawn_data(kind, length, seed)).astype(np.float32)[:1]
        misses += not judged(sums(x), 2 * ORDERS["pairwise"](x[:, ::2])).good
    assert misses >= 5


@pytest.mark.parametrize("length", LENGTHS[:-1])
@pytest.mark.parametrize("dtype", ["float64", "complex64", "complex128"])
def test_every_order_of_other_sums_passes(dtype: str, length: int) -> None:
    x = drawn_data("normal", length, seed=2)
    x = (x + 1j * drawn_data("normal", length, seed=3) if dtype.startswith("complex") else x).astype(dtype)
    for name, order in ORDERS.items():
        assert judged(sums(x), order(x)).good, name


@pytest.mark.parametrize("length", LENGTHS[:-1])
@pytest.mark.parametrize(("dtype", "digits"), [("float16", 11), ("bfloat16", 8)])
def test_sixteen_bit_sums_pass_when_they_are_added_in_float32(dtype: str, digits: int, length: int) -> None:
    x = rounded(drawn_data("normal", length, seed=4), digits).astype(np.float32)
    given = sums(x, dtype=dtype)
    for name, order in ORDERS.items():
        assert judged(given, stored(order(x), dtype)).good, name


@settings(max_examples=300, deadline=None)
@drawn(st.integers(0, 2**31), st.sampled_from([1, 3, 17, 129, 1000]), st.sampled_from(["normal", "octaves", "rows"]))
def test_no_seed_makes_an_honest_sum_fail(seed: int, length: int, kind: str) -> None:
    x = drawn_data(kind, length, seed).astype(np.float32)
    assert judged(sums(x), one_by_one(x)).good


# -- not honest --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [100, 1000, 10_000, 100_000])
@pytest.mark.parametrize("digits", [11, 8])
def test_inputs_of_a_cheaper_format_fail(length: int, digits: int) -> None:
    x = drawn_data("normal", length, seed=6).astype(np.float32)
    for narrow in (rounded, cut):
        found = judged(sums(x), narrow(x, digits).sum(axis=1).astype(np.float32))
        assert not found.good
        assert (found.relative_l2 or 0) > 2e-5


@pytest.mark.parametrize("length", [100, 1000, 10_000, 100_000])
def test_cut_inputs_of_one_sign_fail_too(length: int) -> None:
    x = drawn_data("uniform", length, seed=6).astype(np.float32)
    assert not judged(sums(x), cut(x, 11).sum(axis=1).astype(np.float32)).good


@pytest.mark.parametrize("length", [100, 1000, 10_000])
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_adding_up_in_float16_fails_for_float32_and_for_float16(kind: str, length: int) -> None:
    x = (drawn_data(kind, length, seed=7) / 8).astype(np.float16).astype(np.float32)
    in_half = one_by_one(x.astype(np.float16))
    assert not judged(sums(x), in_half.astype(np.float32)).good
    if length >= 1000:
        assert not judged(sums(x, dtype="float16"), in_half).good


def test_float32_fails_for_float64() -> None:
    x = drawn_data("normal", 1000, seed=8)
    assert not judged(sums(x), x.astype(np.float32).sum(axis=1).astype(np.float64)).good


def test_a_narrow_result_of_a_wide_sum_fails() -> None:
    x = drawn_data("uniform", 1000, seed=9).astype(np.float32)
    assert not judged(sums(x), x.sum(axis=1).astype(np.float16).astype(np.float32)).good


def test_a_legal_format_passes_and_the_next_cheaper_one_does_not() -> None:
    x = drawn_data("normal", 100, seed=10).astype(np.float32)
    rule = Rule(precision=Precision(("fp16", "fp32")))
    assert judged(sums(x), rounded(x, 11).sum(axis=1).astype(np.float32), rule).good
    assert not judged(sums(x), rounded(x, 4).sum(axis=1).astype(np.float32), rule).good


GUESSES: dict[str, Callable[[Array], Array]] = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "the mean": lambda e: np.full_like(e, e.mean()),
    "half": lambda e: e / 2,
    "the wrong sign": lambda e: -e,
    "another order": lambda e: np.roll(e, 1),
}


@pytest.mark.parametrize("guess", GUESSES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("length", [1, 1000, 1_000_000])
def test_a_guess_fails_in_every_format(guess: str, dtype: str, length: int) -> None:
    x = drawn_data("normal", min(length, 1000), seed=11)[:2000]
    narrow = np.float32 if dtype == "bfloat16" else np.dtype(dtype)
    truth = x.sum(axis=1)
    spread = math.sqrt(length) * np.abs(truth).mean()
    for given in (
        held(stored(truth, dtype), dtype=dtype, truth=truth, spread=spread, terms=length, inputs=((length,),)),
        held(stored(truth, dtype), dtype=dtype, inputs=((length,),)),
    ):
        assert not judged(given, stored(GUESSES[guess](truth).astype(narrow), dtype)).good


@pytest.mark.parametrize("known", [True, False])
def test_one_wrong_element_in_a_million_fails(known: bool) -> None:
    truth = np.random.default_rng(12).standard_normal(1_000_000)
    given = held(
        truth.astype(np.float32), truth=truth if known else None, spread=1.0 if known else None, inputs=((1000,),)
    )
    got = truth.astype(np.float32)
    assert judged(given, got).good
    got[777_777] += 0.01
    found = judged(given, got)
    assert found.different == 1
    assert found.first is not None
    assert found.first[0] == [777_777]


def test_an_error_everywhere_that_no_element_shows_is_seen_as_a_whole() -> None:
    truth = np.random.default_rng(13).standard_normal(100_000)
    given, rule = held(truth.astype(np.float32), truth=truth, spread=1.0), Rule(reduction=10_000)
    unit = error_model.model("float32", 10_000).share * (np.abs(truth) + 1) / error_model.ELEMENT
    found = judged(
        given, (truth + 2.5 * unit * np.random.default_rng(14).choice([-1, 1], truth.size)).astype("f4"), rule
    )
    assert (found.different, found.reason) == (0, "precision")
    honest = truth + unit * np.random.default_rng(15).standard_normal(truth.size) / 2
    assert judged(given, honest.astype("f4"), rule).good


@drawn(
    st.sampled_from(sorted(name for name in error_model.UNIT if hasattr(np, name))),
    st.integers(1, 1 << 40),
    st.sampled_from([None, Precision(("fp4",)), Precision(("fp16", "fp32")), Precision(("int8",))]),
    st.sampled_from([None, 0.0, 1.0, 1e30, math.inf]),
    st.lists(st.floats(-100, 100, width=16), min_size=1, max_size=20).filter(lambda e: max(map(abs, e)) > 0.1),
)
def test_nothing_makes_zeros_or_halves_right(
    dtype: str, length: int, precision: Precision | None, spread: float | None, values: list[float]
) -> None:
    truth = np.array(values)
    given = held(
        truth.astype(dtype),
        truth=None if spread is None else truth.astype("c16" if dtype.startswith("c") else "f8"),
        spread=spread,
    )
    rule = Rule(precision=precision, reduction=length)
    for wrong in (truth * 0, truth / 2, -truth):
        assert not judged(given, wrong.astype(dtype), rule).good


# -- the model itself --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "output", "terms"),
    [
        ([(1000,)], (), 1000),
        ([(8, 1000)], (8,), 1000),
        ([(64, 128), (128, 32)], (64, 32), 128),
        ([(512, 512), (512, 512)], (512, 512), 512),
        ([(4, 16, 30, 30), (8, 16, 3, 3)], (4, 8, 28, 28), 14_400),
        ([(4, 256, 8, 8), (512, 256, 3, 3)], (4, 512, 8, 8), 2304),
        ([(3, 5)], (3, 5), 5),
        ([], (), 1),
        ([()], (), 1),
    ],
)
def test_shapes_bound_the_terms(inputs: list[tuple[int, ...]], output: tuple[int, ...], terms: int) -> None:
    assert error_model.additions(inputs, output) == terms


def test_what_is_declared_wins_over_what_was_seen_and_what_was_seen_over_shapes() -> None:
    truth = np.full(1000, 1.0)
    shares = [
        judged(held(truth.astype("f4"), truth=truth, spread=0.0, terms=terms, inputs=inputs), off, rule).worst_share
        for off in [(truth + 1e-6).astype("f4")]
        for terms, inputs, rule in (
            (4, ((1000,),), MODEL),
            (0, ((1000,),), MODEL),
            (4, ((1000,),), Rule(reduction=1_000_000)),
        )
    ]
    assert shares == sorted(shares, reverse=True)  # type: ignore[type-var]
    assert len(set(shares)) == 3


def test_more_terms_and_coarser_formats_allow_more() -> None:
    def share(dtype: str, additions: int) -> float:
        return error_model.model(dtype, additions).share

    assert share("float32", 10) < share("float32", 1000) < share("float16", 1000) < share("bfloat16", 1000)
    assert share("float64", 1000) < 1e-12


def test_without_double_precision_twice_as_much_is_allowed() -> None:
    alone, held_against = error_model.model("float32", 100, true_is_computed=True), error_model.model("float32", 100)
    assert alone.share == 2 * held_against.share


def test_the_figures_say_what_the_output_was_held_against() -> None:
    truth = np.array([1.0, 2.0])
    assert judged(held(truth.astype("f4"), truth=truth, spread=0.0), truth.astype("f4")).basis == "fp64"
    assert judged(held(truth.astype("f4")), np.array([1, 2.1], "f4")).basis == "expected"
    assert isinstance(judged(held(truth.astype("f4")), truth.astype("f4")), compare.Figures)


def test_a_reference_that_needs_more_than_a_quarter_gets_four_times_its_need_for_all() -> None:
    truth = np.random.default_rng(16).standard_normal(1000)
    unit = error_model.model("float32", 100).share / error_model.ELEMENT
    close, far = truth.copy(), truth.copy()
    close[3] += unit * abs(truth[3])
    far[3] += 5 * unit * abs(truth[3])
    off = (truth * (1 + 7 * unit * (np.abs(truth) > 2))).astype("f4")
    rule = Rule(reduction=100)
    assert not judged(held(close.astype("f4"), truth=truth, spread=0.0), off, rule).good
    assert judged(held(far.astype("f4"), truth=truth, spread=0.0), off, rule).good


def test_a_reference_that_is_far_off_somewhere_lets_no_cheaper_format_through() -> None:
    x = drawn_data("normal", 1000, seed=17).astype(np.float32)
    spread = np.sqrt(np.square(x.astype(np.float64)).sum(axis=1))
    truth = x.astype(np.longdouble).sum(axis=1)
    expected = truth.astype(np.float32)
    expected[::10] += 1
    given = held(expected, truth=truth, spread=spread, inputs=(x.shape,))
    assert judged(given, truth.astype(np.float32)).good
    assert not judged(given, rounded(x, 11).sum(axis=1).astype(np.float32)).good


@pytest.mark.parametrize("largest", [1e160, 1e170])
def test_a_number_whose_square_no_format_holds_leaves_its_output_to_the_elements(largest: float) -> None:
    """The determinant of a large matrix, for example. Its output was always too imprecise, the reference's own as
    well."""
    x = np.array([largest, 1.0, 2.0, -3.0])
    given = held(x, truth=x, spread=np.abs(x))
    assert judged(given, x).good
    assert judged(given, x * (1 + 2e-16)).good
    assert judged(given, x * np.array([1.0, 1.01, 1.0, 1.0])).reason == "mismatch"
