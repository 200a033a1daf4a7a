"""Reader of problem sets in GPU MODE's public convention: `<set>.yaml` and one folder with a `task.yml` per problem.

Reads text and never executes it. Where the convention asks for an ability that this judge lacks, the problem is loaded
with the reason in `unsupported`; it is never half judged. Unknown keys become `warnings`. Paths in a task may climb,
but never out of the folder that holds the set's YAML file. Differences to the original: booleans stay booleans, and
the set's own evaluator (`config.main`) is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from problems.fields import Fields, ProblemError, as_list, as_text, printable, shown
from problems.formats.task import MAX_WARNINGS, TASK_FILE, as_path, read_task
from problems.formats.text import Files, resolve_inside
from problems.spec import MAX_GPUS, Problem, as_words

MAX_PROBLEMS: Final = 512  # of a set
MAX_NAME_CHARS: Final = 128  # of a set
MAX_ANCESTORS: Final = 4  # folders above a lone problem in which its set is looked for

_SET_KEYS: Final = frozenset({"name", "description", "deadline", "problems"})
_ENTRY_KEYS: Final = frozenset({"directory", "name", "deadline", "gpus"})
_DEADLINE: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?")

_Hardware: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]  # names, warnings


@dataclass(frozen=True)
class SetEntry:
    """A problem of a set: its board's slug, its closing time (None: never), and the hardware it is offered on."""

    problem: Problem
    slug: str
    deadline: datetime | None
    gpus: tuple[str, ...]


@dataclass(frozen=True)
class Fault:
    """A problem of a set that could not be read: its name (or its place in the list), the field, the message."""

    name: str
    field: str
    message: str

    @classmethod
    def of(cls, error: ProblemError, name: str = "") -> Fault:
        return cls(printable(name), printable(error.field), printable(error.message))


@dataclass(frozen=True)
class ProblemSet:
    """A whole set.

    Its own deadline is for display; each entry's deadline is binding. `faults`: problems that are not in `entries`.
    `scoring`: of the competition over all its boards; "" where the set names none.
    """

    name: str
    description: str
    deadline: datetime | None
    entries: tuple[SetEntry, ...]
    warnings: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    scoring: str = ""


def read_set(path: Path, files: Files | None = None) -> ProblemSet:
    """Return the set with every problem that can be read, and the faults of the rest.

    Raises ProblemError where the set's own file is wrong. `files`: of a load that reads more than this set.
    """
    root = path.parent
    files = files or Files()
    fields = Fields(files.yaml(path, root, path.name), path.name)
    warnings = [f"{path.name}: unknown key {name}" for name in fields.unknown(_SET_KEYS)]
    entries: list[SetEntry] = []
    faults: list[Fault] = []
    taken: set[str] = set()
    for n, item in enumerate(fields.required("problems", partial(as_list, most=MAX_PROBLEMS))):
        where = f"problems[{n}]"
        name = item.get("name") if isinstance(item, dict) else None
        name = name if isinstance(name, str) and name.strip() and name.isprintable() else where
        try:
            if name in taken:
                raise ProblemError(f"{where}.name", f"{shown(name)} stands twice; every board needs a name of its own")
            taken.add(name)
            entries.append(_load_entry(item, where, root, files))
        except ProblemError as error:
            faults.append(Fault.of(error, name))
    warnings += [f"{entry.slug}: {warning}" for entry in entries for warning in entry.problem.warnings]
    return ProblemSet(
        name=printable(fields.required("name", partial(as_text, most=MAX_NAME_CHARS, empty_ok=False))),
        description=fields.optional("description", partial(as_text, most=20_000), ""),
        deadline=fields.optional("deadline", parse_deadline, None),
        entries=tuple(entries),
        warnings=tuple(printable(warning) for warning in warnings[:MAX_WARNINGS]),
        faults=tuple(faults),
    )


def load_problem(folder: Path) -> Problem:
    """Read a problem folder by itself. Its paths may not leave its set's folder, or its own if no set lists it."""
    files = Files()
    try:
        folder = folder.resolve()
        above = (path for top in folder.parents[:MAX_ANCESTORS] for path in sorted(top.glob("*.yaml"))[:MAX_PROBLEMS])
        root = next((path.parent for path in above if folder in _folders(path, files)), folder).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # links that lead in a circle, a NUL in the name
        raise ProblemError(TASK_FILE, f"{shown(folder.name)} is no folder: {type(error).__name__}") from error
    return read_task(folder, root, folder.name, Files())


def parse_deadline(value: object, where: str) -> datetime | None:
    """Parse `YYYY-MM-DD` (its first moment, as in the original) or `YYYY-MM-DD HH:MM[:SS]`, UTC; "" is None."""
    text = as_text(value, where, 40).strip()
    if not text:
        return None
    match = _DEADLINE.fullmatch(text)
    if match is None:
        raise ProblemError(where, f"{shown(text)} is not a time; write YYYY-MM-DD or YYYY-MM-DD HH:MM (UTC)")
    try:
        return datetime(*(int(part or 0) for part in match.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError as error:
        raise ProblemError(where, f"{shown(text)} is not a time: {error}") from error


def _load_entry(data: object, where: str, root: Path, files: Files) -> SetEntry:
    fields = Fields(data, where, prefix=f"{where}.")
    slug = fields.required("name", partial(as_text, most=64, empty_ok=False))
    written, at = fields.required("directory", as_path), fields.where("directory")
    folder = resolve_inside(root / written, root, at, written=written, kind="folder")
    if not folder.is_dir():
        raise ProblemError(at, f"{shown(written)} is a file; name the folder that its {TASK_FILE} is in")
    try:
        problem = read_task(folder, root.resolve(), slug, files)
    except ProblemError as error:
        field = fields.where("name") if error.field == "slug" else f"{slug}.{error.field}"  # a set's name for the slug
        raise ProblemError(field, error.message) from error
    unknown = tuple(f"unknown key {name}" for name in fields.unknown(_ENTRY_KEYS))
    none: _Hardware = ((), ())
    gpus, left_out = fields.optional("gpus", _hardware, none)
    warnings = (*problem.warnings, *map(printable, (*unknown, *left_out)))
    return SetEntry(
        problem=replace(problem, warnings=warnings[:MAX_WARNINGS]),
        slug=slug,
        deadline=fields.optional("deadline", parse_deadline, None),
        gpus=gpus or problem.gpus,
    )


def _hardware(value: object, where: str) -> _Hardware:
    """Return names, and warnings of bad names, which leave the good names' boards. Raises if none is good."""
    names: list[str] = []
    wrong: list[ProblemError] = []
    for n, item in enumerate(as_list(value, where, MAX_GPUS)):
        try:
            (name,) = as_words([item], where, 1)
            other = next((one for one in names if one != name and one.casefold() == name.casefold()), None)
            if other is not None:
                raise ProblemError(where, f"{shown(name)} and {shown(other)} differ in case only")
            names.append(name)
        except ProblemError as error:
            wrong.append(ProblemError(f"{where}[{n}]", error.message))
    if wrong and not names:
        raise wrong[0]
    return tuple(dict.fromkeys(names)), tuple(f"{error}; left out" for error in wrong)


def _folders(path: Path, files: Files) -> Iterator[Path]:
    """Yield the problem folders that a set lists; none for a file that is no set."""
    with suppress(ProblemError):
        data = files.yaml(path, path.parent, path.name)
        listed = data.get("problems") if isinstance(data, dict) else None
        for entry in listed if isinstance(listed, list) else ():
            with suppress(ProblemError):
                directory = as_path(entry.get("directory") if isinstance(entry, dict) else None, "directory")
                yield resolve_inside(path.parent / directory, path.parent, "directory")
