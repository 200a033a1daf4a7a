#!PHOTOFINISH leaderboard cross_entropy
#!PHOTOFINISH gpu cpu
import torch.nn.functional as F
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    logits, targets, out = data
    # Your turn: this writes all log-probabilities to memory, and reads them again for one number a row.
    losses = F.cross_entropy(logits, targets, reduction="none", label_smoothing=0.1, ignore_index=-100)
    return out.copy_(losses)
