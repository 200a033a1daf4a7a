"""The tuned baseline: on a processor four running sums side by side, in C++; on a GPU torch's scan."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = r"""
constexpr int CHAINS = 4, LANES = 16;

extern "C" void prefix_sum(const float* x, float* out, long n) {
    const long part = n / CHAINS, whole = part / LANES * LANES;
    double sums[CHAINS] = {};  // what lies before each quarter, then its running sum
    for (int chain = 1; chain < CHAINS; chain++) {
        const float* from = x + (chain - 1) * part;
        double lanes[LANES] = {};
        for (long i = 0; i < whole; i += LANES)
            for (int k = 0; k < LANES; k++) lanes[k] += from[i + k];
        for (long i = whole; i < part; i++) lanes[0] += from[i];
        sums[chain] = sums[chain - 1];
        for (double lane : lanes) sums[chain] += lane;
    }
    for (long i = 0; i < part; i++)  // an addition need not wait for the one before it in another chain
        for (int chain = 0; chain < CHAINS; chain++)
            out[chain * part + i] = static_cast<float>(sums[chain] += x[chain * part + i]);
    for (long i = CHAINS * part; i < n; i++) out[i] = static_cast<float>(sums[CHAINS - 1] += x[i]);
}
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "scan.cpp").write_text(SOURCE)
    command = ["g++", "-O3", "-march=native", "-shared", "-fPIC", "-o", folder / "scan.so", folder / "scan.cpp"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "scan.so"))
    library.prefix_sum.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    return library


LIBRARY = None if torch.cuda.is_available() else build()


def custom_kernel(data):
    x, out = data
    if LIBRARY is None:
        return torch.cumsum(x, dim=0, out=out)
    LIBRARY.prefix_sum(x.data_ptr(), out.data_ptr(), x.numel())
    return out
