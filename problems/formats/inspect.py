"""What can be told from problem code by parsing it, without running a line: which functions it defines and calls."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from typing import Final

SEED: Final = "seed"


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
    if "ref_kernel" not in names:
        return "Its reference.py has no ref_kernel, which tells this judge what an output looks like."
    return ""


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
