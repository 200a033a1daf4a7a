"""Pure: what the first lines of a file say about where it wants to go.

    #!POPCORN leaderboard softmax
    #!PHOTOFINISH gpu H200
    #!POPCORN gpus H200 B200
    #!PHOTOFINISH licence Apache-2.0

Only the comment lines at the very top count. What the sender says outside of the file (flags, form fields) wins; a
directive that makes no sense is an error all the same, because it is more likely a slip than a wish.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from leaderboard.errors import UserError
from problems.directives import MARKS, at_the_top

MAX_NAMES: Final = 16


@dataclass(frozen=True)
class Directives:
    board: str = ""
    hardware: tuple[str, ...] = ()
    licence: str = ""


def read_directives(source: str) -> Directives:
    found = Directives()
    for line, words in at_the_top(source):
        found = _apply(found, line, words)
    return found


def _apply(found: Directives, line: str, words: list[str]) -> Directives:
    key, names = (words[0].lower(), words[1:]) if words else ("", [])
    if key == "leaderboard" and len(names) == 1:
        return replace(found, board=names[0])
    if key == "gpu" and len(names) == 1:
        return replace(found, hardware=(names[0],))
    if key == "gpus" and 1 <= len(names) <= MAX_NAMES:
        return replace(found, hardware=tuple(names))
    if key in ("licence", "license") and len(names) == 1:
        return replace(found, licence=names[0])
    known = "“… gpu NAME”, “… gpus NAME NAME”, “… licence NAME”"
    raise UserError("code", line, f"this directive is not one of “{MARKS[1]} leaderboard NAME”, {known}")
