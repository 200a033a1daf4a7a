"""Roles of the tensors of the data, found by running the reference: it reads, changes, or wholly writes a tensor.

A tensor that the reference ignores though a result fits there is a place for that result, which submissions may fill.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import slots
import torch
import tree

Result = tuple[tree.Node, list[torch.Tensor]]
MOST_PLACES = 4  # last tensors of the data that are tried; each costs a run of the reference


@dataclass(frozen=True)
class Place:
    """The slot of the data where a new tensor of the result belongs; `also` is a second dtype that it may have."""

    slot: int
    also: str = ""


@dataclass(frozen=True)
class Roles:
    """Roles by slot with memory, and places by the path of a tensor in the result."""

    by_slot: dict[int, str]
    places: dict[str, Place] = field(default_factory=dict)


@dataclass(frozen=True)
class _Run:
    """Result of a run of the reference, and the data's memory after it."""

    result: tree.Node
    expected: list[torch.Tensor]
    work: dict[int, torch.Tensor]


def run(
    reference: Callable[[Any], Any],
    node: tree.Node,
    work: list[torch.Tensor],
    places: Mapping[str, Place] | None = None,
    paths: list[str] | None = None,
    *,
    any_float: bool = False,
) -> Result:
    """Run the reference on `work`, which it may change; return the node and the tensors of its result.

    A returned tensor that is one of `work` keeps its slot. A tensor with a place is copied there, where it fits in this
    case. All further tensors get the next slots, in the order of the walk, and are dense. Paths go to `paths`.
    `any_float`: a problem with its own check decides on values, so a floating result may have any floating dtype.
    """
    expected: list[torch.Tensor] = []
    fresh = iter(range(len(work), 1 << 20))
    places, notes = places or {}, dict[int, dict[str, Any]]()

    def leaf(tensor: torch.Tensor, path: str) -> int:
        tensor = slots.checked(tensor, path)
        owner = owner_of(tensor, work)
        if owner is None and path in places and _fits(work[places[path].slot], tensor):
            owner, also = places[path].slot, places[path].also
            notes[owner] = {"shape": list(tensor.shape)} if work[owner].shape != tensor.shape else {}
            notes[owner] |= {"also": also} if also else {}
            tensor = work[owner].copy_(tensor.reshape(work[owner].shape))
        expected.append(tensor if owner is not None else slots.dense(tensor))
        if paths is not None:
            paths.append(path)
        return next(fresh) if owner is None else owner

    result = tree.walk(reference(tree.build(node, work)), leaf, "the reference's result", result=True)
    for one, tensor in zip(tree.leaves(result), expected, strict=True):
        one.update(notes.get(one["slot"], {}))
        if any_float and one["kind"] == "tensor" and tensor.dtype.is_floating_point:
            one["also"] = tree.ANY_FLOAT
    return result, expected


def owner_of(tensor: torch.Tensor, candidates: list[torch.Tensor]) -> int | None:
    """Return the index of the candidate that this tensor is, by memory; a part of a candidate does not count."""
    for index, candidate in enumerate(candidates):
        same = tensor.data_ptr() == candidate.data_ptr() and tensor.dtype == candidate.dtype
        if same and tensor.shape == candidate.shape and tensor.stride() == candidate.stride() and tensor.numel():
            return index
    return None


def find(reference: Callable[[Any], Any], drawn: slots.Drawn, *, with_places: bool = True) -> Roles:
    """Return roles by slot with memory, and places.

    `out`: holds the result, and its old contents do not matter. `inout`: changed, and its old contents matter.
    `in`: left alone. A place is `inout`, since the reference may read it in another case.
    """
    work = {index: slots.clone(base) for index, base in drawn.bases.items()}
    views = drawn.views(work)
    paths: list[str] = []
    result, expected = run(reference, drawn.node, views, paths=paths)
    owners = {owner_of(tensor, views) for tensor in expected}
    returned = {drawn.slots[one].get("of", one) for one in owners if one is not None}
    roles = {}
    for index, base in drawn.bases.items():
        if index not in returned and slots.same(base, work[index]):
            roles[index] = "in"
        else:
            # a pattern that no honest computation leaves: where the tensor ends the same, it is written whole
            again = _run_with(reference, drawn, index, lambda tensor: slots.flat(tensor).fill_(0x5A))
            whole = again is not None and slots.same(again.work[index], work[index])
            roles[index] = "out" if whole else "inout"
    if not with_places:
        return Roles(roles)
    new = {
        path: tensor
        for path, tensor, leaf in zip(paths, expected, tree.leaves(result), strict=True)
        if leaf["kind"] == "tensor" and leaf["slot"] >= len(views)
    }
    places = _places(reference, drawn, roles, new, _Run(result, expected, work))
    return Roles(roles | {place.slot: "inout" for place in places.values()}, places)


def _places(
    reference: Callable[[Any], Any],
    drawn: slots.Drawn,
    roles: dict[int, str],
    new: dict[str, torch.Tensor],
    first: _Run,
) -> dict[str, Place]:
    """Find places, from the last new tensor: the last tensor of the data that fits and that the reference ignores."""
    looked_at = {slot["of"] for slot in drawn.slots if slot["role"] == "view"}
    given = dict.fromkeys(index for index in tree.slots_of(drawn.node) if roles.get(index) == "in")
    free = [index for index in given if index not in looked_at]
    free = [index for index in free if any(_fits(drawn.bases[index], tensor) for tensor in new.values())]
    free = [index for index in free[-MOST_PLACES:] if _is_ignored(reference, drawn, index, first)]
    places: dict[str, Place] = {}
    for path, tensor in reversed(new.items()):
        slot = next((index for index in reversed(free) if _fits(drawn.bases[index], tensor)), None)
        if slot is not None:
            free.remove(slot)
            same = drawn.bases[slot].dtype == tensor.dtype
            places[path] = Place(slot, "" if same else str(tensor.dtype).removeprefix("torch."))
    return places


def _fits(base: torch.Tensor, tensor: torch.Tensor) -> bool:
    """Return whether shape and format fit. One element fits in any shape, a plain float in any plain float format."""
    shape = base.numel() > 0 and (base.shape == tensor.shape or base.numel() == tensor.numel() == 1)
    same = base.dtype == tensor.dtype and (base.dtype in _FLOATS or not base.dtype.is_floating_point)
    return shape and not base.is_complex() and (same or (base.dtype in _FLOATS and tensor.dtype in _FLOATS))


_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def _run_with(
    reference: Callable[[Any], Any], drawn: slots.Drawn, index: int, change: Callable[[torch.Tensor], Any]
) -> _Run | None:
    """Run the reference with this tensor changed; return None where it fails: contents that matter were indices."""
    work = {other: slots.clone(base) for other, base in drawn.bases.items()}
    change(work[index])
    try:
        return _Run(*run(reference, drawn.node, drawn.views(work)), work)
    except Exception:
        return None


def _is_ignored(reference: Callable[[Any], Any], drawn: slots.Drawn, index: int, first: _Run) -> bool:
    """Return whether result and data stay equal, bit for bit, when every element of this tensor changes."""
    again = _run_with(reference, drawn, index, _change)
    if again is None or again.result != first.result:
        return False
    changed = slots.clone(drawn.bases[index])
    _change(changed)
    kept = all(slots.same(changed if at == index else first.work[at], base) for at, base in again.work.items())
    return kept and all(map(_is_same, first.expected, again.expected))


def _is_same(left: torch.Tensor, right: torch.Tensor) -> bool:
    return left.shape == right.shape and left.stride() == right.stride() and bool(slots.same(left, right))


def _change(tensor: torch.Tensor) -> None:
    """Change every element. Whole numbers become 0 or 1: a larger index would end a GPU's context."""
    if tensor.dtype in _FLOATS:
        slots.flat(tensor).bitwise_not_()
    else:
        tensor.copy_(tensor == 0)
