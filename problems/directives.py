"""Directives in the comment lines at the top of a submission: the board, hardware and licence of the file. Pure.

    #!PHOTOFINISH leaderboard softmax
    #!POPCORN gpu H200
    #!POPCORN gpus H200 B200
    #!PHOTOFINISH licence Apache-2.0

`//!` stands for `#!` in CUDA. Marks, keys and names of hardware may be written in upper or lower case. This is the only
parser: the site reads every submission with it, the runner's commands read files at home with it, and the command line
leaves the reading to the site.
"""

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from problems.fields import shown

MARKS: Final = ("#!POPCORN", "#!PHOTOFINISH", "//!POPCORN", "//!PHOTOFINISH")
COMMENTS: Final = ("#", "//")
MAX_TOP_LINES: Final = 100
MAX_HARDWARE: Final = 16
KEYS: Final = {
    **dict.fromkeys(("leaderboard", "board"), "board"),
    **dict.fromkeys(("gpu", "gpus", "hardware"), "hardware"),
    **dict.fromkeys(("licence", "license"), "licence"),
}
_NAMED_BOARD: Final = re.compile(rf"^((?:{'|'.join(MARKS)})[ \t]+(?:leaderboard|board)[ \t]+)\S+", re.I | re.M)
EXPECTED: Final = "; write “leaderboard NAME”, “gpu NAME”, “gpus NAME NAME” or “licence NAME” after the mark"


class DirectiveError(ValueError):
    """A contradictory or malformed directive; `line` is the line as it stands in the file."""

    def __init__(self, line: str, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True)
class Directives:
    """The wishes of a file; an empty field stands for a wish that the file does not have."""

    board: str = ""
    hardware: tuple[str, ...] = ()
    licence: str = ""


def read_directives(source: str) -> Directives:
    """Return the directives above the first line of code. Raises DirectiveError."""
    found = Directives()
    for number, line in enumerate(source.removeprefix("\ufeff").split("\n", MAX_TOP_LINES)[:MAX_TOP_LINES], start=1):
        line, words = line.strip(), line.split()
        if not words:
            continue
        if not words[0].startswith(COMMENTS):
            break
        if words[0].upper() not in MARKS:
            continue
        wish, names = KEYS.get(words[1].lower()) if words[1:] else None, tuple(words[2:])
        if wish is None:
            raise DirectiveError(
                line, f"line {number}: the directive {shown(' '.join(words[1:]))} is not known{EXPECTED}"
            )
        most = MAX_HARDWARE if wish == "hardware" else 1
        if not 1 <= len(names) <= most:
            wanted = f"1 to {most} names" if most > 1 else "one name"
            text = f"line {number}: this directive has {len(names)} names and needs {wanted}{EXPECTED}"
            raise DirectiveError(line, text)
        before = found.hardware if wish == "hardware" else tuple(filter(None, [getattr(found, wish)]))
        if before and _folded(before) != _folded(names):
            contradiction = f"{shown(' '.join(names))} contradicts the earlier {shown(' '.join(before))}"
            raise DirectiveError(line, f"line {number}: the {wish} {contradiction}; keep one of them")
        changed: dict[str, Any] = {wish: names if wish == "hardware" else names[0]}
        found = replace(found, **changed)
    return found


def with_board(source: str, board: str) -> str:
    """Return starter code for this board: a directive that names a board names this one.

    A problem has boards of several names once a competition is cloned, and its files name the first.
    """
    return _NAMED_BOARD.sub(lambda found: found[1] + board, source, count=1)


def overruled_directives(source: str, *, board: str, hardware: str) -> list[str]:
    """Return one sentence for each directive that the sender's own choice of board or hardware overruled."""
    try:
        wanted = read_directives(source)
    except DirectiveError:  # a file that was stored before this directive became an error
        return []
    sentences = []
    if wanted.board and wanted.board.lower() != board.lower():
        sentences.append(f"The file names the board {wanted.board}, but it was sent to {board}, and that counts.")
    if wanted.hardware and hardware.lower() not in _folded(wanted.hardware):
        named = ", ".join(wanted.hardware)
        sentences.append(f"The file names the hardware {named}, but it was sent to {hardware}, and that counts.")
    return sentences


def other_hardware(source: str, hardware: str) -> tuple[str, ...]:
    """Return the hardware that a file is for, unless `hardware` is among it. Raises DirectiveError."""
    named = read_directives(source).hardware
    return () if hardware.lower() in _folded(named) else named


def _folded(names: tuple[str, ...]) -> list[str]:
    return sorted(name.lower() for name in names)
