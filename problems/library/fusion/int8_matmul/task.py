"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

GROUP = 64  # values of one row of `quantised` that share a scale and a zero point

# x (rows, inner) float32, quantised (cols, inner) int8, scale (cols, groups) float32, zero (cols, groups) int8,
# out (rows, cols) float32, with groups = ceil(inner / 64)
input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
output_t: TypeAlias = torch.Tensor  # out
