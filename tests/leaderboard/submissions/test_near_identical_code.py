"""Kernel identity: changes of comments, names and spelling make no new kernel; any other change does."""

import io
import re
import time
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.submissions.tokens import code_digest
from runner.wire import MAX_SOURCE_BYTES

SAMPLES = {
    str(path): path.read_text()
    for path in sorted(
        [*Path("problems/library").glob("*/*/submissions/*/*.py"), *Path("benchmarks/gpu").rglob("*.py")]
    )
}
KERNEL = '''"""A kernel."""
import torch
import triton.language as tl
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <cuda_fp16.h>
// one thread an element
__global__ void add(const float* x, float* out, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = __expf(x[i]) + 1.0f;  /* the sum */
}
void run(torch::Tensor x, torch::Tensor out) { add<<<1, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel()); }
"""
MODULE = load_inline("ext", "void run(torch::Tensor x, torch::Tensor out);", CUDA, functions=["run"])


def helper(x, BLOCK=128):
    """Doubles."""
    return x.to(torch.float16) * 2.0 + BLOCK


class Cache:
    def __init__(self, size):
        self.size = size

    def total(self):
        return self.size + 16


def custom_kernel(data):
    x, out = data
    scale = helper(x, BLOCK=256)
    name = "softmax"
    MODULE.run(scale, out)
    return out
'''
SAME = {
    "comment": ("x, out = data", "x, out = data  # in and out"),
    "comment line": ("    name =", "    # the name\n    name ="),
    "blank lines": ("    name =", "\n\n    name ="),
    "spacing": ("x, out = data", "x  ,out=data"),
    "indentation": ("    x, out = data\n    scale", "    x, out = data\n    scale"),
    "docstring": ('    """Doubles."""\n', '    """Adds, then\n    doubles."""\n'),
    "no docstring": ('    """Doubles."""\n', ""),
    "module docstring": ('"""A kernel."""', "'My kernel.'"),
    "trailing comma": ("(x, BLOCK=256)", "(\n        x,\n        BLOCK=256,\n    )"),
    "number as hex": ("256)", "0x100)"),
    "number with a line": ("BLOCK=128", "BLOCK=1_28"),
    "float": ("2.0", "2e0"),
    "quotes": ('"softmax"', "'softmax'"),
    "raw string": ('"softmax"', 'r"softmax"'),
    "escapes": ('"softmax"', '"\\x73oftmax"'),
    "string in two": ('"softmax"', '"soft" "max"'),
    "semicolon": ('    name = "softmax"\n', '    name = "softmax";'),
    "C comment": ("// one thread an element", "// eh"),
    "C comment in line": ("/* the sum */", ""),
    "C spacing": ("if (i < n) out", "if(i<n)\n    out"),
    "C float": ("1.0f", "1.f"),
    "C whole number": ("256>>>", "0x100>>>"),
}
OTHER = {
    "number": ("BLOCK=256", "BLOCK=512"),
    "type of a number": ("2.0", "2"),
    "operator": ("* 2.0", "+ 2.0"),
    "string": ('"softmax"', '"softmin"'),
    "attribute": ("torch.float16", "torch.bfloat16"),
    "import": ("triton.language", "triton.runtime"),
    "argument": ("functions=", "cuda_sources="),
    "names swapped": ("x, out = data", "out, x = data"),
    "another name": ("return out\n", "return x\n"),
    "a statement": ("    name =", "    pass\n    name ="),
    "C call": ("__expf", "expf"),
    "C number": ("256>>>", "512>>>"),
    "C type": ("long n)", "int n)"),
    "C index": ("out[i] =", "out[n] ="),
    "C order": ("const float* x, float* out, long n", "float* out, const float* x, long n"),
}
RENAMED = [
    (r"\bscale\b", "factor"),
    (r"\bhelper\b", "double"),
    (r"\bBLOCK\b", "TILE"),
    (r"\bMODULE\b", "EXT"),
    (r"\bCUDA\b", "SOURCE"),
    (r"\bCache\b", "Store"),
    (r"\bsize\b", "count"),
    (r"\btl\b", "language"),
    (r"\bdata\b", "arguments"),
    (r"\brun\b", "launch"),
    (r"\badd\b", "plus_one"),
    (r"\bi\b", "at"),
    (r"\bn\b", "length"),
    (r"(?<=custom_kernel\(data\):\n    )x, out = data\n    scale = helper\(x", "a, out = data\n    scale = helper(a"),
    (r"(?<=def helper\()x(?P<rest>.*?)return x\.", r"tensor\g<rest>return tensor."),  # in a single function of two
]


def changed(pair: tuple[str, str]) -> str:
    assert KERNEL.count(pair[0]) >= 1
    return KERNEL.replace(*pair)


@pytest.mark.parametrize("change", SAME)
def test_spelling_makes_no_other_kernel(change: str) -> None:
    assert code_digest(changed(SAME[change])) == code_digest(KERNEL)


@pytest.mark.parametrize(("old", "new"), RENAMED)
def test_a_name_makes_no_other_kernel(old: str, new: str) -> None:
    renamed = re.sub(old, new, KERNEL, flags=re.DOTALL)
    assert renamed != KERNEL
    assert code_digest(renamed) == code_digest(KERNEL)


@pytest.mark.parametrize("change", OTHER)
def test_all_else_does(change: str) -> None:
    assert code_digest(changed(OTHER[change])) != code_digest(KERNEL)


def test_no_two_samples_are_one_kernel() -> None:
    digests = [code_digest(source) for source in SAMPLES.values()]
    assert len(set(digests)) == len(digests) > 10
    assert all(digest.startswith("tokens1:") for digest in digests)


@given(st.sampled_from(sorted(SAMPLES)), st.randoms(use_true_random=False), st.text("abc é'\"#\\", max_size=20))
def test_comments_and_blanks_anywhere_make_no_other_kernel(name: str, random, words: str) -> None:
    lines = SAMPLES[name].splitlines(keepends=True)
    ends = [
        token.end[0]
        for token in tokenize.generate_tokens(iter([*lines, ""]).__next__)
        if token.type == tokenize.NEWLINE
    ]
    at = random.choice(ends)
    comment = random.choice([f"# {words}\n", "\n", f"        # {words}\n", " \t\n"])
    assert code_digest("".join([*lines[:at], comment, *lines[at:]])) == code_digest(SAMPLES[name])
    assert code_digest("".join([*lines[: at - 1], lines[at - 1].rstrip("\n"), f"  # {words}\n", *lines[at:]])) == (
        code_digest(SAMPLES[name])
    )


@given(st.sampled_from(sorted(SAMPLES)), st.integers(2, 9))
def test_the_depth_of_indentation_makes_no_other_kernel(name: str, width: int) -> None:
    tokens = [token[:2] for token in tokenize.generate_tokens(io.StringIO(SAMPLES[name]).readline)]
    spaced = re.sub(
        r"^( {4})+", lambda found: " " * width * (len(found[0]) // 4), tokenize.untokenize(tokens), flags=re.M
    )
    if '"""' not in SAMPLES[name] and "'''" not in SAMPLES[name]:  # in these strings, indentation is part of the value
        assert code_digest(spaced) == code_digest(SAMPLES[name])
    assert code_digest(SAMPLES[name].replace("\n", "\r\n")) == code_digest(SAMPLES[name])


@given(st.text(max_size=300) | st.text("def f():\n\t'\"\\#{}[](),;=*.0x1eé ", max_size=300))
def test_any_text_has_a_digest(source: str) -> None:
    digest = code_digest(source)
    assert re.fullmatch(r"(tokens1|text1):[0-9a-f]{64}", digest)
    assert digest == code_digest(source)


def test_what_is_no_python_is_compared_by_its_words() -> None:
    assert code_digest("this is ( no python") == code_digest("this  is\n( no python ")
    assert code_digest("this is ( no python") != code_digest("this is ( not python")
    assert code_digest("this is ( no python").startswith("text1:")


def test_a_format_string_is_one_token_in_every_python() -> None:
    one = "def f(width):\n    return f'float{width} {width!r:>{width}}'\n"
    assert code_digest(one) == code_digest(one.replace("width", "w"))
    assert code_digest(one) != code_digest(one.replace("float", "half"))
    digest = "tokens1:93e4"  # in Python 3.11, 3.12 and 3.13
    assert code_digest(one).startswith(digest)


HOSTILE = ("a ", "a\n", "'", "(", "'\\\n", "rb'", "9", "f'{", "\r")


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_file_takes_bounded_time(piece: str) -> None:
    began = time.process_time()
    code_digest(piece * (MAX_SOURCE_BYTES // len(piece)))
    code_digest("x = '''(;" + piece * (MAX_SOURCE_BYTES // len(piece)))
    assert time.process_time() - began < 30  # two on an idle machine; hours with quadratic growth
