"""Nested data of tensors and plain values ↔ a JSON layout of slots in two flat regions, `inputs` and `outputs`.

A layout is `{"slots": [slot…], "data": node, "result": node, "input_bytes": n, "output_bytes": n}`. A slot:
`{"role": "in" | "out" | "inout", "dtype", "shape", "stride", "nbytes", "input": offset or -1, "output": offset or -1}`;
strides in elements. A node: `{"kind": "tensor", "slot": i}`, `{"kind": "tuple" | "list", "of": […]}`,
`{"kind": "dict", "of": [[key, node]…]}`, `{"kind": "dataclass", "type": "module:Name", "of": [[field, node]…]}` or
`{"kind": "value", "value": plain}`.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Callable
from typing import Any

import torch

ALIGN = 256  # bytes; the alignment that device allocators give
Node = dict[str, Any]
PLAIN = (bool, int, float, str, type(None))


class TreeError(Exception):
    """Data of a kind that cannot be laid out; the text says where and what is possible."""


def walk(data: Any, leaf: Callable[[torch.Tensor], Any], path: str = "data") -> Node:
    """The node of `data`; every tensor in it goes through `leaf`, which gives its slot number."""
    if isinstance(data, torch.Tensor):
        return {"kind": "tensor", "slot": leaf(data)}
    if isinstance(data, PLAIN):
        return {"kind": "value", "value": data}
    if isinstance(data, tuple | list):
        of = [walk(item, leaf, f"{path}[{i}]") for i, item in enumerate(data)]
        return {"kind": "tuple" if isinstance(data, tuple) else "list", "of": of}
    if isinstance(data, dict):
        return {"kind": "dict", "of": [[key, walk(item, leaf, f"{path}[{key!r}]")] for key, item in data.items()]}
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        names = [field.name for field in dataclasses.fields(data)]
        named = [[name, walk(getattr(data, name), leaf, f"{path}.{name}")] for name in names]
        return {"kind": "dataclass", "type": f"{type(data).__module__}:{type(data).__qualname__}", "of": named}
    raise TreeError(
        f"{path} is a {type(data).__name__}; possible are tensors, numbers, text, tuples, lists, dicts, dataclasses"
    )


def build(node: Node, tensors: list[torch.Tensor]) -> Any:
    """The counterpart of `walk`."""
    kind = node["kind"]
    if kind == "tensor":
        return tensors[node["slot"]]
    if kind == "value":
        return node["value"]
    if kind == "tuple":
        return tuple(build(item, tensors) for item in node["of"])
    if kind == "list":
        return [build(item, tensors) for item in node["of"]]
    if kind == "dict":
        return {key: build(item, tensors) for key, item in node["of"]}
    module, name = node["type"].split(":")
    fields = {key: build(item, tensors) for key, item in node["of"]}
    return getattr(importlib.import_module(module), name)(**fields)


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """The same tensor, or a contiguous copy where its elements overlap or leave gaps."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return tensor.contiguous()
        expected *= size
    return tensor


def slot_of(tensor: torch.Tensor, role: str) -> dict[str, Any]:
    return {
        "role": role,
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "nbytes": tensor.numel() * tensor.element_size(),
        "input": -1,
        "output": -1,
    }


def place(slots: list[dict[str, Any]]) -> tuple[int, int]:
    """Give every slot its offsets; the sizes of the two regions in bytes."""
    ends = {"input": 0, "output": 0}
    for slot in slots:
        for region, roles in (("input", ("in", "inout")), ("output", ("out", "inout"))):
            if slot["role"] in roles:
                slot[region] = ends[region]
                ends[region] += -(-slot["nbytes"] // ALIGN) * ALIGN
    return ends["input"], ends["output"]


WIDE_FACTOR = 2  # bytes for outputs in double precision, against those for outputs; the judge's memory has as many
# Of one element in double precision: the formats that an error model knows.
WIDE_BYTES = {
    **dict.fromkeys(("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"), 8),
    **dict.fromkeys(("complex64", "complex128"), 16),
}


def wide_places(slots: list[dict[str, Any]]) -> tuple[list[int], int]:
    """Where in `wide` each output lies in double precision (-1: nowhere), and the bytes of all. As in layout.py."""
    places, end = [], 0
    for slot in slots:
        size = math.prod(slot["shape"]) * WIDE_BYTES.get(slot["dtype"], 0) if slot["output"] >= 0 else 0
        places.append(end if size else -1)
        end += -(-size // ALIGN) * ALIGN
    return places, end


def view(region: Any, slot: dict[str, Any], where: str, device: str = "cpu") -> torch.Tensor:
    """The slot's tensor over shared memory: no copy."""
    dtype = getattr(torch, slot["dtype"])
    count = slot["nbytes"] // dtype.itemsize
    if count == 0:
        return torch.empty(slot["shape"], dtype=dtype, device=device)
    if isinstance(region, torch.Tensor):  # a device's bytes; as_strided counts from the slice's own offset
        flat = region[slot[where] : slot[where] + slot["nbytes"]].view(dtype)
        return flat.as_strided(slot["shape"], slot["stride"], flat.storage_offset())
    return torch.frombuffer(region, dtype=dtype, count=count, offset=slot[where]).as_strided(
        slot["shape"], slot["stride"]
    )
