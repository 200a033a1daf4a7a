#!PHOTOFINISH leaderboard histogram
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def histogram(values, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.atomic_add(counts + tl.load(values + at, mask=inside, other=0), 1, mask=inside, sem="relaxed")


def custom_kernel(data: input_t) -> output_t:
    values, counts = data
    counts.zero_()
    histogram[(triton.cdiv(values.numel(), 1024),)](values, counts, values.numel(), BLOCK=1024)
    return counts
