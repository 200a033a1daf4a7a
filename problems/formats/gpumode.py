"""Reader of problem sets in GPU MODE's public convention: `<set>.yaml` and one folder with a `task.yml` per problem.

Reads text and never executes it. Where the convention asks for an ability that this judge lacks, the problem is loaded
with the reason in `unsupported`; it is never half judged. A part that is left out, reinterpreted or not used becomes a
warning. Paths in a task may climb, but never out of the folder that holds the set's YAML file. Differences to the
original: booleans stay booleans, and the set's own evaluator (`config.main`) is not used.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from problems.arithmetic import must_be_computable
from problems.fields import Fields, ProblemError, as_bool, as_line, as_list, as_text, printable, shown
from problems.formats import inspect
from problems.formats.files import FileMissing, Files, resolve_inside
from problems.spec import BUNDLE_VERSION, COMPILED, MAX_FILES, MAX_GPUS, Build, Problem, as_timeout, as_words

TASK_FILE: Final = "task.yml"
SUBMISSION_MARK: Final = "@SUBMISSION@"
MAX_PATH_CHARS: Final = 300
MAX_WARNINGS: Final = 50
MAX_PROBLEMS: Final = 512  # of a set
MAX_NAME_CHARS: Final = 128  # of a set
MAX_ANCESTORS: Final = 4  # folders above a lone problem in which its set is looked for

_SET_KEYS: Final = frozenset({"name", "description", "deadline", "problems"})
_ENTRY_KEYS: Final = frozenset({"directory", "name", "deadline", "gpus"})
_DEADLINE: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?")
_TIMEOUTS: Final = ("test_timeout", "benchmark_timeout", "ranked_timeout")
_CASES: Final = ("tests", "benchmarks", "benchmarks_on")
_AS_IN_BUNDLE: Final = (
    *("lang", "ranking_by", "gpus", "untuned_on", "tolerance", "precision", "speed_of_light", "level", "tags"),
    *_CASES,
)
_ACCEPTED: Final = {"config", "multi_gpu", "n_gpus", "libraries", "seed", "validation", "compile_baseline"}
_OURS: Final = {"title", "entry", "fuzz", "baseline"}
_KNOWN: Final = frozenset({"files", "description", "templates", *_AS_IN_BUNDLE, *_TIMEOUTS, *_ACCEPTED, *_OURS})
_FILE_KEYS: Final = frozenset({"name", "source"})
_COMPILED: Final = """import torch

from reference import {result}

{entry} = torch.compile({result})
"""

_Hardware: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]  # names, warnings

as_path = partial(as_text, most=MAX_PATH_CHARS, empty_ok=False)


# -- sets --------------------------------------------------------------------------------------------------------------


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


# -- a problem in its folder -------------------------------------------------------------------------------------------


def read_task(folder: Path, root: Path, slug: str, files: Files) -> Problem:
    """Read a task from two paths without links. Raises ProblemError that names the field of task.yml."""
    data = Fields(files.yaml(folder / TASK_FILE, root, TASK_FILE), TASK_FILE).data
    empty: list[str] = []
    for key in _CASES:
        data[key] = _given(data.get(key), key, empty)
    if isinstance(data.get("title"), str):
        data["title"] = data["title"].strip()  # YAML's blocks end with a line break
    return _Task(folder, root, Fields(data, TASK_FILE), files).to_problem(slug, empty)


@dataclass(frozen=True)
class _Task:
    """A task.yml beside its files, on its way to a bundle.

    `places` maps a bundle's fields to their names in task.yml: their position in `files`.
    """

    folder: Path
    root: Path
    fields: Fields
    files: Files
    warnings: list[str] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=lambda: {"submission_name": "files"})

    def to_problem(self, slug: str, empty: list[str]) -> Problem:
        for name in self.fields.unknown(_KNOWN):
            near = difflib.get_close_matches(name, _KNOWN, 1)
            self.warnings.append(f"unknown key {name}" + (f" (did you mean {near[0]}?)" if near else ""))
        if self.fields.data.get("validation") is not None:
            self.warnings.append("validation: is not used; check_implementation and fuzz decide what is right")
        bundle = self._bundle(slug)
        self.warnings.extend(empty)
        try:
            problem = Problem.from_bundle(bundle, warnings=tuple(map(printable, self.warnings[:MAX_WARNINGS])))
            must_be_computable(problem)
            return problem
        except ProblemError as error:
            where = self.places.get(error.field, error.field)
            is_not_given = (error.field, where) == ("submission_name", "files")
            more = f", with the source {SUBMISSION_MARK}, which no file has" if is_not_given else ""
            raise ProblemError(where, error.message + more) from error

    def _bundle(self, slug: str) -> dict[str, Any]:
        submission_name, task_files, called = self._files()
        entry = self.fields.optional("entry", partial(as_text, most=64), called[0] if called else "custom_kernel")
        reference = task_files.get(inspect.REFERENCE, "")
        if reference and "\0" not in reference:  # from_bundle names a NUL
            inspect.parse(reference, self.places[f"files.{inspect.REFERENCE}"])
        if name := inspect.result_function(self.files.code(reference), entry):
            task_files[inspect.REFERENCE] = f"{reference.rstrip()}\n\n\n{inspect.RESULT} = {name}\n"
            self.warnings.append(f"{inspect.REFERENCE}: it has no {inspect.RESULT}; {name} is taken for it")
        templates, build, not_built = self._templates(entry), {}, ""
        if self.fields.data.get("lang") == "cu":
            libraries = self.fields.data.get("libraries")
            try:
                made = Build.from_config(self.fields.mapping("config"), submission_name, libraries)
                build = {"build": made.to_json()}
            except ProblemError as error:
                not_built = f"It is not compiled as its author wants: {error}"[:500]
        words = re.sub(r"[-_]+", " ", slug).strip() or slug
        baseline = self.fields.optional("baseline", as_path, "")
        return {
            "bundle": BUNDLE_VERSION,
            "slug": slug,
            "title": self.fields.optional("title", partial(as_line, most=200, empty_ok=True), "")
            or words[0].upper() + words[1:],
            "description": self.fields.optional("description", partial(as_text, most=200_000), ""),
            "files": task_files,
            "submission_name": submission_name,
            "entry": entry,
            "templates": templates,
            "fuzz": self._fuzz(),
            "baseline": self._read(baseline, "baseline") if baseline else None,
            **build,
            "unsupported": inspect.why_reference_is_foreign(task_files)
            or self._unsupported(task_files, called)
            or not_built,
            "benchmarks": [],
            **self._ranks(),
            **{key: self.fields.data[key] for key in _AS_IN_BUNDLE if self.fields.data.get(key) is not None},
            **{f"{key}_s": self.fields.optional(key, as_timeout, None) for key in _TIMEOUTS},
        }

    def _ranks(self) -> dict[str, int]:
        """Return the number of GPUs of a problem for several: `n_gpus`, or the `world_size` of its cases."""
        several, count = self.fields.optional("multi_gpu", as_bool, False), self.fields.data.get("n_gpus")
        if not several:
            return {}
        self.places["ranks"] = "n_gpus"
        lists = [self.fields.data.get(key) for key in ("benchmarks", "tests")]  # the bundle parser reports bad ones
        cases = [case for listed in lists if isinstance(listed, list) for case in listed]
        sizes = [case["world_size"] for case in cases if isinstance(case, dict) and "world_size" in case]
        if count is None and not sizes:
            fault = "missing; multi_gpu: true needs a number of GPUs here, or world_size in its cases"
            raise ProblemError("n_gpus", fault)
        return {"ranks": sizes[0] if count is None else count}

    def _files(self) -> tuple[str, dict[str, str], tuple[str, ...]]:
        """Return the submission's name, the task's files, and the functions of a submission that the set calls.

        The set's own evaluators are left out: they are only read for their imports, and a missing one does no harm.
        """
        submission_name = ""
        sources: dict[str, str] = {}
        items = self.fields.required("files", partial(as_list, most=MAX_FILES))
        for n, item in enumerate(items):
            entry = Fields(item, f"files[{n}]", prefix=f"files[{n}].")
            name, source = entry.required("name", as_path), entry.required("source", as_path)
            self.warnings.extend(f"unknown key {key}" for key in entry.unknown(_FILE_KEYS))
            if source == SUBMISSION_MARK and submission_name:
                raise ProblemError(f"files[{n}].source", f"{SUBMISSION_MARK} stands twice; a submission is one file")
            if source == SUBMISSION_MARK:
                submission_name, self.places["submission_name"] = name, entry.where("name")
            elif name in sources:
                raise ProblemError(f"files[{n}].name", f"{shown(name)} stands twice")
            else:
                sources[name], self.places[f"files.{name}"] = source, entry.where("source")
        if not submission_name:
            self.warnings.append(f"files: none has the source {SUBMISSION_MARK}; submission.py is taken for it")
        main = self.fields.mapping("config").get("main")
        main = main if isinstance(main, str) else "eval.py"
        evaluator = ""
        for name in sorted(sources.keys() & {main, "eval.py"}):
            try:
                text = self._read(sources.pop(name), self.places[f"files.{name}"])
                evaluator = text if name == main else evaluator
            except FileMissing as error:
                self.warnings.append(f"{error}; it is not used")
        files = {name: self._read(source, self.places[f"files.{name}"]) for name, source in sources.items()}
        return submission_name or "submission.py", files, self.files.code(evaluator).entries

    def _read(self, source: str, where: str) -> str:
        return self.files.text(self.folder / source, self.root, where, written=source)

    def _templates(self, entry: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for language, name in self.fields.mapping("templates").items():
            where = f"templates.{language}"
            if name is None:
                self.warnings.append(f"{where}: is empty and left out")
                continue
            try:
                found[language] = self._read(as_path(name, where), where)
            except FileMissing as error:
                self.warnings.append(str(error))
        if self.fields.optional("compile_baseline", as_bool, False) and self.fields.data.get("lang") != "cu":
            found.setdefault(COMPILED, _COMPILED.format(result=inspect.RESULT, entry=entry))
        return found

    def _fuzz(self) -> dict[str, Any] | None:
        """Return `fuzz` in the bundle's form. The YAML has `cases` among the arguments; the bundle keeps them apart."""
        fuzz = self.fields.mapping("fuzz")
        if not fuzz:
            return None
        if "cases" not in fuzz:
            raise ProblemError("fuzz.cases", "missing; say how many secret cases are drawn")
        return {"args": {name: choice for name, choice in fuzz.items() if name != "cases"}, "cases": fuzz["cases"]}

    def _unsupported(self, files: dict[str, str], called: tuple[str, ...]) -> str:
        several = self.fields.optional("multi_gpu", as_bool, False)
        if several and self.fields.data.get("lang") == "cu":
            return "It runs on several GPUs at once (multi_gpu), which this judge does with Python alone."
        if len(called) > 1:
            functions = ", ".join(called)[:200]
            return f"It calls several functions of a submission ({functions}); this judge calls one. {inspect.GUIDE}"
        codes = {name: self.files.code(text) for name, text in files.items() if name.endswith(".py")}
        reference = codes.get(inspect.REFERENCE)
        lists = {key: self.fields.data.get(key) for key in ("benchmarks", "tests")}
        timed_on = self.fields.data.get("benchmarks_on")
        if isinstance(timed_on, dict):
            lists |= {f"benchmarks_on.{hardware}": cases for hardware, cases in timed_on.items()}
        arguments = {  # of each public case; the bundle parser reports bad cases
            f"{key}[{n}]": [name for name in case if isinstance(name, str)]
            for key, listed in lists.items()
            for n, case in enumerate(listed if isinstance(listed, list) else ())
            if isinstance(case, dict)
        }
        if fuzz := self._fuzz():  # of a drawn secret case
            arguments["fuzz"] = [*next(iter(arguments.values()), ()), *fuzz["args"]]
        if doubt := inspect.doubt_of_imports(codes):
            self.warnings.append(doubt)
        return (
            inspect.why_reference_is_not_enough(reference)
            or inspect.why_imports_fail(codes)
            or inspect.why_cases_do_not_fit(reference, arguments, several=several)
        )


def _given(cases: object, where: str, empty: list[str]) -> object:
    """Return the cases, by hardware or not, without valueless arguments (`"seed":`), which go to `empty`."""
    if isinstance(cases, dict):
        return {name: _given(some, f"{where}.{name}", empty) for name, some in cases.items()}
    if not isinstance(cases, list):
        return cases
    kept = []
    for n, case in enumerate(cases):
        if isinstance(case, dict):
            empty += [f"{where}[{n}].{name}: is empty and left out" for name, value in case.items() if value is None]
            case = {name: value for name, value in case.items() if value is not None}
        kept.append(case)
    return kept
