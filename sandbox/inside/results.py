"""Transfer of a submission's result into the slots where the judge reads it, or a sentence that names the fault."""

from __future__ import annotations

from typing import Any

import protocol
import slots
import torch
import tree


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
        slot.copy_(returned)
    elif returned.data_ptr() != slot.data_ptr() or returned.stride() != slot.stride():
        slots.copy(slot, returned.resolve_conj().resolve_neg())


def name_of(value: Any) -> str:
    return type(value).__name__
