#!PHOTOFINISH leaderboard groupedgemm
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def multiply(x, w, offsets, out, groups, k, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr):
    """One program: a tile of `out` that belongs to one group. The host knows no offsets, so programs count tiles.

    There are at most ceil(rows / ROWS) + groups tiles of rows; programs beyond the last one have nothing to do.
    """
    tile = tl.program_id(0)
    group = 0
    start = tl.load(offsets)
    end = tl.load(offsets + 1)
    tiles = tl.cdiv(end - start, ROWS)
    while (tile >= tiles) & (group + 1 < groups):  # whose tile is it?
        tile -= tiles.to(tl.int32)
        group += 1
        start = end
        end = tl.load(offsets + group + 1)
        tiles = tl.cdiv(end - start, ROWS)
    if tile < tiles:
        rows = start + tile * ROWS + tl.arange(0, ROWS)  # 64 bits, as the offsets are
        columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        weights = w + group.to(tl.int64) * k * n
        total = tl.zeros((ROWS, COLUMNS), tl.float32)
        for first in range(0, k, STEP):
            inner = first + tl.arange(0, STEP)
            a = tl.load(
                x + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < end) & (inner[None, :] < k), other=0.0
            )
            b = tl.load(
                weights + inner[:, None] * n + columns[None, :],
                mask=(inner[:, None] < k) & (columns[None, :] < n),
                other=0.0,
            )
            total += tl.dot(a, b, input_precision="ieee")  # tf32 is not precise enough
        tl.store(out + rows[:, None] * n + columns[None, :], total, mask=(rows[:, None] < end) & (columns[None, :] < n))


def custom_kernel(data: input_t) -> output_t:
    x, w, offsets, out = data
    groups, k, n = w.shape
    rows, columns, step = 32, 64, 32
    grid = (triton.cdiv(x.shape[0], rows) + groups, triton.cdiv(n, columns))
    multiply[grid](x, w, offsets, out, groups, k, n, ROWS=rows, COLUMNS=columns, STEP=step)
    return out
