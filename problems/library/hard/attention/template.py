#!PHOTOFINISH leaderboard attention
#!PHOTOFINISH gpu cpu
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    q, k, v, out, causal = data
    # Your turn: write the attention of every query into out.
    logits = q @ k.mT * q.shape[-1] ** -0.5
    if causal:
        later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        logits.masked_fill_(later, float("-inf"))
    torch.matmul(torch.softmax(logits, dim=-1), v, out=out)
    return out
