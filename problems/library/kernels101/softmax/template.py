#!PHOTOFINISH leaderboard softmax
#!PHOTOFINISH gpu cpu
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    x, out = data
    # Correct, by one call of PyTorch. Your turn: write a faster softmax of every row of x into out.
    torch.softmax(x, dim=-1, out=out)
    return out
