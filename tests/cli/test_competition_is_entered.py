"""`photofinish enter`: rules are shown and accepted, a code opens what is closed."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")


@pytest.fixture
def cup(site: FakeSite) -> dict[str, object]:
    cup = {
        "slug": "cup",
        "name": "Kernel Cup",
        "phase": "contest",
        "until": "2026-12-01T12:00:00Z",
        "entrants": 3,
        "rules": "Be fair.",
        "rules_digest": "sha256:abc",
        "you": {"entrant": None, "accepted": False},
    }
    site.competitions = [cup]
    return cup


def test_competitions_are_listed(cup: object, photofinish: Photofinish) -> None:
    rows = [row.split("\t") for row in photofinish("competitions").out.splitlines()]
    assert rows == [
        ["competition", "name", "phase", "until", "entrants"],
        ["cup", "Kernel Cup", "contest", "2026-12-01 12:00 UTC", "3"],
    ]


def test_rules_are_not_accepted_by_accident(site: FakeSite, cup: object, photofinish: Photofinish) -> None:
    ended = photofinish("enter", "cup")
    assert ended.code == 2
    assert f"{site.url}/competitions/cup" in ended.err
    assert "--accept-rules" in ended.err
    assert site.sent == []


def test_rules_are_accepted_by_their_digest(site: FakeSite, cup: object, photofinish: Photofinish) -> None:
    ended = photofinish("enter", "cup", "--accept-rules")
    assert (ended.code, ended.out) == (0, "Kernel Cup: you are in it as ada\n")
    assert site.sent == [{"code": "", "rules_digest": "sha256:abc"}]


def test_who_is_in_it_sends_nothing(site: FakeSite, cup: dict[str, object], photofinish: Photofinish) -> None:
    cup["you"] = {"entrant": "ada", "accepted": True}
    assert photofinish("enter", "cup").code == 0
    assert site.sent == []


def test_a_code_goes_first_and_the_rules_are_left(site: FakeSite, cup: object, photofinish: Photofinish) -> None:
    ended = photofinish("enter", "cup", "--code", "pfi_1", "--accept-rules")
    assert ended.code == 0
    assert site.sent == [{"code": "pfi_1", "rules_digest": ""}, {"code": "", "rules_digest": "sha256:abc"}]


def test_what_does_not_exist_is_said(cup: object, photofinish: Photofinish) -> None:
    ended = photofinish("enter", "no-cup")
    assert (ended.code, "you see none called 'no-cup'" in ended.err) == (2, True)
