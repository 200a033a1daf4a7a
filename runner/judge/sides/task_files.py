"""A problem's files for the containers of submission and baseline; the problem's own container (oracle.py) has all.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from problems.spec import MODEL, Problem

BASELINE: Final = "submission.py"  # its file's name; it is Python in every problem
REFERENCE: Final = "reference.py"
NOT_THE_TENANTS: Final = (REFERENCE, "eval.py")  # except a reference that is imported
_ASKS: Final = re.compile(r"^[^\S\n]*+(from|import)[^\S\n]++reference\b", re.MULTILINE)  # within a line: linear
_DEFINES: Final = re.compile(r"^class\s|namedtuple|make_dataclass", re.MULTILINE)


def files_beside(source: str, files: Mapping[str, str]) -> dict[str, str]:
    """Return the files beside a submission: the problem's files, with its reference only if the submission imports it,
    or if the reference defines classes, which the data may be made of."""
    needed = _ASKS.search(source) or _DEFINES.search(files.get(REFERENCE, ""))
    left_out = NOT_THE_TENANTS[1:] if needed else NOT_THE_TENANTS
    return {name: text for name, text in files.items() if name not in left_out}


def baseline_files(problem: Problem) -> tuple[str, dict[str, str]]:
    """Return the name of the baseline's file, and all files in its container. Without a tuned baseline the reference
    takes its place."""
    name = problem.submission_name if problem.build is None else BASELINE
    if problem.baseline is not None:
        others = {file: text for file, text in problem.files.items() if file != REFERENCE}
        return name, {**others, name: problem.baseline}
    original = "Model" if problem.interface == MODEL else "ref_kernel"
    return name, {**problem.files, name: f"from reference import {original} as {problem.entry}\n"}
