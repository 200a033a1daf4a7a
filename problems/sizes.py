"""Sizes of a case's inputs, read from the text of a reference without running it. Pure.

An estimate: it adds up the tensors that `generate_input` or `get_inputs` makes by torch's own functions with shapes
that arithmetic over the case's arguments and the file's constants gives. An import can then report a case as too large
for a hardware before any runner tries it. Where no shape can be read, there is no estimate.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from problems.arithmetic import MOST_CASES, LimitError, evaluate
from problems.fields import ProblemError
from problems.formats import inspect
from problems.spec import MODEL, Problem, case_name

MIB: Final = 1 << 20
CPU_INPUT_BYTES: Final = 256 * MIB  # room for the inputs of one case beside a judge on `cpu`
GPU_INPUT_SHARE: Final = 16  # this part (one sixteenth) of a GPU's memory is room for inputs
# Memory of GPUs in GiB, as their makers state it; hardware with any different name is not checked.
GPU_GIB: Final = (
    dict.fromkeys(("T4", "V100"), 16)
    | dict.fromkeys(("L4", "A10", "A10G", "RTX4090"), 24)
    | {"RTX5090": 32, "A100": 40, "L40S": 48, "H100": 80, "GH200": 96, "H200": 141, "B200": 180, "B300": 270}
)

_MAKERS: Final = frozenset({"rand", "randn", "randint", "zeros", "ones", "empty", "full", "normal", "randperm"})
_BYTES: Final = {"float64": 8, "double": 8, "int64": 8, "long": 8, "float16": 2, "half": 2, "bfloat16": 2, "int16": 2}
_BYTES_OF_ONE: Final = frozenset({"int8", "uint8", "bool", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"})
_MOST_NODES: Final = 2_000  # of the syntax tree, read for each case: hostile text costs no more than its parsing
_MOST_READ: Final = 256  # cases over all hardware
_MOST_BYTES: Final = 1 << 64


def room_for_inputs(hardware: str) -> int | None:
    """Return the bytes that one case's inputs may take on this hardware; None for hardware of an unknown size."""
    if hardware.lower() == "cpu":
        return CPU_INPUT_BYTES
    gib = GPU_GIB.get(hardware.upper().split(":")[0])
    return None if gib is None else gib * 1024 * MIB // GPU_INPUT_SHARE


def too_large(problem: Problem, hardware: Iterable[str]) -> list[str]:
    """Return a sentence with the sizes for each hardware where inputs of some case have no room."""
    try:
        tree = inspect.parse(problem.files.get("reference.py", ""))
    except ProblemError:
        return []
    made = _Made.of(tree, "get_inputs" if problem.interface == MODEL else "generate_input")
    taken: dict[str, int] = {}  # by case
    sentences = []
    for place in hardware:
        if (room := room_for_inputs(place)) is None:
            continue
        cases = {case_name(case): case for case in (*problem.on(place).benchmarks, *problem.tests)}
        names = list(cases)[:MOST_CASES]
        for name in names:
            if name not in taken and len(taken) < _MOST_READ:
                taken[name] = made.bytes_of(cases[name])
        if found := [name for name in names if taken.get(name, 0) > room]:
            worst = max(found, key=lambda name: taken[name])
            which = "its inputs take" if problem.interface == MODEL else f"the inputs of the case {worst} take"
            most = f"about {_mib(taken[worst])}, and a judge there has room for {_mib(room)}"
            more = f" (and {len(found) - 1} more such cases)" if len(found) > 1 else ""
            wayout = "choose smaller sizes or hardware with more memory"
            sentences.append(f"{place}: {which} {most}{more}; {wayout}")
    return sentences


@dataclass(frozen=True)
class _Made:
    """Tensors that a function makes, as far as its text can be read: read once for all cases."""

    statements: Sequence[ast.stmt] = ()
    calls: Sequence[tuple[ast.Call, str]] = ()
    known: Mapping[str, Any] = field(default_factory=dict)  # the file's constants and the arguments' defaults

    @classmethod
    def of(cls, tree: ast.Module, function: str) -> "_Made":
        """Return the tensors of this function; none if there is too much text to read in a moment."""
        made = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function][-1:]
        constants = [node for node in tree.body if isinstance(node, ast.Assign)]
        nodes = list(islice((node for part in (*made, *constants) for node in ast.walk(part)), _MOST_NODES + 1))
        if not made or len(nodes) > _MOST_NODES:
            return cls()
        known = _constants(constants, {})
        defaults = made[0].args
        for argument, value in zip(reversed(defaults.args), reversed(defaults.defaults), strict=False):
            known |= _constants([ast.Assign(targets=[ast.Name(argument.arg)], value=value)], known)
        calls = []
        for node in ast.walk(made[0]):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name("torch"), attr=name)) if name in _MAKERS:
                    calls.append((node, name))
        return cls(made[0].body, calls, known)

    def bytes_of(self, case: Mapping[str, Any]) -> int:
        """Return the bytes of these tensors in a case."""
        given = {name: value for name, value in case.items() if isinstance(value, int | list)}
        known = _constants(self.statements, {**self.known, **given})
        return sum(_bytes_of(call, name, known) for call, name in self.calls)


def _constants(statements: Sequence[ast.stmt], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return `known` with the names that plain assignments at this level give to whole numbers and lists of them."""
    known = dict(known)
    for statement in statements:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            pairs = [(target, statement.value)]
            if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                pairs = list(zip(target.elts, statement.value.elts, strict=False))
            for name, value in pairs:
                if isinstance(name, ast.Name) and (number := _value(value, known)) is not None:
                    known[name.id] = number
    return known


def _bytes_of(call: ast.Call, name: str, known: Mapping[str, Any]) -> int:
    """Return the bytes of the tensor that a call of torch.`name` makes, or 0 where the shape cannot be read."""
    keywords = {word.arg: word.value for word in call.keywords}
    if "size" in keywords:
        parts = [keywords["size"]]
    elif name in ("randint", "normal"):  # the shape is the last argument, behind bounds or mean and deviation
        parts = call.args[-1:]
    else:  # for full, the shape is the first argument, before the value
        parts = call.args[:1] if name == "full" else call.args
    count = 1
    for part in parts:
        numbers = _value(part.value if isinstance(part, ast.Starred) else part, known)
        if numbers is None:
            return 0
        for number in numbers if isinstance(numbers, list) else [numbers]:
            count = min(count * max(0, number), _MOST_BYTES)
    dtype = keywords.get("dtype")
    word = dtype.attr if isinstance(dtype, ast.Attribute) else "int64" if name in ("randint", "randperm") else ""
    each = 1 if word in _BYTES_OF_ONE else _BYTES.get(word, 4)
    return count * each if parts else 0


def _value(node: ast.expr, known: Mapping[str, Any]) -> int | list[int] | None:
    """Return the value of an expression, a whole number or a list of them; None where it cannot be read."""
    if isinstance(node, ast.Name) and isinstance(known.get(node.id), list):
        return list(known[node.id])
    if isinstance(node, ast.Tuple | ast.List):
        parts = list[int]()
        for part in node.elts:
            if not isinstance(number := _value(part, known), int):
                return None
            parts.append(number)
        return parts
    try:
        return evaluate(node, known)
    except LimitError:
        return None


def _mib(size: int) -> str:
    return f"{-(-size // MIB):,} MiB"
