#!PHOTOFINISH leaderboard softmax
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def softmax(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, BLOCK)
    tops = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        tops = tl.maximum(tops, tl.load(x + row + start + at, mask=start + at < cols, other=float("-inf")))
    top = tl.max(tops, axis=0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        sums += tl.exp(tl.load(x + row + start + at, mask=start + at < cols, other=float("-inf")) - top)
    scale = 1.0 / tl.sum(sums, axis=0)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        value = tl.exp(tl.load(x + row + start + at, mask=inside, other=0.0) - top) * scale
        tl.store(out + row + start + at, value, mask=inside)


def custom_kernel(data: input_t) -> output_t:
    x, out = data
    rows, cols = x.shape
    softmax[(rows,)](x, out, cols, BLOCK=1024)
    return out
