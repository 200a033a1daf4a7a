# Rows in blocks that stay in the cache: log-probabilities into one buffer, of which two numbers a row are kept.
#!PHOTOFINISH leaderboard cross_entropy
import torch

BLOCK = 1 << 16  # elements


def custom_kernel(data):
    logits, targets, out = data
    rows, vocab = logits.shape
    some = max(BLOCK // vocab, 1)
    buffer = torch.empty(some, vocab, dtype=logits.dtype, device=logits.device)
    ignored = targets == -100
    places = targets.masked_fill(ignored, 0).unsqueeze(1)
    for start in range(0, rows, some):
        part = slice(start, min(start + some, rows))
        chances = torch.log_softmax(logits[part], dim=-1, out=buffer[: part.stop - start])
        out[part] = chances.gather(1, places[part])[:, 0] * -0.9 - chances.mean(dim=1) * 0.1
    return out.masked_fill_(ignored, 0)
