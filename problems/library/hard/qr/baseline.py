"""The tuned baseline: LAPACK's (on a GPU the vendor's) Householder QR of the whole batch, straight into the outputs."""

import torch


def custom_kernel(data):
    a, q, r = data
    torch.linalg.qr(a, out=(q, r))
    return q, r
