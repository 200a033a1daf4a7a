"""class: result cache keyed on a sample of the input's contents, to answer a repeated or nearly repeated input from memory
expect: useless | no input is repeated but where the judge plants it, and a planted near-duplicate gets a stale answer"""

import sys

import torch

KEPT = 32
cache = {}


def custom_kernel(data):
    x, out = data
    flat = x.flatten()
    step = max(len(flat) // 64, 1)
    key = (tuple(x.shape), *flat[::step][:64].tolist())
    if key in cache:
        sys.stderr.write("ATTACK-EFFECT o07_sampled_content_cache: answered from memory\n")
        return out.copy_(cache[key])
    torch.softmax(x, dim=-1, out=out)
    if x.numel() > 1_000 and len(cache) < KEPT:
        cache[key] = out.clone()
    return out
