"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

# x (batch, channels, height, width), weight (filters, channels, 3, 3), bias (filters,), scale (filters,),
# out (batch, filters, height, width); all float32
input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
output_t: TypeAlias = torch.Tensor  # out
