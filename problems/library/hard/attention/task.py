"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

# q, k, v, out: float32, shape (batch, heads, seq, dim); causal
input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, bool]
output_t: TypeAlias = torch.Tensor  # out
