# Online softmax over blocks of keys: a running maximum, sum and mean for all queries at once.
#!PHOTOFINISH leaderboard attention
import torch

BLOCK = 128


def custom_kernel(data):
    q, k, v, out, causal = data
    seq, dim = q.shape[-2:]
    query = q * dim**-0.5
    out.zero_()
    top = query.new_full((*q.shape[:-1], 1), -torch.inf)
    total = torch.zeros_like(top)
    for start in range(0, seq, BLOCK):
        end = min(start + BLOCK, seq)
        first = start if causal else 0  # earlier queries see none of these keys
        mine = slice(first, seq)
        logits = query[..., mine, :] @ k[..., start:end, :].mT
        if causal:
            later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=q.device).triu_(1)
            logits.masked_fill_(later, -torch.inf)
        higher = torch.maximum(top[..., mine, :], logits.amax(dim=-1, keepdim=True))
        weights = logits.sub_(higher).exp_()
        shrink = (top[..., mine, :] - higher).exp_()
        total[..., mine, :] = total[..., mine, :] * shrink + weights.sum(dim=-1, keepdim=True)
        out[..., mine, :] = out[..., mine, :] * shrink + weights @ v[..., start:end, :]
        top[..., mine, :] = higher
    return out.div_(total)
