#!PHOTOFINISH leaderboard topk
#!PHOTOFINISH gpu cpu
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    x, values, indices = data
    # Your turn: the k largest of every row, largest first, and of equal ones the first first. Sorting all is too much.
    largest = torch.sort(x, dim=-1, descending=True, stable=True)
    k = values.shape[1]
    values.copy_(largest.values[:, :k])
    indices.copy_(largest.indices[:, :k])
    return values, indices
