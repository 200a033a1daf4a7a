"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

# logits (rows, vocab) float32, targets (rows,) int64, out (rows,) float32
input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
output_t: TypeAlias = torch.Tensor  # out
