"""Ask a third-party static checker about a held source: advice for a reviewer, without any effect.

Made for `kernelguard --api-mode` (the extra photofinish[hints] pins it), and for any program that reads a source on
its standard input and writes JSON: {"matched_patterns": [{"pattern", "severity", "evidence"} …]} or {"hints": [text]}.
Off unless HINT_COMMAND names it. The site's worker asks it after the result was held: it neither holds nor delays a
result, and its silence clears no result. It runs as a separate process, without the site's environment, with limits of
time, memory and output. Its output is read as hostile text, because the author of the source can influence it.
"""

import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import structlog

from leaderboard.review.models import Hint
from leaderboard.submissions.models import Submission

MOST_S: Final = 10.0
MOST_CPU_S: Final = 8
MOST_MEMORY_BYTES: Final = 1 << 30  # of address space
MOST_OUTPUT_BYTES: Final = 64_000
MOST_FILES: Final = 64
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
LIMITS: Final = (
    (resource.RLIMIT_AS, MOST_MEMORY_BYTES),
    (resource.RLIMIT_CPU, MOST_CPU_S),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_NOFILE, MOST_FILES),
    (resource.RLIMIT_CORE, 0),
)
# Becomes the checker with its limits already in force. Without a network if the kernel lets a user drop it.
LAUNCH: Final = f"""
import ctypes, os, resource, sys
ctypes.CDLL(None).unshare({CLONE_NEWUSER | CLONE_NEWNET})
for which, most in {LIMITS!r}:
    resource.setrlimit(which, (most, most))
os.execv(sys.argv[1], sys.argv[1:])
"""
MOST_WORDS: Final = 20
MOST_WORD_CHARS: Final = 300

log = structlog.get_logger(__name__)


class HintError(Exception):
    """The checker gave no readable answer; the text gives the reason."""


def ask_hint(*, submission_id: int, command: Sequence[str], now: datetime) -> Hint | None:
    """Keep the checker's answer on this submission, once. None: there is an answer already, or no checker."""
    submission = Submission.objects.filter(pk=submission_id, hint__isnull=True).first()
    if submission is None or not command:
        return None
    words: list[str] = []
    failure = ""
    try:
        words = words_of(run_limited(command, submission.source))
    except HintError as error:
        failure = str(error)[:MOST_WORD_CHARS]
        log.warning("hint_failed", submission=submission.pk, problem=failure)
    hint, _ = Hint.objects.get_or_create(
        submission=submission,
        defaults={"checker": os.path.basename(command[0])[:64], "words": words, "failure": failure, "created_at": now},
    )
    return hint


def words_of(output: bytes) -> list[str]:
    """Return at most MOST_WORDS plain texts. Raises HintError if the output is no JSON of either kind."""
    try:
        told = json.loads(output)
    except (ValueError, RecursionError):
        raise HintError("its answer is no JSON") from None
    if not isinstance(told, dict):
        raise HintError("its answer is no JSON object")
    hints, patterns = told.get("hints"), told.get("matched_patterns")
    texts = [text for text in hints if isinstance(text, str)] if isinstance(hints, list) else []
    for one in patterns if isinstance(patterns, list) else ():
        if isinstance(one, dict):
            parts = (one.get(name) for name in ("severity", "pattern", "evidence"))
            texts.append(": ".join(part for part in parts if isinstance(part, str)))
    cut = (text[: 2 * MOST_WORD_CHARS] for text in texts[:MOST_WORDS])
    clean = ("".join(letter if letter.isprintable() else " " for letter in text) for text in cut)
    return [" ".join(text.split())[:MOST_WORD_CHARS] for text in clean]


def run_limited(command: Sequence[str], text: str, *, most_s: float = MOST_S) -> bytes:
    """Run the command with this text as its input and return its output. Raises HintError."""
    path = f"{os.path.dirname(sys.executable)}:{os.defpath}"  # beside the site's own Python, where pip puts it
    program = shutil.which(command[0], path=path)
    if program is None:
        raise HintError(f"there is no program {command[0]!r:.60}")
    with tempfile.TemporaryFile() as source:
        source.write(text.encode())
        source.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", LAUNCH, program, *command[1:]],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": path, "LANG": "C.UTF-8"},
            start_new_session=True,
        )
        try:
            output = _read(process, time.monotonic() + most_s)
            code = process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            raise HintError("it did not end") from None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # the whole session, with its children
            except ProcessLookupError:
                pass
            assert process.stdout is not None
            process.stdout.close()
            process.wait()
    if code:
        raise HintError(f"it ended with status {code}")
    return output


def _read(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    assert process.stdout is not None
    output = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            raise HintError("it took too long")
        part = os.read(process.stdout.fileno(), 1 << 16)
        output += part
        if len(output) > MOST_OUTPUT_BYTES:
            raise HintError(f"it wrote more than {MOST_OUTPUT_BYTES:,} bytes")
        if not part:
            return output
