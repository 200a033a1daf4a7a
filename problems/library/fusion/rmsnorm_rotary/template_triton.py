#!PHOTOFINISH leaderboard rmsnorm_rotary
#!PHOTOFINISH gpu H200
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def rmsnorm_rotary(x, gain, cos, sin, out, heads, half, BLOCK: tl.constexpr):
    """One head of one token: both halves of the row stay in registers."""
    row = tl.program_id(0)
    token = row // heads
    i = tl.arange(0, BLOCK)
    inside = i < half
    left = tl.load(x + row * 2 * half + i, mask=inside, other=0.0)
    right = tl.load(x + row * 2 * half + half + i, mask=inside, other=0.0)
    mean = tl.sum(left * left + right * right, axis=0) / (2 * half)
    inverse = 1.0 / tl.sqrt(mean + 1e-6)
    left = left * inverse * tl.load(gain + i, mask=inside, other=0.0)
    right = right * inverse * tl.load(gain + half + i, mask=inside, other=0.0)
    c = tl.load(cos + token * half + i, mask=inside, other=0.0)
    s = tl.load(sin + token * half + i, mask=inside, other=0.0)
    tl.store(out + row * 2 * half + i, left * c - right * s, mask=inside)
    tl.store(out + row * 2 * half + half + i, right * c + left * s, mask=inside)


def custom_kernel(data: input_t) -> output_t:
    x, gain, cos, sin, out = data
    tokens, heads, width = x.shape
    half = width // 2
    block = triton.next_power_of_2(half)
    rmsnorm_rotary[(tokens * heads,)](x, gain, cos, sin, out, heads, half, BLOCK=block)
    return out
