"""`runner manufacture`: pairs of a PyTorch module and the kernel that torch.compile writes for it, verified.

Each module is compiled in a container of its own, and the judge verifies the code like any submission. The journal has
a line for each module, on disk before the next begins, so a command that was ended goes on where it was. The rows of
the journal become a data set with the columns of a site's export.
"""

import fcntl
import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from leaderboard.dataset import manufactured
from problems.fields import ProblemError
from problems.formats import modules
from problems.spec import Problem
from runner import config
from runner.commands import local
from runner.commands.local import UsageError
from runner.daemon.loan import Patience, borrowed
from runner.host import accelerators
from runner.job import cleanup
from runner.job.emit import NotEmitted, emit
from runner.wire import MAX_SOURCE_BYTES, Job
from sandbox.container import SandboxError

log = logging.getLogger("runner.commands.manufacture")

JOURNAL: Final = "journal.jsonl"
FORMAT: Final = "manufacture/1"
MOST_MODULES: Final = 20_000
MOST_FAILED: Final = 3  # in a row
MOST_LINE_BYTES: Final = 8_000_000
SAID_CHARS: Final = 1_000
FILENAME: Final = "submission.py"
NOT_A_MODULE, NOT_SUITED, NOT_COMPILED, HELD = "not_a_module", "not_suited", "not_compiled", "held"
AGAIN: Final = ("infra_error", "unmeasurable")  # outcomes that a later command tries again,
FOR_GOOD: Final = "below_resolution"  # unless the module itself is the cause


@dataclass(frozen=True)
class Made:
    """The end of a module's way. `row`: of the data set; None: left out, for `reason`."""

    file: str
    digest: str  # of the module's file, the hardware, the mode and the licence
    outcome: str
    reason: str = ""
    message: str = ""
    row: dict[str, Any] | None = None

    @property
    def is_done(self) -> bool:
        return self.outcome not in AGAIN or self.reason == FOR_GOOD


class Journal:
    """JSON lines, one for each module, for a single process at a time. A line that was cut off is dropped."""

    def __init__(self, folder: Path) -> None:
        """Open or create the journal. Raises UsageError."""
        path = folder / JOURNAL
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("a+b")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{path}: another command writes to it; wait for its end, or name another --into"
            ) from None
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; name another --into") from None
        self.made: dict[str, Made] = {}
        self._read(path)

    def add(self, made: Made) -> None:
        """Append a line, which is on disk when this returns."""
        self._file.write(json.dumps({"format": FORMAT, **vars(made)}).encode() + b"\n")
        self._file.flush()
        self.made[made.digest] = made

    def close(self) -> None:
        self._file.close()

    def _read(self, path: Path) -> None:
        self._file.seek(0)
        whole = 0
        for number, line in enumerate(iter(lambda: self._file.readline(MOST_LINE_BYTES), b""), 1):
            if not line.endswith(b"\n"):
                break
            try:
                found = json.loads(line)
                if found.pop("format") != FORMAT:
                    raise ValueError("format")
                made = Made(**found)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                text = f"{path}, line {number}: is no line of {FORMAT}; remove it, or name another --into"
                raise UsageError(text) from None
            self.made[made.digest] = made
            whole = self._file.tell()
        self._file.truncate(whole)


@dataclass(frozen=True)
class Maker:
    """Settings of a command, and its way with one module."""

    settings: config.JudgeSettings
    mode: str
    licence: str
    patience: Patience
    tell: Callable[[str], None]  # gets the step that begins

    def digest_of(self, file: Path) -> str:
        """Return the digest of all that decides a module's end. Raises UsageError for an unreadable file."""
        try:
            with file.open("rb") as opened:
                content = opened.read(MAX_SOURCE_BYTES + 1)
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error.strerror}") from None
        parts = (content, *(one.encode() for one in (self.settings.runner_hardware, self.mode, self.licence)))
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    def make(self, file: Path) -> Made:
        """Compile and judge a module. Every failure of the module is an outcome. Raises RunnerError for this host's."""
        digest = self.digest_of(file)

        def left_out(outcome: str, message: str, reason: str = "") -> Made:
            return Made(str(file), digest, outcome, reason, message[:SAID_CHARS])

        try:
            problem = modules.load(file)
            if problem.unsupported:
                return left_out(NOT_SUITED, problem.unsupported)
            job = self._job(problem, file)
        except ProblemError as error:
            return left_out(NOT_A_MODULE, str(error))
        except NotEmitted as error:
            return left_out(NOT_COMPILED, str(error))
        except SandboxError as error:
            return left_out(AGAIN[0], str(error))
        self.tell(f"judging {file.name}")
        report = local.judge_here(job, self.settings, lambda event: None, self.patience)
        if report.outcome == AGAIN[0] and report.reason == "problem":  # it fails, or does not fit into memory
            return left_out(NOT_SUITED, str(report.evidence.get("operator") or report.message))
        if not manufactured.table_of(report):
            findings = report.evidence.get("findings") or []
            rules = ", ".join(sorted({str(one["rule"]) for one in findings}))
            outcome = HELD if report.outcome == manufactured.PASSED else report.outcome
            return left_out(outcome, report.message, rules or report.reason)
        row = manufactured.row_of(problem, job, report, licence=self.licence, now=datetime.now(UTC))
        return Made(str(file), digest, report.outcome, report.reason, report.message[:SAID_CHARS], row)

    def _job(self, problem: Problem, file: Path) -> Job:
        """Compile the module here, and return the job that judges the code."""
        self.tell(f"compiling {file.name}")
        settings, hardware = local.replace_id(self.settings), self.settings.runner_hardware
        device = accelerators.device_of(settings)
        device_is_ours = borrowed(device, settings.runner_locks, self.patience, f"`runner` on {file.name}")
        with device_is_ours, cleanup.cleared(settings.runner_id):
            found = emit(problem.on(hardware), settings)
        about = f"Made by torch.compile (Inductor) from {file.name}, for {hardware}."
        try:
            source = modules.answer(problem.files["reference.py"], found.code, found.arguments, found.result, about)
        except ProblemError as error:
            raise NotEmitted(str(error)) from None
        return local.job_from(problem, source, FILENAME, self.mode, hardware)


def module_files(given: Iterable[Path]) -> list[Path]:
    """Return the Python files among and below these paths. Raises UsageError."""
    found: dict[Path, None] = {}
    for path in given:
        try:
            if not path.exists():
                raise UsageError(f"{path} is not there; name files with modules, or folders of them")
            inside = sorted(one for one in path.rglob("*.py") if one.is_file()) if path.is_dir() else [path]
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None
        found |= dict.fromkeys(inside)
    if not found:
        raise UsageError(f"no file ends in .py in or below {', '.join(map(str, given))}")
    if len(found) > MOST_MODULES:
        raise UsageError(f"{len(found)} modules, at most {MOST_MODULES}; name fewer folders")
    return list(found)


def manufacture(files: Iterable[Path], journal: Journal, maker: Maker) -> Iterator[tuple[Made, bool]]:
    """Yield each module's end, and whether it was made now. Raises UsageError when this host fails again and again."""
    failed = 0
    for file in files:
        known = journal.made.get(maker.digest_of(file))
        if known is not None and known.is_done:
            yield known, False
            continue
        made = maker.make(file)
        journal.add(made)
        yield made, True
        failed = failed + 1 if made.outcome == AGAIN[0] else 0
        if failed == MOST_FAILED:
            raise UsageError(f"{failed} modules in a row failed on this host: {made.message}. The same command goes on")
