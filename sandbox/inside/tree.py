"""Nested data of tensors and plain values ↔ JSON nodes. The places of the tensors are in slots.py.

A node is one of

    {"kind": "tensor", "slot": n}                      {"kind": "number", "slot": n, "type": "int" | "float" | …}
    {"kind": "tensor", "slot": n, "shape": of the slot's one element if it differs, "also": a dtype or ANY_FLOAT}
    {"kind": "value", "value": null, true, 3 or "text"}           {"kind": "special", "type": …, "value": text}
    {"kind": "tuple" | "list" | "size", "of": [node…]}            {"kind": "dict" | "ordered", "of": [[key, node]…]}
    {"kind": "namedtuple" | "dataclass" (also a plain object), "type": "module:Name", "of": [[field, node]…]}
    {"kind": "module", "type": "module:Name", "of": [[attribute, node]…], "held": ["parameter" | "buffer" | …]}

`number` occurs in results alone: there a number is as secret as a tensor, and its value travels in a slot. `build`
restores all data that `walk` accepts, bit for bit. Data that `walk` cannot carry are a TreeError with their path.
"""

import dataclasses
import importlib
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch

Node = dict[str, Any]
Part = tuple[str, str, Any]  # how a module holds it, its name, the value
Leaf = Callable[[torch.Tensor, str], int]  # a tensor and its path → the number of its slot

ANY_FLOAT = "any float"  # `also` of a tensor that may have any floating dtype
MOST_DEEP = 32  # containers inside each other
MOST_NODES = 10_000
MOST_CHARS = 50_000  # of a text
WHOLE = range(-(2**63), 2**64)  # numbers that a language with machine integers can hold
SIGNED = range(-(2**63), 2**63)
HEAP_TYPE = 1 << 9  # of CPython: a class that Python code defines
NUMBERS: dict[type, torch.dtype] = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
KEYS = (str, int, bool, type(None))
OF_MODULES = frozenset(vars(torch.nn.Module()))  # attributes of every module
POSSIBLE = (
    "tensors, numbers, text, None, tuples, lists, dicts, dataclasses, named tuples, plain objects and torch modules"
)


class TreeError(Exception):
    """Data that cannot travel; the text names its place, its type and the possible types."""


def walk(data: Any, leaf: Leaf, path: str = "data", *, result: bool = False) -> Node:
    """Return the node of `data`; every tensor in it goes through `leaf`. `result`: a reference returned the data."""
    return _Walk(leaf, result).node(data, path, 0)


class _Walk:
    def __init__(self, leaf: Leaf, result: bool) -> None:
        self.leaf = leaf
        self.result = result
        self.seen = 0

    def node(self, data: Any, path: str, depth: int) -> Node:
        self.seen += 1
        if depth > MOST_DEEP or self.seen > MOST_NODES:
            limit = f"{MOST_DEEP} levels deep" if depth > MOST_DEEP else f"{MOST_NODES} values in all"
            raise TreeError(f"{path} is too much: data may be {limit}; put numbers into a tensor")
        if isinstance(data, torch.Tensor):
            return {"kind": "tensor", "slot": self.leaf(data, path)}
        if isinstance(data, torch.nn.Module) and not self.result:
            held = list(module_parts(data, path))
            named = [[name, self.node(part, f"{path}.{name}", depth + 1)] for _, name, part in held]
            type_name = self._type(type(data), path)
            return {"kind": "module", "type": type_name, "of": named, "held": [how for how, *_ in held]}
        plain = _plain(data, path)
        if plain is not None:
            return self._returned(data, path) if self.result else plain
        kind, parts = self._parts(data, path)
        if kind in ("tuple", "list", "size"):
            return {"kind": kind, "of": [self.node(part, f"{path}[{at}]", depth + 1) for at, part in parts]}
        shown = "{}[{!r}]" if kind in ("dict", "ordered") else "{}.{}"
        of = [[key, self.node(part, shown.format(path, key), depth + 1)] for key, part in parts]
        return {"kind": kind, "of": of} | ({} if "[" in shown else {"type": self._type(type(data), path)})

    def _returned(self, data: Any, path: str) -> Node:
        """Return the node of a plain value in a result: None, or a number, compared like a tensor of one element."""
        if data is None:
            return {"kind": "value", "value": None}
        if type(data) in NUMBERS and not (type(data) is int and data not in SIGNED):
            slot = self.leaf(torch.tensor(data, dtype=NUMBERS[type(data)]), path)
            return {"kind": "number", "slot": slot, "type": type(data).__name__}
        raise TreeError(f"{path} is a {type(data).__name__}; a reference returns tensors and numbers")

    def _type(self, kind: type, path: str) -> str:
        """Return `module:Name`, by which a tenant finds the same class; of a result it needs only the field names."""
        name, where = f"{kind.__module__}:{kind.__qualname__}", f"{path} is a {kind.__qualname__}"
        try:
            found = _class_of(name)
        except (ImportError, AttributeError):
            found = None
        if found is not kind:
            raise TreeError(f"{where}, which cannot be imported as {name}; define it at the top level of a file")
        return name

    def _parts(self, data: Any, path: str) -> tuple[str, list[tuple[Any, Any]]]:
        """Return the kind of a container, and its parts with their keys."""
        kind = type(data)
        if kind in (tuple, list, torch.Size):
            return "size" if kind is torch.Size else str(kind.__name__), list(enumerate(data))
        if isinstance(data, tuple) and hasattr(kind, "_fields"):
            return "namedtuple", list(zip(kind._fields, data, strict=True))
        if isinstance(data, tuple) and self.result:  # torch's own type, as torch.topk returns it
            return "tuple", list(enumerate(data))
        if kind in (dict, OrderedDict):
            for key in data:
                if type(key) not in KEYS:
                    raise TreeError(f"{path} has the key {key!r:.60}; keys are text or whole numbers")
            return "dict" if kind is dict else "ordered", list(data.items())
        if dataclasses.is_dataclass(data) and not isinstance(data, type):
            names = [field.name for field in dataclasses.fields(data)]
            if extra := set(getattr(data, "__dict__", ())).difference(names):
                raise TreeError(f"{path}.{min(extra)} is no field of its dataclass; declare it, or leave it out")
            return "dataclass", [(name, getattr(data, name)) for name in names]
        if _is_object(data):
            return "dataclass", list(vars(data).items())
        shown = f"a {kind.__module__}.{kind.__qualname__}".replace("a builtins.", "a ")
        shown = f"the callable {getattr(data, '__qualname__', kind.__name__)}" if callable(data) else shown
        raise TreeError(f"{path} is {shown}, which cannot travel to a submission; possible are {POSSIBLE}")


def _is_object(data: Any) -> bool:
    """Return whether an object's attributes are all that it holds: its classes are Python's, without slots."""
    *own, _ = type(data).__mro__
    written = all(kind.__flags__ & HEAP_TYPE and "__slots__" not in vars(kind) for kind in own)
    return bool(own) and written and hasattr(data, "__dict__") and not isinstance(data, type) and not callable(data)


def _plain(data: Any, path: str) -> Node | None:
    """Return the node of a plain value, or None if `data` is not plain. Numbers of numpy become Python's."""
    if type(data).__module__ == "numpy" and isinstance(data, sys.modules["numpy"].generic):
        data = data.item()
    if type(data) is int and data not in WHOLE:
        raise TreeError(f"{path} is a whole number of more than 64 bits")
    if type(data) is str and len(data) > MOST_CHARS:
        raise TreeError(f"{path} is a text of {len(data)} characters, at most {MOST_CHARS}")
    if data is None or type(data) in (bool, int, str):
        return {"kind": "value", "value": data}
    if type(data) in SPECIAL:
        return {"kind": "special", "type": type(data).__name__, "value": SPECIAL[type(data)][0](data)}
    return None


# Written as text that gives back the same bits.
SPECIAL: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    float: (lambda value: struct.pack("<d", value).hex(), lambda text: struct.unpack("<d", bytes.fromhex(text))[0]),
    complex: (
        lambda value: struct.pack("<2d", value.real, value.imag).hex(),
        lambda text: complex(*struct.unpack("<2d", bytes.fromhex(text))),
    ),
    torch.dtype: (lambda value: str(value).removeprefix("torch."), lambda text: getattr(torch, text)),
    torch.device: (str, torch.device),
}
_BY_NAME = {kind.__name__: decode for kind, (_, decode) in SPECIAL.items()}


def _class_of(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def build(node: Node, tensors: list[torch.Tensor]) -> Any:
    """Rebuild data from a node: the counterpart of `walk`. `tensors` are by slot."""
    kind = node["kind"]
    if kind == "tensor":
        found = tensors[node["slot"]]
        return found.reshape(node["shape"]) if "shape" in node else found
    if kind == "number":
        return tensors[node["slot"]].item()
    if kind == "value":
        return node["value"]
    if kind == "special":
        return _BY_NAME[node["type"]](node["value"])
    if kind in ("tuple", "list", "size"):
        parts = [build(part, tensors) for part in node["of"]]
        return parts if kind == "list" else tuple(parts) if kind == "tuple" else torch.Size(parts)
    named = [(key, build(part, tensors)) for key, part in node["of"]]
    if kind in ("dict", "ordered"):
        return dict(named) if kind == "dict" else OrderedDict(named)
    found = _class_of(node["type"])
    if kind == "module":
        return made_module(found, [(how, *part) for how, part in zip(node["held"], named, strict=True)])
    if kind == "namedtuple":
        return found._make(part for _, part in named)
    made = object.__new__(found)  # its own __init__ may compute, and refuse a value that it once made
    for key, part in named:
        object.__setattr__(made, key, part)
    return made


def module_parts(module: torch.nn.Module, path: str) -> Iterator[Part]:
    """Yield a module's parameters, buffers, inner modules and plain attributes. Raises TreeError for hooks."""
    own = vars(module)
    hooked = sorted(name for name in OF_MODULES if name.endswith("hooks") and own[name])
    if hooked:
        raise TreeError(f"{path} has {hooked[0].strip('_').replace('_', ' ')}, which cannot travel; leave them out")
    for name, parameter in own["_parameters"].items():
        yield "parameter" if parameter is None or parameter.requires_grad else "frozen", name, parameter
    for name, buffer in own["_buffers"].items():
        yield "passing" if name in own["_non_persistent_buffers_set"] else "buffer", name, buffer
    for name, inner in own["_modules"].items():
        yield "module", name, inner
    for name in ("training", *own.keys() - OF_MODULES):
        yield "attribute", name, own[name]


def made_module(kind: type[torch.nn.Module], of: list[Part]) -> torch.nn.Module:
    """Rebuild a module without its constructor: the counterpart of `module_parts`. It does not copy the tensors."""
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


def nodes(node: Node) -> Iterator[Node]:
    """Yield the node and every node in it, in the order of the walk."""
    yield node
    for part in node.get("of", ()):
        yield from nodes(part[1] if isinstance(part, list) else part)


def numbers(node: Node) -> Iterator[int | float]:
    """Yield every number of the data outside tensors, in the order of the walk."""
    for one in nodes(node):
        if one["kind"] == "value" and isinstance(one["value"], int):  # bools too
            yield one["value"]
        elif one["kind"] == "special" and one["type"] == "float":
            yield build(one, [])


def has_module(node: Node) -> bool:
    """Return whether the data hold a module: a call may change its attributes, like a cache that counts its entries."""
    return any(one["kind"] == "module" for one in nodes(node))


def leaves(node: Node) -> Iterator[Node]:
    """Yield the node of every tensor, and of every number of a result, in the order of the walk."""
    return (one for one in nodes(node) if "slot" in one)


def slots_of(node: Node) -> Iterator[int]:
    """Return the slot of every tensor, and of every number of a result, in the order of the walk, perhaps repeated."""
    return (leaf["slot"] for leaf in leaves(node))
