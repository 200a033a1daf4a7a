"""Figures of the code base that may only improve: size, small modules, private helpers called once, plain prose.

    python -m tests.tools.ratchet [--write]

`make check` runs it. A figure above its limit in ratchet.json fails. `--write` lowers the limits to the present figures
and never raises one; raising a limit is a decision for a commit of its own, with the reason. Product code is every
tracked Python file of the packages, without migrations and the problem library. Prose is measured by the share of
indefinite words in docstrings, comments and Markdown.
"""

import ast
import io
import json
import math
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from deploy.console import say
from deploy.parties import CHECKOUT

LIMITS: Final = Path(__file__).with_name("ratchet.json")
PACKAGES: Final = ("leaderboard/", "runner/", "sandbox/", "problems/", "deploy/")
NOT_PROSE: Final = ("/migrations/", "problems/library/", "tests/attacks/", "docs/lab-notebook/", "CHANGELOG.md")
SMALL_LINES: Final = 50
ROUNDED: Final = 500
COUNTS: Final = ("code lines", "words of Markdown")
LEAST_WORDS: Final = 200  # of a folder; fewer have no meaningful share
INDEFINITE: Final = re.compile(
    r"\b(what|whatever|who|whoever|whose|nobody|somebody|anybody|nothing|something|ones?|others?|such|so|else|those)\b",
    re.IGNORECASE,
)
GOALS: Final = {"per 100": 2.0, "per 1,000": 1.0}  # a folder below them needs no limit of its own
TELL: Final = re.compile(r"\b(told|tells?|said|says?)\b", re.IGNORECASE)
DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LAYOUT: Final = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def tracked(suffix: str) -> dict[str, str]:
    """Path → text of the tracked files with this suffix."""
    listed = subprocess.run(["git", "ls-files", f"*{suffix}"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    paths = [CHECKOUT / name for name in listed.stdout.splitlines()]
    return {str(path.relative_to(CHECKOUT)): path.read_text(errors="replace") for path in paths if path.is_file()}


def docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            expression = node.body[0]
            assert isinstance(expression, ast.Expr)
            assert isinstance(expression.value, ast.Constant)
            yield expression.value


def code_lines(text: str) -> int:
    """Lines with code: no blank lines, comments or docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in docstrings(ast.parse(text)):
        lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def called_once(text: str) -> tuple[int, int]:
    """Private functions with a single use in their module, and all functions."""
    nodes = list(ast.walk(ast.parse(text)))
    uses = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    uses += Counter(node.attr for node in nodes if isinstance(node, ast.Attribute))
    names = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    private = [name for name in names if name.startswith("_") and not name.startswith("__")]
    return sum(uses[name] == 1 for name in private), len(names)


def prose(name: str, text: str) -> Iterator[str]:
    """Paragraphs: of a document without code and tables, of a module its docstrings and comments."""
    if name.endswith(".md"):
        for paragraph in re.sub(r"```.*?```", "", text, flags=re.DOTALL).split("\n\n"):
            if not paragraph.lstrip().startswith(("|", "#")) and not paragraph.startswith("    "):
                yield re.sub(r"`[^`]*`", "X", paragraph)
        return
    yield from (str(node.value) for node in docstrings(ast.parse(text)))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("#: ")


def plainness(texts: dict[str, str]) -> dict[str, float]:
    """Shares of the words that the two patterns find, by folder of two levels."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for name, text in texts.items():
        if any(part in name for part in NOT_PROSE):
            continue
        parts = Path(name).parts
        counted = counts["/".join(parts[:-1][:2]) or "."]
        for paragraph in prose(name, text):
            counted[0] += len(paragraph.split())
            counted[1] += len(INDEFINITE.findall(paragraph))
            counted[2] += len(TELL.findall(paragraph))
    figures: dict[str, float] = {}
    for folder, (words, indefinite, tell) in sorted(counts.items()):
        if words >= LEAST_WORDS:
            figures[f"{folder}: indefinite words per 100"] = round(100 * indefinite / words, 2)
            figures[f"{folder}: tell or say per 1,000"] = round(1000 * tell / words, 2)
    return figures


def is_uncounted(name: str) -> bool:
    """Return whether a document is history, or generated: the references of API and settings, the index of pictures."""
    generated = ("docs/http.md", "docs/settings.md", "docs/screens/README.md")
    return name in ("CHANGELOG.md", *generated) or name.startswith("docs/lab-notebook/")


def words(text: str) -> int:
    return len(text.replace("|", " ").split())  # a table's bars are no words


def measure() -> dict[str, float]:
    modules, documents = tracked(".py"), tracked(".md")
    product = {
        name: text
        for name, text in modules.items()
        if name.startswith(PACKAGES) and "/migrations/" not in name and "problems/library/" not in name
    }
    once, functions = (sum(column) for column in zip(*map(called_once, product.values()), strict=True))
    small = [name for name, text in product.items() if len(text.splitlines()) < SMALL_LINES]
    return {
        "code lines": sum(map(code_lines, product.values())),
        f"modules under {SMALL_LINES} lines": sum(not name.endswith("__init__.py") for name in small),
        "private functions called once, %": round(100 * once / functions, 1),
        "words of Markdown": sum(map(words, (text for name, text in documents.items() if not is_uncounted(name)))),
        **plainness(modules | documents),
    }


def goal_of(name: str) -> float:
    """The limit of a figure that ratchet.json does not have."""
    return next((goal for ending, goal in GOALS.items() if name.endswith(ending)), 0.0)


def rounded(name: str, figure: float) -> float:
    """A limit for this figure, with room for a small change where it counts lines or words."""
    return math.ceil(figure / ROUNDED) * ROUNDED if name in COUNTS else figure


def exceeded(figures: dict[str, float], limits: dict[str, float]) -> Iterator[str]:
    """A line for each figure above its limit."""
    for name, figure in figures.items():
        limit = limits.get(name, goal_of(name))
        if figure > limit:
            yield f"{name}: {figure:g}, at most {limit:g} (tests/tools/ratchet.json)"


def main(arguments: list[str]) -> int:
    figures: dict[str, float] = measure()
    limits: dict[str, float] = json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    if "--write" in arguments:
        lowered = {name: min(rounded(name, figure), limits.get(name, math.inf)) for name, figure in figures.items()}
        lowered = {name: limit for name, limit in lowered.items() if limit > goal_of(name)}
        LIMITS.write_text(json.dumps(lowered, indent=1) + "\n")
        return 0
    worse = list(exceeded(figures, limits))
    say("\n".join(worse) or "no figure is above its limit")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
