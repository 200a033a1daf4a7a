"""Output of the scripts: a line when a step begins, and its seconds when it ends. Standard library only."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


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
