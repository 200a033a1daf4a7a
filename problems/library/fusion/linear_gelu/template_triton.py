#!PHOTOFINISH leaderboard linear_gelu
#!PHOTOFINISH gpu H200
import triton
import triton.language as tl
from task import input_t, output_t

ROWS, COLS, INNER = 32, 32, 32  # of a block


@triton.jit
def linear_gelu(
    x, weight, bias, residual, out, rows, inner, cols, ROWS: tl.constexpr, COLS: tl.constexpr, INNER: tl.constexpr
):
    """One block of the output: a product in blocks along `inner`, then everything else on what it left in registers."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    acc = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for start in range(0, inner, INNER):
        k = start + tl.arange(0, INNER)
        left = tl.load(x + r[:, None] * inner + k[None, :], mask=(r < rows)[:, None] & (k < inner)[None, :], other=0.0)
        right = tl.load(
            weight + c[None, :] * inner + k[:, None], mask=(c < cols)[None, :] & (k < inner)[:, None], other=0.0
        )
        acc += tl.dot(left, right, input_precision="ieee")  # the default, TF32, is too coarse here
    acc += tl.load(bias + c, mask=c < cols, other=0.0)[None, :]
    activated = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    place = r[:, None] * cols + c[None, :]
    inside = (r < rows)[:, None] & (c < cols)[None, :]
    tl.store(out + place, activated + tl.load(residual + place, mask=inside, other=0.0), mask=inside)


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, residual, out = data
    rows, inner = x.shape
    cols = weight.shape[0]
    grid = (triton.cdiv(rows, ROWS), triton.cdiv(cols, COLS))
    linear_gelu[grid](x, weight, bias, residual, out, rows, inner, cols, ROWS=ROWS, COLS=COLS, INNER=INNER)
    return out
