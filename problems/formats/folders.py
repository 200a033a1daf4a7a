"""Finds the problem sets below a folder and reads each. A set that cannot be read leaves the others as they are.

Sets are looked for in the folder itself, then one level deeper at a time: the first level that has any is taken, so a
repository or an unpacked archive can be given as it is. Links to folders are not followed.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from problems.errors import ProblemError
from problems.fields import shown
from problems.formats.files import Files
from problems.formats.gpumode import MAX_PROBLEMS, Fault, ProblemSet, read_set

MAX_SETS: Final = 64
MAX_LEVELS: Final = 3  # of folders below the one given
MAX_FOLDERS: Final = 2000  # looked into


@dataclass(frozen=True)
class SetFile:
    """One YAML file: the set in it, or why there is none. `label` is its path below the folder that was given."""

    label: str
    found: ProblemSet | None = None
    fault: Fault | None = None
    is_foreign: bool = False  # YAML that lists no problems: somebody else's, not a faulty set

    @property
    def name(self) -> str:
        return self.found.name if self.found else ""

    def is_called(self, name: str) -> bool:
        wanted = name.strip().casefold()
        return wanted in {self.name.casefold(), self.label.casefold(), Path(self.label).stem.casefold()}


def adapted(file: SetFile, *, hardware: tuple[str, ...] = (), without_deadlines: bool = False) -> SetFile:
    """The set as a site can offer it: on hardware that it has, open though the original competition is over."""
    if file.found is None:
        return file
    entries = tuple(
        replace(entry, gpus=hardware or entry.gpus, deadline=None if without_deadlines else entry.deadline)
        for entry in file.found.entries
    )
    deadline = None if without_deadlines else file.found.deadline
    return replace(file, found=replace(file.found, entries=entries, deadline=deadline))


def read_sets(path: Path, only: str = "") -> list[SetFile]:
    """The sets of a YAML file or a folder; `only`: those of this name or file. Raises ProblemError for none at all."""
    files = Files()
    if os.path.isfile(path):  # False, too, for what is no path at all
        found = [_read_file(path, path.name, files)]
    elif os.path.isdir(path):
        found = _in_folder(path, files)
    else:
        raise ProblemError("path", f"there is no file or folder {shown(str(path))}")
    if not only:
        return found
    chosen = [file for file in found if file.is_called(only)]
    if not chosen:
        names = ", ".join(file.name or file.label for file in found if not file.is_foreign)
        raise ProblemError("set", f"{shown(only)} is none of the sets here; there are {names}")
    return chosen


def _read_file(path: Path, label: str, files: Files) -> SetFile:
    try:
        return SetFile(label, found=read_set(path, files))
    except ProblemError as error:
        return SetFile(label, fault=Fault.of(error), is_foreign=_is_foreign(path, files))


def _in_folder(top: Path, files: Files) -> list[SetFile]:
    for level in _levels(top):
        paths = [path for folder in level for path in sorted(folder.glob("[!.]*.yaml"))]
        if len(paths) > MAX_SETS:
            raise ProblemError(
                "path", f"{len(paths)} YAML files on one level, at most {MAX_SETS}; give a set's own file"
            )
        found = _read(paths, top, files)
        if any(not file.is_foreign for file in found):
            return found
    raise ProblemError("path", f"there is no problem set (<set>.yaml) in {shown(top.name)}")


def _read(paths: list[Path], top: Path, files: Files) -> list[SetFile]:
    read: list[SetFile] = []
    problems = 0
    for path in paths:
        read.append(file := _read_file(path, path.relative_to(top).as_posix(), files))
        problems += len(file.found.entries) + len(file.found.faults) if file.found else 0
        if problems > MAX_PROBLEMS:
            raise ProblemError("path", f"more than {MAX_PROBLEMS} problems in all; give a set's own file")
    return read


def _levels(top: Path) -> Iterator[list[Path]]:
    """The folder, then the folders in it, and so on."""
    level, looked_into = [top], 0
    for _ in range(1 + MAX_LEVELS):
        looked_into += len(level)
        if looked_into > MAX_FOLDERS:
            raise ProblemError(
                "path", f"more than {MAX_FOLDERS} folders without a problem set; give the set's own file"
            )
        yield level
        level = sorted(path for folder in level for path in folder.iterdir() if _is_folder(path))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not path.name.startswith(".")


def _is_foreign(path: Path, files: Files) -> bool:
    try:
        data = files.yaml(path, path.parent, path.name)
    except ProblemError:
        return False
    return not (isinstance(data, dict) and "problems" in data)
