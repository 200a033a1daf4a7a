"""Places of the tensors of nested data: slots in two flat regions, `inputs` and `outputs`, and a result's way there.

A layout is `{"slots": [slot…], "data": node, "result": node, "input_bytes": n, "output_bytes": n}`; nodes: tree.py.
With several ranks data and result are lists of a node a rank, each slot has a `rank`, and offsets and sizes are those
of one rank's regions.
A slot has memory of its own, without gaps,

    {"role": "in" | "out" | "inout", "dtype", "shape", "stride", "nbytes", "input": offset or -1, "output": likewise}

or is a view of a slot with memory: `{"role": "view", "of": n, "at": bytes, "dtype", "shape", "stride"}`. A tensor that
is a view of another tensor therefore stays a view, and an expanded, strided or overlapping tensor is a view of memory
that no node names. Strides are in elements. All tensors are copied as bits.
"""

from dataclasses import dataclass
from typing import Any

import protocol
import torch
import tree

MOST_BYTES = 16  # of one element
Slot = dict[str, Any]

DTYPES = (  # by name, in the order of native.py's enumeration
    *("float64", "float32", "float16", "bfloat16", "complex128", "complex64", "complex32", "bool"),
    *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2"),
)
CARRIED = frozenset(getattr(torch, name) for name in DTYPES if hasattr(torch, name))
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Parts:
    """A region of several ranks, as a part for each. A slice is taken of all parts."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __getitem__(self, place: slice) -> "Parts":
        return Parts([part[place] for part in self.parts])


# -- bits --------------------------------------------------------------------------------------------------------------


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same memory as whole numbers: every format, NaNs included, can be copied and compared this way."""
    whole = _BITS.get(tensor.element_size())
    return tensor if whole is None or tensor.dtype == whole else tensor.view(whole)


def elements(tensor: torch.Tensor) -> torch.Tensor:
    """Return a dense tensor's elements in memory order, as a view."""
    return torch.as_strided(tensor, (tensor.numel(),), (1,))


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """Return a dense tensor's bytes in memory order, as a view."""
    return elements(tensor).view(torch.uint8)


def copy(target: torch.Tensor, source: torch.Tensor) -> None:
    bits(target).copy_(bits(source))


def clone(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a dense tensor and keep its strides."""
    return bits(tensor).clone().view(tensor.dtype)


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Return whether two dense tensors of the same strides hold the same bytes."""
    return torch.equal(flat(left), flat(right))


# -- the tensors of data -----------------------------------------------------------------------------------------------


@dataclass
class Drawn:
    """Data taken apart: the node, the slots (roles still "in"), and the tensor of each slot with memory of its own."""

    node: tree.Node
    slots: list[Slot]
    bases: dict[int, torch.Tensor]

    def views(self, bases: dict[int, torch.Tensor] | None = None) -> list[torch.Tensor]:
        """Return the tensors by slot, over these bases or over the given `bases`, which may be wider."""
        return views(self.slots, self.bases if bases is None else bases)

    def data(self, bases: dict[int, torch.Tensor] | None = None) -> Any:
        return tree.build(self.node, self.views(bases))


def take_apart(data: Any) -> Drawn:
    """Take data apart. Raises TreeError for data that cannot travel."""
    found: list[torch.Tensor] = []
    known: dict[int, int] = {}
    paths: list[str] = []

    def leaf(tensor: torch.Tensor, path: str) -> int:
        if id(tensor) not in known:
            known[id(tensor)] = len(found)
            kept.append(tensor)
            found.append(checked(tensor, path))
            paths.append(path)
        return known[id(tensor)]

    kept: list[torch.Tensor] = []  # alive, which keeps their ids unique
    node = tree.walk(data, leaf)
    if len(found) > protocol.MOST_SLOTS // 2:
        fault = f"{paths[protocol.MOST_SLOTS // 2]} is one of {len(found)} tensors, at most {protocol.MOST_SLOTS // 2}"
        raise tree.TreeError(fault)
    drawn = Drawn(node, [{} for _ in found], {})
    for group in _overlapping(found):  # the tensor that covers all has the memory, else a slot that no node names
        base = _base(found, group)
        owner = next((index for index in group if found[index] is base), len(drawn.slots))
        if owner == len(drawn.slots):
            drawn.slots.append({})
        drawn.bases[owner], drawn.slots[owner] = base, slot_of(base, "in")
        for index in group:
            if index != owner:
                at = found[index].data_ptr() - base.data_ptr()
                drawn.slots[index] = {"role": "view", "of": owner, "at": at, **_form(found[index])}
    return drawn


def checked(tensor: torch.Tensor, path: str) -> torch.Tensor:
    """Return the plain tensor over the same memory. Raises TreeError for a tensor without plain memory."""
    what = ""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        what = f"a {type(tensor).__name__}; only plain tensors can travel"
    elif tensor.is_nested or tensor.layout != torch.strided:
        layout = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
        what = f"a {layout} tensor; give its dense parts"
    elif tensor.is_meta:
        what = "a meta tensor, which has no data"
    elif tensor.dtype not in CARRIED:
        what = f"of {tensor.dtype}; give its numbers in another format"
    elif tensor.dim() > protocol.MOST_DIMS:
        what = f"of {tensor.dim()} dimensions, at most {protocol.MOST_DIMS}"
    if what:
        raise tree.TreeError(f"{path} is {what}")
    return tensor.detach().resolve_conj().resolve_neg()


def span(shape: Any, stride: Any) -> int:
    """Return the number of elements from the first to the last in memory."""
    return 0 if 0 in shape else 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))


def is_dense(tensor: torch.Tensor) -> bool:
    """Return whether the tensor has no gaps and holds no element twice."""
    if tensor.is_contiguous() and tensor.numel():
        return True
    reach = 0
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and step <= reach:
            return False
        reach += step * max(size - 1, 0)
    return span(tensor.shape, tensor.stride()) == tensor.numel()


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same tensor, or a contiguous copy where its elements overlap or leave gaps."""
    return tensor if is_dense(tensor) else bits(tensor).contiguous().view(tensor.dtype)


def _overlapping(tensors: list[torch.Tensor]) -> list[list[int]]:
    """Group the indices of tensors that share memory, in the order of each group's first tensor."""
    groups: list[list[int]] = []
    end = 0  # of the last group with elements
    reaches = [_reach(tensor) for tensor in tensors]
    for index in sorted(range(len(tensors)), key=lambda index: (tensors[index].numel() > 0, reaches[index][0])):
        start, after = reaches[index]
        if start < after and start < end:
            groups[-1].append(index)
        else:
            groups.append([index])
        end = max(end, after) if start < after else end
    return sorted((sorted(group) for group in groups), key=lambda group: group[0])


def _reach(tensor: torch.Tensor) -> tuple[int, int]:
    """Return the addresses of the tensor's first byte and of the byte behind its last."""
    start = tensor.data_ptr()
    count = tensor.numel() if tensor.is_contiguous() else span(tensor.shape, tensor.stride())
    return start, start + count * tensor.element_size()


def _base(tensors: list[torch.Tensor], group: list[int]) -> torch.Tensor:
    """Return a dense tensor over all the memory of the group: a member, a new tensor of its format, or of bytes."""
    members = [tensors[index] for index in group]
    if len(members) == 1 and is_dense(members[0]):
        return members[0]
    start = min(_reach(tensor)[0] for tensor in members)
    end = max(_reach(tensor)[1] for tensor in members)
    mixed = len({tensor.dtype for tensor in members}) > 1
    for tensor in members:
        if is_dense(tensor) and _reach(tensor) == (start, end) and not mixed:
            return tensor
    first = next(tensor for tensor in members if tensor.data_ptr() == start)
    storage, dtype = first.untyped_storage(), torch.uint8 if mixed else first.dtype
    offset = (start - storage.data_ptr()) // (MOST_BYTES if mixed else 1) * (MOST_BYTES if mixed else 1)
    length = end - storage.data_ptr() - offset
    if offset + length > storage.nbytes():
        raise tree.TreeError("two tensors share memory without being views of one tensor; give one of them a copy")
    size = (length // dtype.itemsize,)
    return torch.empty(0, dtype=dtype, device=first.device).set_(storage, offset // dtype.itemsize, size, (1,))


# -- slots -------------------------------------------------------------------------------------------------------------


def _form(tensor: torch.Tensor) -> Slot:
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
    }


def slot_of(tensor: torch.Tensor, role: str) -> Slot:
    """Return the slot of a dense tensor, not placed yet."""
    return {"role": role, **_form(tensor), "nbytes": tensor.nbytes, "input": -1, "output": -1}


def place(slots: list[Slot]) -> tuple[int, int]:
    """Give every slot its offsets; return the sizes of the two regions in bytes, of the rank that needs most."""
    ends: dict[str, dict[int, int]] = {"input": {}, "output": {}}
    for slot in slots:
        for region, roles in (("input", ("in", "inout")), ("output", ("out", "inout"))):
            if slot["role"] in roles:
                rank = slot.get("rank", 0)
                slot[region] = ends[region].get(rank, 0)
                ends[region][rank] = slot[region] + -(-slot["nbytes"] // protocol.ALIGN) * protocol.ALIGN
    return max(ends["input"].values(), default=0), max(ends["output"].values(), default=0)


def give_ranks(node: tree.Node, slots: list[Slot]) -> None:
    """Name the rank of each slot that this list of a node a rank names, and of the memory behind it."""
    for rank, part in enumerate(node["of"]):
        for index in tree.slots_of(part):
            for slot in (slots[index], *([slots[slots[index]["of"]]] if "of" in slots[index] else [])):
                if slot.setdefault("rank", rank) != rank:
                    raise tree.TreeError(
                        f"a tensor belongs to rank {slot['rank']} and to rank {rank}; give each its own"
                    )


def is_output(slot: Slot) -> bool:
    """Return whether the slot has memory among the outputs."""
    return bool(slot.get("output", -1) >= 0)


def wide_places(slots: list[Slot]) -> tuple[list[int], int]:
    """Return the place in double precision by slot (-1: none), and the bytes of all."""
    places, end = protocol.wide_places((slot["dtype"], slot["shape"]) for slot in slots if is_output(slot))
    by_output = iter(places)
    return [next(by_output) if is_output(slot) else -1 for slot in slots], end


def view(region: Any, slot: Slot, where: str) -> torch.Tensor:
    """Return the tensor of a slot with memory of its own, as a view of shared memory."""
    dtype = getattr(torch, slot["dtype"])
    if isinstance(region, Parts):
        region = region.parts[slot["rank"]]
    if not isinstance(region, torch.Tensor):
        region = torch.frombuffer(region, dtype=torch.uint8)
    if slot["nbytes"] == 0:
        whole = _BITS.get(dtype.itemsize, dtype)
        return torch.empty_strided(slot["shape"], slot["stride"], dtype=whole, device=region.device).view(dtype)
    part: torch.Tensor = region[slot[where] : slot[where] + slot["nbytes"]].view(dtype)
    return part.as_strided(slot["shape"], slot["stride"], part.storage_offset())


def views(slots: list[Slot], bases: dict[int, torch.Tensor]) -> list[torch.Tensor]:
    """Return the tensor of every slot from the slots with memory of their own. A wider base makes its views wider.

    A slot whose memory is not among the bases, another rank's, gets an empty tensor.
    """
    found = [bases.get(slot.get("of", n)) for n, slot in enumerate(slots)]
    return [
        torch.empty(0) if base is None else looked_at(slot, base) if slot["role"] == "view" else base
        for slot, base in zip(slots, found, strict=True)
    ]


def looked_at(slot: Slot, base: torch.Tensor) -> torch.Tensor:
    size = getattr(torch, slot["dtype"]).itemsize
    whole = elements(base)
    if base.dtype == torch.uint8 and slot["dtype"] != "uint8":
        length = span(slot["shape"], slot["stride"]) * size
        whole = whole[slot["at"] : slot["at"] + length].view(getattr(torch, slot["dtype"]))
        return whole.as_strided(slot["shape"], slot["stride"], whole.storage_offset())
    return whole.as_strided(slot["shape"], slot["stride"], base.storage_offset() + slot["at"] // size)


# -- a submission's result ---------------------------------------------------------------------------------------------


class Refused(Exception):
    """The submission's result does not fit; carries the status and a sentence for its author."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def keep(node: dict[str, Any], tensors: list[torch.Tensor], returned: Any, path: str = "the output") -> None:
    """Copy every tensor that was returned outside its slot into it. Raises Refused for a result that does not fit.

    A tuple may come as a list, and a dataclass as any object with its fields: only the contents count.
    """
    kind = node["kind"]
    if kind == "tensor":
        _keep_tensor(node, tensors[node["slot"]], returned, path)
    elif kind == "number":
        if type(returned).__name__ != node["type"] or type(returned) not in (bool, int, float, complex):
            raise Refused(protocol.TYPE, f"{path} must be a Python {node['type']}, got {name_of(returned)}")
        tensors[node["slot"]].fill_(returned)
    elif kind == "value":
        if returned is not None:
            raise Refused(protocol.TYPE, f"{path} must be None, got {name_of(returned)}")
    elif kind in ("tuple", "list", "size", "namedtuple"):
        parts = [part for _, part in node["of"]] if kind == "namedtuple" else node["of"]
        if not isinstance(returned, tuple | list) or len(returned) != len(parts):
            wanted = "tuple" if kind == "namedtuple" else kind
            raise Refused(protocol.TYPE, f"{path} must be a {wanted} of {len(parts)}, got {name_of(returned)}")
        for index, (part, value) in enumerate(zip(parts, returned, strict=True)):
            keep(part, tensors, value, f"{path}[{index}]")
    elif kind in ("dict", "ordered"):
        if not isinstance(returned, dict) or set(returned) != {key for key, _ in node["of"]}:
            raise Refused(protocol.TYPE, f"{path} must be a dict with keys {[key for key, _ in node['of']]}")
        for key, part in node["of"]:
            keep(part, tensors, returned[key], f"{path}[{key!r}]")
    else:
        for name, part in node["of"]:
            if not hasattr(returned, name):
                wanted = node["type"].partition(":")[2]
                raise Refused(protocol.TYPE, f"{path} must be a {wanted} with a field {name}, got {name_of(returned)}")
            keep(part, tensors, getattr(returned, name), f"{path}.{name}")


def _keep_tensor(node: dict[str, Any], slot: torch.Tensor, returned: Any, path: str) -> None:
    if returned is None:
        raise Refused(protocol.NONE, f"{path} is None; return the tensor that holds the result")
    if type(returned) is not torch.Tensor:
        raise Refused(protocol.TYPE, f"{path} must be a plain torch.Tensor, got {name_of(returned)}")
    shape = tuple(node.get("shape", slot.shape))
    if tuple(returned.shape) not in (shape, tuple(slot.shape)):
        raise Refused(protocol.SHAPE, f"{path} has shape {tuple(returned.shape)}, expected {shape}")
    also = node.get("also", "")
    may_come = returned.dtype == slot.dtype or str(returned.dtype) == f"torch.{also}"
    if not (returned.dtype.is_floating_point if also == tree.ANY_FLOAT else may_come):
        raise Refused(protocol.DTYPE, f"{path} has dtype {returned.dtype}, expected {slot.dtype}")
    returned = returned.reshape(slot.shape) if "shape" in node else returned
    if returned.dtype != slot.dtype:
        slot.copy_(returned.detach())  # else the slot would hold the graphs of all calls
    elif (
        returned.data_ptr() != slot.data_ptr()
        or returned.stride() != slot.stride()
        or returned.is_conj()
        or returned.is_neg()
    ):
        source = returned.detach().resolve_conj().resolve_neg()
        is_shared = source.untyped_storage().data_ptr() == slot.untyped_storage().data_ptr()  # seldom, and quick to see
        overlaps = is_shared and len(_overlapping([slot, source])) == 1
        copy(slot, clone(source) if overlaps else source)


def name_of(value: Any) -> str:
    return type(value).__name__
