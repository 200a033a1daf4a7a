"""A `torch.nn.Module` among data: what it holds, by name, and the same module made again from that.

Its class is found by name on the other side, and its constructor does not run there. What travels are parameters,
buffers, modules inside it and plain attributes; what cannot be told in data (hooks) is a TreeError.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

OWN = frozenset(vars(torch.nn.Module()))  # what every module has
HOLDERS = ("_parameters", "_buffers", "_modules")
NOT_PERSISTENT = "_non_persistent_buffers_set"

Part = tuple[str, str, Any]  # how it is held, its name, the thing itself


class TreeError(Exception):
    """Data that cannot travel; the text says where it is, what it is, and what is possible."""


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
    """The counterpart of `parts`; its tensors are those given, not copies."""
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
