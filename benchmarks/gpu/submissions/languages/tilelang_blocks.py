"""TileLang: blocks of 1,024 elements. It compiles when the file is imported, for vectors of any length."""

import tilelang
import tilelang.language as T

BLOCK, THREADS = 1024, 256


@tilelang.jit(out_idx=None)
def compiled():
    n = T.dynamic("n")

    @T.prim_func
    def add(x: T.Tensor((n,), "float32"), y: T.Tensor((n,), "float32"), out: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, BLOCK), threads=THREADS) as block:
            for i in T.Parallel(BLOCK):
                out[block * BLOCK + i] = x[block * BLOCK + i] + y[block * BLOCK + i]

    return add


add = compiled()


def custom_kernel(data):
    x, y, out = data
    add(x, y, out)
    return out
