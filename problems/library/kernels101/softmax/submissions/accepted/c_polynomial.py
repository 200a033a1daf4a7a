# C by g++ and ctypes: its own exponential, a polynomial that the compiler can vectorise.
#!PHOTOFINISH leaderboard softmax
#!PHOTOFINISH gpu cpu
import ctypes
import subprocess
import tempfile
from pathlib import Path

SOURCE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>

// e^x for x <= 0: x = n ln 2 + f with |f| <= ln 2 / 2; a Taylor polynomial for e^f; 2^n by its bits.
static inline float exp_of_negative(float x) {
    x = x < -87.0f ? -87.0f : x;
    const float n = std::rint(x * 1.44269504f);
    const float f = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts: f keeps its last bits
    float p = 1.0f / 5040;
    p = p * f + 1.0f / 720;
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

extern "C" void softmax(const float* __restrict x, float* __restrict out, long rows, long cols) {
    for (long r = 0; r < rows; r++, x += cols, out += cols) {
        float top = x[0];
        double sum = 0;  // long rows lose no digits in it
        for (long c = 1; c < cols; c++) top = x[c] > top ? x[c] : top;
        for (long c = 0; c < cols; c++) {
            out[c] = exp_of_negative(x[c] - top);
            sum += out[c];
        }
        const float scale = static_cast<float>(1 / sum);
        for (long c = 0; c < cols; c++) out[c] *= scale;
    }
}
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "softmax.cpp").write_text(SOURCE)
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, "-o", folder / "softmax.so", folder / "softmax.cpp"], check=True)
    library = ctypes.CDLL(str(folder / "softmax.so"))
    library.softmax.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
    return library


LIBRARY = build()


def custom_kernel(data):
    x, out = data
    LIBRARY.softmax(x.data_ptr(), out.data_ptr(), *x.shape)
    return out
