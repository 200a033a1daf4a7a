"""Sizes of a case's inputs, read from the text of a reference without running it. Pure.

An estimate: it adds up the tensors that `generate_input` or `get_inputs` makes by torch's own functions with shapes
that arithmetic over the case's arguments and the file's constants gives. An import can then report a case as too large
for a hardware before any runner tries it. Where no shape can be read, there is no estimate.
"""

import ast
from collections.abc import Mapping
from typing import Any, Final

from problems.arithmetic import LimitError, evaluate
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
_MOST_STATEMENTS: Final = 2_000


def room_for_inputs(hardware: str) -> int | None:
    """Return the bytes that one case's inputs may take on this hardware; None for hardware of an unknown size."""
    if hardware.lower() == "cpu":
        return CPU_INPUT_BYTES
    gib = GPU_GIB.get(hardware.upper().split(":")[0])
    return None if gib is None else gib * 1024 * MIB // GPU_INPUT_SHARE


def too_large(problem: Problem, hardware: str) -> str:
    """Return a sentence with the sizes where inputs of some case have no room on this hardware; "" where all have."""
    room, source = room_for_inputs(hardware), problem.files.get("reference.py", "")
    if room is None:
        return ""
    try:
        tree = inspect.parse(source)
    except ProblemError:
        return ""
    found = {}
    function = "get_inputs" if problem.interface == MODEL else "generate_input"
    for case in (*problem.on(hardware).benchmarks, *problem.tests):
        taken = _input_bytes(tree, function, case)
        if taken > room:
            found[case_name(case)] = taken
    if not found:
        return ""
    name, most = max(found.items(), key=lambda item: item[1])
    which = "its inputs take" if problem.interface == MODEL else f"the inputs of the case {name} take"
    more = f" (and {len(found) - 1} more such cases)" if len(found) > 1 else ""
    wayout = "choose smaller sizes or hardware with more memory"
    return f"{hardware}: {which} about {_mib(most)}, and a judge there has room for {_mib(room)}{more}; {wayout}"


def _input_bytes(tree: ast.Module, function: str, case: Mapping[str, Any]) -> int:
    """Return the bytes of the tensors that the function makes, as far as their shapes can be read."""
    made = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    if not made:
        return 0
    known = _constants(tree.body, {})
    defaults = made[-1].args
    for argument, value in zip(reversed(defaults.args), reversed(defaults.defaults), strict=False):
        known |= _constants([ast.Assign(targets=[ast.Name(argument.arg)], value=value)], known)
    known |= {name: value for name, value in case.items() if isinstance(value, int | list)}
    known = _constants(made[-1].body, known)
    total = 0
    for node in ast.walk(made[-1]):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("torch"), attr=name)) if name in _MAKERS:
                total += _bytes_of(node, name, known)
    return total


def _constants(statements: list[ast.stmt], known: dict[str, Any]) -> dict[str, Any]:
    """Return `known` with the names that plain assignments at this level give to whole numbers and lists of them."""
    known = dict(known)
    for statement in statements[:_MOST_STATEMENTS]:
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
            count *= max(0, number)
    dtype = keywords.get("dtype")
    word = dtype.attr if isinstance(dtype, ast.Attribute) else "int64" if name in ("randint", "randperm") else ""
    each = 1 if word in _BYTES_OF_ONE else _BYTES.get(word, 4)
    return count * each if parts else 0


def _value(node: ast.expr, known: Mapping[str, Any]) -> int | list[int] | None:
    """Return the value of an expression, a whole number or a list of them; None where it cannot be read."""
    if isinstance(node, ast.Name) and isinstance(known.get(node.id), list):
        return list(known[node.id])
    if isinstance(node, ast.Tuple | ast.List):
        parts = [_value(part, known) for part in node.elts]
        return [part for part in parts if isinstance(part, int)] if all(isinstance(one, int) for one in parts) else None
    try:
        return evaluate(ast.unparse(node), known)
    except (LimitError, RecursionError, ValueError):
        return None


def _mib(size: int) -> str:
    return f"{-(-size // MIB):,} MiB"
