#!PHOTOFINISH leaderboard layernorm
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def layer_norm(x, weight, bias, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        total += tl.load(x + row + start + at, mask=start + at < cols, other=0.0)
    mean = tl.sum(total, axis=0) / cols
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        moved = tl.where(inside, tl.load(x + row + start + at, mask=inside, other=0.0) - mean, 0.0)
        squares += moved * moved
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / cols + 1e-5)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        moved = tl.load(x + row + start + at, mask=inside, other=0.0) - mean
        w = tl.load(weight + start + at, mask=inside, other=0.0)
        b = tl.load(bias + start + at, mask=inside, other=0.0)
        tl.store(out + row + start + at, moved * scale * w + b, mask=inside)


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, out = data
    rows, cols = x.shape
    layer_norm[(rows,)](x, weight, bias, out, cols, BLOCK=1024)
    return out
