"""Output, errors, commands and waits of the scripts. Standard library only."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class SetupError(Exception):
    """A fault that the person at the keyboard must put right; the text names the fault and the remedy."""


def say(text: str) -> None:
    print(text, flush=True)


def note(text: str) -> None:
    say(f"     {text}")


@contextmanager
def step(title: str) -> Iterator[None]:
    """Announce a step and its duration. A failure passes through unannounced: its own text is more precise."""
    say(f"==>  {title}")
    began = time.monotonic()
    yield
    note(f"done in {time.monotonic() - began:.1f} s")


def captured(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command without input; return its status and its output as text."""
    nothing = subprocess.DEVNULL
    return subprocess.run(command, stdin=nothing, capture_output=True, text=True, check=False, **options)


def is_soon(ready: Callable[[], bool], limit_s: float) -> bool:
    """Poll until `ready` is true. Return False if it is not within the limit."""
    deadline = time.monotonic() + limit_s
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def exit_status(act: Callable[[], object]) -> int:
    """Return a program's exit status: the act's, if it returns a number; 1 after a SetupError, which is printed."""
    try:
        status = act()
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return status if isinstance(status, int) else 0
