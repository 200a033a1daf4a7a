# Correct, and slow: everything in double precision, with a temporary for each operation.
import torch


def custom_kernel(data):
    logits, targets, out = data
    ignored = targets == -100
    chances = torch.log_softmax(logits.double(), dim=-1)
    expected = torch.full_like(chances, 0.1 / logits.shape[1])
    expected.scatter_add_(1, targets.masked_fill(ignored, 0).unsqueeze(1), torch.full_like(chances[:, :1], 0.9))
    return out.copy_(-(chances * expected).sum(dim=1)).masked_fill_(ignored, 0)
