"""Check names that a person typed against the site: hardware of a board, board, submission.

An answer of 404 becomes a sentence that repeats the name and lists the existing names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .api import JSON, Api
from .errors import Misuse, Refused

NOT_FOUND: Final = 404
MAX_ID_DIGITS: Final = 18  # limit of the site's keys


def submission_id(asked: str) -> str:
    """Check the number of a submission. Raises Misuse."""
    if not (asked.isascii() and asked.isdecimal() and len(asked) <= MAX_ID_DIGITS):
        raise Misuse(f"ID: {asked!r} is not the number of a submission, such as 26; see `photofinish list`")
    return asked


def submission(api: Api, number: str) -> JSON:
    with _known(number):
        return api.submission(number)


def cancelled(api: Api, number: str) -> JSON:
    """Cancel a submission and return it."""
    with _known(number):
        return api.cancel(number)


def submissions(api: Api, board: str, limit: int) -> list[JSON]:
    """Return the caller's submissions, newest first. `board` "": of every board."""
    found = api.submissions(board or None, limit)
    if board and not found:
        with _explained(api, board, ""):
            api.board(board)
    return found


def entries(api: Api, slug: str, hardware: str, most: int) -> list[JSON]:
    """Return the first lines of a board's ranking. `hardware` "": for a board with a single hardware."""
    where = hardware or only_hardware(api, slug)
    with _explained(api, slug, where):
        return api.entries(slug, where, most)


def quota(api: Api, board: str) -> list[JSON]:
    """Return the remaining quota of a board. `board` "": all boards with spent quota."""
    with _explained(api, board, ""):
        return api.quota(board)


def only_hardware(api: Api, slug: str) -> str:
    with _explained(api, slug, ""):
        known = _hardware(api.board(slug))
    if len(known) != 1:
        raise Misuse(f"hardware: {slug} has {', '.join(known) or 'none'}; say which with --hardware")
    return known[0]


@contextmanager
def _known(number: str) -> Iterator[None]:
    try:
        yield
    except Refused as error:
        if error.status != NOT_FOUND:
            raise
        raise Refused(f"ID: there is no submission {number}, or it is not yours; see `photofinish list`", 404) from None


@contextmanager
def _explained(api: Api, slug: str, hardware: str) -> Iterator[None]:
    try:
        yield
    except Refused as error:
        if error.status != NOT_FOUND:
            raise
        boards = {str(board.get("slug", "")): _hardware(board) for board in api.boards()}
        if slug not in boards:
            raise Refused(f"board: {slug!r} is not known; there is {_listed(boards)}", NOT_FOUND) from None
        if hardware and hardware not in boards[slug]:
            message = f"hardware: {slug} is not judged on {hardware!r}; there is {_listed(boards[slug])}"
            raise Refused(message, NOT_FOUND) from None
        raise


def _hardware(board: JSON) -> list[str]:
    names = board.get("hardware")
    return [str(name) for name in names] if isinstance(names, list) else []


def _listed(names: list[str] | dict[str, list[str]]) -> str:
    return ", ".join(names) or "none yet"
