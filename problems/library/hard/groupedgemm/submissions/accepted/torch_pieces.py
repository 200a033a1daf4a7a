# Pieces cut out by tensor_split, a product for each, put together by cat.
#!PHOTOFINISH leaderboard groupedgemm
import torch


def custom_kernel(data):
    x, w, offsets, out = data
    pieces = x.tensor_split(offsets[1:-1].cpu())
    return torch.cat([piece @ weights for piece, weights in zip(pieces, w, strict=True)], out=out)
