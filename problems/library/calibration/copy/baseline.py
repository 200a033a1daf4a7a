"""The best copy that we know, `rounds` times: the library's own, but from a cpu's memory one with streaming stores.

An ordinary store reads a line before it overwrites it: half as much traffic again, which nobody needs.
"""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = r"""
#include <cstdint>
#include <cstring>
#if defined(__AVX__)
#include <immintrin.h>
extern "C" void copy(char* to, const char* from, long bytes) {
    long i = 0;
    for (; i < bytes && reinterpret_cast<std::uintptr_t>(to + i) % 32; i++) to[i] = from[i];
    for (; i + 32 <= bytes; i += 32) {
        const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), words);
    }
    _mm_sfence();
    for (; i < bytes; i++) to[i] = from[i];
}
#else
extern "C" void copy(char* to, const char* from, long bytes) { std::memcpy(to, from, bytes); }
#endif
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "copy.cpp").write_text(SOURCE)
    command = ["g++", "-O3", "-march=native", "-shared", "-fPIC", "-o", folder / "copy.so", folder / "copy.cpp"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "copy.so"))
    library.copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    return library


LIBRARY = None if torch.cuda.is_available() else build()


def custom_kernel(data):
    x, out, rounds = data
    if LIBRARY is not None and rounds == 1:
        LIBRARY.copy(out.data_ptr(), x.data_ptr(), x.nbytes)
        return out
    for _ in range(rounds):
        out.copy_(x)
    return out
