"""`photofinish problem new | pull | check` and `photofinish run`: write or fetch a problem, judge on this machine.

The client has no judge: `check` and `run` start the `runner` command of a checkout.
"""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from ..client import Misuse, SiteProblem
from ..client.values import JSON, mapping, sequence
from . import render
from .api import explained
from .config import connected

app = typer.Typer(no_args_is_help=True, help="Write and test problems.")

# Options of `runner`, among them --help, are not ours.
PASSED_ON: Final = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
SUFFIX: Final = ".txt"  # keeps tools from taking the files for code of this package
SET_FILE: Final = "set.yaml"
NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
PROBLEM_FILE: Final = "problem.json"  # the judge at home reads it: runner/commands/local.py
PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
NO_JUDGE: Final = (
    "The judge is not installed here; this command only talks to a site. With Docker and `pip install -c "
    "constraints.txt -e '.[runner]'` in a checkout of Photofinish, run: runner {arguments}"
)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of folder and board: small letters, digits, - and _.")],
    into: Annotated[Path, typer.Option(help="Parent of the new folder.")] = Path(),
    as_json: render.AsJson = False,
) -> None:
    """Write a working example problem (SiLU) as a start: the folder NAME with samples, and its set NAME.yaml."""
    if not NAME.fullmatch(name):
        raise Misuse(f"{name!r} cannot be a board's name: use small letters, digits, - and _ (at most 64)")
    written = write(name, into)
    screen = render.Screen()
    if as_json:
        screen.json([str(path) for path in written])
        return
    for path in written:
        screen.say(str(path))
    screen.say(f"Next: photofinish problem check {into / name}")


@app.command()
def pull(
    context: typer.Context,
    board: str,
    hardware: Annotated[str, typer.Option(help="Timed cases of this hardware (default: the board's first).")] = "",
    into: Annotated[Path, typer.Option(help="Parent of the new folder.")] = Path(),
    as_json: render.AsJson = False,
) -> None:
    """Fetch a board's problem into a folder of its name: task, reference, starters and public cases.

    `photofinish run FOLDER FILE` judges a kernel with it. The baseline is not public: there, the reference is timed.
    """
    with connected(context) as site, explained(site, board, hardware):
        found = site.problem(board, hardware)
    folder = into / checked_name(str(found.get("board", "")))
    files = pulled_files(found)
    if folder.exists():
        raise Misuse(f"{folder} is there already; remove it, or choose another --into folder")
    _write({folder / name: text for name, text in files.items()})
    screen = render.Screen()
    if as_json:
        screen.json({"folder": str(folder), "digest": found.get("digest"), "files": sorted(files)})
        return
    for name in sorted(files):
        screen.say(render.line(folder / name))
    starters = sorted(name for name in files if name.startswith("starter_"))
    starter = "starter_python.py" if "starter_python.py" in starters else next(iter(starters), "kernel.py")
    judged = f"run {folder} {folder / starter}" if _runner() else f"submit {folder / starter} --board {folder.name}"
    screen.note(f"Next: photofinish {judged} --mode test")


def pulled_files(found: JSON) -> dict[str, str]:
    """Return the files of a pulled problem. The site's names are untrusted: a path never leaves the folder."""
    problem = mapping(found.get("problem"))
    cases = {kind: sequence(problem.get(kind)) for kind in ("tests", "benchmarks")}
    files = {
        PROBLEM_FILE: json.dumps(problem, indent=2) + "\n",
        "README.md": f"# {problem.get('title', '')}\n\n{problem.get('description', '')}\n",
        "cases.json": json.dumps(cases | {"secret_ranges": problem.get("fuzz")}, indent=2) + "\n",
    }
    suffix = Path(str(problem.get("submission_name", ""))).suffix
    for language, text in mapping(problem.get("templates")).items():
        word = "".join(letter for letter in str(language).lower().replace("+", "p") if letter.isalnum())
        files[checked_name(f"starter_{word}{suffix if suffix in ('.py', '.cu') else '.py'}")] = str(text)
    for name, text in mapping(problem.get("files")).items():
        files.setdefault(checked_name(str(name)), str(text))
    return files


def checked_name(name: str) -> str:
    """Return a plain file name of the site. Raises SiteProblem for a path."""
    if not PLAIN_NAME.fullmatch(name):
        raise SiteProblem(
            f"the site's problem has a file of the odd name {render.line(name, 80)!r}; it was not written"
        )
    return name


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(help="Folder with a task.yml.")],
    only: Annotated[str, typer.Option(help="Only samples with this prefix, for example admission/.")] = "",
) -> None:
    """Judge a problem on this machine: its admission test, then its samples.

    Exit code 0: sound; 1: not sound; 2: not judged.
    """
    if not (folder / "task.yml").is_file():
        raise Misuse(f"{folder} has no task.yml; `photofinish problem new NAME` writes one")
    judge("verify", str(folder.resolve()), *(["--only", only] if only else []))


def run(context: typer.Context) -> None:
    """Judge a kernel on this machine, without a site: `runner once` of a checkout, with its arguments."""
    judge("once", *context.args)


def judge(*arguments: str) -> NoReturn:
    """Become `runner`, so that signals reach it and it removes its containers. Raises Misuse if it is not installed."""
    runner = _runner()
    if runner is None:
        raise Misuse(NO_JUDGE.format(arguments=shlex.join(arguments)))
    try:
        os.execv(runner, [runner, *arguments])  # noqa: S606 - no shell
    except OSError as error:  # an environment that was moved, for example
        raise Misuse(f"{runner} does not start: {error.strerror}; install the judge anew") from None


def _runner() -> str | None:
    """Return the path of the judge at home, if it is installed."""
    return shutil.which("runner", path=str(Path(sys.argv[0]).parent)) or shutil.which("runner")


def write(name: str, into: Path) -> list[Path]:
    """Write all files or none; existing files are never overwritten. Raises Misuse."""
    scaffold = resources.files(__package__) / "scaffold"
    files = {
        into / (f"{name}.yaml" if path == SET_FILE else f"{name}/{path}"): text.replace("@NAME@", name)
        for path, text in _below(scaffold, "")
    }
    taken = [path for path in (into / name, into / f"{name}.yaml") if path.exists()]
    if taken:
        raise Misuse(f"{taken[0]} is there already; choose another name or --into another folder")
    _write(files)
    return list(files)


def _write(files: dict[Path, str]) -> None:
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{error.filename}: {error.strerror}") from None


def _below(folder: Traversable, at: str) -> Iterator[tuple[str, str]]:
    """Yield the path of every file below the folder, with its text."""
    for item in sorted(folder.iterdir(), key=lambda one: one.name):
        if item.is_dir():
            yield from _below(item, f"{at}{item.name}/")
        elif item.name.endswith(SUFFIX):
            yield at + item.name.removesuffix(SUFFIX), item.read_text("utf-8")
