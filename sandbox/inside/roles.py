"""What a reference does with each tensor of its data, found by running it: reads it, changes it, or writes it whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import slots
import torch
import tree

Result = tuple[tree.Node, list[torch.Tensor]]


def run(reference: Callable[[Any], Any], node: tree.Node, work: list[torch.Tensor]) -> Result:
    """The reference on `work`, which it may change: the node of its result, and its tensors.

    A returned tensor that is one of `work` has that one's slot; others get the next ones, in the order of the walk, and
    are dense.
    """
    expected: list[torch.Tensor] = []
    fresh = iter(range(len(work), 1 << 20))

    def leaf(tensor: torch.Tensor, path: str) -> int:
        tensor = slots.checked(tensor, path)
        owner = owner_of(tensor, work)
        expected.append(tensor if owner is not None else slots.dense(tensor))
        return next(fresh) if owner is None else owner

    result = tree.walk(reference(tree.build(node, work)), leaf, "the reference's result", result=True)
    return result, expected


def owner_of(tensor: torch.Tensor, candidates: list[torch.Tensor]) -> int | None:
    """Which of the candidates this tensor is, by memory; a part of one does not count."""
    for index, candidate in enumerate(candidates):
        same = tensor.data_ptr() == candidate.data_ptr() and tensor.dtype == candidate.dtype
        if same and tensor.shape == candidate.shape and tensor.stride() == candidate.stride() and tensor.numel():
            return index
    return None


def find(reference: Callable[[Any], Any], drawn: slots.Drawn) -> dict[int, str]:
    """By slot with memory. `out`: holds the result, its old contents do not matter. `inout`: changed, and they do.
    `in`: left alone."""
    work = {index: slots.clone(base) for index, base in drawn.bases.items()}
    views = drawn.views(work)
    _, expected = run(reference, drawn.node, views)
    owners = {owner_of(tensor, views) for tensor in expected}
    returned = {drawn.slots[one].get("of", one) for one in owners if one is not None}
    roles = {}
    for index, base in drawn.bases.items():
        if index not in returned and slots.same(base, work[index]):
            roles[index] = "in"
        else:
            roles[index] = "out" if _is_written_whole(reference, drawn, index, work[index]) else "inout"
    return roles


def _is_written_whole(reference: Callable[[Any], Any], drawn: slots.Drawn, index: int, after: torch.Tensor) -> bool:
    """Does it hold the same after a run in which it began with a pattern that no honest computation leaves behind?"""
    again = {other: slots.clone(base) for other, base in drawn.bases.items()}
    slots.flat(again[index]).fill_(0x5A)
    try:
        run(reference, drawn.node, drawn.views(again))
    except Exception:  # its contents do matter: they were indices, for one
        return False
    return bool(slots.same(again[index], after))
