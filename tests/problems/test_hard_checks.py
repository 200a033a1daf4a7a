"""The hard set: its check of a factorisation cannot be fooled, and its selections equal those of a stable sort."""

import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from problems.library.bench import load

HARD = Path(__file__).parents[2] / "problems" / "library" / "hard"
MARGIN = 4  # honest rounding stays this many times inside the limits
Matrices = torch.Tensor


@cache
def reference(slug: str) -> dict[str, Any]:
    sys.modules.pop("task", None)  # every problem has its own task module, and other tests leave theirs
    try:
        return load(HARD / slug / "reference.py")
    finally:
        sys.modules.pop("task", None)


def distributions(slug: str) -> list[str]:
    found: list[str] = yaml.safe_load((HARD / slug / "task.yml").read_text())["fuzz"]["distribution"]
    return found


def matrices(distribution: str = "normal", *, batch: int = 5, n: int = 17, seed: int = 3) -> Matrices:
    given: Matrices = reference("qr")["generate_input"](batch=batch, n=n, seed=seed, distribution=distribution)[0]
    return given


def factors(a: Matrices) -> tuple[Matrices, Matrices]:
    q, r = reference("qr")["ref_kernel"]((a, torch.empty_like(a), torch.empty_like(a)))
    return q, r


def verdict(a: Matrices, q: Matrices, r: Matrices) -> str:
    good, message = reference("qr")["check_implementation"]((a, torch.empty(0), torch.empty(0)), (q, r))
    assert good == (message == "")
    return str(message)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 63])
@pytest.mark.parametrize("distribution", distributions("qr"))
def test_an_honest_factorisation_has_a_margin(distribution: str, n: int) -> None:
    names = reference("qr")
    a = matrices(distribution, n=n, batch=9)
    q, r = factors(a)
    assert verdict(a, q, r) == ""
    limit = names["SHARE"] * (n + names["LEAST"]) * names["UNIT"] / MARGIN
    wide_a, wide_q, wide_r = a.double(), q.double(), r.double()
    assert (names["orthogonality"](wide_q) <= limit).all()
    assert (names["residual"](wide_a, wide_q, wide_r) <= limit * names["norms"](wide_a)).all()


@pytest.mark.slow
def test_the_baseline_factorises_what_it_must_not_divide_by() -> None:
    kernel = load(HARD / "qr" / "baseline.py")["custom_kernel"]
    for distribution in distributions("qr"):
        for n in (1, 2, 8, 31):  # of equal columns less and less remains, down to a matrix without an inverse
            a = matrices(distribution, n=n, batch=150)
            q, r = kernel((a, torch.full_like(a, float("nan")), torch.full_like(a, float("nan"))))
            assert verdict(a, q, r) == ""


def test_any_factorisation_will_do() -> None:
    a = matrices()
    q, r = factors(a)
    signs = torch.where(torch.arange(a.shape[-1]) % 2 == 0, -1.0, 1.0)
    assert verdict(a, q * signs, r * signs[:, None]) == ""


def test_an_orthogonal_matrix_that_is_not_of_this_one_is_refused() -> None:
    a = matrices()
    identity = torch.eye(a.shape[-1]).expand_as(a)
    assert "is not Q R" in verdict(a, identity, a.triu())
    assert "is not Q R" in verdict(a, *factors(matrices(seed=4)))


def test_a_product_whose_first_factor_is_not_orthogonal_is_refused() -> None:
    a = matrices()
    identity = torch.eye(a.shape[-1]).expand_as(a)
    assert "not orthogonal" in verdict(a.triu(), a.triu(), identity)
    assert "not orthogonal" in verdict(a, torch.zeros_like(a), torch.zeros_like(a))


def test_a_product_whose_second_factor_is_not_triangular_is_refused() -> None:
    a = matrices()
    identity = torch.eye(a.shape[-1]).expand_as(a)
    assert "below its diagonal" in verdict(a, identity, a)
    q, r = factors(a)
    r[2, 9, 4] = 1e-30
    assert "matrix 2 is not exactly zero below" in verdict(a, q, r)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("factor", ["Q", "R"])
@pytest.mark.parametrize("place", [(0, 0, 0), (3, 16, 2), (4, 5, 16)])
def test_a_value_that_is_no_number_is_refused_wherever_it_is(
    factor: str, place: tuple[int, int, int], value: float
) -> None:
    a = matrices()
    q, r = factors(a)
    (q if factor == "Q" else r)[place] = value
    assert verdict(a, q, r) == f"{factor} of matrix {place[0]} holds a NaN or an infinity"


@pytest.mark.parametrize("distribution", ["normal", "zero_columns", "zeros", "repeated"])
def test_matrices_of_no_number_at_all_are_refused(distribution: str) -> None:
    a = matrices(distribution)
    nothing = torch.full_like(a, float("nan"))
    assert "NaN" in verdict(a, nothing, nothing)


@pytest.mark.parametrize("distribution", distributions("qr"))
def test_a_slightly_wrong_element_anywhere_is_found(distribution: str) -> None:
    a = matrices(distribution)
    generator = torch.Generator().manual_seed(7)
    for _ in range(20):
        for moved in range(2):
            both = [factor.clone() for factor in factors(a)]
            b, i, j = (int(torch.randint(0, size, (), generator=generator)) for size in a.shape)
            if moved == 1:  # of R: relative to its column
                i = min(i, j)
            size = 1.0 if moved == 0 else float(a[b, :, j].norm()) or 1.0
            both[moved][b, i, j] += 1e-3 * size
            assert verdict(a, *both), (moved, b, i, j)


def test_a_large_column_does_not_hide_a_small_one() -> None:
    a = matrices()
    a[:, :, 3] *= 1e-6
    a[:, :, 8] *= 1e6
    q, r = factors(a)
    assert verdict(a, q, r) == ""
    r[1, 2, 3] *= 1.01
    assert "Column 3 of matrix 1" in verdict(a, q, r)


@pytest.mark.parametrize("distribution", ["normal", "uniform", "wide", "close"])
def test_half_precision_and_tf32_are_refused(distribution: str) -> None:
    a = matrices(distribution)
    q, r = factors(a)
    for dtype in (torch.float16, torch.bfloat16):
        assert verdict(a, q.to(dtype).float(), r)
    kept = (q.view(torch.int32) & ~0x1FFF).view(torch.float32)  # ten bits of the mantissa
    assert verdict(a, kept, r)


def test_one_step_of_cholesky_is_refused_where_columns_are_close() -> None:
    a = matrices("close").double()
    r = torch.linalg.cholesky((a.mT @ a).float() + 1e-4 * torch.eye(a.shape[-1])).mT
    q = torch.linalg.solve_triangular(r, a.float(), upper=True, left=False)
    assert "not orthogonal" in verdict(a.float(), q, r)


@pytest.mark.parametrize("distribution", distributions("topk"))
@pytest.mark.parametrize(("n", "k"), [(1, 1), (40, 40), (257, 7), (1000, 33)])
def test_top_k_is_the_head_of_a_stable_sort(distribution: str, n: int, k: int) -> None:
    names = reference("topk")
    data = names["generate_input"](rows=6, n=n, k=k, seed=5, distribution=distribution)
    values, indices = names["ref_kernel"](data)
    expected = torch.sort(data[0], dim=1, descending=True, stable=True)
    assert torch.equal(values, expected.values[:, :k])
    assert torch.equal(indices, expected.indices[:, :k])


def test_timed_rows_of_top_k_have_equal_values_at_the_border() -> None:
    x = reference("topk")["generate_input"](rows=128, n=16384, k=32, seed=5)[0]
    largest = torch.sort(x, dim=1, descending=True).values
    equal = (largest[:, 31] == largest[:, 32]).sum()
    assert 16 <= equal <= 64  # half of the rows are coarse


@pytest.mark.parametrize("distribution", distributions("moerouting"))
@pytest.mark.parametrize(("tokens", "experts", "k"), [(1, 1, 1), (9, 5, 5), (50, 33, 3)])
def test_routing_is_what_its_definition_says(distribution: str, tokens: int, experts: int, k: int) -> None:
    names = reference("moerouting")
    data = names["generate_input"](tokens=tokens, experts=experts, k=k, seed=5, distribution=distribution)
    weights, chosen, order, offsets = names["ref_kernel"](data)
    logits = data[0].double()
    for token in range(tokens):
        best = sorted(range(experts), key=lambda expert: (-float(logits[token, expert]), expert))[:k]
        assert chosen[token].tolist() == best
        torch.testing.assert_close(weights[token].double(), logits[token, best].softmax(0), rtol=1e-5, atol=1e-8)
    slots = chosen.flatten().tolist()
    assert order.tolist() == sorted(range(tokens * k), key=lambda slot: (slots[slot], slot))
    assert offsets.tolist() == [sum(expert < bound for expert in slots) for bound in range(experts + 1)]


@pytest.mark.parametrize("split", ["random", "even", "one"])
@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (3, 7), (40, 4), (100, 33)])
def test_groups_cover_the_rows_in_order(split: str, rows: int, groups: int) -> None:
    names = reference("groupedgemm")
    x, w, offsets, out = data = names["generate_input"](rows=rows, groups=groups, k=3, n=5, seed=5, split=split)
    assert offsets.dtype == torch.int64
    assert len(offsets) == groups + 1
    assert offsets[0] == 0
    assert offsets[-1] == rows
    assert (offsets.diff() >= 0).all()
    names["ref_kernel"](data)
    for group in range(groups):
        for row in range(int(offsets[group]), int(offsets[group + 1])):
            torch.testing.assert_close(out[row], x[row] @ w[group])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("distribution", distributions("attention"))
def test_attention_is_a_mean_of_the_values_that_a_query_may_see(distribution: str, causal: bool) -> None:
    names = reference("attention")
    data = names["generate_input"](batch=2, heads=1, seq=9, dim=8, causal=causal, seed=5, distribution=distribution)
    out = names["ref_kernel"](data)
    q, k, v = (tensor.double() for tensor in data[:3])
    for query in range(9):
        seen = query + 1 if causal else 9
        weights = (k[:, 0, :seen] @ q[:, 0, query, :, None] / 8**0.5).softmax(dim=1)
        expected = (weights * v[:, 0, :seen]).sum(dim=1)
        torch.testing.assert_close(out[:, 0, query].double(), expected, rtol=1e-4, atol=1e-4)


def test_timed_attention_overflows_without_the_maximum() -> None:
    names = reference("attention")
    q, k, *_ = names["generate_input"](batch=1, heads=4, seq=512, dim=64, causal=False, seed=5)
    assert ((q @ k.mT).amax() / 8) > 88.8
