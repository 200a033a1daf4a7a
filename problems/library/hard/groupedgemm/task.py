"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

# x: float32 (rows, k); w: float32 (groups, k, n); offsets: int64 (groups + 1,); out: float32 (rows, n)
input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
output_t: TypeAlias = torch.Tensor  # out
