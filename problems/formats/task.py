"""Reader of a problem folder in GPU MODE's convention: task.yml and the files that it names become a `Problem`.

This module executes nothing. A demand that this judge cannot meet is the reason in `unsupported`; a part that is left
out, reinterpreted or not used is a warning.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from problems.arithmetic import must_be_computable
from problems.fields import Fields, ProblemError, as_bool, as_line, as_list, as_text, printable, shown
from problems.formats import inspect
from problems.formats.text import FileMissing, Files
from problems.native import Build
from problems.spec import BUNDLE_VERSION, COMPILED, MAX_FILES, Problem, as_timeout

TASK_FILE: Final = "task.yml"
SUBMISSION_MARK: Final = "@SUBMISSION@"
MAX_PATH_CHARS: Final = 300
MAX_WARNINGS: Final = 50

_TIMEOUTS: Final = ("test_timeout", "benchmark_timeout", "ranked_timeout")
_CASES: Final = ("tests", "benchmarks", "benchmarks_on")
_AS_IN_BUNDLE: Final = (
    *("lang", "ranking_by", "gpus", "untuned_on", "tolerance", "precision", "speed_of_light", "level", "tags"),
    *_CASES,
)
_ACCEPTED: Final = {"config", "multi_gpu", "libraries", "seed", "validation", "compile_baseline"}
_OURS: Final = {"title", "entry", "fuzz", "baseline"}
_KNOWN: Final = frozenset({"files", "description", "templates", *_AS_IN_BUNDLE, *_TIMEOUTS, *_ACCEPTED, *_OURS})
_FILE_KEYS: Final = frozenset({"name", "source"})
_COMPILED: Final = """import torch

from reference import {result}

{entry} = torch.compile({result})
"""

as_path = partial(as_text, most=MAX_PATH_CHARS, empty_ok=False)


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
            try:
                build = {"build": Build.from_config(self.fields.mapping("config"), submission_name).to_json()}
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
            "unsupported": self._unsupported(task_files, called) or not_built,
            "benchmarks": [],
            **{key: self.fields.data[key] for key in _AS_IN_BUNDLE if self.fields.data.get(key) is not None},
            **{f"{key}_s": self.fields.optional(key, as_timeout, None) for key in _TIMEOUTS},
        }

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
        if self.fields.optional("multi_gpu", as_bool, False):
            return "It runs on several GPUs at once (multi_gpu), which this judge cannot do yet."
        if len(called) > 1:
            return f"It calls several functions of a submission ({', '.join(called)}); this judge calls one."
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
        return (
            inspect.why_reference_is_not_enough(reference)
            or inspect.why_imports_fail(codes)
            or inspect.why_cases_do_not_fit(reference, arguments)
        )


def _given(cases: object, where: str, empty: list[str]) -> object:
    """Return the cases, by hardware or not, without valueless arguments (`"seed":`), which go to `empty`."""
    if isinstance(cases, dict):
        return {name: _given(some, f"{where}.{name}", empty) for name, some in cases.items()}
    if not isinstance(cases, list):
        return cases
    for n, case in enumerate(cases):
        nothing = [name for name, value in case.items() if value is None] if isinstance(case, dict) else []
        empty += [f"{where}[{n}].{name}: is empty and left out" for name in nothing]
    return [
        {name: value for name, value in case.items() if value is not None} if isinstance(case, dict) else case
        for case in cases
    ]
