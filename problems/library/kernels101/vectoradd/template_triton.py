#!PHOTOFINISH leaderboard vectoradd
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def custom_kernel(data: input_t) -> output_t:
    x, y, out = data
    add[(triton.cdiv(out.numel(), 1024),)](x, y, out, out.numel(), BLOCK=1024)
    return out
