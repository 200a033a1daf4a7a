#!PHOTOFINISH leaderboard attention
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def attend(
    q, k, v, out, seq, dim, scale, CAUSAL: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr, DIM: tl.constexpr
):
    """One program: QUERIES queries of one head, past KEYS keys at a time; dim padded with zeros to DIM."""
    head = tl.program_id(1).to(tl.int64) * seq * dim
    rows = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    d = tl.arange(0, DIM)
    mine = (rows[:, None] < seq) & (d[None, :] < dim)
    places = head + rows[:, None] * dim + d[None, :]
    query = tl.load(q + places, mask=mine, other=0.0) * scale
    top = tl.full((QUERIES,), float("-inf"), tl.float32)
    total = tl.zeros((QUERIES,), tl.float32)
    found = tl.zeros((QUERIES, DIM), tl.float32)
    end = tl.minimum(seq, (tl.program_id(0) + 1) * QUERIES) if CAUSAL else seq
    for start in range(0, end, KEYS):
        keys = start + tl.arange(0, KEYS)
        theirs = (keys[:, None] < seq) & (d[None, :] < dim)
        key = tl.load(k + head + keys[:, None] * dim + d[None, :], mask=theirs, other=0.0)
        value = tl.load(v + head + keys[:, None] * dim + d[None, :], mask=theirs, other=0.0)
        logits = tl.dot(query, tl.trans(key), input_precision="ieee")  # tf32 is not precise enough
        seen = keys[None, :] < seq
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        logits = tl.where(seen, logits, float("-inf"))
        higher = tl.maximum(top, tl.max(logits, axis=1))  # the first block holds a key for every query: never -inf
        weights = tl.exp(logits - higher[:, None])
        shrink = tl.exp(top - higher)
        total = total * shrink + tl.sum(weights, axis=1)
        found = found * shrink[:, None] + tl.dot(weights, value, input_precision="ieee")
        top = higher
    tl.store(out + places, found / total[:, None], mask=mine)


def custom_kernel(data: input_t) -> output_t:
    q, k, v, out, causal = data
    batch, heads, seq, dim = q.shape
    queries, keys = 32, 32
    grid = (triton.cdiv(seq, queries), batch * heads)
    width = max(triton.next_power_of_2(dim), 16)
    attend[grid](q, k, v, out, seq, dim, dim**-0.5, CAUSAL=causal, QUERIES=queries, KEYS=keys, DIM=width)
    return out
