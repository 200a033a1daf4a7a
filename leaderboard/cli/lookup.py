"""Check names that a person typed against the site: hardware of a board, board, submission.

An answer of 404 becomes a sentence that repeats the name and lists the existing names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .api import JSON, Api
from .config import Misuse, Refused
from .text import sequence

NOT_FOUND: Final = 404
MAX_ID_DIGITS: Final = 18  # limit of the site's keys


@contextmanager
def known(number: str) -> Iterator[None]:
    """Explain errors about the number of a submission. Raises Misuse, Refused."""
    if not (number.isascii() and number.isdecimal() and len(number) <= MAX_ID_DIGITS):
        raise Misuse(f"ID: {number!r} is not the number of a submission, such as 26; see `photofinish list`")
    try:
        yield
    except Refused as error:
        if error.status != NOT_FOUND:
            raise
        raise Refused(f"ID: there is no submission {number}, or it is not yours; see `photofinish list`", 404) from None


def submissions(api: Api, board: str, limit: int) -> list[JSON]:
    """Return the caller's submissions, newest first. `board` "": of every board."""
    found = api.submissions(board or None, limit)
    if board and not found:
        with _explained(api, board, ""):
            api.board(board)
    return found


def entries(api: Api, slug: str, hardware: str, most: int) -> list[JSON]:
    """Return the first lines of a board's ranking. `hardware` "": for a board with a single hardware."""
    if not hardware:
        with _explained(api, slug, ""):
            known = _hardware(api.board(slug))
        if len(known) != 1:
            raise Misuse(f"hardware: {slug} has {', '.join(known) or 'none'}; say which with --hardware")
        hardware = known[0]
    with _explained(api, slug, hardware):
        return api.entries(slug, hardware, most)


def quota(api: Api, board: str) -> list[JSON]:
    """Return the remaining quota of a board. `board` "": all boards with spent quota."""
    with _explained(api, board, ""):
        return api.quota(board)


@contextmanager
def _explained(api: Api, slug: str, hardware: str) -> Iterator[None]:
    try:
        yield
    except Refused as error:
        if error.status != NOT_FOUND:
            raise
        boards = {str(board.get("slug", "")): _hardware(board) for board in api.boards()}
        if slug not in boards:
            listed = ", ".join(boards) or "none yet"
            raise Refused(f"board: {slug!r} is not known; there is {listed}", NOT_FOUND) from None
        if hardware and hardware not in boards[slug]:
            listed = ", ".join(boards[slug]) or "none yet"
            raise Refused(f"hardware: {slug} is not judged on {hardware!r}; there is {listed}", NOT_FOUND) from None
        raise


def _hardware(board: JSON) -> list[str]:
    return list(map(str, sequence(board.get("hardware"))))
