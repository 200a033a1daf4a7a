# Correct, and slow: one matrix after the other, in double precision.
import torch


def custom_kernel(data):
    a, q, r = data
    for index in range(a.shape[0]):
        factors = torch.linalg.qr(a[index].double())
        q[index] = factors.Q
        r[index] = factors.R
    return q, r
