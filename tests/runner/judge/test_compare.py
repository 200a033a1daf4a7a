"""Comparing: every element counts, non-finite elements come first, and the message helps an honest person find the
bug."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from problems.spec import Precision, Tolerance
from runner.evidence.recorder import Recorder
from runner.evidence.sample import Sample
from runner.evidence.schedule import CPU
from runner.judge.calls import Calls
from runner.judge.data import compare
from runner.judge.data.call import Call, Input
from runner.judge.data.compare import HOST, Rule
from runner.judge.data.device_arrays import TensorArrays
from runner.judge.data.layout import Layout, Slot
from runner.judge.data.memory import Memory
from tests.runner.judge.held_against import agree, by_tolerance, held, judged, tensors
from tests.runner.judge.oracle_here import problem_of

TIGHT = Tolerance(rtol=1e-5, atol=1e-6)


def figures(expected: Any, got: Any, tolerance: Tolerance = TIGHT, dtype: str = "") -> compare.Figures:
    return judged(held(np.asarray(expected), dtype=dtype), np.asarray(got), Rule(tolerance))


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
    assert figures(left, left.copy()).good
    assert figures(left, left + np.array([0, 0, 1])).different == 1


def test_large_unsigned_integers_are_shown_as_they_are() -> None:
    found = figures(np.array([7, 2**64 - 1], np.uint64), np.array([7, 2**63], np.uint64))
    assert found.first == ([1], str(2**64 - 1), str(2**63))


def test_each_part_of_a_complex_number_counts_by_itself() -> None:
    expected = np.array([1 + 2j, complex(np.nan, 1)], dtype=np.complex64)
    assert figures(expected, expected.copy()).good
    found = figures(expected, np.array([1 + 2j, complex(np.nan, 77)], dtype=np.complex64))
    assert found.different == 1
    assert found.first == ([1], "1", "77")


def test_bfloat16_is_read_by_its_bits() -> None:
    bits = np.array([0x3F80, 0x4000, 0xC000], dtype=np.uint16)  # 1, 2, -2
    assert figures(bits, bits.copy(), dtype="bfloat16").good
    found = figures(bits, np.array([0x3F80, 0x4000, 0x4000], dtype=np.uint16), dtype="bfloat16")
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
    assert not {"first", "worst", "hints"} & set(found.to_json(public=False))


def test_what_is_found_does_not_depend_on_where_a_chunk_ends() -> None:
    expected = np.ones((3, HOST.chunk - 1), np.float32)
    got = expected.copy()
    got[0, -1] = got[2, 5] = 3
    found = figures(expected, got)
    assert found.disputed == 0
    assert found.different == 2
    assert found.first == ([0, HOST.chunk - 2], "1", "3")


class Pieces(TensorArrays):
    """Arrays that remember the most elements that were made double at once."""

    def __init__(self, chunk: int) -> None:
        super().__init__(chunk)
        self.most = 0

    def double(self, array: Any) -> Any:
        self.most = max(self.most, array.numel())
        return super().double(array)


@pytest.mark.parametrize("shape", [(10_500,), (3, 1_001), (2, 7, 1_999), (5, 1_000), (11, 300)])
@pytest.mark.parametrize("wrong", [0.0, 0.5, np.nan], ids=["near", "wrong", "no number"])
def test_a_row_longer_than_a_chunk_is_compared_in_pieces(shape: tuple[int, ...], wrong: float) -> None:
    """Regression: an output of one row of 2**28 elements took some twenty doubles of each on a device at once."""
    truth = np.random.default_rng(7).normal(size=shape)
    expected = truth.astype(np.float32)
    got = expected * np.float32(1 + 1e-7)
    got.reshape(-1)[-3] += np.float32(wrong)
    outputs, region = tensors(held(expected, truth=truth)), torch.from_numpy(got.reshape(-1).view(np.uint8))
    pieces = Pieces(1_000)
    (found,) = compare.compare(outputs, region, Rule(TIGHT), pieces)
    (whole,) = compare.compare(outputs, region, Rule(TIGHT), Pieces(1 << 20))
    agree(found, whole)
    assert 0 < pieces.most <= pieces.chunk
    assert found.good == (wrong == 0)


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


def test_the_largest_error_is_told_as_a_share_of_what_is_allowed() -> None:
    assert figures(row(1, 2, 3), row(1, 2.5, 3), Tolerance(0.0, 1.0)).worst_share == 0.5


def test_relative_l2_is_held_against_double_precision_where_it_exists() -> None:
    truth = np.full(1000, 1 / 3)
    found = judged(held(truth.astype(np.float32), truth=truth), truth.astype(np.float32), Rule(TIGHT))
    assert found.basis == "fp64"
    assert found.relative_l2 == pytest.approx(abs(float(np.float32(1 / 3)) * 3 - 1), rel=1e-6)


def test_one_infinity_among_the_expected_hides_no_error() -> None:
    expected, got = np.ones((10, 10), np.float32), np.ones((10, 10), np.float32)
    expected[0, 0] = got[0, 0] = np.inf
    got[1:] *= 1.25
    found = figures(expected, got, Tolerance(1.0, 0.0))
    assert found.good
    assert found.relative_l2 == pytest.approx(0.25 * (90 / 99) ** 0.5)


@pytest.mark.parametrize("size", [1e30, 1e-15, 1e-30])
def test_values_whose_squares_leave_the_range_keep_their_relative_error(size: float) -> None:
    expected = np.full((10, 10), size, np.float32)
    assert figures(expected, expected * np.float32(1.5), Tolerance(1.0, 0.0)).relative_l2 == pytest.approx(0.5)


def test_a_declared_limit_of_relative_l2_is_enforced() -> None:
    x = np.random.default_rng(1).normal(size=(100, 100)).astype(np.float32)
    half = x.astype(np.float16).astype(np.float32)
    loose, strict = by_tolerance(1e-3, 1e-6, max_relative_l2=1e-3), by_tolerance(1e-3, 1e-6, max_relative_l2=1e-5)
    assert judged(held(x), half, loose).good
    found = judged(held(x), half, strict)
    assert (found.reason, found.different) == ("precision", 0)
    assert "less precise" in compare.explain("n=1", found, 0, 1)
    assert "rounded to float16 or TF32" in compare.explain("n=1", found, 0, 1)
    assert "rounded" not in compare.explain_secret(found)


def test_what_cancels_to_nothing_may_be_as_far_off_as_the_reference_is() -> None:
    truth = np.random.default_rng(1).normal(size=50) * 1e-17
    noise = (np.random.default_rng(2).normal(size=50) * 1e-9).astype(np.float32)
    rule = by_tolerance(1e-4, 1e-4, max_relative_l2=1e-3)
    found = judged(held(noise, truth=truth), -noise, rule)
    assert found.good
    assert found.references_own
    assert not compare.precision_findings("n=1", held(noise, truth=truth).layout, [found], rule)
    assert judged(held(noise, truth=truth), 8 * noise, rule).reason == "precision"


@pytest.mark.parametrize("seed", range(40))
def test_whoever_is_just_as_far_off_as_is_allowed_is_not_refused_for_being_stored(seed: int) -> None:
    """The number is four times the reference's error, as in the admission test, rounded to the output's format."""
    chance = np.random.default_rng(seed)
    truth = chance.normal(size=1)
    expected = (truth * (1 + 1e-5 * (1 + chance.random()))).astype(np.float32)
    four_times = (truth + 4 * (expected.astype(np.float64) - truth)).astype(np.float32)
    rule = by_tolerance(1e-3, 1e-3, max_relative_l2=1e-9)
    assert judged(held(expected, truth=truth), four_times, rule).good
    five_times = (truth + 5 * (expected.astype(np.float64) - truth)).astype(np.float32)
    assert judged(held(expected, truth=truth), five_times, rule).reason == "precision"


def test_where_the_reference_is_off_by_being_stored_that_is_not_allowed_once_more() -> None:
    """Half a unit of a coarse format is much: the limit grows by no more than the same error in quadrature."""
    truth = np.random.default_rng(3).normal(size=(100, 100))
    stored = truth.astype(np.float16)
    own = float(np.linalg.norm(stored.astype(np.float64) - truth) / np.linalg.norm(truth))
    found = judged(held(stored, truth=truth), stored, by_tolerance(1e-2, 1e-2, max_relative_l2=1e-9))
    assert found.good
    assert found.limit_l2 == pytest.approx(4.125 * own, rel=1e-3)
    four_times = (truth + 4 * (stored.astype(np.float64) - truth)).astype(np.float16)
    assert judged(held(stored, truth=truth), four_times, by_tolerance(1e-2, 1e-2, max_relative_l2=1e-9)).good


def test_a_limit_that_the_reference_keeps_well_is_the_declared_one() -> None:
    truth = np.random.default_rng(1).normal(size=(100, 100))
    single = truth.astype(np.float32)
    found = judged(held(single, truth=truth), single, by_tolerance(1e-3, 1e-6, max_relative_l2=1e-5))
    assert (found.limit_l2, found.references_own) == (1e-5, False)


def test_with_a_check_of_its_own_a_problem_decides_but_for_its_declared_precision() -> None:
    x = np.random.default_rng(1).normal(size=100).astype(np.float32)
    assert judged(held(x), x + 1, Rule(own_check=True)).good
    found = judged(held(x), x + 1, Rule(precision=Precision(("fp32",), 1e-5), own_check=True))
    assert found.reason == "precision"


def test_nans_that_a_check_overlooks_are_less_precise_than_they_must_be() -> None:
    rule = Rule(precision=Precision(legal=("fp32",), max_relative_l2=1e-4), own_check=True)
    found = judged(held(row(1, 2)), row(np.nan, np.nan), rule)
    assert found.reason == "precision"
    for said in (compare.explain("n=2", found, 0, 1), compare.explain_secret(found)):
        assert "relative L2 error not finite, at most 0.0001" in said


def test_an_element_on_which_reference_and_double_precision_disagree_may_be_either() -> None:
    truth = np.arange(1.0, 101)
    expected = truth.astype(np.float32)
    expected[7] = 9  # rounded the opposite way
    either, neither = expected.copy(), expected.copy()
    either[7], neither[7] = 8, 8.5
    given = held(expected, truth=truth, spread=0.0, terms=1)
    assert judged(given, expected).disputed == 1
    assert judged(given, expected).good
    assert judged(given, either).good
    assert judged(given, neither).different == 1


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_float8_is_compared_by_value(dtype: str) -> None:
    import torch

    bits = np.arange(256, dtype=np.uint8)
    ours = HOST.values(Slot("out", dtype, (256,), (1,), 256, -1, 0), bits)
    theirs = torch.from_numpy(bits).view(getattr(torch, dtype)).float().numpy()
    assert np.array_equal(ours, theirs, equal_nan=True)
    zeros = np.array([0x00, 0x80], np.uint8)
    assert judged(held(zeros, dtype=dtype), zeros[::-1].copy(), Rule(TIGHT)).good


def test_right_outputs_of_a_cheaper_format_are_a_finding_and_no_more() -> None:
    x = np.random.default_rng(1).normal(size=(100, 100)).astype(np.float32)
    rule, given = Rule(Tolerance(1e-2, 1e-2), Precision(("fp32",))), held(x, truth=x)
    honest, half = x * np.float32(1 + 1e-6), x.astype(np.float16).astype(np.float32)
    assert compare.precision_findings("n=1", given.layout, [judged(given, honest, rule)], rule) == []
    (finding,) = compare.precision_findings("n=1", given.layout, [judged(given, half, rule)], rule)
    assert finding.rule == "cheaper_precision"
    assert "tf32/fp16" in finding.sentence
    allowed = Rule(Tolerance(1e-2, 1e-2), Precision(("fp16",)))
    assert compare.precision_findings("n=1", given.layout, [judged(given, half, allowed)], allowed) == []


def test_a_case_has_one_finding_of_a_cheaper_format_which_is_its_worst_outputs() -> None:
    """Problems have up to 256 outputs, and a report has room for 1,024 findings."""
    slots = [Slot("out", "float32", (64,), (1,), 256, -1, 256 * number) for number in range(3)]
    truth = np.random.default_rng(1).normal(size=(3, 64)).astype(np.float32)
    expected, doubles = truth.reshape(-1).view(np.uint8), truth.astype(np.float64).reshape(-1).view(np.uint8)
    output = truth * np.array([[1 + 2e-3], [1 + 6e-3], [1 + 3e-3]], np.float32)
    given = Input(1, "n=64", 7, Layout(tuple(slots), 0, 768, b""), expected[:0], expected, expected64=doubles)
    case: dict[str, Any] = {"n": 64, "seed": 7}
    looser = {"tolerance": {"rtol": 0.01, "atol": 0.0}, "precision": {"legal": ["fp32"]}}
    problem, oracle = problem_of("", case, **looser), SimpleNamespace(checks=False)
    recorder = Recorder()
    recorder.begin(mode="test", ranking_by="last", profile=CPU)
    calls = Calls(problem, oracle, {}, Memory(), recorder=recorder)  # type: ignore[arg-type]
    made = Call(Sample(1, 0, 0, 0, 0, 0, 0), inputs_kept=True, late=False)
    for _ in range(2):
        assert calls.judge_output(given, made, output.reshape(-1).view(np.uint8), public=True).good
    (finding,) = recorder.evidence.findings
    assert (finding.rule, finding.case) == ("cheaper_precision", "n=64")
    assert finding.figures["relative_l2"] == pytest.approx(6e-3, rel=0.01)


def test_the_oracle_is_asked_for_what_the_rule_needs() -> None:
    assert (Rule().fp64(timed=True), Rule().fp64(timed=False)) == ("condition", "spread")
    for rule in (Rule(TIGHT), Rule(own_check=True)):
        assert (rule.fp64(timed=True), rule.fp64(timed=False)) == ("", "values")
