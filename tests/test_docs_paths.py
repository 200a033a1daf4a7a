"""Documents name existing files and headings, and the picture in docs/architecture.md matches the code."""

import ast
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
PACKAGES = ("leaderboard", "runner", "sandbox", "problems", "deploy", "benchmarks")
FOLDERS = (*PACKAGES, "docs", "tests", ".ci", ".github")
LIBRARY = TOP / "problems" / "library"  # starters and samples stand alone: no code of the packages
DOCUMENTS = [
    *TOP.glob("*.md"),
    *(TOP / ".github").rglob("*.md"),
    *(TOP / "docs").rglob("*.md"),
    *(path for name in (*PACKAGES, "tests") for path in (TOP / name).rglob("*.md") if LIBRARY not in path.parents),
]
# History: entries keep the paths of their day.
HISTORY = ("CHANGELOG.md", "docs/lab-notebook/*")

CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(rf"(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r'^ +(\w+) (?:-- ".*" )?--> (\w+)$', re.MULTILINE)


def paths_in(text: str) -> list[str]:
    """Repository paths in code font and in code blocks: they begin with a top-level folder. `::test` is left out."""
    words = " ".join(FENCED.findall(text)).split()
    codes = (code.partition("::")[0] for code in (*words, *CODE.findall(FENCED.sub("", text))))
    return [code for code in codes if PATH.fullmatch(code)]


def exists(path: str) -> bool:
    return any(TOP.glob(path)) if "*" in path else (TOP / path).exists()


def anchors_of(text: str) -> set[str]:
    """The anchors that GitHub makes of the headings of a document."""
    titles = re.findall(r"^#+ +(.+?) *$", FENCED.sub("", text), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


def broken_links(document: Path, text: str) -> Iterator[str]:
    for link in (page or picture for page, picture in LINK.findall(FENCED.sub("", text))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        if not target.exists() or (anchor and anchor not in anchors_of(target.read_text())):
            yield link


def imported_packages(package: str) -> set[str]:
    """Packages of this repository that one package imports, functions included."""
    found: set[str] = set()
    for path in (TOP / package).rglob("*.py"):
        if LIBRARY in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found & set(PACKAGES) - {package}


def architecture() -> str:
    return (TOP / "docs" / "architecture.md").read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(TOP)))
def test_paths_and_links_of_documents_exist(document: Path) -> None:
    text = document.read_text()
    assert list(broken_links(document, text)) == []
    if not any(fnmatch(str(document.relative_to(TOP)), history) for history in HISTORY):
        assert [path for path in paths_in(text) if not exists(path)] == []


def test_architecture_names_many_paths_and_no_line_numbers() -> None:
    text = architecture()
    assert len(paths_in(text)) > 80
    assert re.findall(r"\.\w+:\d+", text) == []


def test_architecture_arrows_are_the_imports_between_packages() -> None:
    picture = architecture().split("```mermaid")[1].split("```")[0]
    imported = {(package, other) for package in PACKAGES for other in imported_packages(package)}
    assert set(ARROW.findall(picture)) == imported, "change the picture in docs/architecture.md, or the import"


def test_architecture_lists_the_apps_in_the_order_of_the_import_contract() -> None:
    contracts = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    listed = architecture().split("```text")[1].split("```")[0].split(">")
    contracted = [re.findall(r"\w+", layer) for layer in layers]
    assert [re.findall(r"\w+", apps) for apps in listed] == contracted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see `runner/no_such_file.py`", ["runner/no_such_file.py"]),
        ("see `tests/x/test_y.py::test_z`", ["tests/x/test_y.py"]),
        ("see `sandbox/inside/`, `pip install .`, `kernel.py`, `/work`", ["sandbox/inside/"]),
        ("```\npytest docs/in_a_block.md -q\n```\n", ["docs/in_a_block.md"]),
    ],
)
def test_paths_in_code_font_are_found(text: str, expected: list[str]) -> None:
    assert paths_in(text) == expected


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("README.md", []),
        ("docs/no_such_page.md", ["docs/no_such_page.md"]),
        ("docs/no_such_picture.png", ["docs/no_such_picture.png"]),
        ("#a-heading", []),
        ("#another", ["#another"]),
        ("https://example.org/x", []),
    ],
)
def test_broken_links_are_found(tmp_path: Path, link: str, expected: list[str]) -> None:
    document = tmp_path / "page.md"
    (tmp_path / "README.md").touch()
    document.write_text(f"# A `heading`\n\nSee [a page]({link}), and ![a picture]({link}).\n")
    assert sorted(set(broken_links(document, document.read_text()))) == expected
