"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

# x (tokens, heads, 2 half), gain (2 half,), cos and sin (tokens, half), out (tokens, heads, 2 half); all float32
input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
output_t: TypeAlias = torch.Tensor  # out
