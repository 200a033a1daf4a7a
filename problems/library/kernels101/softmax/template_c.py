#!PHOTOFINISH leaderboard softmax
#!PHOTOFINISH gpu cpu
import ctypes
import subprocess
import tempfile
from pathlib import Path

from task import input_t, output_t

SOURCE = r"""
#include <math.h>

void softmax(const float *x, float *out, long rows, long cols) {
    for (long r = 0; r < rows; r++, x += cols, out += cols) {
        float top = x[0], sum = 0;
        for (long c = 1; c < cols; c++) top = x[c] > top ? x[c] : top;
        for (long c = 0; c < cols; c++) sum += out[c] = expf(x[c] - top);
        for (long c = 0; c < cols; c++) out[c] /= sum;
    }
}
"""


def build() -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp())
    (folder / "softmax.c").write_text(SOURCE)
    command = ["gcc", "-O2", "-shared", "-fPIC", "-o", folder / "softmax.so", folder / "softmax.c", "-lm"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "softmax.so"))
    library.softmax.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
    return library


LIBRARY = build()


def custom_kernel(data: input_t) -> output_t:
    x, out = data
    LIBRARY.softmax(x.data_ptr(), out.data_ptr(), *x.shape)
    return out
