"""Permissions of every address of the site: all roles, reading and sending.

permission_table.py has a line for each address of the URLconf; a missing line fails the first test. The last test reads
every public address for the words that matrix_stage.py planted in content hidden from strangers.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.db import transaction

from tests.web.addresses import routes
from tests.web.permission_table import HIDDEN, OF_ONE, PUBLIC_AS_WELL, TABLE, WHO

if TYPE_CHECKING:
    from django.http import HttpResponseBase

    from tests.web.matrix_stage import Everything


@pytest.fixture
def everything(stage) -> Everything:
    from tests.web.matrix_stage import build

    return build(stage)


@pytest.fixture(autouse=True)
def _refusals_are_expected() -> Iterator[None]:
    """Disable logging: a thousand logged refusals take longer than all requests."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_every_address_is_in_the_table() -> None:
    known = set(routes())
    missing = sorted(known - set(TABLE))
    assert not missing, f"add to TABLE of tests/web/permission_table.py who may read and send here: {missing}"
    assert not sorted(set(TABLE) - known), "TABLE has addresses that the site has not: take them out"


@pytest.mark.timeout(900)  # some 9,000 requests
def test_everybody_gets_what_the_table_says(everything, browser) -> None:
    wrong = [
        f"{who} {method} {address}: {expected} expected, got {got}"
        for who in WHO
        for method, address, expected, got in _asked(browser(everything.people[who]), WHO.index(who), everything)
        if got != expected
    ]
    assert not wrong, "\n".join(wrong)


def test_what_is_hidden_could_be_found(everything, browser) -> None:
    """The administrator finds each planted word, which proves that the next test can fail."""
    from tests.web.matrix_stage import PLANTED

    client = browser(everything.people["administrator"])
    pages = [f"/submissions/{everything.keys[key]}" for key in HIDDEN]
    read = b"".join(client.get(page).content for page in pages)
    assert not [word for word in PLANTED if word.encode() not in read]


def test_nothing_hidden_is_in_any_public_answer(everything, browser) -> None:
    from tests.web.matrix_stage import PLANTED

    found = []
    for who in ("anonymous", "stranger"):
        client = browser(everything.people[who])
        client.raise_request_exception = False
        for address in _readable():
            answer = client.get(address.format_map(everything.keys))
            body = b"" if answer.streaming else answer.content
            assert answer.status_code < 500, address
            found += [f"{who} {address}: {word}" for word in PLANTED if word.encode() in body]
    assert not found, "\n".join(found)


def _asked(client, place: int, everything: Everything) -> Iterator[tuple[str, str, str, str]]:
    """Request each address by GET and by POST with an empty body, and roll back the effects.

    Where an address is open to a person and to the next ones of WHO on either side, or takes the method from none of
    them, this person does not ask.
    """
    from leaderboard.web import limits

    client.raise_request_exception = False
    signed_in = client.cookies.output()
    for address, *expected in itertools.chain.from_iterable(TABLE.values()):
        for method, letters in zip(("GET", "POST"), expected, strict=True):
            around = {_letter_of(letters, place + step) for step in (-1, 0, 1)}
            if around in ({"A"}, {"M"}) and 0 < place < len(WHO) - 1:
                continue
            path = address.format_map(everything.keys)
            limits.floods.clear()
            with transaction.atomic():
                answer = client.get(path) if method == "GET" else client.post(path, **_nothing(path))
                transaction.set_rollback(True)
            if client.cookies.output() != signed_in:  # signing out cleared the cookies
                client.cookies.load(signed_in.replace("Set-Cookie: ", ""))
            yield method, path, _letter_of(letters, place), _said(answer)


def _nothing(path: str) -> dict[str, str]:
    """Return the content type for the path: the API refuses unreadable bodies before it checks permissions."""
    return {"content_type": "application/json"} if path.startswith("/api/") else {}


def _letter_of(letters: str, place: int) -> str:
    """Return the letter at this place; in "IN", I is for the first person and N for all others."""
    return letters[min(place, len(letters) - 1)]


def _said(answer: HttpResponseBase) -> str:
    status = answer.status_code
    if status == 302 and answer["Location"].startswith("/sign-in"):
        return "I"
    return {401: "I", 403: "F", 404: "N", 405: "M"}.get(status, "A" if status < 500 else str(status))


def _readable() -> list[str]:
    return [
        *(address for lines in TABLE.values() for address, get, _ in lines if get != "M"),
        *PUBLIC_AS_WELL,
        *(address.format(pk=f"{{{key}}}") for address in OF_ONE for key in HIDDEN),
    ]
