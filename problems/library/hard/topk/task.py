"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

# x: float32 (rows, n); values: float32 (rows, k); indices: int64 (rows, k)
input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
output_t: TypeAlias = tuple[torch.Tensor, torch.Tensor]  # values, indices
