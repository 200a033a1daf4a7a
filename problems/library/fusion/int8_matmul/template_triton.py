#!PHOTOFINISH leaderboard int8_matmul
#!PHOTOFINISH gpu H200
import triton
import triton.language as tl
from task import GROUP, input_t, output_t

ROWS, COLS = 16, 32  # of a block


@triton.jit
def int8_matmul(
    x,
    quantised,
    scale,
    zero,
    out,
    rows,
    inner,
    cols,
    groups,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    GROUP: tl.constexpr,
):
    """One block of the output; a step is a group, so each column has one scale and one zero point in it."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    acc = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for group in range(groups):
        k = group * GROUP + tl.arange(0, GROUP)
        left = tl.load(x + r[:, None] * inner + k[None, :], mask=(r < rows)[:, None] & (k < inner)[None, :], other=0.0)
        inside = (c < cols)[None, :] & (k < inner)[:, None]
        right = tl.load(quantised + c[None, :] * inner + k[:, None], mask=inside, other=0).to(tl.float32)
        z = tl.load(zero + c * groups + group, mask=c < cols, other=0).to(tl.float32)
        s = tl.load(scale + c * groups + group, mask=c < cols, other=0.0)
        # What lies beyond `inner` meets zeros on the left. The default precision, TF32, is too coarse here.
        acc += tl.dot(left, (right - z[None, :]) * s[None, :], input_precision="ieee")
    place = r[:, None] * cols + c[None, :]
    tl.store(out + place, acc, mask=(r < rows)[:, None] & (c < cols)[None, :])


def custom_kernel(data: input_t) -> output_t:
    x, quantised, scale, zero, out = data
    rows, inner = x.shape
    cols, groups = scale.shape
    grid = (triton.cdiv(rows, ROWS), triton.cdiv(cols, COLS))
    int8_matmul[grid](x, quantised, scale, zero, out, rows, inner, cols, groups, ROWS=ROWS, COLS=COLS, GROUP=GROUP)
    return out
