"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # a, q, r: float32, shape (batch, n, n)
output_t: TypeAlias = tuple[torch.Tensor, torch.Tensor]  # q, r
