"""Unified diff of two sources, bounded in the size of its input and output. Pure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from itertools import islice
from typing import Final

MOST_LINES: Final = 3_000  # per source; comparing takes up to their product
MOST_CHARS: Final = 200_000
MOST_SHOWN: Final = 600  # lines of the diff
LONGEST: Final = 400  # shown characters per line
CONTEXT: Final = 3


@dataclass(frozen=True)
class Line:
    kind: str  # "ins", "del", "at" (position) or ""
    text: str


@dataclass(frozen=True)
class Diff:
    lines: tuple[Line, ...] = ()
    is_cut: bool = False
    refusal: str = ""  # why there is no diff
    added: int = 0
    removed: int = 0

    @property
    def is_same(self) -> bool:
        return not self.lines and not self.refusal


def unified(before: str, after: str) -> Diff:
    if max(len(before), len(after)) > MOST_CHARS:
        return Diff(refusal=f"One of them has more than {MOST_CHARS:,} characters, too many to compare here.")
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > MOST_LINES:
        return Diff(refusal=f"One of them has more than {MOST_LINES:,} lines, too many to compare here.")
    told = islice(difflib.unified_diff(old, new, lineterm="", n=CONTEXT), 2, None)  # without the two heads
    lines = tuple(_line(text) for text in islice(told, MOST_SHOWN + 1))
    shown = lines[:MOST_SHOWN]
    return Diff(
        lines=shown,
        is_cut=len(lines) > MOST_SHOWN,
        added=sum(line.kind == "ins" for line in shown),
        removed=sum(line.kind == "del" for line in shown),
    )


def _line(text: str) -> Line:
    kind = {"+": "ins", "-": "del", "@": "at"}.get(text[:1], "")
    return Line(kind, text if len(text) <= LONGEST else text[:LONGEST] + " …")
