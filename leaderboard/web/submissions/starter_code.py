"""A problem's public files and names: starter code, reference, public cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from leaderboard.competitions.models import ProblemVersion
from problems.spec import Problem, case_name, needs_gpu

REFERENCE: Final = "reference.py"


@dataclass(frozen=True)
class Tab:
    id: str
    title: str
    about: str
    filename: str
    text: str


def problem_of(version: ProblemVersion) -> Problem:
    return Problem.from_bundle(version.bundle)


def starters(problem: Problem, hardware: Iterable[str], found: Mapping[str, str] | None = None) -> list[Tab]:
    """Return a file for each language that can run on some of the hardware, with the ending of a submission.

    `found`: language → outcome of its starter in the newest admission test.
    """
    has_gpu = any(name.lower() != "cpu" for name in hardware)
    templates = {language: text for language, text in problem.templates.items() if has_gpu or not needs_gpu(language)}
    suffix = PurePath(problem.submission_name).suffix
    return [
        Tab(
            id=f"starter-{index}",
            title=f"{language} starter",
            about=_about_starter(language, (found or {}).get(language, "")),
            filename=f"starter_{_file_word(language)}{suffix}",
            text=text,
        )
        for index, (language, text) in enumerate(sorted(templates.items(), key=_python_first))
    ]


def _about_starter(language: str, outcome: str) -> str:
    if outcome == "passed":
        return f"A correct, slow start in {language}: it passes test mode as it is. Make it fast."
    if outcome:
        return f"It shows the form of a submission in {language}. As it is, test mode answers: {outcome}."
    return f"A start in {language}. No admission test has tried it yet."


def _file_word(language: str) -> str:
    """Return the language's name for a file name: “C++” becomes cpp, so that it differs from “C”."""
    return "".join(letter for letter in language.lower().replace("+", "p") if letter.isalnum())


def _python_first(item: tuple[str, str]) -> tuple[bool, str]:
    return item[0] != "Python", item[0]


def tabs(problem: Problem, hardware: Iterable[str], found: Mapping[str, str] | None = None) -> list[Tab]:
    """Return starter code first, then the reference, then the remaining files that a submission or reader may need."""
    files = sorted(problem.files, key=lambda name: (name != REFERENCE, name))
    about = {REFERENCE: "Makes the inputs and says what is right. What you send must agree with it, only sooner."}
    return [
        *starters(problem, hardware, found),
        *(
            Tab(
                id=f"file-{index}",
                title="Reference" if name == REFERENCE else name,
                about=about.get(name, "Part of the problem; the reference uses it."),
                filename=name,
                text=problem.files[name],
            )
            for index, name in enumerate(files)
        ),
    ]


def downloads(problem: Problem, hardware: Iterable[str]) -> dict[str, str]:
    return {tab.filename: tab.text for tab in tabs(problem, hardware)}


def timed_names(versions: Mapping[str, ProblemVersion]) -> list[tuple[str, list[str]]]:
    """Return the names of timed cases by hardware. If all hardware shares them, the only key is ""."""
    found = {hardware: case_names(version.part("benchmarks", [])) for hardware, version in versions.items()}
    alike = all(names == next(iter(found.values())) for names in found.values())
    return [("", names) for names in list(found.values())[:1]] if alike else list(found.items())


def case_names(cases: Iterable[Any]) -> list[str]:
    """Return each name once with its count: cases that differ in their seeds alone share a name."""
    counts = Counter(case_name(case) for case in cases)
    return [name if count == 1 else f"{name} ×{count}" for name, count in counts.items()]
