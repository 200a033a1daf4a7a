"""`photofinish dataset export | make`: download the site's verified kernels, or manufacture some on this machine."""

import re
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final

import typer

from ..client import Client, Misuse, Refused, SiteProblem
from ..client.shapes import DataSetFile
from .api import NOT_FOUND
from .config import connected
from .problem import PASSED_ON, judge
from .render import AsJson, Screen, line

app = typer.Typer(no_args_is_help=True, help="Data sets of verified kernels.")

PATH: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(/[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}){0,3}")
DIGEST: Final = re.compile(r"[0-9a-f]{64}")
MOST_FILES: Final = 100
MOST_FILE_BYTES: Final = 4_000_000_000  # a file is in memory until its digest is checked


@app.command()
def export(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="New, empty, or with part of this download.")],
    as_json: AsJson = False,
) -> None:
    """Download the newest data set of the site, and check each file's digest. It needs no account.

    The same command goes on after an interruption. `datasets.load_dataset` reads FOLDER.
    """
    screen = Screen()
    with connected(context) as site:
        try:
            found = site.data_set()
        except Refused as error:
            if error.status != NOT_FOUND:
                raise
            raise Refused(f"{site.url}: this site publishes no data set", NOT_FOUND, error.code) from None
        files = [checked(file) for file in found["files"]]
        if len(files) > MOST_FILES:
            raise SiteProblem(f"the site's data set has {len(files)} files, at most {MOST_FILES}; none was written")
        for file in files:
            size = _fetch(site, found["name"], file, folder)
            if not as_json:
                screen.say(f"{folder / file['path']}: {size} bytes")
    if as_json:
        screen.json({key: found[key] for key in ("name", "made_at", "rows", "files")})
    else:
        screen.note(
            f'Data set of {line(found["name"], 32)}. Next, in Python: datasets.load_dataset("{folder}", "kernels")'
        )


def checked(file: DataSetFile) -> DataSetFile:
    """Return a file that may be written. The site's names are untrusted: a path never leaves the folder."""
    path, digest, size = str(file["path"]), str(file["sha256"]), file["bytes"]
    if not PATH.fullmatch(path) or not DIGEST.fullmatch(digest):
        raise SiteProblem(f"the site's data set has a file of the odd name {line(path, 80)!r}; nothing was written")
    if type(size) is not int or not 0 <= size <= MOST_FILE_BYTES:
        raise SiteProblem(f"{path}: {line(size, 32)} bytes are more than {MOST_FILE_BYTES:,}; nothing was written")
    return file


def _fetch(site: Client, name: str, file: DataSetFile, folder: Path) -> int:
    """Download a file that is not there yet, and return its size. Raises SiteProblem for a wrong digest."""
    place = folder / file["path"]
    try:
        if place.exists():
            if sha256(place.read_bytes()).hexdigest() == file["sha256"]:
                return file["bytes"]
            raise Misuse(f"{place} is there already with other content; name a new folder")
        content = site.data_set_file(name, file["path"], max(file["bytes"], 1))
        if sha256(content).hexdigest() != file["sha256"]:
            raise SiteProblem(f"{file['path']}: its SHA-256 is not that of the data set; it was not written")
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{place.name}.part")
        part.write_bytes(content)
        part.rename(place)
    except OSError as error:
        raise Misuse(f"{place}: cannot be written ({error.strerror})") from None
    except Refused as error:
        if error.status != NOT_FOUND:
            raise
        text = "the site has published a newer data set meanwhile; start again with a new folder"
        raise Refused(f"{file['path']}: {text}", NOT_FOUND, error.code) from None
    return file["bytes"]


@app.command(context_settings=PASSED_ON)
def make(context: typer.Context) -> None:
    """Manufacture verified kernels from PyTorch modules on this machine: `runner manufacture`, with its arguments."""
    judge("manufacture", *context.args)
