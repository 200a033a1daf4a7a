"""The tuned baseline: on a processor C++ that reads a row from memory once; elsewhere Triton, a program a row."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>

// e^x for x <= 0: x = n ln 2 + f with |f| <= ln 2 / 2; a Taylor polynomial for e^f; 2^n by its bits.
static inline float exp_of_negative(float x) {
    x = x < -87.0f ? -87.0f : x;
    const float n = std::rint(x * 1.44269504f);
    const float f = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts: f keeps its last bits
    float p = 1.0f / 720;
    p = p * f + 1.0f / 120;
    p = p * f + 1.0f / 24;
    p = p * f + 1.0f / 6;
    p = p * f + 0.5f;
    p = p * f + 1.0f;
    p = p * f + 1.0f;
    const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
    float power;
    std::memcpy(&power, &bits, sizeof power);
    return p * power;
}

extern "C" void cross_entropy(const float* __restrict x, const int64_t* targets, float* out, long rows, long vocab) {
    for (long r = 0; r < rows; r++, x += vocab) {
        if (targets[r] == -100) { out[r] = 0; continue; }
        float top = x[0], all = 0, sum = 0;
        for (long c = 0; c < vocab; c++) top = x[c] > top ? x[c] : top;
        for (long c = 0; c < vocab; c++) {
            all += x[c] - top;
            sum += exp_of_negative(x[c] - top);
        }
        out[r] = std::log(sum) - 0.9f * (x[targets[r]] - top) - 0.1f * (all / vocab);
    }
}
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "loss.cpp").write_text(SOURCE)
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, "-o", folder / "loss.so", folder / "loss.cpp"], check=True)
    library = ctypes.CDLL(str(folder / "loss.so"))
    library.cross_entropy.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2
    return library


if torch.cuda.is_available():
    import triton
    import triton.language as tl

    BLOCK = 2048  # logits at a time

    @triton.jit
    def cross_entropy(logits, targets, out, vocab, BLOCK: tl.constexpr):
        """One row: its maximum first, then the two sums, out of L2."""
        row = tl.program_id(0).to(tl.int64)  # rows * vocab may pass 2^31
        target = tl.load(targets + row)
        if target == -100:
            tl.store(out + row, 0.0)
        else:
            x = logits + row * vocab
            top = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)
            for start in range(0, vocab, BLOCK):
                i = start + tl.arange(0, BLOCK)
                top = tl.maximum(top, tl.load(x + i, mask=i < vocab, other=float("-inf")))
            most = tl.max(top, axis=0)
            all = tl.zeros((BLOCK,), dtype=tl.float32)
            sum = tl.zeros((BLOCK,), dtype=tl.float32)
            for start in range(0, vocab, BLOCK):
                i = start + tl.arange(0, BLOCK)
                below = tl.load(x + i, mask=i < vocab, other=0.0) - most
                all += tl.where(i < vocab, below, 0.0)
                sum += tl.where(i < vocab, tl.exp(below), 0.0)
            mean = tl.sum(all, axis=0) / vocab
            loss = tl.log(tl.sum(sum, axis=0)) - 0.9 * (tl.load(x + target) - most) - 0.1 * mean
            tl.store(out + row, loss)
else:
    LIBRARY = build()


def custom_kernel(data):
    logits, targets, out = data
    rows, vocab = logits.shape
    if logits.is_cuda:
        cross_entropy[(rows,)](logits, targets, out, vocab, BLOCK=BLOCK, num_warps=8)
    else:
        LIBRARY.cross_entropy(logits.data_ptr(), targets.data_ptr(), out.data_ptr(), rows, vocab)
    return out
