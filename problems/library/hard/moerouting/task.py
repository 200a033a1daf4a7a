"""Types of this problem, for submissions that like to name them."""

from typing import TypeAlias

import torch

# logits: float32 (tokens, experts); weights: float32 (tokens, k); chosen: int32 (tokens, k);
# order: int32 (tokens * k,); offsets: int32 (experts + 1,)
input_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
output_t: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]  # weights, chosen, order, offsets
