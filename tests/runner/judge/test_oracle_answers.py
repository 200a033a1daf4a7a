"""Outputs of the problem's container: near-duplicates, truth in double precision, its spread, the reference's time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.judge.data.call import Input
from runner.judge.data.faults import OracleFailed
from runner.judge.sides import oracle as asking
from runner.judge.sides.oracle import Oracle
from tests.runner.judge.oracle_here import oracle_of

SUMS = """
import torch

def generate_input(*, rows, cols, seed, kind="normal"):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, cols, generator=g)
    if kind == "zeros":
        x = torch.zeros_like(x)
    return x, torch.arange(rows), torch.empty(rows)

def ref_kernel(data):
    x, index, out = data
    return torch.sum(x, dim=1, out=out)
"""


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(SUMS, tmp_path_factory.mktemp("sums")) as oracle:
        yield oracle


CASE: dict[str, Any] = {"rows": 5, "cols": 300}


def inputs(given: Input) -> np.ndarray[Any, Any]:
    slot = given.layout.slots[0]
    return np.asarray(given.inputs[slot.input : slot.input + slot.nbytes].view(np.float32)).reshape(slot.shape)


def outputs(given: Input) -> np.ndarray[Any, Any]:
    (slot,) = given.layout.outputs
    return np.asarray(given.expected[slot.output : slot.output + slot.nbytes].view(np.float32))


def wide(given: Input, *, spread: bool = False) -> np.ndarray[Any, Any]:
    places, size = given.layout.wide_places()
    assert given.expected64 is not None
    count = given.layout.outputs[0].nbytes // 4
    start = places[0] + (size if spread else 0)
    return np.asarray(given.expected64[start : start + 8 * count].view(np.float64))


@pytest.mark.parametrize("seed", range(20))
def test_a_near_duplicate_differs_in_one_to_eight_elements(sums: Oracle, seed: int) -> None:
    plain, near = sums.make(CASE, 7), sums.make(CASE, 7, near=seed)
    assert near.near
    assert near.seed == 7
    changed = inputs(plain) != inputs(near)
    assert 1 <= np.count_nonzero(changed) <= 8
    assert np.isin(inputs(near)[changed], inputs(plain)).all()
    assert np.array_equal((outputs(plain) != outputs(near)), changed.any(axis=1))
    assert np.allclose(outputs(near), inputs(near).sum(axis=1), atol=1e-4)


def test_two_near_duplicates_of_one_input_are_not_the_same(sums: Oracle) -> None:
    assert not np.array_equal(inputs(sums.make(CASE, 7, near=1)), inputs(sums.make(CASE, 7, near=2)))


def test_where_nothing_can_be_changed_the_data_is_fresh_and_the_answer_says_so(sums: Oracle) -> None:
    given = sums.make({**CASE, "kind": "zeros"}, 7, near=9)
    assert not given.near
    assert given.seed == 9


def test_integers_alone_are_never_changed(tmp_path: Path) -> None:
    reference = """
import torch
def generate_input(*, n, seed):
    return torch.randint(0, 99, (n,), generator=torch.Generator().manual_seed(seed))
def ref_kernel(x):
    return x * 2.5
"""
    with oracle_of(reference, tmp_path) as oracle:
        near, fresh = oracle.make({"n": 50}, 1, near=2), oracle.make({"n": 50}, 2)
        assert not near.near
        assert np.array_equal(near.inputs, fresh.inputs)


def test_data_that_the_reference_refuses_when_changed_is_fresh_instead(tmp_path: Path) -> None:
    reference = """
import torch
def generate_input(*, n, seed):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed)).sort().values
def ref_kernel(x):
    if not torch.equal(x, x.sort().values):
        raise ValueError("not sorted")
    return x * 2
"""
    with oracle_of(reference, tmp_path) as oracle:
        assert not oracle.make({"n": 1000}, 1, near=2).near


STRUCTURED = """
import torch

def generate_input(*, kind, seed, n=24):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, n, generator=g)
    z = torch.randn(n, n, generator=g, dtype=torch.complex64)
    rules = {
        "triangular": x.triu(),
        "banded": x.triu(-2).tril(2),
        "one hot": torch.eye(n)[torch.randint(n, (n,), generator=g)],
        "mask": torch.where(x > 0, 0.0, float("-inf")),
        "symmetric": x + x.T,
        "symmetric up to rounding": (x + x.T) * (1 + 2.0**-22 * torch.ones(n, n).triu()),
        "symmetric inside": (x[:, :, None] + x[:, None]).permute(1, 2, 0),
        "hermitian": z + z.mH,
        "ascending": x.flatten().sort().values,
        "descending columns": x.sort(0, descending=True).values,
        "signs": x.sign(),
        "nearly equal": (1 + 0.05 * x.clamp(-1, 1)).bfloat16(),
        "an outlier": torch.cat((1e3 + 0 * x[:1], x[1:])).half(),
        "repeated": x[0].expand(n, n),
    }
    plain = torch.randn(n - 1, generator=g).half()
    return rules[kind], plain

def ref_kernel(data):
    return data[1] * 2
"""
SORTED = ["ascending", "descending columns"]
SYMMETRIC = ["symmetric", "symmetric up to rounding", "symmetric inside", "hermitian"]


@pytest.fixture(scope="module")
def structured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(STRUCTURED, tmp_path_factory.mktemp("structured")) as oracle:
        yield oracle


def with_nears(oracle: Oracle, kind: str) -> tuple[list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]]:
    """Tensor of this kind, and the plain tensor: of one input in the first row, of its near-duplicates below."""
    made = [oracle.make({"kind": kind}, 1), *(oracle.make({"kind": kind}, 1, near=seed) for seed in range(5))]
    assert all(one.near for one in made[1:])
    read = sorted((slot for slot in made[0].layout.slots if slot.role == "in"), key=lambda slot: -slot.nbytes)
    first, second = ([one.inputs[at.input : at.input + at.nbytes].view(at.dtype) for one in made] for at in read)
    return first, second


@pytest.mark.parametrize("kind", ["one hot", "mask", *SORTED, *SYMMETRIC])
def test_a_near_duplicate_leaves_a_tensor_with_a_structure(structured: Oracle, kind: str) -> None:
    (given, *nears), (plain, *changed) = with_nears(structured, kind)
    assert all(np.array_equal(given, near) for near in nears)
    assert not any(np.array_equal(plain, near) for near in changed)


@pytest.mark.parametrize("kind", ["triangular", "banded"])
def test_a_near_duplicate_keeps_zeros(structured: Oracle, kind: str) -> None:
    (given, *nears), _ = with_nears(structured, kind)
    assert all(np.array_equal(given == 0, near == 0) for near in nears)
    assert any((given != near).any() for near in nears)


@pytest.mark.parametrize("kind", ["signs", "nearly equal", "an outlier", "repeated"])
def test_a_near_duplicate_changes_a_tensor_without_a_structure(structured: Oracle, kind: str) -> None:
    (given, *nears), _ = with_nears(structured, kind)
    assert any((given != near).any() for near in nears)


def test_data_with_structures_alone_are_fresh(tmp_path: Path) -> None:
    source = STRUCTURED.replace("return rules[kind], plain", "return rules[kind]").replace("data[1]", "data")
    with oracle_of(source, tmp_path) as oracle:
        assert not oracle.make({"kind": "symmetric"}, 1, near=2).near


def test_the_time_of_the_reference_comes_along(sums: Oracle) -> None:
    given = sums.make({"rows": 500, "cols": 4000}, 3)
    assert 10_000 < given.eager_ns < sums.took_ns


def test_nothing_in_double_precision_is_made_unless_it_is_asked_for(sums: Oracle) -> None:
    given = sums.make(CASE, 7)
    assert given.expected64 is None
    assert given.why_not64 == "not asked for"


def test_the_sum_in_double_precision_is_the_sum(sums: Oracle) -> None:
    given = sums.make(CASE, 7, fp64="values")
    assert given.why_not64 == ""
    assert np.allclose(wide(given), inputs(given).astype(np.float64).sum(axis=1), rtol=1e-14, atol=1e-14)


def test_the_spread_of_a_sum_is_the_root_of_its_squares(sums: Oracle) -> None:
    given = sums.make({"rows": 2000, "cols": 300}, 7, fp64="spread")
    exact = np.sqrt(np.square(inputs(given).astype(np.float64)).sum(axis=1))
    ratio = wide(given, spread=True) / exact
    assert 0.9 < np.sqrt(np.mean(np.square(ratio))) < 1.2
    assert 0.1 < ratio.min() < ratio.max() < 5


@pytest.mark.parametrize(("cols", "most"), [(1, 64), (10, 200), (300, 4000), (20_000, 300_000)])
def test_the_terms_behind_an_output_are_counted_from_above(sums: Oracle, cols: int, most: int) -> None:
    (terms,) = sums.make({"rows": 500, "cols": cols}, 7, fp64="spread").terms
    assert cols <= terms <= most


def test_what_one_input_of_a_case_told_is_known_of_the_next(sums: Oracle) -> None:
    case = {"rows": 400, "cols": 70}
    assert sums.make(case, 7).condition == ((0, 0),)
    first, next_one = sums.make(case, 7, fp64="condition"), sums.make({**case, "seed": 5}, 8, fp64="condition")
    assert first.expected64 is not None
    assert next_one.expected64 is None
    assert next_one.terms == first.terms
    assert next_one.condition == first.condition
    ((spread, relative),) = first.condition
    assert 8 < spread < 30  # of sums of 70 numbers around ±1
    assert 0.5 < relative < 3


def test_one_output_element_tells_nothing_of_its_terms(sums: Oracle) -> None:
    assert sums.make({"rows": 1, "cols": 300}, 7, fp64="spread").terms == (0,)


def test_a_reference_that_names_its_own_precision_is_widened_too(tmp_path: Path) -> None:
    reference = """
import torch
def generate_input(*, n, seed):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed)).half()
def ref_kernel(x):
    y = x.to(torch.float32) / torch.tensor(3.0, dtype=torch.float32) + torch.zeros(x.numel())
    return y.float().to(dtype=torch.float16).sum(dtype=torch.float32).view(1)
"""
    with oracle_of(reference, tmp_path) as oracle:
        given = oracle.make({"n": 1000}, 1, fp64="values")
        assert given.why_not64 == ""
        x = given.inputs[:2000].view(np.float16).astype(np.float64)
        assert abs(wide(given)[0] - (x / 3).sum()) < 1e-12


STUBBORN = """
import torch
W = torch.ones(100, 100)
def generate_input(*, how, seed):
    return torch.randn(100, generator=torch.Generator().manual_seed(seed)), how
def ref_kernel(data):
    x, how = data
    if how == "bits":
        return (x.view(torch.int32) & -8192).view(torch.float32)
    if how == "numpy":
        return torch.from_numpy(x.numpy().astype("float32"))
    if how == "shape":
        return x[: x.element_size() * 10].clone()
    if how == "structure":
        return x + 1 if x.dtype == torch.float32 else (x + 1, x + 1)
    return W @ x
"""


@pytest.fixture(scope="module")
def stubborn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(STUBBORN, tmp_path_factory.mktemp("stubborn")) as oracle:
        yield oracle


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("bits", "looks at the bits"),
        ("numpy", "even from float64"),
        ("shape", "shape (80,) in float64, not [40]"),
        ("structure", "structure"),
        ("mixed", "does not run in float64: RuntimeError"),
    ],
)
def test_a_reference_that_cannot_be_widened_says_why(stubborn: Oracle, how: str, reason: str) -> None:
    given = stubborn.make({"how": how}, 1, fp64="spread")
    assert given.expected64 is None
    assert reason in given.why_not64


def test_inputs_that_the_reference_changes_are_outputs_in_double_precision_too(tmp_path: Path) -> None:
    reference = """
import torch
def generate_input(*, n, seed):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed)), torch.ones(3, n).t()
def ref_kernel(data):
    x, state = data
    state /= 3
    return (x * x, state)
"""
    with oracle_of(reference, tmp_path) as oracle:
        given = oracle.make({"n": 100}, 1, fp64="values")
        places, _ = given.layout.wide_places()
        assert given.expected64 is not None
        values = given.expected64.view(np.float64)
        state, squares = values[places[0] // 8 :][:300], values[places[1] // 8 :][:100]
        assert (state == 1 / 3).all()
        x = given.inputs[: 4 * 100].view(np.float32).astype(np.float64)
        assert np.array_equal(squares, x * x)


def test_outputs_that_do_not_fit_are_left_out_with_the_reason(tmp_path: Path) -> None:
    reference = """
import torch
def generate_input(*, n, seed):
    return torch.ones(n)
def ref_kernel(x):
    return x.half()
"""
    with oracle_of(reference, tmp_path, region_bytes=1 << 20) as oracle:
        given = oracle.make({"n": 262_144}, 1, fp64="spread")
        assert given.expected64 is None
        assert "too many" in given.why_not64
        assert oracle.make({"n": 262_144}, 1, fp64="values").expected64 is not None


CHECKED = SUMS + "def check_implementation(data, output):\n    return bool((output == ref_kernel(data)).all()), ''\n"


def test_data_are_kept_for_a_check_until_they_are_released(tmp_path: Path) -> None:
    with oracle_of(CHECKED, tmp_path) as oracle:
        first, second = oracle.make(CASE, 1), oracle.make(CASE, 2)
        right = {given.number: given.expected.copy() for given in (first, second)}
        oracle.release(first)
        assert oracle.check(first.number, first.layout, right[1]) == (True, ""), "still there: nothing was made since"
        oracle.make(CASE, 3)
        assert oracle.check(second.number, second.layout, right[2]) == (True, "")
        with pytest.raises(OracleFailed, match="KeyError"):
            oracle.check(first.number, first.layout, right[1])


SAME = "(output == ref_kernel(data)).all()"


@pytest.mark.parametrize("verdict", [SAME, f"{SAME}[None]", f"{SAME}.numpy()[()]", f"{SAME}.item()", f"({SAME}, '')"])
def test_a_check_may_return_a_bool_of_torch_or_numpy(tmp_path: Path, verdict: str) -> None:
    source = f"{SUMS}def check_implementation(data, output):\n    return {verdict}\n"
    with oracle_of(source, tmp_path) as oracle:
        given = oracle.make(CASE, 1)
        assert oracle.check(given.number, given.layout, given.expected) == (True, "")
        assert not oracle.check(given.number, given.layout, given.expected ^ 1)[0]


def test_a_check_whose_reference_changes_its_data_answers_alike_every_time(tmp_path: Path) -> None:
    source = CHECKED[: CHECKED.index("def ref_kernel")] + (
        "def ref_kernel(data):\n    return data[0].add_(1)\n" + CHECKED[CHECKED.index("def check_implementation") :]
    )
    with oracle_of(source, tmp_path) as oracle:
        given = oracle.make(CASE, 1)
        assert given.layout.slots[0].role == "inout"
        for _ in range(3):
            assert oracle.check(given.number, given.layout, given.expected) == (True, "")


def test_what_was_made_for_a_case_is_used_again_in_it_and_given_back_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "KEPT_BYTES", 100)
    with oracle_of(SUMS, tmp_path) as oracle:
        given_back: list[bool] = []
        monkeypatch.setattr(oracle._memory, "release", lambda: given_back.append(True))
        first = oracle.make(CASE, 1)
        oracle.release(first)
        assert oracle.make(CASE, 2).inputs is first.inputs
        oracle.release(first)
        oracle.make({**CASE, "rows": 6}, 3)
        assert given_back == [True]
        assert oracle.make(CASE, 4).inputs is not first.inputs


ROOTS = """
import torch

def generate_input(*, n, seed):
    rows = torch.randn(n, 2 * n, generator=torch.Generator().manual_seed(seed))
    return rows @ rows.T + n * torch.eye(n)

def ref_kernel(data):
    return torch.linalg.cholesky(data)  # it reads the lower half alone

def check_implementation(data, output):
    return torch.allclose(output @ output.T, data, rtol=1e-3, atol=1e-3), ""
"""


@pytest.mark.parametrize("seed", range(8))
def test_a_near_duplicate_that_the_check_does_not_take_is_a_fresh_one(roots: Oracle, seed: int) -> None:
    given = roots.make({"n": 6}, 5, near=seed)
    assert roots.check(given.number, given.layout, given.expected) == (True, "")


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(ROOTS, tmp_path_factory.mktemp("roots")) as oracle:
        yield oracle


def test_what_a_problem_raises_is_told_first_then_its_own_lines(tmp_path: Path) -> None:
    source = """
import torch
def generate_input(size, seed):
    return torch.ones(deeper(size))
def deeper(size):
    if size < 0:
        raise ValueError("sizes are positive, not %d" % size)
    return size
def ref_kernel(data):
    return data + 1
"""
    with oracle_of(source, tmp_path) as oracle, pytest.raises(OracleFailed) as failed:
        oracle.make({"size": -5}, 7)
    said = str(failed.value)
    assert "ValueError: sizes are positive, not -5" in said.splitlines()[0]
    assert "case {'size': -5}" in said
    assert "reference.py" in said
    assert "in deeper" in said
    assert "problem_code.py" not in said
