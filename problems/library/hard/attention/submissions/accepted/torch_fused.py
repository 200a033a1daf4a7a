# torch's fused attention, which never holds all logits at once; copied into the output.
#!PHOTOFINISH leaderboard attention
#!PHOTOFINISH gpu cpu
import torch.nn.functional as F


def custom_kernel(data):
    q, k, v, out, causal = data
    out.copy_(F.scaled_dot_product_attention(q, k, v, is_causal=causal))
    return out
