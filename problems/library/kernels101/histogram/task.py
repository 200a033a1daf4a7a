"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor]  # values (n,), counts (bins,): int32
output_t: TypeAlias = torch.Tensor  # counts
