"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor]  # x, out: float32, shape (n,)
output_t: TypeAlias = torch.Tensor  # out
