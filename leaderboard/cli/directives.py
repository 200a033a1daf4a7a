"""Lines at the top of a submission that say where it belongs: `#!PHOTOFINISH leaderboard softmax`, `#!POPCORN gpu cpu`.

Pure. The words of both spellings mean the same; `//!` stands for `#!` in CUDA. Flags win over directives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from leaderboard.cli.errors import Misuse

WORDS: Final = {"leaderboard": "board", "board": "board", "gpu": "hardware", "gpus": "hardware", "hardware": "hardware"}
LEFT_TO_THE_SITE: Final = ("licence", "license")
LOOK_AT_LINES: Final = 50
_LINE: Final = re.compile(r"^(?:#|//)!(PHOTOFINISH|POPCORN)\b(.*)$")


@dataclass(frozen=True)
class Directives:
    """What the file asks for; None where it says nothing. Several hardware names are joined by a space."""

    board: str | None = None
    hardware: str | None = None


def read(text: str) -> Directives:
    """The directives at the top. Raises Misuse for one that cannot be meant."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines()[:LOOK_AT_LINES], start=1):
        match = _LINE.match(line.strip())
        if match and match.group(2).lower().split()[:1] not in ([word] for word in LEFT_TO_THE_SITE):
            name, value = _parse(number, line.strip(), match.group(2).split())
            if found.get(name, value) != value:
                raise Misuse(f"line {number}: {line.strip()!r} contradicts {found[name]!r} above; keep one of them")
            found[name] = value
    return Directives(found.get("board"), found.get("hardware"))


def _parse(number: int, line: str, words: list[str]) -> tuple[str, str]:
    name = WORDS.get(words[0].lower()) if words else None
    if name is None:
        known = ", ".join(WORDS)
        raise Misuse(f"line {number}: {line!r} is not a directive that is known; the word must be one of {known}")
    values = words[1:]
    if not values or (len(values) > 1 and words[0].lower() != "gpus"):
        raise Misuse(f"line {number}: {line!r} needs one name, got {len(values)}")
    return name, " ".join(value.lower() if name == "hardware" else value for value in values)
