"""Rules of the packages beyond the import contracts: environment access, pure modules, places of libraries.

The import contracts are in pyproject.toml, and lint-imports checks them. These rules read the syntax tree, so that an
import inside a function counts as well.
"""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
ROOMS = ("leaderboard", "runner", "sandbox", "problems")
LIBRARY = "problems/library/"  # code of problems and submissions, not judged here

# Documents that this repository does not have.
ELSEWHERE = re.compile(r"\bMEASUREMENT\b|\bDESIGN\b|\bFORMATS\.md|\bSTYLE\.md|\bHOUSE\.md")

# Library -> where it may be imported.
PLACES = {
    "django": ("leaderboard/*",),
    "rest_framework": ("leaderboard/*",),
    "psycopg": ("leaderboard/*",),
    "docker": ("sandbox/container.py", "runner/host/doctor.py"),
    "torch": ("runner/judge/*", "sandbox/inside/*"),
    "httpx": ("runner/daemon/client.py", "leaderboard/client/*", "leaderboard/operations/notices.py"),
    "pynvml": ("runner/judge/device/nvml.py",),
    "cuda": ("sandbox/inside/cuda_context.py", "sandbox/inside/device.py"),
    "device": ("sandbox/inside/cuda_context.py", "sandbox/inside/on_cuda.py"),  # flat beside the harness
}
# What is NVIDIA's own, and the modules besides that name it, with their reason. Another make adds to the second list.
NVIDIAS_OWN = {
    "runner/judge/data/cuda.py",
    "runner/judge/device/nvidia.py",
    "runner/judge/device/nvml.py",
    "sandbox/inside/device.py",
    "sandbox/inside/kernels_ahead.py",
    "sandbox/inside/on_cuda.py",
}
MAY_NAME_A_MAKE = {
    "runner/config.py": "variables that a judge inherits, descriptions of settings",
    "runner/evidence/diagnostics.py": "messages of compilers",
    "runner/host/accelerators.py": "the list of makes",
    "runner/host/container_probe.py": "libraries whose versions are a part of the epoch, and languages for kernels",
    "runner/wire.py": "languages for kernels",
    "sandbox/inside/modelnew.py": "torch's name for the seeds of any GPU",
    "sandbox/inside/world.py": "torch's name for a rank's device and for the way between them",
    "sandbox/inside/native.py": "the compiler of a .cu submission, which is CUDA C++",
    "sandbox/inside/profiler.py": "profilers",
    "sandbox/inside/stand_in.py": "the device's name in a submission's code",
}
MAKES_WORDS = re.compile(r"cuda|nvidia|nvml|nvcc", re.IGNORECASE)
MAY_READ_ENVIRONMENT = ("leaderboard/env.py", "runner/config.py", "sandbox/inside/*", "leaderboard/cli/config.py")

IMPURE = {"os", "time", "random", "secrets", "socket", "subprocess", "threading", "asyncio", "tempfile", "shutil"}
IMPURE |= {"django.db", "django.utils.timezone", "httpx", "urllib.request", "docker", "torch", "requests", "logging"}
IMPURE_CALLS = {"open", "now", "utcnow", "today", "read_text", "read_bytes", "write_text", "write_bytes"}


def modules() -> list[str]:
    found = (path for room in ROOMS for path in sorted((TOP / room).rglob("*.py")))
    return [name for name in (str(path.relative_to(TOP)) for path in found) if not name.startswith(LIBRARY)]


def pure_modules() -> list[str]:
    """Every module whose docstring contains the word: there is no list in which to forget a module."""
    said = {name: ast.get_docstring(ast.parse((TOP / name).read_text())) or "" for name in modules()}
    return [name for name, docstring in said.items() if re.search(r"\bPure\b", docstring)]


def imports(tree: ast.AST, module: str = "") -> Iterator[str]:
    """Dotted names of all imports; relative imports only if the importing `module` is given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (not node.level or module):
            package = module.split(".")[: -node.level] if node.level else []
            place = ".".join([*package, *filter(None, [node.module])])
            yield from (f"{place}.{alias.name}" for alias in node.names)


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def foreign_imports(name: str, source: str) -> list[str]:
    """Libraries that `name` imports without permission."""
    known = {
        library
        for imported in imports(ast.parse(source))
        for library, places in PLACES.items()
        if is_within(imported, library) and not any(fnmatch(name, place) for place in places)
    }
    return sorted(known)


def words(source: str) -> Iterator[str]:
    """Names and texts of a module's code, without its docstrings and comments."""
    tree = ast.parse(source)
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    nodes = [node for node in ast.walk(tree) if isinstance(node, documented)]
    docstrings = {id(node.body[0].value) for node in nodes if node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield str(node.value)
        else:
            yield from (str(getattr(node, field)) for field in ("id", "attr", "arg", "name") if hasattr(node, field))


def reads_environment(source: str) -> bool:
    tree = ast.parse(source)
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = {imported.split(".", 1)[1] for imported in imports(tree) if imported.startswith("os.")}
    return bool({"environ", "getenv", "environb", "putenv"} & (attributes | names))


def impurities(source: str) -> list[str]:
    """Imports that no pure module has, and impure calls in its functions (a constant may be read at import time)."""
    tree = ast.parse(source)
    found = {imported for imported in imports(tree) if any(is_within(imported, impure) for impure in IMPURE)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in (inner for function in functions for inner in ast.walk(function)):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found |= {called} & IMPURE_CALLS
    return sorted(found)


def test_there_are_modules_to_check() -> None:
    rooms = {name.split("/")[0] for name in modules()}
    assert rooms == set(ROOMS)


@pytest.mark.parametrize("name", modules())
def test_libraries_stay_in_their_places(name: str) -> None:
    found = foreign_imports(name, (TOP / name).read_text())
    assert not found, f"{name} imports {', '.join(found)}: move that code to a place that PLACES allows"


@pytest.mark.parametrize("name", modules())
def test_only_settings_and_harness_read_the_environment(name: str) -> None:
    if not any(fnmatch(name, allowed) for allowed in MAY_READ_ENVIRONMENT):
        assert not reads_environment((TOP / name).read_text()), f"{name} reads os.environ: take it from env or config"


def test_nothing_outside_of_the_seam_names_a_make() -> None:
    """A port of the judge to another make would have to change these modules, too: docs/porting.md."""
    rooms = [name for name in modules() if name.startswith(("runner/", "sandbox/"))]
    found = {name for name in rooms if any(map(MAKES_WORDS.search, words((TOP / name).read_text())))}
    assert found == NVIDIAS_OWN | MAY_NAME_A_MAKE.keys()


def test_pure_modules_are_found_by_their_docstrings() -> None:
    found = pure_modules()
    assert len(found) > 30
    assert {"leaderboard/review/case/states.py", "runner/judge/data/error_model.py", "sandbox/policy.py"} <= set(found)


IMPURE_HINT = "pass the value as an argument, or move the code to the caller"


@pytest.mark.parametrize("name", pure_modules())
def test_pure_modules_have_no_clock_io_or_randomness(name: str) -> None:
    assert impurities((TOP / name).read_text()) == [], f"{name} is Pure by its docstring: {IMPURE_HINT}"


def dotted(name: str) -> str:
    """Dotted module name of a file."""
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def import_graph() -> dict[str, set[str]]:
    """Module → modules of this repository that it imports, including imports inside functions and for types alone."""
    files = {dotted(name): name for name in modules()}
    graph: dict[str, set[str]] = {}
    for module, name in files.items():
        found = set(imports(ast.parse((TOP / name).read_text()), module))
        found = {one if one in files else one.rpartition(".")[0] for one in found}
        graph[module] = {one for one in found if one in files and one != module}
    return graph


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan, 1972)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] == number[module]:
            place = stack.index(module)
            component, stack[place:] = stack[place:], []
            if len(component) > 1:
                found.append(sorted(component))

    for module in sorted(graph):
        if module not in number:
            visit(module)
    return found


def test_relative_imports_are_resolved() -> None:
    tree = ast.parse("from . import api\nfrom ..wording.figures import THIN")
    assert list(imports(tree, "leaderboard.cli.render")) == ["leaderboard.cli.api", "leaderboard.wording.figures.THIN"]


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c"]]
    assert cycles(import_graph()) == []


@pytest.mark.parametrize("name", [name for name in modules() if name.startswith("runner/evidence/")])
def test_every_module_of_the_evidence_is_pure(name: str) -> None:
    assert impurities((TOP / name).read_text()) == [], IMPURE_HINT


def test_documents_and_code_name_no_document_of_elsewhere() -> None:
    texts = [path for room in (*ROOMS, "benchmarks", "deploy", "docs", "tests") for path in (TOP / room).rglob("*.*")]
    texts += [path for path in TOP.iterdir() if path.suffix in (".md", ".toml") and path.name != "CHANGELOG.md"]
    known = {".py", ".md", ".toml", ".sh", ".yaml", ".yml", ".html"}
    found = [path for path in texts if path.suffix in known and ELSEWHERE.search(path.read_text(errors="replace"))]
    assert not found, [str(path.relative_to(TOP)) for path in found]


def test_the_site_never_imports_a_problem() -> None:
    for name in modules():
        if name.startswith("leaderboard/"):
            tree = ast.parse((TOP / name).read_text())
            assert not [imported for imported in imports(tree) if is_within(imported, "problems.library")]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("runner/daemon/worker.py", "import httpx", ["httpx"]),
        ("runner/daemon/worker.py", "def f():\n    from docker.errors import NotFound", ["docker"]),
        ("runner/daemon/client.py", "import httpx", []),
        ("sandbox/inside/harness.py", "import torch.nn", []),
        ("leaderboard/web/pages.py", "from httpx import Client", ["httpx"]),
        ("problems/spec.py", "import torchvision", []),
    ],
)
def test_the_rules_see_what_is_not_allowed(name: str, source: str, expected: list[str]) -> None:
    assert foreign_imports(name, source) == expected


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("from pynvml import nvmlInit", True),
        ("x = torch.cuda", True),
        ("if hardware != 'cpu':\n    open('/dev/nvidiactl')", True),
        ("def f(nvml): ...", True),
        ('"""CUDA."""\n\nx = 1  # nvidia\n\n\ndef f():\n    """NVML."""', False),
    ],
)
def test_the_rules_see_the_name_of_a_make_in_code_alone(source: str, named: bool) -> None:
    assert any(map(MAKES_WORDS.search, words(source))) is named


@pytest.mark.parametrize(
    "source", ["import os\nos.environ['A']", "from os import getenv", "import os\nx = os.getenv('A')"]
)
def test_the_rules_see_a_look_at_the_environment(source: str) -> None:
    assert reads_environment(source)


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from random import random",
        "def f():\n    open('x')",
        "def f():\n    return datetime.now()",
        "def f():\n    import os",
    ],
)
def test_the_rules_see_impurity(source: str) -> None:
    assert impurities(source)
