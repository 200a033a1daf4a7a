# C++ by g++ and ctypes: four columns of weights are dequantised into a buffer in the nearest cache, then meet all rows.
#!PHOTOFINISH leaderboard int8_matmul
#!PHOTOFINISH gpu cpu
import ctypes
import subprocess
import tempfile
from pathlib import Path

SOURCE = r"""
#include <algorithm>
#include <cstdint>
#include <vector>

static const long GROUP = 64, COLS = 4;

extern "C" void int8_matmul(const float* __restrict x, const int8_t* __restrict quantised, const float* scale,
                            const int8_t* zero, float* __restrict out, long rows, long inner, long cols, long groups) {
    std::vector<float> buffer(COLS * inner);
    for (long first = 0; first < cols; first += COLS) {
        const long some = std::min(COLS, cols - first);
        std::fill(buffer.begin(), buffer.end(), 0.0f);
        for (long j = 0; j < some; j++)
            for (long g = 0; g < groups; g++) {
                const float s = scale[(first + j) * groups + g], z = zero[(first + j) * groups + g];
                const int8_t* __restrict q = quantised + (first + j) * inner;
                float* __restrict w = &buffer[j * inner];
                const long end = std::min(inner, (g + 1) * GROUP);
                for (long k = g * GROUP; k < end; k++) w[k] = (q[k] - z) * s;
            }
        const float *a = &buffer[0], *b = a + inner, *c = b + inner, *d = c + inner;
        for (long r = 0; r < rows; r++) {
            const float* __restrict row = x + r * inner;
            float sum[COLS] = {0, 0, 0, 0};
            for (long k = 0; k < inner; k++) {
                sum[0] += row[k] * a[k];
                sum[1] += row[k] * b[k];
                sum[2] += row[k] * c[k];
                sum[3] += row[k] * d[k];
            }
            for (long j = 0; j < some; j++) out[r * cols + first + j] = sum[j];
        }
    }
}
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "matmul.cpp").write_text(SOURCE)
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, "-o", folder / "matmul.so", folder / "matmul.cpp"], check=True)
    library = ctypes.CDLL(str(folder / "matmul.so"))
    library.int8_matmul.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_long] * 4
    return library


LIBRARY = build()


def custom_kernel(data):
    x, _, scale, _, out = data
    LIBRARY.int8_matmul(*(tensor.data_ptr() for tensor in data), *x.shape, *scale.shape)
    return out
