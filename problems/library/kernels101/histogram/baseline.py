"""The tuned baseline: on a processor four tables in turn, in C++; on a GPU torch's own count of whole numbers."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = r"""
#include <vector>

constexpr int TABLES = 4;

extern "C" void histogram(const int* values, int* counts, long n, long bins) {
    std::vector<int> tables(TABLES * bins);  // equal neighbours do not wait for each other
    int* table[TABLES];
    for (int t = 0; t < TABLES; t++) table[t] = tables.data() + t * bins;
    const long whole = n / TABLES * TABLES;
    for (long i = 0; i < whole; i += TABLES)
        for (int t = 0; t < TABLES; t++) table[t][values[i + t]]++;
    for (long i = whole; i < n; i++) table[0][values[i]]++;
    for (long b = 0; b < bins; b++) counts[b] = table[0][b] + table[1][b] + table[2][b] + table[3][b];
}
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "count.cpp").write_text(SOURCE)
    command = ["g++", "-O3", "-march=native", "-shared", "-fPIC", "-o", folder / "count.so", folder / "count.cpp"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "count.so"))
    library.histogram.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
    return library


LIBRARY = None if torch.cuda.is_available() else build()


def custom_kernel(data):
    values, counts = data
    if LIBRARY is None:
        return counts.copy_(torch.bincount(values, minlength=counts.numel()))
    LIBRARY.histogram(values.data_ptr(), counts.data_ptr(), values.numel(), counts.numel())
    return counts
