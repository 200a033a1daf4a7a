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
KINDS: Final = {"+": "ins", "-": "del", "@": "at"}


@dataclass(frozen=True)
class DiffLine:
    kind: str  # "ins", "del", "at" (position) or ""
    text: str


@dataclass(frozen=True)
class Diff:
    lines: tuple[DiffLine, ...] = ()
    is_cut: bool = False
    refusal: str = ""  # why there is no diff
    added: int = 0
    removed: int = 0

    @property
    def is_same(self) -> bool:
        return not self.lines and not self.refusal


def unified(before: str, after: str) -> Diff:
    old, new = before.splitlines(), after.splitlines()
    for size, most, unit in (
        (max(len(before), len(after)), MOST_CHARS, "characters"),
        (max(len(old), len(new)), MOST_LINES, "lines"),
    ):
        if size > most:
            return Diff(refusal=f"One of the files has {size:,} {unit}; at most {most:,} can be compared here.")
    texts = list(islice(difflib.unified_diff(old, new, lineterm="", n=CONTEXT), 2, MOST_SHOWN + 3))  # without heads
    kinds = [KINDS.get(text[:1], "") for text in texts[:MOST_SHOWN]]
    cut = (text if len(text) <= LONGEST else text[:LONGEST] + " …" for text in texts)
    return Diff(
        lines=tuple(map(DiffLine, kinds, cut)),
        is_cut=len(texts) > MOST_SHOWN,
        added=kinds.count("ins"),
        removed=kinds.count("del"),
    )
