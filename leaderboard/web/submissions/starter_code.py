"""A problem's public files and names: starter code, reference, public cases."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final

from leaderboard.competitions.models import ProblemVersion
from problems.directives import with_board
from problems.spec import Choice, IntRange, Problem, case_name, needs_gpu

REFERENCE: Final = "reference.py"


@dataclass(frozen=True)
class Tab:
    id: str
    title: str
    about: str
    filename: str
    text: str
    language: str = ""  # of starter code


def problem_of(version: ProblemVersion, slug: str) -> Problem:
    """Return a version's problem, with starters for the boards of this name."""
    problem = Problem.from_bundle(version.bundle)
    return replace(problem, templates=named(problem.templates, slug))


def named(templates: Mapping[str, str], slug: str) -> dict[str, str]:
    return {language: with_board(text, slug) for language, text in templates.items()}


def starters(problem: Problem, hardware: Iterable[str], found: Mapping[str, str]) -> list[Tab]:
    """Return a file for each language that can run on some of the hardware, with the ending of a submission.

    `found`: language → outcome of its starter in the newest admission test.
    """
    has_gpu = any(name.lower() != "cpu" for name in hardware)
    suffix = PurePath(problem.submission_name).suffix
    shown: list[Tab] = []
    for language, text in sorted(problem.templates.items(), key=lambda item: (item[0] != "Python", item[0])):
        outcome = found.get(language, "")
        if outcome == "passed":
            about = f"A correct kernel in {language} to begin with. It passes test mode as it is; make it faster."
        elif outcome:
            about = f"The form of a submission in {language}. As it is, its verdict in test mode is: {outcome}."
        else:
            about = f"A start in {language}. No admission test has judged it yet."
        if has_gpu or not needs_gpu(language):
            word = "".join(letter for letter in language.lower().replace("+", "p") if letter.isalnum())  # C++ is no C
            name = f"starter_{word}{suffix}"
            shown.append(Tab(f"starter-{word}", f"{language} starter", about, name, text, language))
    return shown


def tabs(problem: Problem, hardware: Iterable[str], found: Mapping[str, str]) -> list[Tab]:
    """Return starter code first, then the reference, then the remaining files that a submission or reader may need."""
    return [*starters(problem, hardware, found), *files_of(problem)]


def files_of(problem: Problem) -> list[Tab]:
    """Return the reference first, then the remaining files."""
    files = sorted(problem.files, key=lambda name: (name != REFERENCE, name))
    shown: list[Tab] = []
    for place, name in enumerate(files):
        title, about = name, "A file of the problem, which the reference uses."
        if name == REFERENCE:
            title, about = "Reference", "It makes the inputs and computes the expected outputs. Your kernel must agree."
        shown.append(Tab(f"file-{place}", title, about, name, problem.files[name]))
    return shown


def timed_names(versions: Mapping[str, ProblemVersion]) -> list[tuple[str, list[str]]]:
    """Return the names of timed cases by hardware. If all hardware shares them, the only key is ""."""
    found = {hardware: case_names(version.part("benchmarks", [])) for hardware, version in versions.items()}
    alike = all(names == next(iter(found.values())) for names in found.values())
    return [("", names) for names in list(found.values())[:1]] if alike else list(found.items())


def secret_ranges(problem: Problem) -> dict[str, str]:
    """Return the choice, in words, from which the judge draws each argument of a secret case. It is public."""
    return {name: _in_words(choice) for name, choice in problem.fuzz.args.items()} if problem.fuzz else {}


def _in_words(choice: Choice) -> str:
    if not isinstance(choice, IntRange):
        return ", ".join(value if isinstance(value, str) else json.dumps(value) for value in choice)
    words = f"{'odd, ' if choice.odd else ''}{choice.low} to {choice.high}"
    return f"{words}, each octave equally likely" if choice.log else words


def case_names(cases: Iterable[Any]) -> list[str]:
    """Return each name once with its count: cases that differ in their seeds alone share a name."""
    counts = Counter(case_name(case) for case in cases)
    return [name if count == 1 else f"{name} ×{count}" for name, count in counts.items()]
