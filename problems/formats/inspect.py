"""What can be told from problem code by parsing it, without running a line: which functions it defines and calls."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Final

SEED: Final = "seed"
REFERENCE: Final = "reference.py"
RESULT: Final = "ref_kernel"  # what the judge calls a reference's function
CHECK: Final = "check_implementation"
INSTALLED: Final = frozenset({"torch", "numpy", "einops"})  # in the judge's containers, beside the standard library
# What torch brings along; triton where the hardware is a GPU.
BROUGHT: Final = frozenset(
    {"filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "ninja", "setuptools", "sympy", "triton"}
    | {"typing_extensions"}
)


def submission_functions(evaluator: str) -> tuple[str, ...]:
    """The names that an evaluator imports from `submission` for what they return, in order; () when it imports none or
    does not parse.

    One that it never calls, or whose result it drops (a hook that compiles ahead), is left out while another stays.
    """
    tree = parse(evaluator)
    if tree is None:
        return ()
    imported = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "submission"
        for alias in node.names
        if alias.name != "*"
    }
    used = _names_with_a_use(tree)
    wanted = [name for called, name in imported.items() if called in used]
    return tuple(dict.fromkeys(wanted or imported.values()))


def _names_with_a_use(tree: ast.Module) -> set[str]:
    """Names that are read anywhere but as the function of a call that stands alone."""
    alone = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    dropped = {id(value.func) for value in alone if isinstance(value, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in dropped}


def why_reference_is_not_enough(reference: str | None) -> str:
    """ "" when inputs can be made and outputs checked with this reference.py, else the reason for people."""
    if reference is None:
        return "It has no reference.py, from which this judge makes inputs and expected outputs."
    tree = parse(reference)
    if tree is None:
        return "Its reference.py does not parse as Python."
    names = _top_level_names(tree)
    if "generate_input" not in names:
        return "Its reference.py has no generate_input, from which this judge makes inputs."
    if RESULT not in names:
        return "Its reference.py has no ref_kernel, which tells this judge what an output looks like."
    return ""


def result_function(reference: str, entry: str) -> str:
    """The name of the function whose results are right, where it is not called `ref_kernel`; "" where none is found.

    It is what the check is made with, as in `check_implementation = make_match_reference(custom_kernel)`, or is called
    as the function of a submission.
    """
    tree = parse(reference)
    names = _top_level_names(tree) if tree else set()
    if tree is None or RESULT in names:
        return ""
    given = [name for name in _given_to_check(tree) if name in names]
    return given[0] if given else entry if entry in names else ""


def _given_to_check(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        called = node.value if isinstance(node, ast.Assign) else None
        targets = {target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)}
        if isinstance(called, ast.Call) and CHECK in targets:
            told = [*called.args, *(word.value for word in called.keywords)]
            yield from (one.id for one in told if isinstance(one, ast.Name))


def why_imports_fail(files: Mapping[str, str]) -> str:
    """ "" where the judge's containers have what reference.py, and the files that it imports, import as they begin."""
    own = {PurePath(name).stem: name for name in files if name.endswith(".py")}
    waiting, seen = [REFERENCE], {REFERENCE}
    while waiting:
        name = waiting.pop()
        tree = parse(files.get(name, ""))
        imported = set(_imported_first(tree.body)) if tree else set()
        absent = imported - own.keys() - INSTALLED - BROUGHT - sys.stdlib_module_names
        if absent:
            return f"Its {name} imports {_listed(absent)}, which the judge's containers do not have."
        more = {own[one] for one in imported if one in own} - seen
        waiting += sorted(more)
        seen |= more
    return ""


def _imported_first(body: Iterable[ast.stmt]) -> Iterator[str]:
    """First names of what these statements import whatever happens: what a `try` or an `if` guards does not count."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def why_cases_do_not_fit(reference: str | None, cases: Iterable[tuple[str, dict[str, object]]]) -> str:
    """ "" when generate_input takes the arguments of each case and needs no other, else the reason for people.

    A seed is the judge's to give where generate_input takes one.
    """
    taken = _arguments_of(reference or "", "generate_input")
    if taken is None:
        return ""  # made by assignment or import: only running it would tell
    known, needed = taken[0], taken[1] - {SEED}
    for where, case in cases:
        given = set(case)
        if missing := needed - given:
            return f"Its generate_input needs {_listed(missing)}, which {where} does not give."
        if known is not None and (extra := given - known):
            return f"Its generate_input does not take {_listed(extra)}, which {where} gives."
    return ""


def _arguments_of(source: str, name: str) -> tuple[set[str] | None, set[str]] | None:
    """Names that a top-level function takes (None: any) and those without a default; None where it is no `def`."""
    tree = parse(source)
    found = [node for node in (tree.body if tree else ()) if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found or found[-1].decorator_list:
        return None
    taken = found[-1].args
    plain = taken.args[: max(0, len(taken.args) - len(taken.defaults))]
    needed = {arg.arg for arg in plain}
    needed |= {arg.arg for arg, default in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if default is None}
    known = None if taken.kwarg else {arg.arg for arg in (*taken.args, *taken.kwonlyargs)}
    return known, needed


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)[:8])[:200]


def parse(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SyntaxWarning of other people's string escapes
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _top_level_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names
