"""Facts about problem code from its syntax tree, without running a line: functions that it defines and calls."""

import ast
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, TypeAlias

from problems.fields import ProblemError
from problems.spec import SEED

REFERENCE: Final = "reference.py"
RESULT: Final = "ref_kernel"  # the judge's name for a reference's function
CHECK: Final = "check_implementation"
INSTALLED: Final = frozenset({"torch", "numpy", "einops"})  # in the judge's containers, beside the standard library
# Packages that torch brings along; triton where the hardware is a GPU.
BROUGHT: Final = frozenset(
    {"filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "ninja", "setuptools", "sympy", "triton"}
    | {"typing_extensions"}
)
# Packages that only an image built with IMAGE_EXTRAS has (deploy/image.py) → its layer.
LAYERS: Final = {"transformers": "transformers"} | dict.fromkeys(("cutlass", "helion", "tilelang"), "languages")
GUIDE: Final = "docs/problems.md, section 6, shows the way out."


Arguments: TypeAlias = tuple[frozenset[str] | None, frozenset[str]]  # accepted (None: any); without a default


@dataclass(frozen=True)
class Code:
    """Contents of a file. All fields are empty if it does not parse."""

    names: frozenset[str] = frozenset()  # at top level
    imported: frozenset[str] = frozenset()  # first names of its unconditional imports; `.name` from a package
    entries: tuple[str, ...] = ()  # functions that it imports from `submission` for their results, in order
    checked_with: tuple[str, ...] = ()  # names passed to the maker of `check_implementation`, in order
    inputs: Arguments | None = None  # of generate_input; None: made by assignment or import, which only a run resolves


def code(source: str) -> Code:
    try:
        return code_of(parse(source))
    except ProblemError:
        return Code()


def code_of(tree: ast.Module) -> Code:
    names: set[str] = set()
    imported: set[str] = set()  # unguarded: not under `try` or `if`
    checked_with: list[str] = []
    for node in tree.body:
        match node:
            case (
                ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name) | ast.AnnAssign(ast.Name(name))
            ):
                names.add(name)
            case ast.Import(aliases):
                names.update(alias.asname or alias.name for alias in aliases)
                imported.update(alias.name.partition(".")[0] for alias in aliases)
            case ast.ImportFrom(module, aliases, level):
                names.update(alias.asname or alias.name for alias in aliases)
                modules = [module] if module else [alias.name for alias in aliases]
                imported.update("." * level + name if level else name.partition(".")[0] for name in modules)
            case ast.Assign(targets, value):
                bound = {target.id for target in targets if isinstance(target, ast.Name)}
                names |= bound
                if CHECK in bound and isinstance(value, ast.Call):
                    given = [*value.args, *(word.value for word in value.keywords)]
                    checked_with += [argument.id for argument in given if isinstance(argument, ast.Name)]
    return Code(
        names=frozenset(names),
        imported=frozenset(imported),
        entries=_submission_functions(tree),
        checked_with=tuple(checked_with),
        inputs=_arguments_of(tree, "generate_input"),
    )


def why_reference_is_not_enough(reference: Code | None) -> str:
    """Return "" if this reference.py makes inputs and checks outputs, else the reason for people."""
    if reference is None:
        return "It has no reference.py, from which this judge makes inputs and expected outputs."
    if "generate_input" not in reference.names:
        return f"Its reference.py has no generate_input, from which this judge makes inputs; {GUIDE}"
    if RESULT not in reference.names:
        return "Its reference.py has no ref_kernel, which tells this judge what an output looks like."
    return ""


def why_reference_is_foreign(files: Iterable[str]) -> str:
    """Return the reason for people if the reference is CUDA code, as in upstream's `lang: cu` tasks; else ""."""
    names = set(files)
    foreign = sorted(name for name in names if PurePath(name).suffix in (".cuh", ".cu") and "reference" in name)
    if REFERENCE in names or not foreign:
        return ""
    return (
        f"Its reference is CUDA code ({foreign[0][:60]}) on vectors in the host's memory; this judge makes inputs and "
        f"expected outputs from a reference.py, and hands a submission tensors on the device; {GUIDE}"
    )


def result_function(reference: Code, entry: str) -> str:
    """Return the name of the function with the right results if it is not `ref_kernel`; "" if none is found.

    It is passed to the maker of the check, as in `check_implementation = make_match_reference(custom_kernel)`, or is
    called as the function of a submission.
    """
    if RESULT in reference.names:
        return ""
    given = [name for name in reference.checked_with if name in reference.names]
    return given[0] if given else entry if entry in reference.names else ""


def why_imports_fail(files: Mapping[str, Code]) -> str:
    """Return "" if the judge's containers can have all unguarded imports of reference.py and its files, or a reason."""
    for name, absent in _absent(files):
        if missing := absent - LAYERS.keys():
            return f"Its {name} imports {_listed(missing)}, which the judge's containers do not have."
    return ""


def doubt_of_imports(files: Mapping[str, Code]) -> str:
    """Return "" if every sandbox image has the imports of reference.py and its files, else a warning for people."""
    packages = sorted({package for _, absent in _absent(files) for package in absent & LAYERS.keys()})
    if not packages:
        return ""
    image = f"a sandbox image made with IMAGE_EXTRAS={LAYERS[packages[0]]} (problems/README.md)"
    return f"it imports {', '.join(packages)}: its runners need {image}; the first run shows if they have it"


def _absent(files: Mapping[str, Code]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield reference.py and the files that it reaches, each with its imports that the plain image does not have."""
    own = {PurePath(name).stem: name for name in files if name.endswith(".py")}
    waiting, seen = [REFERENCE], {REFERENCE}
    while waiting:
        name = waiting.pop()
        imported = files[name].imported if name in files else frozenset()
        yield name, imported - own.keys() - INSTALLED - BROUGHT - sys.stdlib_module_names
        more = {own[one] for one in imported if one in own} - seen
        waiting += sorted(more)
        seen |= more


RANK: Final = "rank"  # arguments of generate_input, of a problem for several GPUs
WORLD_SIZE: Final = "world_size"


def why_cases_do_not_fit(reference: Code | None, cases: Mapping[str, Iterable[str]], *, several: bool = False) -> str:
    """Return "" if generate_input takes the arguments of each case and needs no more, else the reason for people.

    The judge sets a seed where generate_input takes it. A problem for `several` GPUs is told its rank, and the number
    of ranks where it takes that.
    """
    if reference is None or reference.inputs is None:
        return ""
    known, needed = reference.inputs
    if several and known is not None and RANK not in known:
        return f"Its generate_input takes no {RANK}, and each of several GPUs needs its own data."
    told = {SEED, RANK, WORLD_SIZE} if several else {SEED}
    for where, names in cases.items():
        given = frozenset(names)
        if missing := needed - given - told:
            return f"Its generate_input needs {_listed(missing)}, which {where} does not give."
        if known is not None and (extra := given - known):
            return f"Its generate_input does not take {_listed(extra)}, which {where} gives."
    return ""


def _submission_functions(tree: ast.Module) -> tuple[str, ...]:
    """Return the imported submission functions.

    A function that is never called, or whose result is dropped (a hook that compiles ahead), is left out while any
    function stays.
    """
    imported = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "submission"
        for alias in node.names
        if alias.name != "*"
    }
    alone = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    dropped = {id(value.func) for value in alone if isinstance(value, ast.Call)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in dropped}
    wanted = [name for called, name in imported.items() if called in used]
    return tuple(dict.fromkeys(wanted or imported.values()))


def _arguments_of(tree: ast.Module, name: str) -> Arguments | None:
    """Return the arguments of the top-level function of that name, or None if it is no plain `def`."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found or found[-1].decorator_list:
        return None
    taken = found[-1].args
    plain = taken.args[: max(0, len(taken.args) - len(taken.defaults))]
    needed = {arg.arg for arg in plain}
    needed |= {arg.arg for arg, default in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if default is None}
    known = None if taken.kwarg else frozenset(arg.arg for arg in (*taken.args, *taken.kwonlyargs))
    return known, frozenset(needed)


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)[:8])[:200]


def parse(source: str, where: str = "file") -> ast.Module:
    """Return the syntax tree. Raises ProblemError with the line of the fault, for a person who can fix the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SyntaxWarning about string escapes in organisers' code
            return ast.parse(source)
    except SyntaxError as error:
        line = f" (line {error.lineno})" if error.lineno else ""
        raise ProblemError(where, f"does not parse as Python: {error.msg}{line}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProblemError(where, f"does not parse as Python: {error or type(error).__name__}") from error
