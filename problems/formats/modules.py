"""PyTorch modules with inputs as KernelBench files, and the code of a compiler as the answer to them.

A module file has a class of torch.nn.Module, `get_inputs()` and, if its constructor takes arguments,
`get_init_inputs()`. Reads text and its syntax tree, and never executes it.
"""

import ast
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from problems.fields import ProblemError
from problems.formats import inspect, kernelbench
from problems.formats.files import read_text
from problems.spec import Problem

GIVEN: Final = ("get_inputs", "get_init_inputs")
UNUSED: Final = ("get_args", "benchmark_compiled_module")  # of Inductor's module: it benchmarks itself
CONSTANT: Final = re.compile(r"^(\w+) = None  # ", re.MULTILINE)  # of Inductor's module, filled in by its loader
NUMBERED: Final = re.compile(r"\d{1,4}_.+\.py")
NO_ARGUMENTS: Final = "\n\ndef get_init_inputs():\n    return []\n"
ALIAS: Final = """

class Model({name}):
    def __init__(self, arguments=(), options=None):
        super().__init__(*arguments, **(options or {{}}))
"""
PLAIN_ALIAS: Final = """

class Model({name}):
    pass
"""
METHOD: Final = """

@torch.no_grad()
def forward(self, *inputs):
    found = inductor_call([{arguments}])
    return {result}
"""


def load(path: Path) -> Problem:
    """Load a KernelBench file, or a file with another module, as a problem. Raises ProblemError."""
    name = path.name if NUMBERED.fullmatch(path.name) else f"0_{path.stem}.py"
    return kernelbench.parse(as_kernelbench(read_text(path, path.parent, path.name)), name, kernelbench.level_of(path))


def as_kernelbench(source: str) -> str:
    """Return a file with a class Model and get_init_inputs. A file of another shape stays as it is."""
    tree = inspect.parse(source)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if "get_inputs" not in functions:
        return source
    init = functions.get("get_init_inputs")
    if init is None:
        source = source.rstrip() + NO_ARGUMENTS
    modules = [
        name
        for name, node in classes.items()
        if any(ast.unparse(base).rpartition(".")[2] == "Module" for base in node.bases)
    ]
    if "Model" in classes or not modules:
        return source
    match init:
        case ast.FunctionDef(body=[*_, ast.Return(ast.List([ast.List(), ast.Dict()]))]):  # as in KernelBook
            alias = ALIAS
        case _:
            alias = PLAIN_ALIAS
    return source.rstrip() + "\n" + alias.format(name=modules[-1])


def answer(reference: str, code: str, arguments: Sequence[str], result: str, about: str) -> str:
    """Return a submission: the compiler's code, and the reference's classes whose ModelNew calls it.

    Raises ProblemError where the code alone is not all that it needs.
    """
    if constants := CONSTANT.findall(code):
        raise ProblemError("code", f"keeps {', '.join(constants)} outside of the code, where no submission can")
    own = "\n".join(_blanked(code, filter(_is_unused, inspect.parse(code).body)))
    renamed = kernelbench.starter(reference)
    tree = inspect.parse(renamed)
    dropped: list[ast.stmt] = [node for node in tree.body if _is_given(node)]
    model = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kernelbench.ENTRY)
    dropped += [node for node in model.body if isinstance(node, ast.FunctionDef) and node.name == "forward"]
    lines, lines_before = _blanked(renamed, dropped), renamed.split("\n")
    first = model.body[0]
    if first.lineno == model.lineno:
        raise ProblemError("file", f"class Model, line {model.lineno}: write its body on lines of its own")
    indent = lines_before[first.lineno - 1][: first.col_offset]
    method = METHOD.format(arguments=", ".join(arguments), result=result)
    lines[(model.end_lineno or 0) - 1] += textwrap.indent(method, indent)
    classes = re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines).strip())
    return f"# {about}\n{own.strip()}\n\ninductor_call = call\n\n\n{classes}\n"


def _is_unused(node: ast.stmt) -> bool:
    match node:
        case ast.FunctionDef(name=name):
            return name in UNUSED
        case ast.If(test=ast.Compare(left=ast.Name("__name__"))):
            return True
    return False


def _is_given(node: ast.stmt) -> bool:
    """Return whether a statement of the reference has no use in an answer, or must stand first in a file."""
    match node:
        case ast.FunctionDef(name=name):
            return name in GIVEN
        case ast.ImportFrom(module="__future__"):
            return True
    return False


def _blanked(source: str, nodes: Iterable[ast.stmt]) -> list[str]:
    """Return the lines of the source, empty where these statements stand."""
    lines = source.split("\n")
    for node in nodes:
        decorators = [one.lineno for one in getattr(node, "decorator_list", [])]
        for number in range(min([node.lineno, *decorators]), (node.end_lineno or node.lineno) + 1):
            lines[number - 1] = ""
    return lines
