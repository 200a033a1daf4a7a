"""The tuned baseline: on a processor C++ that reads a row from memory once; elsewhere as few passes as torch has."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F

EPSILON = 1e-6

SOURCE = r"""
#include <cmath>

extern "C" void rmsnorm_rotary(const float* __restrict x, const float* __restrict gain, const float* __restrict cos,
                               const float* __restrict sin, float* __restrict out, long tokens, long heads, long half) {
    for (long t = 0; t < tokens; t++, cos += half, sin += half)
        for (long h = 0; h < heads; h++, x += 2 * half, out += 2 * half) {
            float squares = 0;
            for (long i = 0; i < 2 * half; i++) squares += x[i] * x[i];
            const float inverse = 1 / std::sqrt(squares / (2 * half) + 1e-6f);
            for (long i = 0; i < half; i++) {
                const float left = x[i] * inverse * gain[i], right = x[half + i] * inverse * gain[half + i];
                out[i] = left * cos[i] - right * sin[i];
                out[half + i] = right * cos[i] + left * sin[i];
            }
        }
}
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "rotary.cpp").write_text(SOURCE)
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, "-o", folder / "rotary.so", folder / "rotary.cpp"], check=True)
    library = ctypes.CDLL(str(folder / "rotary.so"))
    library.rmsnorm_rotary.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_long] * 3
    return library


LIBRARY = None if torch.cuda.is_available() else build()


def custom_kernel(data):
    x, gain, cos, sin, out = data
    tokens, heads, width = x.shape
    if LIBRARY is not None:
        LIBRARY.rmsnorm_rotary(*(tensor.data_ptr() for tensor in data), tokens, heads, width // 2)
        return out
    left, right = F.rms_norm(x, (width,), gain, EPSILON).chunk(2, dim=-1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    torch.mul(left, cos, out=out[..., : width // 2]).addcmul_(right, sin, value=-1)
    torch.mul(right, cos, out=out[..., width // 2 :]).addcmul_(left, sin)
    return out
