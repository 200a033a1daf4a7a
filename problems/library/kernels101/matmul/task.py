"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # a (m, k), b (k, n), out (m, n): float32
output_t: TypeAlias = torch.Tensor  # out
