"""Pages of long lists by key: a page begins beside a row of the page before it, so that every page costs the same.

A cursor names that row and the direction. It is signed: nobody can make a cursor, or use the cursor of another list.
No page counts the rows of a table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.core.signing import BadSignature, Signer
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from leaderboard.errors import UserError

CURSOR_CHARS: Final = 300
BACK: Final = "back"
ON: Final = "on"


@dataclass(frozen=True)
class Page:
    rows: list[Any]
    before: str = ""  # cursor of the rows above; "": these are the first
    after: str = ""  # cursor of the rows below; "": these are the last
    start: int = 0  # place of the first row in a list in memory


def page_of(rows: QuerySet[Any], *, order: Sequence[str], name: str, cursor: str, size: int) -> Page:
    """Return the page of a list at a cursor; the first page for "".

    `order`: fields of the rows, all ascending or all descending ("-field"), of which the last is unique. `name`: of the
    list with its filters. Raises UserError for a cursor of another list.
    """
    fields, descending = [field.removeprefix("-") for field in order], order[0].startswith("-")
    direction, values = _read(cursor, name, len(fields)) if cursor else (ON, [])
    backwards = direction == BACK
    if values:
        rows = rows.filter(_beyond(fields, values, less=descending != backwards))
    found = list(rows.order_by(*(f"{'-' if descending != backwards else ''}{field}" for field in fields))[: size + 1])
    more = len(found) > size
    found = found[:size][::-1] if backwards else found[:size]
    if not found:
        return Page([])
    has_above, has_below = (more, True) if backwards else (bool(values), more)
    return Page(
        found,
        before=_write(BACK, found[0], fields, name) if has_above else "",
        after=_write(ON, found[-1], fields, name) if has_below else "",
    )


def page_of_list(
    rows: Sequence[Any], *, key: Callable[[Any], object], name: str, cursor: str, size: int, start: int = 0
) -> Page:
    """Return the page of a list in memory at a cursor; the page from `start` on for "".

    `key`: of a row, unique. Rows that arrive meanwhile shift no page. If the row of the cursor is gone, the page begins
    at its former place.
    """
    end = start + size
    if cursor:
        direction, (anchor, place) = _read(cursor, name, 2)
        at = next((number for number, row in enumerate(rows) if str(key(row)) == anchor), None)
        if direction == BACK:
            end = min(int(place), len(rows)) if at is None else at
            start = max(0, end - size)
        else:
            start = int(place) if at is None else at + 1
            end = start + size
    found = list(rows[start:end])
    if not found:
        return Page([], start=start)
    last = start + len(found)
    above, below = ([str(key(row)), str(place)] for row, place in ((found[0], start), (found[-1], last - 1)))
    return Page(
        found,
        before=_signer(name).sign_object([BACK, *above]) if start else "",
        after=_signer(name).sign_object([ON, *below]) if last < len(rows) else "",
        start=start,
    )


def page_at(
    request: HttpRequest, rows: QuerySet[Any], *, order: Sequence[str], name: str, size: int, parameter: str = "cursor"
) -> Page:
    """Return the page that the address of a page of the site names; the first page for a wrong cursor."""
    try:
        return page_of(rows, order=order, name=name, cursor=request.GET.get(parameter, ""), size=size)
    except UserError:
        return page_of(rows, order=order, name=name, cursor="", size=size)


def _beyond(fields: Sequence[str], values: Sequence[Any], *, less: bool) -> Q:
    """Return a condition: the row follows the row with these values."""
    sign = "lt" if less else "gt"
    wanted = Q(**{f"{fields[-1]}__{sign}": values[-1]})
    for field, value in list(zip(fields, values, strict=True))[-2::-1]:
        # The first condition alone bounds the range of an index.
        wanted = Q(**{f"{field}__{sign}e": value}) & (Q(**{f"{field}__{sign}": value}) | wanted)
    return wanted


def _signer(name: str) -> Signer:
    return Signer(salt=f"photofinish.cursor.{name}")


def _write(direction: str, row: Any, fields: Sequence[str], name: str) -> str:
    values = [getattr(row, field) for field in fields]
    return _signer(name).sign_object([direction, *(str(value) for value in values)])


def _read(cursor: str, name: str, fields: int) -> tuple[str, list[str]]:
    try:
        if len(cursor) > CURSOR_CHARS:
            raise BadSignature
        direction, *values = _signer(name).unsign_object(cursor)
        if len(values) != fields:  # of an earlier version
            raise BadSignature
    except (BadSignature, ValueError):
        raise UserError("cursor", cursor, "is no cursor of this list; begin without one") from None
    return direction, values
