#!PHOTOFINISH leaderboard moerouting
import torch
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def choose(logits, weights, chosen, counts, experts, K: tl.constexpr, SLOTS: tl.constexpr, WIDTH: tl.constexpr):
    """One program: the choices and weights of one token, all its logits in registers, padded with -inf to WIDTH."""
    token = tl.program_id(0).to(tl.int64)
    expert = tl.arange(0, WIDTH)
    slot = tl.arange(0, SLOTS)
    left = tl.load(logits + token * experts + expert, mask=expert < experts, other=float("-inf"))
    values = tl.full((SLOTS,), float("-inf"), tl.float32)
    places = tl.zeros((SLOTS,), tl.int32)
    for taken in range(K):
        best = tl.max(left, axis=0)
        place = tl.min(tl.where(left == best, expert, WIDTH), axis=0)  # of equal ones the first
        left = tl.where(expert == place, float("-inf"), left)
        values = tl.where(slot == taken, best, values)
        places = tl.where(slot == taken, place, places)
    parts = tl.exp(values - tl.max(values, axis=0))
    mine = slot < K
    tl.store(weights + token * K + slot, parts / tl.sum(parts, axis=0), mask=mine)
    tl.store(chosen + token * K + slot, places, mask=mine)
    tl.atomic_add(counts + places, 1, mask=mine)


def custom_kernel(data: input_t) -> output_t:
    logits, weights, chosen, order, offsets = data
    (tokens, experts), k = logits.shape, weights.shape[1]
    counts = torch.zeros(experts, dtype=torch.int32, device=logits.device)
    choose[(tokens,)](
        logits,
        weights,
        chosen,
        counts,
        experts,
        K=k,
        SLOTS=triton.next_power_of_2(k),
        WIDTH=triton.next_power_of_2(experts),
        num_warps=1,
    )
    # Your turn: a sort knows nothing of how few experts there are.
    order.copy_(chosen.flatten().argsort(stable=True))
    offsets[0] = 0
    offsets[1:] = counts.cumsum(0)
    return weights, chosen, order, offsets
