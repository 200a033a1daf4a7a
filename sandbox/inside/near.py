"""Near-duplicates: the data of a case with 1 to 8 elements changed, to see whether a cached answer comes back.

A changed element takes the value of another one of its tensor, so that the data stays of its kind: no new range, no
new sign, nothing that the problem's generator could not have drawn.
"""

from __future__ import annotations

import random

import torch

MOST = 8  # elements changed
CANDIDATES = 16  # values looked at for each; the one farthest from the old value is taken


def change(tensors: list[torch.Tensor], chance: random.Random) -> list[int]:
    """Replaces tensors of the list by changed copies; the indices of these. Empty: nothing here can be changed.

    Tensors are dense; only floating-point and complex ones are taken, and of those only finite values.
    """
    fit = [n for n, tensor in enumerate(tensors) if _is_fit(tensor)]
    wanted = chance.randint(1, MOST)
    changed: list[int] = []
    for _ in range(4 * wanted if fit else 0):
        index = chance.choice(fit)
        copy = tensors[index] if index in changed else tensors[index].clone()
        if _change_one(copy, chance):
            tensors[index] = copy
            changed += [] if index in changed else [index]
            wanted -= 1
            if not wanted:
                break
    return changed


def _is_fit(tensor: torch.Tensor) -> bool:
    number = tensor.is_floating_point() or tensor.is_complex()
    return bool(number and tensor.dtype.itemsize > 1 and tensor.numel() > 1)


def _change_one(tensor: torch.Tensor, chance: random.Random) -> bool:
    """One element becomes what another is; False where all that were looked at are the same."""
    flat = torch.as_strided(tensor, (tensor.numel(),), (1,))
    places = [chance.randrange(tensor.numel()) for _ in range(1 + CANDIDATES)]
    values = flat[torch.tensor(places, device=tensor.device)]
    distance = (values - values[0]).to(torch.complex128).abs().nan_to_num(0.0, 0.0, 0.0)
    farthest = int(distance.argmax())
    if not distance[farthest] > 0:
        return False
    flat[places[0]] = values[farthest]
    return True
