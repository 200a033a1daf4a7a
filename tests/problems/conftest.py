"""Problem folders in GPU MODE's convention, written where a test needs them."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from problems.fields import ProblemError
from problems.formats.gpumode import ProblemSet, read_set

REFERENCE = "def generate_input(size, seed): ...\ndef ref_kernel(data): ...\n"
TASK = """
files:
  - {name: submission.py, source: "@SUBMISSION@"}
  - {name: reference.py, source: reference.py}
description: Scale.
benchmarks:
  - {size: 4, seed: 1}
"""

WriteProblem = Callable[..., Path]


def load_set(path: Path) -> ProblemSet:
    """Return a set without faults. Raises ProblemError for the first fault."""
    found = read_set(path)
    for fault in found.faults:
        raise ProblemError(fault.field, fault.message)
    return found


@pytest.fixture
def write_problem(tmp_path: Path) -> WriteProblem:
    def write(task: str = TASK, *, directory: str = "course/scale", extra: str = "", **files: str) -> Path:
        folder = tmp_path / directory
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "task.yml").write_text(dedent(task) + dedent(extra))
        for name, text in {"reference_py": REFERENCE, **files}.items():
            (folder / name.replace("_py", ".py")).write_text(text)
        return folder

    return write
