# The textbook formula without the row's maximum: overflows to inf / inf as soon as a logit passes 88.
import torch


def custom_kernel(data):
    q, k, v, out, causal = data
    weights = (q @ k.mT * q.shape[-1] ** -0.5).exp_()
    if causal:
        weights.tril_()
    torch.matmul(weights / weights.sum(dim=-1, keepdim=True), v, out=out)
    return out
