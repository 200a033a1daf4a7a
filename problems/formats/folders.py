"""Finds the problem sets below a folder and reads each. A set that cannot be read leaves the rest as they are.

The search begins in the folder itself and goes one level deeper at a time. It takes the first level that has any set,
so a repository or an unpacked archive can be given as it is. Links to folders are not followed.
"""

import os.path
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Final

from problems.fields import ProblemError, printable, shown
from problems.formats.files import Files
from problems.formats.gpumode import MAX_PROBLEMS, TASK_FILE, Fault, ProblemSet, read_set

MAX_SETS: Final = 64
MAX_LEVELS: Final = 3  # of folders below the given folder
MAX_FOLDERS: Final = 2000  # looked into
MAX_HINTS: Final = 3  # at a likely meaning, where there is no set


@dataclass(frozen=True)
class SetFile:
    """A YAML file: its set, or the fault in it. `label` is its path below the given folder."""

    label: str
    found: ProblemSet | None = None
    fault: Fault | None = None
    is_foreign: bool = False  # YAML that lists no problems: unrelated, not a faulty set

    @property
    def name(self) -> str:
        return self.found.name if self.found else ""

    def is_called(self, name: str) -> bool:
        wanted = name.strip().casefold()
        return wanted in {self.name.casefold(), self.label.casefold(), Path(self.label).stem.casefold()}


def adapted(file: SetFile, *, hardware: tuple[str, ...] = (), without_deadlines: bool = False) -> SetFile:
    """Return the set as a site can offer it: on its own hardware, open though the original competition is over."""
    if file.found is None:
        return file
    entries = tuple(
        replace(entry, gpus=hardware or entry.gpus, deadline=None if without_deadlines else entry.deadline)
        for entry in file.found.entries
    )
    deadline = None if without_deadlines else file.found.deadline
    return replace(file, found=replace(file.found, entries=entries, deadline=deadline))


def read_sets(path: Path, only: str = "") -> list[SetFile]:
    """Return the sets of a YAML file or a folder; `only`: those of this name or file. Raises ProblemError for none."""
    files = Files()
    if os.path.isfile(path):  # False also for a malformed path
        found = [_read_file(path, path.name, files)]
        if found[0].is_foreign:
            raise ProblemError("path", _why_foreign(path, path.name, files))
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
    seen: list[str] = []  # hints at a likely meaning
    for level in _levels(top):
        paths = [path for folder in level for path in sorted(folder.glob("[!.]*.yaml"))]
        if len(paths) > MAX_SETS:
            fault = f"{len(paths)} YAML files on one level, at most {MAX_SETS}; give a set's own file"
            raise ProblemError("path", fault)
        found = []
        for path in paths:
            found.append(_read_file(path, path.relative_to(top).as_posix(), files))
            sets = [file.found for file in found if file.found]
            if sum(len(one.entries) + len(one.faults) for one in sets) > MAX_PROBLEMS:
                raise ProblemError("path", f"more than {MAX_PROBLEMS} problems in all; give a set's own file")
        if any(not file.is_foreign for file in found):
            return found
        seen += islice(_hints(top, level, paths, files), MAX_HINTS - len(seen))
    none = f"there is no problem set (<set>.yaml) in {shown(top.name or str(top))}"
    if (top / TASK_FILE).is_file():
        seen = [f"it is a problem's own folder, with a {TASK_FILE}; give the folder above, or the set's own file"]
    raise ProblemError("path", f"{none}: {'; '.join(seen)}" if seen else none)


def _hints(top: Path, level: list[Path], paths: list[Path], files: Files) -> Iterator[str]:
    """Yield hints of a level: sets under a wrong name, parts of sets. `paths`: its YAML files, none of them a set."""
    for path in paths:
        yield _why_foreign(path, _label(path, top), files)
    for path in (path for folder in level for path in sorted(folder.glob("[!.]*.yml"))):
        label = _label(path, top)
        if path.name == TASK_FILE:
            yield f"{label} is one problem; write a <set>.yaml that lists it under `problems`"
        elif path.is_file() and not _is_foreign(path, files):
            yield f"{label} ends in .yml; rename it to {shown(f'{path.stem}.yaml')}, or give the file itself"


def _why_foreign(path: Path, label: str, files: Files) -> str:
    """Return a sentence on the contents of YAML that lists no problems."""
    if path.name == TASK_FILE:
        return f"{label} is one problem, and no set; give the set's own file, or the folder that it is in"
    data = files.yaml(path, path.parent, path.name)
    if not isinstance(data, dict):
        return f"{label} has no `problems`: it is no mapping"
    keys = [key for key in data if isinstance(key, str)]
    near = get_close_matches("problems", keys, n=1)
    there = f"`{printable(near[0])}` stands there; write `problems`" if near else "a set lists its problems there"
    return f"{label} has no `problems`: {there}"


def _label(path: Path, top: Path) -> str:
    return printable(path.relative_to(top).as_posix())


def _levels(top: Path) -> Iterator[list[Path]]:
    """Yield the folder, then the folders in it, and deeper levels."""
    level, looked_into = [top], 0
    for _ in range(1 + MAX_LEVELS):
        looked_into += len(level)
        if looked_into > MAX_FOLDERS:
            fault = f"more than {MAX_FOLDERS} folders without a problem set; give the set's own file"
            raise ProblemError("path", fault)
        yield level
        inner = (path for folder in level for path in folder.iterdir() if not path.name.startswith("."))
        level = sorted(path for path in inner if path.is_dir() and not path.is_symlink())


def _is_foreign(path: Path, files: Files) -> bool:
    try:
        data = files.yaml(path, path.parent, path.name)
    except ProblemError:
        return False
    return not (isinstance(data, dict) and "problems" in data)
