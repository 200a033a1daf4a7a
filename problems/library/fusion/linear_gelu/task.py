"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

# x (rows, inner), weight (cols, inner), bias (cols,), residual (rows, cols), out (rows, cols); all float32
input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
output_t: TypeAlias = torch.Tensor  # out
