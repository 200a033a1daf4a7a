"""Oracle and error model together: honest kernels of many kinds pass, cheaper arithmetic does not."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from runner.judge.data import compare
from runner.judge.data.call import Input
from runner.judge.data.compare import Rule
from runner.judge.data.device_arrays import TensorArrays
from runner.judge.data.layout import values
from runner.judge.sides.oracle import Oracle
from tests.runner.judge.held_against import agree, tensors
from tests.runner.judge.oracle_here import oracle_of

REFERENCE = """
import torch
from torch.nn import functional as F

def generate_input(*, kind, seed, shape, data="normal", dtype="float32"):
    g = torch.Generator().manual_seed(seed)
    dtype = getattr(torch, dtype)
    def draw(*size):
        x = torch.randn(size, generator=g)
        if data == "rows":
            x = x[..., :1].mul(100).expand(size).contiguous()
        if data == "wide":
            x = torch.ldexp(x, torch.randint(-10, 8, size, generator=g))
        if data == "positive":
            x = torch.rand(size, generator=g)
        return x.to(dtype)
    if kind in ("matmul", "linear_relu"):
        m, k, n = shape
        return kind, draw(m, k), draw(k, n)
    if kind == "conv":
        return kind, draw(2, 8, 20, 20), draw(12, 8, 3, 3)
    if kind == "attention":
        return kind, draw(2, *shape), draw(2, *shape), draw(2, *shape)
    if kind == "axpby":
        return kind, draw(*shape), draw(*shape)
    return kind, draw(*shape)

def ref_kernel(data):
    kind, x, *more = data
    if kind == "matmul":
        return x @ more[0]
    if kind == "linear_relu":
        return torch.relu(x @ more[0])
    if kind == "conv":
        return F.conv2d(x, more[0])
    if kind == "attention":
        q, k, v = x, *more
        return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=-1) @ v
    if kind == "axpby":
        return 3 * x - 2 * more[0]
    return {
        "softmax": lambda: torch.softmax(x, -1),
        "layernorm": lambda: F.layer_norm(x, x.shape[-1:]),
        "gelu": lambda: F.gelu(x),
        "sum": lambda: x.sum(-1),
        "total": lambda: x.sum(),
        "variance": lambda: x.var(-1),
        "cumsum": lambda: x.cumsum(-1),
        "largest": lambda: x.max(-1).values,
        "logsumexp": lambda: torch.logsumexp(x, -1),
    }[kind]()
"""

Kernel = Callable[..., torch.Tensor]


def softmax(x: torch.Tensor) -> torch.Tensor:
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.cumsum(-1)[..., -1:]


def layernorm(x: torch.Tensor) -> torch.Tensor:
    mean = x.cumsum(-1)[..., -1:] / x.shape[-1]
    return (x - mean) * ((x - mean).square().mean(-1, keepdim=True) + 1e-5).rsqrt()


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Running total over k, as a single accumulator computes it."""
    out = torch.zeros(a.shape[0], b.shape[1])
    for k in range(a.shape[1]):
        out += a[:, k : k + 1] * b[k : k + 1]
    return out


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention in blocks of 16 keys, like flash attention."""
    top, total, out = torch.full((*q.shape[:-1], 1), -torch.inf), 0, torch.zeros_like(q)
    for at in range(0, k.shape[-2], 16):
        scores = q @ k[..., at : at + 16, :].transpose(-1, -2) * q.shape[-1] ** -0.5
        new = torch.maximum(top, scores.amax(-1, keepdim=True))
        old, here = (top - new).exp(), (scores - new).exp()
        out, total, top = out * old + here @ v[..., at : at + 16, :], total * old + here.sum(-1, keepdim=True), new
    return out / total


def conv(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    columns = functional.unfold(x, 3)
    return (w.view(12, -1) @ columns).view(2, 12, 18, 18)


KERNELS: dict[str, Kernel] = {
    "softmax": softmax,
    "layernorm": layernorm,
    "matmul": matmul,
    "linear_relu": lambda a, b: matmul(a, b).clamp(min=0),
    "conv": conv,
    "attention": attention,
    "axpby": lambda x, y: torch.add(3 * x, y, alpha=-2),
    "gelu": lambda x: x * 0.5 * (1 + torch.erf(x * 0.7071067811865476)),
    "sum": lambda x: x.cumsum(-1)[..., -1],
    "total": lambda x: x.view(-1, 8).cumsum(0)[-1].sum(),
    "variance": lambda x: (x - x.mean(-1, keepdim=True)).square().sum(-1) / (x.shape[-1] - 1),
    "cumsum": lambda x: x.flip(-1).cumsum(-1).flip(-1) * 0 + x.cumsum(-1),
    "largest": lambda x: x.sort(-1).values[..., -1],
    "logsumexp": lambda x: x.amax(-1) + (x - x.amax(-1, keepdim=True)).exp().sum(-1).log(),
}
SHAPES: dict[str, list[int]] = {
    "matmul": [70, 300, 50],
    "linear_relu": [70, 300, 50],
    "conv": [0],
    "attention": [100, 32],
    "axpby": [60_000],
    "gelu": [300, 40],
    "total": [40_000],
    "sum": [50, 3000],
}
CHEAP = ("matmul", "linear_relu", "conv", "attention", "axpby", "gelu", "sum", "softmax", "variance", "cumsum")


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(REFERENCE, tmp_path_factory.mktemp("kinds")) as oracle:
        yield oracle


def make(oracle: Oracle, kind: str, seed: int, **more: str) -> tuple[Input, list[torch.Tensor]]:
    given = oracle.make({"kind": kind, "shape": SHAPES.get(kind, [40, 500]), **more}, seed, fp64="spread")
    assert given.why_not64 == ""
    return given, inputs_of(given)


def inputs_of(given: Input) -> list[torch.Tensor]:
    region = torch.from_numpy(given.inputs)
    return [
        region[slot.input : slot.input + slot.nbytes].view(getattr(torch, slot.dtype)).view(slot.shape)
        for slot in given.layout.slots
        if slot.input >= 0
    ]


def padded_bytes(given: Input, got: torch.Tensor) -> Any:
    flat = np.frombuffer(got.contiguous().view(-1).view(torch.uint8).numpy().tobytes(), np.uint8)
    return np.concatenate([flat, np.zeros(given.layout.output_bytes - len(flat), np.uint8)])


def judged(given: Input, got: torch.Tensor) -> compare.Figures:
    padded = padded_bytes(given, got)
    (found,) = compare.compare(given, padded, Rule())
    there: object = tensors(given)
    (device,) = compare.compare(there, torch.from_numpy(padded), Rule(), TensorArrays(4096))  # type: ignore[arg-type]
    agree(found, device)
    return found


def to_eleven_bits(x: torch.Tensor) -> torch.Tensor:
    """Round to eleven bits, as TF32 reads its operands."""
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


@pytest.mark.parametrize("data", ["normal", "wide", "positive", "rows"])
@pytest.mark.parametrize("kind", sorted(KERNELS))
def test_an_honest_kernel_passes(oracle: Oracle, kind: str, data: str) -> None:
    for seed in range(2):
        given, inputs = make(oracle, kind, seed, data=data)
        found = judged(given, KERNELS[kind](*inputs))
        assert found.good, found
        assert (found.worst_share or 0) < 0.75


@pytest.mark.parametrize("kind", sorted(KERNELS))
def test_the_reference_itself_is_well_inside(oracle: Oracle, kind: str) -> None:
    given, _ = make(oracle, kind, 1)
    (found,) = compare.compare(given, given.expected, Rule())
    assert found.good
    assert found.disputed == 0
    assert (found.worst_share or 0) < 0.75


@pytest.mark.parametrize("kind", CHEAP)
@pytest.mark.parametrize("data", ["normal", "wide"])
def test_operands_of_eleven_bits_fail(oracle: Oracle, kind: str, data: str) -> None:
    given, inputs = make(oracle, kind, 2, data=data)
    assert not judged(given, KERNELS[kind](*map(to_eleven_bits, inputs))).good


@pytest.mark.parametrize("kind", CHEAP)
def test_results_that_went_through_float16_fail(oracle: Oracle, kind: str) -> None:
    given, inputs = make(oracle, kind, 3)
    assert not judged(given, KERNELS[kind](*inputs).half().float()).good


@pytest.mark.parametrize("kind", sorted(KERNELS))
def test_zeros_and_the_answer_to_another_question_fail(oracle: Oracle, kind: str) -> None:
    given, inputs = make(oracle, kind, 4)
    other, _ = make(oracle, kind, 5)
    assert not judged(given, KERNELS[kind](*inputs) * 0).good
    (found,) = compare.compare(given, other.expected, Rule())
    assert not found.good


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["matmul", "softmax", "layernorm", "gelu", "sum"])
def test_sixteen_bit_kernels_pass_when_they_compute_in_float32(oracle: Oracle, kind: str, dtype: str) -> None:
    given, inputs = make(oracle, kind, 6, dtype=dtype)
    right = KERNELS[kind](*(x.float() for x in inputs)).to(getattr(torch, dtype))
    assert judged(given, right).good
    assert not judged(given, right * 0).good
    assert not judged(given, right * 1.05).good


@pytest.mark.parametrize("data", ["normal", "wide", "positive", "rows"])
@pytest.mark.parametrize("kind", sorted(KERNELS))
def test_a_timed_call_is_judged_without_double_precision(oracle: Oracle, kind: str, data: str) -> None:
    case = {"kind": kind, "shape": SHAPES.get(kind, [40, 500]), "data": data}
    oracle.make(case, 1, fp64="condition")
    given = oracle.make(case, 7, fp64="condition")
    assert given.expected64 is None
    inputs = inputs_of(given)
    right = KERNELS[kind](*inputs)
    assert judged(given, right).good
    if values(given.layout.outputs[0], given.expected).any():
        assert not judged(given, right * 0).good
        assert not judged(given, right * 1.01).good
    if data == "normal" and kind in CHEAP:
        assert not judged(given, KERNELS[kind](*map(to_eleven_bits, inputs))).good


@pytest.mark.slow
def test_no_honest_output_is_rejected_in_many_draws(oracle: Oracle) -> None:
    """docs/lab-notebook has the figures of 25 seeds each: run it with -s and PHOTOFINISH_TEST_SEEDS=25."""
    last = 1000 + int(os.environ.get("PHOTOFINISH_TEST_SEEDS", "4"))
    elements, outputs, rejected = 0, 0, []
    for kind in sorted(KERNELS):
        for data in ("normal", "wide", "positive", "rows"):
            shares = [0.0]
            for seed in range(1000, last):
                given, inputs = make(oracle, kind, seed, data=data)
                timed = replace(given, expected64=None)
                right = KERNELS[kind](*inputs)
                for found in (bare(given, right), bare(timed, right), *compare.compare(given, given.expected, Rule())):
                    elements, outputs = elements + found.elements, outputs + 1
                    shares.append(found.worst_share or 0)
                    rejected += [] if found.good else [(kind, data, seed, found)]
                oracle.release(given)
            print(f"{kind:12s} {data:9s} largest share of a limit {max(shares):.2f}")
    print(f"{outputs} outputs, {elements} elements, {len(rejected)} rejected")
    assert rejected == []


def bare(given: Input, got: torch.Tensor) -> compare.Figures:
    (found,) = compare.compare(given, padded_bytes(given, got), Rule())
    return found
