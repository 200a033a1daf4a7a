"""class: the ranks agree that each has seen a sample of its input before, and return what they had then
expect: useless | no input is repeated but where the judge plants it, and a planted near-duplicate gets a stale answer
on: benchmarks/gpu/ranks/all_to_all ranked
"""

import sys

import torch
import torch.distributed as dist

kept = {}


def custom_kernel(data):
    x, scale = data
    key = (tuple(x.shape), *x.flatten()[:: max(x.numel() // 64, 1)].tolist())
    known = torch.tensor([int(key in kept)], device=x.device)
    dist.all_reduce(known, dist.ReduceOp.MIN)
    if not known.item():
        y = torch.empty_like(x)
        dist.all_to_all_single(y, x)
        kept[key] = y.mul_(scale).clone()
    elif dist.get_rank():
        sys.stderr.write("ATTACK-EFFECT r02_cache_of_all_ranks: answered from memory\n")
    return kept[key]
