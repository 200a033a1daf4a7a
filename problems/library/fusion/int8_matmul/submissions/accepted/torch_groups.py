# Group by group: the product with the bare bytes, then scale and zero point once an output element.
#!PHOTOFINISH leaderboard int8_matmul
import torch


def custom_kernel(data):
    x, quantised, scale, zero, out = data
    out.zero_()
    for group in range(scale.shape[1]):
        part = slice(64 * group, 64 * group + 64)
        some = x[:, part]
        product = torch.mm(some, quantised[:, part].float().t())
        product.addr_(some.sum(dim=1), zero[:, group].float(), alpha=-1)
        out.addcmul_(product, scale[:, group].expand_as(product))
    return out
