"""The tuned baseline: on a processor one pass over memory, in C++; on a GPU Triton, a program a row."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = r"""
#include <cmath>

constexpr int LANES = 32;  // partial sums: short ones round less, and the compiler keeps them in registers

static float sum_of(const float* lanes) {
    float sum = 0;
    for (int k = 0; k < LANES; k++) sum += lanes[k];
    return sum;
}

extern "C" void layer_norm(
    const float* x, const float* w, const float* b, float* __restrict out, long rows, long cols) {
    const long whole = cols / LANES * LANES;
    for (long r = 0; r < rows; r++, x += cols, out += cols) {  // the row stays in the cache
        float sums[LANES] = {}, squares[LANES] = {};
        for (long c = 0; c < whole; c += LANES)
            for (int k = 0; k < LANES; k++) sums[k] += x[c + k];
        for (long c = whole; c < cols; c++) sums[c - whole] += x[c];
        const float mean = sum_of(sums) / cols;
        for (long c = 0; c < whole; c += LANES)
            for (int k = 0; k < LANES; k++) squares[k] += (x[c + k] - mean) * (x[c + k] - mean);
        for (long c = whole; c < cols; c++) squares[c - whole] += (x[c] - mean) * (x[c] - mean);
        const float scale = 1 / std::sqrt(sum_of(squares) / cols + 1e-5f);
        for (long c = 0; c < cols; c++) out[c] = (x[c] - mean) * scale * w[c] + b[c];
    }
}
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "norm.cpp").write_text(SOURCE)
    command = ["g++", "-O3", "-march=native", "-shared", "-fPIC", "-o", folder / "norm.so", folder / "norm.cpp"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "norm.so"))
    library.layer_norm.argtypes = [*[ctypes.c_void_p] * 4, ctypes.c_long, ctypes.c_long]
    return library


if torch.cuda.is_available():
    import triton
    import triton.language as tl

    BLOCK = 1024  # elements at a time; what is read again lies in the cache

    @triton.jit
    def layer_norm(x, weight, bias, out, cols, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * cols
        total = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, cols, BLOCK):
            at = start + tl.arange(0, BLOCK)
            total += tl.load(x + row + at, mask=at < cols, other=0.0)
        mean = tl.sum(total, axis=0) / cols
        squares = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, cols, BLOCK):
            at = start + tl.arange(0, BLOCK)
            moved = tl.where(at < cols, tl.load(x + row + at, mask=at < cols, other=0.0) - mean, 0.0)
            squares += moved * moved
        scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / cols + 1e-5)
        for start in range(0, cols, BLOCK):
            at = start + tl.arange(0, BLOCK)
            moved = tl.load(x + row + at, mask=at < cols, other=0.0) - mean
            w = tl.load(weight + at, mask=at < cols, other=0.0)
            b = tl.load(bias + at, mask=at < cols, other=0.0)
            tl.store(out + row + at, moved * scale * w + b, mask=at < cols)
else:
    LIBRARY = build()


def custom_kernel(data):
    x, weight, bias, out = data
    rows, cols = x.shape
    if x.is_cuda:
        layer_norm[(rows,)](x, weight, bias, out, cols, BLOCK=BLOCK)
    else:
        LIBRARY.layer_norm(*(tensor.data_ptr() for tensor in data), rows, cols)
    return out
