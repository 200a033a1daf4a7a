# Modified Gram-Schmidt: Q loses its orthogonality as fast as the columns come to depend on each other.
import torch


def custom_kernel(data):
    a, q, r = data
    q.copy_(a)
    r.zero_()
    for j in range(a.shape[-1]):
        torch.linalg.vector_norm(q[:, :, j], dim=1, out=r[:, j, j])
        q[:, :, j] /= r[:, j, j].clamp_min(1e-30)[:, None]
        rest = q[:, :, j + 1 :]
        r[:, j, j + 1 :] = (q[:, :, j : j + 1].mT @ rest)[:, 0]
        rest -= q[:, :, j : j + 1] * r[:, j : j + 1, j + 1 :]
    return q, r
