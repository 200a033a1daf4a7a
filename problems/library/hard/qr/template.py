#!PHOTOFINISH leaderboard qr
#!PHOTOFINISH gpu cpu
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    a, q, r = data
    # Your turn: factorise every matrix of a into an orthogonal q and an upper triangular r.
    torch.linalg.qr(a, out=(q, r))
    return q, r
