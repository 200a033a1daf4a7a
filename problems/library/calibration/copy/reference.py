"""Input and expected output of a copy, `rounds` times over: enough to time one that stays inside a cache."""

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, words: int, rounds: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, int]:
    return random_words(words, seed), torch.empty(words, dtype=torch.int32, device=DEVICE), rounds


def ref_kernel(data: tuple[torch.Tensor, torch.Tensor, int]) -> torch.Tensor:
    x, out, _ = data
    return out.copy_(x)


def random_words(words: int, seed: int) -> torch.Tensor:
    """On a cpu from the generator with the least to do for each bit: a timed call needs many fresh ones."""
    if DEVICE == "cuda":
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        lowest, highest = torch.iinfo(torch.int32).min, torch.iinfo(torch.int32).max
        return torch.randint(lowest, highest, (words,), generator=generator, device=DEVICE, dtype=torch.int32)
    bits = np.random.SFC64(seed).random_raw((words + 1) // 2)
    return torch.from_numpy(bits.view(np.int32))[:words]
