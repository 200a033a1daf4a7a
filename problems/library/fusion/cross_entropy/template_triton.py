#!PHOTOFINISH leaderboard cross_entropy
#!PHOTOFINISH gpu H200
import triton
import triton.language as tl
from task import input_t, output_t

BLOCK = 2048  # logits at a time


@triton.jit
def cross_entropy(logits, targets, out, vocab, BLOCK: tl.constexpr):
    """One row: its maximum first, then the two sums."""
    row = tl.program_id(0).to(tl.int64)  # rows * vocab may pass 2^31
    target = tl.load(targets + row)
    if target == -100:
        tl.store(out + row, 0.0)
    else:
        x = logits + row * vocab
        top = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)
        for start in range(0, vocab, BLOCK):
            i = start + tl.arange(0, BLOCK)
            top = tl.maximum(top, tl.load(x + i, mask=i < vocab, other=float("-inf")))
        most = tl.max(top, axis=0)
        all = tl.zeros((BLOCK,), dtype=tl.float32)
        sum = tl.zeros((BLOCK,), dtype=tl.float32)
        for start in range(0, vocab, BLOCK):
            i = start + tl.arange(0, BLOCK)
            below = tl.load(x + i, mask=i < vocab, other=0.0) - most
            all += tl.where(i < vocab, below, 0.0)
            sum += tl.where(i < vocab, tl.exp(below), 0.0)
        mean = tl.sum(all, axis=0) / vocab
        loss = tl.log(tl.sum(sum, axis=0)) - 0.9 * (tl.load(x + target) - most) - 0.1 * mean
        tl.store(out + row, loss)


def custom_kernel(data: input_t) -> output_t:
    logits, targets, out = data
    rows, vocab = logits.shape
    cross_entropy[(rows,)](logits, targets, out, vocab, BLOCK=BLOCK, num_warps=8)
    return out
