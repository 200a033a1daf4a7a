"""Pure: the directives in the comment lines at the very top of a submission, before anybody says what they mean.

    #!PHOTOFINISH leaderboard softmax
    #!POPCORN gpu cpu

`//!` stands for `#!` in CUDA; upper and lower case are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

MARKS: Final = ("#!POPCORN", "#!PHOTOFINISH", "//!POPCORN", "//!PHOTOFINISH")
COMMENTS: Final = ("#", "//")
MAX_TOP_LINES: Final = 100
HARDWARE: Final = ("gpu", "gpus")


def at_the_top(source: str) -> Iterator[tuple[str, list[str]]]:
    """Each directive as it stands, and its words after the mark."""
    for line in source.split("\n", MAX_TOP_LINES)[:MAX_TOP_LINES]:
        words = line.split()
        if not words:
            continue
        if not words[0].startswith(COMMENTS):
            break
        if words[0].upper() in MARKS:
            yield line.strip(), words[1:]


def named_hardware(source: str) -> tuple[str, ...]:
    """What the file says it is for; empty where it says nothing. The last word counts."""
    found: tuple[str, ...] = ()
    for _, words in at_the_top(source):
        if words and words[0].lower() in HARDWARE:
            found = tuple(words[1:])
    return found


def other_hardware(source: str, hardware: str) -> tuple[str, ...]:
    """What the file says it is for, where that is not `hardware`; else empty."""
    named = named_hardware(source)
    return () if hardware.lower() in (name.lower() for name in named) else named
