"""A `torch.nn.Module` among the data: its contents by name, and the same module rebuilt from them.

The receiving side finds the class by name without running its constructor. Parameters, buffers, inner modules and plain
attributes travel. Parts that data cannot express (hooks) are a TreeError.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

OWN = frozenset(vars(torch.nn.Module()))  # attributes of every module
NOT_PERSISTENT = "_non_persistent_buffers_set"

Part = tuple[str, str, Any]  # how the module holds it, its name, the value


class TreeError(Exception):
    """Data that cannot travel; the text names its place, its type and the possible types."""


def parts(module: torch.nn.Module, path: str) -> Iterator[Part]:
    own = vars(module)
    hooked = sorted(name for name in OWN if name.endswith("hooks") and own[name])
    if hooked:
        raise TreeError(f"{path} has {hooked[0].strip('_').replace('_', ' ')}, which cannot travel; leave them out")
    for name, parameter in own["_parameters"].items():
        yield "parameter" if parameter is None or parameter.requires_grad else "frozen", name, parameter
    for name, buffer in own["_buffers"].items():
        yield "passing" if name in own[NOT_PERSISTENT] else "buffer", name, buffer
    for name, inner in own["_modules"].items():
        yield "module", name, inner
    for name in ("training", *own.keys() - OWN):
        yield "attribute", name, own[name]


def made(kind: type[torch.nn.Module], of: list[Part]) -> torch.nn.Module:
    """Rebuild a module: the counterpart of `parts`. It takes the given tensors without copying them."""
    module = object.__new__(kind)
    torch.nn.Module.__init__(module)
    for how, name, part in of:
        if how in ("parameter", "frozen"):
            wrapped = None if part is None else torch.nn.Parameter(part, requires_grad=how == "parameter")
            module._parameters[name] = wrapped
        elif how in ("buffer", "passing"):
            module.register_buffer(name, part, persistent=how == "buffer")
        elif how == "module":
            module._modules[name] = part
        else:
            object.__setattr__(module, name, part)
    return module
