# torch's product, then bias, GELU and residual in a single pass of C++ (g++ and ctypes).
#!PHOTOFINISH leaderboard linear_gelu
#!PHOTOFINISH gpu cpu
import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = r"""
#include <cmath>

extern "C" void finish(const float* bias, const float* residual, float* out, long rows, long cols) {
    for (long r = 0; r < rows; r++, residual += cols, out += cols)
        for (long c = 0; c < cols; c++) {
            const float y = out[c] + bias[c];
            out[c] = 0.5f * y * (1 + std::erf(y * 0.70710678f)) + residual[c];
        }
}
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "finish.cpp").write_text(SOURCE)
    flags = ["-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, "-o", folder / "finish.so", folder / "finish.cpp"], check=True)
    library = ctypes.CDLL(str(folder / "finish.so"))
    library.finish.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2
    return library


LIBRARY = build()


def custom_kernel(data):
    x, weight, bias, residual, out = data
    torch.mm(x, weight.t(), out=out)
    LIBRARY.finish(bias.data_ptr(), residual.data_ptr(), out.data_ptr(), *out.shape)
    return out
