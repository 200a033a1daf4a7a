"""`photofinish problem new | check` and `photofinish run`: write a working problem, and judge on this machine.

The client has no judge: `check` and `run` start the `runner` command of a checkout.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from . import render
from .config import Misuse

app = typer.Typer(no_args_is_help=True, help="Write and test problems.")

SUFFIX: Final = ".txt"  # keeps tools from taking the files for code of this package
SET_FILE: Final = "set.yaml"
NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
NO_JUDGE: Final = (
    "The judge is not installed here; this command only talks to a site. With Docker and `pip install -c "
    "constraints.txt -e '.[runner]'` in a checkout of Photofinish, run: runner {arguments}"
)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of folder and board: small letters, digits, - and _.")],
    into: Annotated[Path, typer.Option(help="Parent of the new folder.")] = Path(),
) -> None:
    """Write a working example problem (SiLU) as a start: the folder NAME with samples, and its set NAME.yaml."""
    if not NAME.fullmatch(name):
        raise Misuse(f"{name!r} cannot be a board's name: use small letters, digits, - and _ (at most 64)")
    written = write(name, into)
    screen = render.Screen()
    for path in written:
        screen.say(str(path))
    screen.say(f"Next: photofinish problem check {into / name}")


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
    """End with the exit code of `runner`. Raises Misuse if it is not installed."""
    runner = shutil.which("runner", path=str(Path(sys.argv[0]).parent)) or shutil.which("runner")
    if runner is None:
        raise Misuse(NO_JUDGE.format(arguments=shlex.join(arguments)))
    raise typer.Exit(subprocess.run([runner, *arguments], check=False).returncode)


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
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{error.filename}: {error.strerror}") from None
    return list(files)


def _below(folder: Traversable, at: str) -> Iterator[tuple[str, str]]:
    """Yield the path of every file below the folder, with its text."""
    for item in sorted(folder.iterdir(), key=lambda one: one.name):
        if item.is_dir():
            yield from _below(item, f"{at}{item.name}/")
        elif item.name.endswith(SUFFIX):
            yield at + item.name.removesuffix(SUFFIX), item.read_text("utf-8")
