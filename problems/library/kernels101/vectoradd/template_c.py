#!PHOTOFINISH leaderboard vectoradd
#!PHOTOFINISH gpu cpu
import ctypes
import subprocess
import tempfile
from pathlib import Path

from task import input_t, output_t

SOURCE = r"""
void add(const float *x, const float *y, float *out, long n) {
    for (long i = 0; i < n; i++) out[i] = x[i] + y[i];
}
"""


def build() -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp())
    (folder / "add.c").write_text(SOURCE)
    command = ["gcc", "-O2", "-shared", "-fPIC", "-o", folder / "add.so", folder / "add.c"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "add.so"))
    library.add.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    return library


LIBRARY = build()


def custom_kernel(data: input_t) -> output_t:
    x, y, out = data
    LIBRARY.add(x.data_ptr(), y.data_ptr(), out.data_ptr(), out.numel())
    return out
