#!PHOTOFINISH leaderboard prefixsum
import torch
import triton
import triton.language as tl
from task import input_t, output_t

BLOCK = 4096


@triton.jit
def sum_blocks(x, sums, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums + tl.program_id(0), tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


@triton.jit
def scan_blocks(x, before, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    scanned = tl.cumsum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    tl.store(out + at, scanned + tl.load(before + tl.program_id(0)), mask=at < n)


def custom_kernel(data: input_t) -> output_t:
    x, out = data
    blocks = triton.cdiv(x.numel(), BLOCK)
    sums = torch.empty(blocks, device=x.device)
    sum_blocks[(blocks,)](x, sums, x.numel(), BLOCK=BLOCK)
    before = torch.cumsum(sums, dim=0).sub_(sums)  # what lies before each block
    scan_blocks[(blocks,)](x, before, out, x.numel(), BLOCK=BLOCK)
    return out
