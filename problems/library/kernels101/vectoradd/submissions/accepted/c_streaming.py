# C by g++ and ctypes: streaming stores, so that the output's old contents are never read.
#!PHOTOFINISH leaderboard vectoradd
#!PHOTOFINISH gpu cpu
import ctypes
import subprocess
import tempfile
from pathlib import Path

SOURCE = r"""
#include <cstdint>
#if defined(__AVX__)
#include <immintrin.h>
static void add_8(const float* x, const float* y, float* out) {
    _mm256_stream_ps(out, _mm256_add_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(y)));
}
static void finish() { _mm_sfence(); }
#else
static void add_8(const float* x, const float* y, float* out) {
    for (int k = 0; k < 8; k++) out[k] = x[k] + y[k];
}
static void finish() {}
#endif

extern "C" void add(const float* x, const float* y, float* out, long n) {
    long i = 0;
    for (; i < n && (reinterpret_cast<std::uintptr_t>(out + i) % 32); i++) out[i] = x[i] + y[i];
    for (; i + 8 <= n; i += 8) add_8(x + i, y + i, out + i);
    finish();
    for (; i < n; i++) out[i] = x[i] + y[i];
}
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "add.cpp").write_text(SOURCE)
    command = ["g++", "-O3", "-march=native", "-shared", "-fPIC", "-o", folder / "add.so", folder / "add.cpp"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "add.so"))
    library.add.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    return library


LIBRARY = build()


def custom_kernel(data):
    x, y, out = data
    LIBRARY.add(x.data_ptr(), y.data_ptr(), out.data_ptr(), out.numel())
    return out
