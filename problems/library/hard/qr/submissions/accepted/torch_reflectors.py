# Householder vectors by geqrf, Q from them by householder_product, with the signs turned so that R's diagonal is not
# negative: another factorisation than the reference's, and as good. Not on a GPU: see the end of "What counts".
#!PHOTOFINISH leaderboard qr
#!PHOTOFINISH gpu cpu
import torch


def custom_kernel(data):
    a, q, r = data
    packed, tau = torch.geqrf(a)
    torch.triu(packed, out=r)
    signs = torch.where(r.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0)
    r.mul_(signs[:, :, None])
    torch.mul(torch.linalg.householder_product(packed, tau), signs[:, None, :], out=q)
    return q, r
