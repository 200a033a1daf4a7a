#!PHOTOFINISH leaderboard topk
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def select(x, values, indices, n, k, BLOCK: tl.constexpr):
    """One program selects the k largest of one row, one after the other: k passes over the row, so room is left.

    After each pass `last` and `place` say what was taken; what comes next is smaller, or as large and behind it.
    """
    row = tl.program_id(0).to(tl.int64)
    last, place = float("inf"), -1
    for taken in range(k):
        best = tl.full((BLOCK,), float("-inf"), tl.float32)
        where = tl.full((BLOCK,), 2147483647, tl.int32)
        for start in range(0, n, BLOCK):
            column = start + tl.arange(0, BLOCK)
            value = tl.load(x + row * n + column, mask=column < n, other=float("-inf"))
            left = (column < n) & ((value < last) | ((value == last) & (column > place)))
            better = left & (value > best)  # an equal one comes too late: each lane sees its columns in order
            best = tl.where(better, value, best)
            where = tl.where(better, column, where)
        last = tl.max(best, axis=0)
        place = tl.min(tl.where(best == last, where, 2147483647), axis=0)
        tl.store(values + row * k + taken, last)
        tl.store(indices + row * k + taken, place.to(tl.int64))


def custom_kernel(data: input_t) -> output_t:
    x, values, indices = data
    rows, n = x.shape
    select[(rows,)](x, values, indices, n, values.shape[1], BLOCK=1024, num_warps=4)
    return values, indices
