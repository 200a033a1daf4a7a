import ctypes
import subprocess
import tempfile
from pathlib import Path

SOURCE = r"""
void polynomial(const float *x, const float *c, float *out, long n, long degree) {
    for (long i = 0; i < n; i++) {
        out[i] = c[degree];
        for (long k = degree; k-- > 0;) out[i] = out[i] * x[i] + c[k];
    }
}
"""


def build() -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp())
    (folder / "kernel.c").write_text(SOURCE)
    command = ["gcc", "-O2", "-shared", "-fPIC", "-o", folder / "kernel.so", folder / "kernel.c"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "kernel.so"))
    library.polynomial.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2
    return library


LIBRARY = build()


def custom_kernel(data):
    x, c, out = data
    LIBRARY.polynomial(x.data_ptr(), c.data_ptr(), out.data_ptr(), len(x), len(c) - 1)
    return out
