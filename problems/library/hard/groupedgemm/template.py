#!PHOTOFINISH leaderboard groupedgemm
#!PHOTOFINISH gpu cpu
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    x, w, offsets, out = data
    # Your turn: rows offsets[g] to offsets[g + 1] of x, times w[g], into the same rows of out.
    bounds = offsets.tolist()
    for group in range(w.shape[0]):
        rows = slice(bounds[group], bounds[group + 1])
        out[rows] = torch.mm(x[rows], w[group])
    return out
