"""Winnowing sees copies despite new names, layout, comments, order or junk; independent solutions differ."""

import keyword
import random
import re
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import problems
from leaderboard.review.rules.similarity import LEAST_PRINTS, K, W, fingerprints, grams, likeness, opaque_chars, winnow
from leaderboard.review.rules.thresholds import USUAL

LIBRARY = Path(problems.__file__).parent / "library"
PROBLEMS = sorted(folder.parent for folder in LIBRARY.glob("*/*/submissions"))
SAMPLES = sorted(LIBRARY.glob("*/*/submissions/accepted/*"))
HELD = USUAL["similar_source"] or 1.0

TRITON = '''
import torch
import triton
import triton.language as tl

@triton.jit
def softmax_kernel(out_ptr, in_ptr, stride, n_cols, BLOCK: tl.constexpr):
    """A row a program."""
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n_cols
    values = tl.load(in_ptr + row * stride + offsets, mask=mask, other=-float("inf"))
    values = values - tl.max(values, axis=0)
    numerator = tl.exp(values)
    denominator = tl.sum(numerator, axis=0)
    tl.store(out_ptr + row * stride + offsets, numerator / denominator, mask=mask)

def next_power(n):
    power = 1
    while power < n:
        power = power * 2 if power * 2 <= 65536 else 65536
    return power

def custom_kernel(data):
    x, out = data
    rows, cols = x.shape
    block = next_power(cols)
    warps = 4 if block < 2048 else (8 if block < 4096 else 16)
    softmax_kernel[(rows,)](out, x, x.stride(0), cols, BLOCK=block, num_warps=warps)
    return out
'''
CUDA = r"""
#include <cuda_runtime.h>
// a block a row
template <int THREADS> __global__ void reduce_rows(const float* __restrict__ in, float* out, int cols) {
    __shared__ float partial[THREADS / 32];
    float sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += THREADS) sum += in[(size_t)blockIdx.x * cols + col];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        float total = threadIdx.x < THREADS / 32 ? partial[threadIdx.x] : 0.0f;
        for (int offset = 16; offset > 0; offset /= 2) total += __shfl_down_sync(0xffffffff, total, offset);
        if (threadIdx.x == 0) out[blockIdx.x] = total;
    }
}
void launch(const float* in, float* out, int rows, int cols) {
    if (cols >= 4096) reduce_rows<512><<<rows, 512>>>(in, out, cols);
    else reduce_rows<128><<<rows, 128>>>(in, out, cols);
}
"""
OWN = [path.read_text() for path in SAMPLES] + [TRITON, CUDA]
COPIED = [text for text in OWN if len(fingerprints(text)) >= 2 * LEAST_PRINTS]
PYTHON = [text for text in COPIED if text is not CUDA]
WORDS = frozenset(keyword.kwlist)


def share(one: str, other: str) -> float:
    return likeness(fingerprints(one), fingerprints(other)).share


def renamed(text: str, seed: int) -> str:
    """Rename every word outside Python's own, in code and in the sources inside literals."""
    chance = random.Random(seed)
    names: dict[str, str] = {}

    def other(found: re.Match[str]) -> str:
        word = found.group()
        if word in WORDS or word in ("while", "define", "include"):
            return word
        return names.setdefault(word, f"v{len(names)}_{chance.randrange(1000)}")

    return re.sub(r"(?<![\w\"'.\\])[A-Za-z_]\w{2,}", other, text)


def test_the_guarantee_of_winnowing() -> None:
    """A run of K + W - 1 common tokens is always detected; a run shorter than K never is."""
    chance = random.Random(3)
    for length, seen in ((K + W - 1, True), (K - 1, False)):
        for _ in range(50):
            common = [f"c{chance.randrange(9)}" for _ in range(length)]
            one, other = ([f"{who}{chance.random()}" for _ in range(40)] for who in "ab")
            both = [set(winnow(grams([*each[:20], *common, *each[20:]]))) for each in (one, other)]
            assert bool(both[0] & both[1]) is seen


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 50), max_size=80))
def test_every_window_keeps_its_smallest(hashes: list[int]) -> None:
    kept = list(winnow(hashes))
    for start in range(len(hashes) - W + 1):
        assert min(hashes[start : start + W]) in kept
    assert len(kept) >= bool(hashes)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(COPIED), st.integers(0, 10**6))
def test_other_names_hide_nothing(text: str, seed: int) -> None:
    assert share(renamed(text, seed), text) > 0.95


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(COPIED), st.integers(0, 10**6))
def test_comments_and_blank_lines_hide_nothing(text: str, seed: int) -> None:
    chance = random.Random(seed)
    if "\n#include" in text[:30]:
        changed = re.sub(r";\n", lambda _: chance.choice([";\n", ";  // so\n\n", "; /* no */\n"]), text)
    else:
        changed = "\n".join(
            line + "  # so" * (line.endswith(":") and chance.random() < 0.5) for line in text.split("\n")
        )
        changed = changed.replace("\n\n", "\n\n\n")
    assert share(changed, text) > 0.95


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([TRITON, *(text for text in COPIED if text.count("\ndef ") > 1)]), st.integers(0, 10**6))
def test_another_order_of_functions_hides_nothing(text: str, seed: int) -> None:
    head, *functions = re.split(r"\n(?=def |@)", text)
    random.Random(seed).shuffle(functions)
    assert share("\n".join([head, *functions]), text) > HELD


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(PYTHON), st.sampled_from(PYTHON))
def test_a_copy_with_as_much_again_around_it_is_seen(text: str, other: str) -> None:
    assert share(f"{other}\n{text}", text) > HELD


def test_junk_between_every_two_statements_is_seen() -> None:
    """The junk breaks all grams, but the statements survive."""
    junk = '    for (int z = 0; z < 1; ++z) asm volatile("");\n'
    mixed = re.sub(r";\n", lambda _: ";\n" + junk, CUDA)
    assert share(mixed, CUDA) > HELD
    indented = re.sub(r"\n( +)(?=\S)", r"\n\1unused = [1, 2, 3]\n\1", TRITON)
    assert share(indented, TRITON) > HELD


def test_code_in_a_string_is_the_same_code() -> None:
    assert share(f"SOURCE = r'''{CUDA}'''\nprint(SOURCE)\n", CUDA) > HELD
    assert share(f'exec("""{TRITON.replace(chr(34) * 3, "")}""")\n', TRITON) > HELD
    lines = "\n".join(repr(line + "\n") for line in CUDA.splitlines())
    assert share(f"SOURCE = (\n{lines}\n)\n", CUDA) > HELD


def test_needless_brackets_and_aliases_hide_nothing() -> None:
    chance = random.Random(2)
    bracketed = re.sub(r"(?<=[=+\-*/,] )([a-z_]\w*)(?=[ ,\n)])", lambda m: chance.choice([m[1], f"(({m[1]}))"]), TRITON)
    assert bracketed.count("((") >= 10
    assert share(bracketed, TRITON) > 0.95
    assert share(TRITON.replace("tl.", ""), TRITON) > 0.95


def test_a_source_too_short_says_nothing() -> None:
    text = "def custom_kernel(data):\n    return data[0] + data[1]\n"
    assert share(text, text) == 0.0


@pytest.mark.parametrize("folder", PROBLEMS, ids=lambda folder: folder.name)
def test_independent_solutions_of_one_problem_are_not_alike(folder: Path) -> None:
    given = {value for path in folder.glob("*.py") for value in fingerprints(path.read_text())}
    texts = sorted(folder.glob("submissions/accepted/*"))
    prints = {path.name: fingerprints(path.read_text()) - given for path in texts}
    shares = {(one, other): likeness(prints[one], prints[other]).share for one, other in combinations(prints, 2)}
    assert max(shares.values(), default=0.0) < HELD / 2, shares


def test_data_in_a_literal_is_opaque_and_code_is_not() -> None:
    assert max(opaque_chars(path.read_text()) for path in SAMPLES) < (USUAL["opaque_source"] or 0) / 2
    assert opaque_chars(CUDA) == 0
    blob = "QUJD" * 1000
    assert opaque_chars(f'import base64\nexec(base64.b64decode("{blob}"))\n') == 4000
    halves = f'A = "{blob[:2000]}"\nB = "{blob[2000:]}"\n'
    assert opaque_chars(halves) == 4000
    assert opaque_chars(f"DATA = '{' '.join(['QUJDREVG'] * 500)}'\n") == 4499
    assert opaque_chars(f"DATA = {['QUJDREVG'] * 500}\n") == 4000
    assert opaque_chars("MASK = [" + "0, 1, " * 30 + "]\n") == 0
    numbers = f"exec(bytes({list(range(256)) * 4}))\n"
    assert opaque_chars(numbers) == 4096


def test_a_source_that_cannot_be_taken_apart_is_opaque_as_a_whole() -> None:
    long = "x = 1\n" * 25_100
    assert not fingerprints(long)
    assert opaque_chars(long) == len(long)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=300))
def test_any_text_has_fingerprints(text: str) -> None:
    assert likeness(fingerprints(text), fingerprints(text)).share in (0.0, 1.0)
    assert 0 <= opaque_chars(text) <= 4 * len(text)
