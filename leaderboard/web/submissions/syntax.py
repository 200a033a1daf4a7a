"""Places of errors in code: the syntax check of Python before it is sent, and the lines that a verdict names.

A separate Python process compiles the text and executes nothing: a text that crashes or occupies the compiler ends
that process alone. Its processor time and memory are limited, it yields to the web processes, and a person has a number
of checks a minute. A text that it cannot check in time passes here, and the judge decides. No site runs on an older
Python than the judge's, so code that the judge reads is not refused.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from threading import BoundedSemaphore
from typing import Final

from leaderboard.accounts.models import User
from leaderboard.source import SourceError, read_source
from leaderboard.web import limits
from runner.evidence.diagnostics import MOST_SAID, diagnostics

CPU_S: Final = 1  # twice as long as 1 MB of plain code takes
WALL_S: Final = 5.0
MEMORY_BYTES: Final = 1 << 29  # likewise
AT_ONCE: Final = 2  # checks of a web process
WAIT_S: Final = 1.0  # for one of them to end
PYTHON_NAME: Final = "submission.py"  # of a file without a name, unless its problem wants another
JUDGES_NAMES: Final = (PYTHON_NAME, "submission.cu")
_CHILD: Final = f"""
import json, os, resource, sys
os.nice(10)
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_S}, {CPU_S}))
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
source = sys.stdin.buffer.read().decode()
try:
    compile(source, "code", "exec", dont_inherit=True)
except SyntaxError as error:
    print(json.dumps([error.lineno or 1, error.offset or 1, str(error.msg)]))
except (MemoryError, RecursionError, ValueError, OverflowError):
    pass
"""
_places: Final = BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True)
class Fault:
    """The first place that Python cannot read. `line` and `column` count from 1."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


def first_fault(data: bytes, sender: User) -> Fault | None:
    """Return the first syntax error of a person's Python code.

    None also for a text that is no source, and beyond the person's checks of a minute.
    """
    try:
        source = read_source(data)
    except SourceError:
        return None
    wait_s = limits.floods.take((limits.SYNTAX_USER, str(sender.account_id)))
    return fault_in(source) if wait_s is None else None


def fault_in(source: str) -> Fault | None:
    """Return the first syntax error of Python code; None if there is none, or if the check does not end in time."""
    if not _places.acquire(timeout=WAIT_S):
        return None
    try:
        ended = subprocess.run(
            [sys.executable, "-I", "-S", "-W", "ignore", "-c", _CHILD],
            input=source.encode(),
            capture_output=True,
            timeout=WALL_S,
            check=False,
            env={},
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    finally:
        _places.release()
    if ended.returncode or not ended.stdout:
        return None
    line, column, message = json.loads(ended.stdout)
    lines = source.count("\n") + 1
    return Fault(min(max(line, 1), lines), max(column, 1), message[:MOST_SAID])


def marked_lines(message: str, filename: str) -> list[tuple[int, str]]:
    """Return line and text of each error in a verdict's message. Lines of further files are not marked.

    The judge names the file as the problem does, or as its sender did.
    """
    known = {filename, *JUDGES_NAMES}
    return [(found.line, found.message) for found in diagnostics(message) if found.file in known]
