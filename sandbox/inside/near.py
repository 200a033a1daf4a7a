"""Near-duplicates: the data of a case with 1 to 8 elements changed, to find out whether a cached answer comes back.

A changed element takes the value of another element of its tensor. The data keeps its character: no new range, no new
sign, no value that the problem's generator could not have drawn.
"""

from __future__ import annotations

import random

import torch

MOST = 8  # elements changed
CANDIDATES = 16  # values looked at for each element; it takes the value farthest from its old value


def change(tensors: list[torch.Tensor], chance: random.Random) -> list[int]:
    """Replace tensors of the list by changed copies and return their indices; empty if no element can change.

    Tensors are dense. Only floating-point and complex tensors are taken, and of these only finite values.
    """
    fit = [
        index
        for index, tensor in enumerate(tensors)
        if (tensor.is_floating_point() or tensor.is_complex()) and tensor.dtype.itemsize > 1 and tensor.numel() > 1
    ]
    wanted = chance.randint(1, MOST)
    tries = []  # a tensor, the place of an element, and the places of the values that it may take
    for _ in range(4 * wanted if fit else 0):
        index = chance.choice(fit)
        tries.append((index, [chance.randrange(tensors[index].numel()) for _ in range(1 + CANDIDATES)]))
    # all of a tensor at once: each look at a device's memory costs more than all the other work
    found = {
        index: iter(_farthest(tensors[index], [places for of, places in tries if of == index]))
        for index in {index for index, _ in tries}
    }
    moves: dict[int, dict[int, int]] = {}
    for index, (place, *_) in tries:
        source = next(found[index])
        if wanted and source is not None and place not in moves.setdefault(index, {}):
            moves[index][place] = source
            wanted -= 1
    changed = [index for index in moves if moves[index]]
    for index in changed:
        old, copy = tensors[index], tensors[index].clone()
        places = torch.tensor([list(moves[index]), list(moves[index].values())], device=old.device)
        _flat(copy)[places[0]] = _flat(old)[places[1]]
        tensors[index] = copy
    return changed


def _farthest(tensor: torch.Tensor, rows: list[list[int]]) -> list[int | None]:
    """Return each row's place whose value is farthest from the value at its first place; None where all are equal."""
    values = _flat(tensor)[torch.tensor(rows, device=tensor.device)].cpu().to(torch.complex128)
    distance = (values - values[:, :1]).abs().nan_to_num(0.0, 0.0, 0.0)
    most, at = distance.max(dim=1)
    return [row[n] if apart > 0 else None for row, n, apart in zip(rows, at.tolist(), most.tolist(), strict=True)]


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    return torch.as_strided(tensor, (tensor.numel(),), (1,))
