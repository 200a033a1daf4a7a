# Logits, softmax and the weighted mean as three steps of one head at a time; a causal query block skips later keys.
#!PHOTOFINISH leaderboard attention
import torch

BLOCK = 256


def custom_kernel(data):
    q, k, v, out, causal = data
    seq, dim = q.shape[-2:]
    heads = zip(*(tensor.view(-1, seq, dim) for tensor in (q * dim**-0.5, k, v, out)), strict=True)
    for query, key, value, target in heads:
        for start in range(0, seq, BLOCK):
            end = min(start + BLOCK, seq)
            seen = end if causal else seq
            logits = query[start:end] @ key[:seen].T
            if causal:
                own = logits[:, start:]
                own.masked_fill_(torch.ones_like(own, dtype=torch.bool).triu_(1), -torch.inf)
            torch.mm(torch.softmax(logits, dim=-1), value[:seen], out=target[start:end])
    return out
