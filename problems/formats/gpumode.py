"""Reads problem sets in GPU MODE's public convention: `<set>.yaml` and one folder with a `task.yml` per problem.

Reads text and never executes it. Where the convention asks for something that this project's judge cannot do, the
problem is loaded with the reason in `unsupported`; it is never half judged. Unknown keys become `warnings`. Paths in
a task may climb, but never out of the folder that holds the set's YAML file. Differences to the original: booleans
stay booleans, and the set's own evaluator (`config.main`) is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from problems.errors import ProblemError
from problems.fields import Fields, as_bool, as_list, as_text, said, shown
from problems.formats import inspect
from problems.formats.text import FileMissing, parse_yaml, read_text, resolve_inside
from problems.native import Build
from problems.spec import BUNDLE_VERSION, MAX_FILES, MAX_GPUS, Problem, as_words

TASK_FILE: Final = "task.yml"
SUBMISSION_MARK: Final = "@SUBMISSION@"
MAX_PROBLEMS: Final = 512  # of one set
MAX_NAME_CHARS: Final = 128  # of a set
MAX_ANCESTORS: Final = 4  # how far above a lone problem its set is looked for
MAX_PATH_CHARS: Final = 300
MAX_WARNINGS: Final = 50

_TIMEOUTS: Final = {"test_timeout", "benchmark_timeout", "ranked_timeout"}
_AS_IN_BUNDLE: Final = (
    *("lang", "ranking_by", "gpus", "tests", "benchmarks"),
    *("benchmarks_on", "untuned_on", "tolerance", "precision", "speed_of_light", "level", "tags"),
)
_ACCEPTED: Final = {"config", "multi_gpu", "libraries", "seed", "validation", "compile_baseline"}
_OURS: Final = {"title", "entry", "fuzz", "baseline"}
_KNOWN: Final = frozenset({"files", "description", "templates", *_AS_IN_BUNDLE, *_TIMEOUTS, *_ACCEPTED, *_OURS})
_SET_KEYS: Final = frozenset({"name", "description", "deadline", "problems"})
_ENTRY_KEYS: Final = frozenset({"directory", "name", "deadline", "gpus"})
_DEADLINE: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?")

_Hardware: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]  # names, warnings

_path = partial(as_text, most=MAX_PATH_CHARS, empty_ok=False)


@dataclass(frozen=True)
class SetEntry:
    """One problem of a set: its board's slug, when it closes (None: never), and the hardware it is offered on."""

    problem: Problem
    slug: str
    deadline: datetime | None
    gpus: tuple[str, ...]


@dataclass(frozen=True)
class Fault:
    """Why one problem of a set could not be read: its name (or its place in the list), the field, what is wrong."""

    name: str
    field: str
    message: str

    @classmethod
    def of(cls, error: ProblemError, name: str = "") -> Fault:
        return cls(said(name), said(error.field), said(error.message))


@dataclass(frozen=True)
class ProblemSet:
    """A whole set. Its own deadline is for display; each entry's is what binds. `faults`: what is not in `entries`."""

    name: str
    description: str
    deadline: datetime | None
    entries: tuple[SetEntry, ...]
    warnings: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()


def load_set(path: Path) -> ProblemSet:
    """The set, whole: raises ProblemError that names the problem and the field for the first fault."""
    found = read_set(path)
    for fault in found.faults:
        raise ProblemError(fault.field, fault.message)
    return found


def read_set(path: Path) -> ProblemSet:
    """The set with every problem that can be read; the others are its faults. Raises ProblemError where the set's own
    file is wrong."""
    root = path.parent
    fields = Fields(parse_yaml(read_text(path, root, path.name), path.name), path.name)
    warnings = [f"{path.name}: unknown key {name}" for name in fields.unknown(_SET_KEYS)]
    items = fields.required("problems", lambda value, at: as_list(value, at, MAX_PROBLEMS))
    entries, faults = _read_entries(items, root)
    for entry in entries:
        warnings += [f"{entry.slug}: {warning}" for warning in entry.problem.warnings]
    return ProblemSet(
        name=said(fields.required("name", partial(as_text, most=MAX_NAME_CHARS, empty_ok=False))),
        description=fields.optional("description", partial(as_text, most=20_000), ""),
        deadline=fields.optional("deadline", parse_deadline, None),
        entries=tuple(entries),
        warnings=tuple(said(warning) for warning in warnings[:MAX_WARNINGS]),
        faults=tuple(faults),
    )


def load_problem(folder: Path, *, slug: str | None = None, root: Path | None = None) -> Problem:
    """One problem folder. `root` is what its paths may not leave; by default its set's folder, else its own."""
    try:
        folder = folder.resolve()
        root = (root or _set_root(folder)).resolve()
    except (OSError, RuntimeError) as error:  # links that lead in a circle
        raise ProblemError(TASK_FILE, f"{shown(folder.name)} is no folder: {type(error).__name__}") from error
    fields = Fields(parse_yaml(read_text(folder / TASK_FILE, root, TASK_FILE), TASK_FILE), TASK_FILE)
    task = _Task(folder=folder, root=root, fields=fields)
    return task.to_problem(slug or folder.name)


def parse_deadline(value: object, where: str) -> datetime | None:
    """`YYYY-MM-DD` (its first moment, as in the original) or `YYYY-MM-DD HH:MM[:SS]`, UTC; "" is none."""
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


def _read_entries(items: list[object], root: Path) -> tuple[list[SetEntry], list[Fault]]:
    """Each item by itself: a fault in one leaves the others as they are."""
    entries: list[SetEntry] = []
    faults: list[Fault] = []
    taken: set[str] = set()
    for n, item in enumerate(items):
        where = f"problems[{n}]"
        name = item.get("name") if isinstance(item, dict) else None
        name = name if isinstance(name, str) and name.strip() and name.isprintable() else where
        try:
            if name in taken:
                raise ProblemError(f"{where}.name", f"{shown(name)} stands twice; every board needs a name of its own")
            taken.add(name)
            entries.append(_load_entry(item, where, root))
        except ProblemError as error:
            faults.append(Fault.of(error, name))
    return entries, faults


def _load_entry(data: object, where: str, root: Path) -> SetEntry:
    fields = Fields(data, where, prefix=f"{where}.")
    slug = fields.required("name", partial(as_text, most=64, empty_ok=False))
    folder = root / fields.required("directory", _path)
    try:
        problem = load_problem(folder, slug=slug, root=root)
    except ProblemError as error:
        raise ProblemError(f"{slug}.{error.field}", error.message) from error
    unknown = tuple(f"unknown key {name}" for name in fields.unknown(_ENTRY_KEYS))
    none: _Hardware = ((), ())
    gpus, left_out = fields.optional("gpus", _hardware, none)
    warnings = (*problem.warnings, *map(said, (*unknown, *left_out)))
    return SetEntry(
        problem=replace(problem, warnings=warnings[:MAX_WARNINGS]),
        slug=slug,
        deadline=fields.optional("deadline", parse_deadline, None),
        gpus=gpus or problem.gpus,
    )


def _hardware(value: object, where: str) -> _Hardware:
    """Names, and warnings of those left out: one bad name does not take the others' boards away. Raises for none."""
    names: list[str] = []
    wrong: list[ProblemError] = []
    for n, item in enumerate(as_list(value, where, MAX_GPUS)):
        try:
            names += as_words([item], where, 1)
        except ProblemError as error:
            wrong.append(ProblemError(f"{where}[{n}]", error.message))
    if wrong and not names:
        raise wrong[0]
    return tuple(dict.fromkeys(names)), tuple(f"{error}; left out" for error in wrong)


def _set_root(folder: Path) -> Path:
    """The folder of the set that lists this problem, looked for above it; without one the problem's own folder."""
    for ancestor in list(folder.parents)[:MAX_ANCESTORS]:
        if any(_lists(path, folder) for path in sorted(ancestor.glob("*.yaml"))[:MAX_PROBLEMS]):
            return ancestor
    return folder


def _lists(path: Path, folder: Path) -> bool:
    try:
        data = parse_yaml(read_text(path, path.parent, path.name), path.name)
    except ProblemError:
        return False  # somebody else's file
    entries = data.get("problems") if isinstance(data, dict) else None
    directories = [entry.get("directory") for entry in entries or () if isinstance(entry, dict)]
    return any(isinstance(name, str) and _is_same(path.parent, name, folder) for name in directories)


def _is_same(root: Path, directory: str, folder: Path) -> bool:
    try:
        return resolve_inside(root / _path(directory, "directory"), root, "directory") == folder
    except ProblemError:
        return False


@dataclass(frozen=True)
class _Task:
    """A task.yml beside its files, on its way to a bundle."""

    folder: Path
    root: Path
    fields: Fields

    def to_problem(self, slug: str) -> Problem:
        empty = self._drop_empty_arguments()
        sources, submission_name = self._sources()
        evaluators, no_evaluator = self._evaluators(sources)
        task_files = {
            name: self._read(source, f"files.{name}") for name, source in sources.items() if name not in evaluators
        }
        called = inspect.submission_functions(evaluators.get(self._main(), ""))
        entry = self.fields.optional("entry", partial(as_text, most=64), called[0] if called else "custom_kernel")
        named = _name_the_result(task_files, entry)
        build, not_built = self._build(submission_name)
        bundle = {
            "bundle": BUNDLE_VERSION,
            "slug": slug,
            "title": self.fields.optional("title", partial(as_text, most=200), "") or _title(slug),
            "description": self.fields.optional("description", partial(as_text, most=200_000), ""),
            "files": task_files,
            "submission_name": submission_name,
            "entry": entry,
            "fuzz": self._fuzz(),
            "baseline": self._baseline(),
            **build,
            "unsupported": self._unsupported(task_files, called) or not_built,
            **{key: self.fields.data[key] for key in _AS_IN_BUNDLE if self.fields.data.get(key) is not None},
            **{f"{key}_s": self.fields.data[key] for key in _TIMEOUTS if self.fields.data.get(key) is not None},
        }
        templates, missing = self._templates()
        bundle = {"benchmarks": [], **bundle, "templates": templates}
        unknown = [f"unknown key {name}" for name in self.fields.unknown(_KNOWN)]
        warnings = [*unknown, *no_evaluator, *named, *missing, *empty]
        return Problem.from_bundle(bundle, warnings=tuple(said(text) for text in warnings[:MAX_WARNINGS]))

    def _sources(self) -> tuple[dict[str, str], str]:
        """Name → path of every file but the submission, and the name that the submission goes by."""
        submission_name = "submission.py"
        sources: dict[str, str] = {}
        items = self.fields.required("files", lambda value, at: as_list(value, at, MAX_FILES))
        for n, item in enumerate(items):
            entry = Fields(item, f"files[{n}]", prefix=f"files[{n}].")
            name = entry.required("name", _path)
            source = entry.required("source", _path)
            if source == SUBMISSION_MARK:
                submission_name = name
            elif name in sources:
                raise ProblemError(f"files[{n}].name", f"{shown(name)} stands twice")
            else:
                sources[name] = source
        return sources, submission_name

    def _evaluators(self, sources: dict[str, str]) -> tuple[dict[str, str], list[str]]:
        """The set's own evaluators by name, and what to say of one that is not there: it would only be read for what it
        imports."""
        found: dict[str, str] = {}
        missing: list[str] = []
        for name in sources.keys() & {self._main(), "eval.py"}:
            try:
                found[name] = self._read(sources[name], f"files.{name}")
            except FileMissing as error:
                found[name] = ""
                missing.append(f"{error}; it is not used")
        return found, sorted(missing)

    def _read(self, source: str, where: str) -> str:
        return read_text(self.folder / source, self.root, where)

    def _main(self) -> str:
        config = self.fields.mapping("config")
        main = config.get("main")
        return main if isinstance(main, str) else "eval.py"

    def _templates(self) -> tuple[dict[str, str], list[str]]:
        found: dict[str, str] = {}
        missing: list[str] = []
        for language, name in self.fields.mapping("templates").items():
            where = f"templates.{language}"
            try:
                found[language] = self._read(_path(name, where), where)
            except FileMissing as error:
                missing.append(str(error))
        return found, missing

    def _fuzz(self) -> dict[str, Any] | None:
        """The YAML has `cases` among the arguments; the bundle keeps them apart."""
        fuzz = self.fields.mapping("fuzz")
        if not fuzz:
            return None
        if "cases" not in fuzz:
            raise ProblemError("fuzz.cases", "missing; say how many secret cases are drawn")
        return {"args": {name: choice for name, choice in fuzz.items() if name != "cases"}, "cases": fuzz["cases"]}

    def _build(self, submission_name: str) -> tuple[dict[str, Any], str]:
        """How a CUDA C++ file is compiled, or why it cannot be."""
        if self.fields.data.get("lang") != "cu":
            return {}, ""
        try:
            return {"build": Build.from_config(self.fields.mapping("config"), submission_name).to_json()}, ""
        except ProblemError as error:
            return {}, f"It is not compiled as its author wants: {error}"[:500]

    def _baseline(self) -> str | None:
        name = self.fields.optional("baseline", _path, "")
        return self._read(name, "baseline") if name else None

    def _unsupported(self, files: dict[str, str], called: tuple[str, ...]) -> str:
        if self.fields.optional("multi_gpu", as_bool, False):
            return "It runs on several GPUs at once (multi_gpu), which this judge cannot do yet."
        if len(called) > 1:
            return f"It calls several functions of a submission ({', '.join(called)}); this judge calls one."
        reference = files.get("reference.py")
        return (
            inspect.why_reference_is_not_enough(reference)
            or inspect.why_imports_fail(files)
            or inspect.why_cases_do_not_fit(reference, self._cases())
        )

    def _cases(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Public cases with their places; what is no case is named when the bundle is read."""
        lists = {key: self.fields.data.get(key) for key in ("tests", "benchmarks")}
        timed_on = self.fields.data.get("benchmarks_on")
        if isinstance(timed_on, dict):
            lists |= {f"benchmarks_on.{hardware}": cases for hardware, cases in timed_on.items()}
        for key, cases in lists.items():
            for n, case in enumerate(cases if isinstance(cases, list) else ()):
                if isinstance(case, dict) and all(isinstance(name, str) for name in case):
                    yield f"{key}[{n}]", case

    def _drop_empty_arguments(self) -> list[str]:
        """`{"seed":}` gives no seed. What was left out, as warnings."""
        dropped: list[str] = []
        for where, case in self._cases():
            for name in [name for name, value in case.items() if value is None]:
                del case[name]
                dropped.append(f"{where}.{name}: is empty and left out")
        return dropped


def _name_the_result(files: dict[str, str], entry: str) -> list[str]:
    """Where a reference calls its function otherwise, a line behind it says that this is `ref_kernel`; the warning."""
    reference = files.get(inspect.REFERENCE, "")
    name = inspect.result_function(reference, entry)
    if not name:
        return []
    files[inspect.REFERENCE] = f"{reference.rstrip()}\n\n\n{inspect.RESULT} = {name}\n"
    return [f"{inspect.REFERENCE}: it has no {inspect.RESULT}; {name} is taken for it"]


def _title(slug: str) -> str:
    words = re.sub(r"[-_]+", " ", slug).strip() or slug
    return words[0].upper() + words[1:]
