"""Diff of two sources, of bounded work and length. Pure."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Final

MOST_DIFF_LINES: Final = 3_000  # per source
MOST_DIFF_STEPS: Final = 1_000_000  # a tenth of a second; two versions of a file of 3,000 lines take some 50,000
MOST_DIFF_CHARS: Final = 200_000
MOST_SHOWN: Final = 600  # lines of the diff
LONGEST: Final = 400  # shown characters per line
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
    """Return the unified diff of two sources, or why they are too large for it."""
    old, new = before.splitlines(), after.splitlines()
    for size, most, unit in (
        (max(len(before), len(after)), MOST_DIFF_CHARS, "characters"),
        (max(len(old), len(new)), MOST_DIFF_LINES, "lines"),
    ):
        if size > most:
            return Diff(refusal=f"One of the files has {size:,} {unit}; at most {most:,} can be compared here.")
    texts = list(islice(_hunks(old, new), MOST_SHOWN + 1))
    kinds = [KINDS.get(text[:1], "") for text in texts[:MOST_SHOWN]]
    cut = (text if len(text) <= LONGEST else text[:LONGEST] + " …" for text in texts)
    return Diff(
        lines=tuple(map(DiffLine, kinds, cut)),
        is_cut=len(texts) > MOST_SHOWN,
        added=kinds.count("ins"),
        removed=kinds.count("del"),
    )


class _Matcher(difflib.SequenceMatcher[str]):
    """A comparison of bounded work. Once its steps are used up, the lines left count as different.

    Strangers choose both texts: a text that was made for it costs a plain comparison ten times as much.
    """

    def __init__(self, old: list[str], new: list[str]) -> None:
        super().__init__(None, old, new)
        places = self.b2j  # type: ignore[attr-defined]  # line → its places in `new`
        self._before = [0, *accumulate(1 + len(places.get(line, ())) for line in old)]
        self._left = MOST_DIFF_STEPS

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        self._left -= self._before[-1 if ahi is None else ahi] - self._before[alo]
        return super().find_longest_match(alo, ahi, blo, bhi) if self._left >= 0 else difflib.Match(alo, blo, 0)


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the lines of a unified diff, without its heads."""
    for group in _Matcher(old, new).get_grouped_opcodes():
        (_, i, _, j, _), (_, _, i_end, _, j_end) = group[0], group[-1]
        yield f"@@ -{_span(i, i_end)} +{_span(j, j_end)} @@"
        for kind, i, i_end, j, j_end in group:
            if kind == "equal":
                yield from (f" {line}" for line in old[i:i_end])
            else:
                yield from (f"-{line}" for line in old[i:i_end])
                yield from (f"+{line}" for line in new[j:j_end])


def _span(start: int, end: int) -> str:
    """Return a range as a unified diff has it: its first line, counted from 1, and its length unless that is 1."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + (length > 0)},{length}"
