"""The tuned baseline: torch's fused attention."""

import torch.nn.functional as F


def custom_kernel(data):
    q, k, v, _, causal = data
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
