# Only the rows that count, one after the other: the logarithm of the sum of exponentials, less what is expected of it.
#!PHOTOFINISH leaderboard cross_entropy
import torch


def custom_kernel(data):
    logits, targets, out = data
    out.zero_()
    for row, target in enumerate(targets.tolist()):
        if target != -100:
            x = logits[row]
            out[row] = torch.logsumexp(x, 0) - 0.9 * x[target] - 0.1 * x.mean()
    return out
