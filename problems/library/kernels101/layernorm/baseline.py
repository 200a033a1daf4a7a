"""The tuned baseline: on a processor one pass over memory, in C++; on a GPU torch's fused layer norm."""

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


LIBRARY = None if torch.cuda.is_available() else build()


def custom_kernel(data):
    x, weight, bias, out = data
    if LIBRARY is None:
        return out.copy_(torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5))
    LIBRARY.layer_norm(*(tensor.data_ptr() for tensor in data), *x.shape)
    return out
