# torch.linalg.qr straight into the outputs.
#!PHOTOFINISH leaderboard qr
#!PHOTOFINISH gpu cpu
import torch


def custom_kernel(data):
    a, q, r = data
    torch.linalg.qr(a, out=(q, r))
    return q, r
