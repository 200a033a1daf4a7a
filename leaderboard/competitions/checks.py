"""Checks of input: texts, names, settings, times, licences (SPDX ids) and money (ISO 4217).

Each raises UserError, or returns the checked value. The database has the same rules as constraints; here they have
messages.
"""

import itertools
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, Final

from babel.core import get_global
from babel.numbers import get_currency_precision, get_territory_currencies

from leaderboard.competitions.models import AGENT_RANKINGS, DIVISIONS, SCORINGS, VISIBILITIES
from leaderboard.errors import UserError

MAX_NAME_CHARS: Final = 128
MAX_TEXT_CHARS: Final = 50_000  # description, rules
MAX_SLUG_CHARS: Final = 64
MAX_TEAM_SIZE: Final = 100
MAX_TAGS: Final = 16  # per board
FARTHEST: Final = timedelta(days=3660)  # a time farther away is a typing error

_SLUG: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TAG: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
_HARDWARE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

TIMES: Final = ("practice_at", "contest_at", "freeze_at", "deadline", "merge_deadline")
SAID: Final = {
    "practice_at": "practice",
    "contest_at": "the contest",
    "freeze_at": "the freeze",
    "deadline": "the deadline",
    "merge_deadline": "the merge deadline",
    "final_at": "the moment at which the standing became final",
}
_ORDER: Final = ("practice_at", "contest_at", "freeze_at", "deadline", "final_at")

ALL_RIGHTS_RESERVED: Final = "LicenseRef-All-Rights-Reserved"
DEFAULT_LICENCE: Final = "MIT"
LICENCES: Final = {
    "MIT": "MIT",
    "Apache-2.0": "Apache 2.0",
    "BSD-3-Clause": "BSD, three clauses",
    "GPL-3.0-or-later": "GNU GPL 3 or later",
    "CC0-1.0": "CC0, public domain",
    ALL_RIGHTS_RESERVED: "All rights reserved: may be read, not used",
}


def check_text(field: str, value: str, *, most: int, least: int = 0) -> str:
    if "\x00" in value or not least <= len(value.strip()) <= len(value) <= most:
        raise UserError(field, value, f"give {f'{least} to' if least else 'at most'} {most:,} characters")
    return value


def check_line(field: str, value: str, *, most: int, least: int = 0) -> str:
    """Check a text for places that take a single line: subjects of mails, headings, titles in feeds."""
    check_text(field, value, most=most, least=least)
    if not value.isprintable():
        raise UserError(field, value, "give a single line of printable characters")
    return value


def check_slug(field: str, value: str) -> str:
    if not _SLUG.fullmatch(value) or len(value) > MAX_SLUG_CHARS:
        text = f"use small letters, digits and single dashes, at most {MAX_SLUG_CHARS}, such as spring-2027"
        raise UserError(field, value, text)
    return value


def check_hardware(value: str) -> str:
    if not _HARDWARE.fullmatch(value):
        raise UserError("hardware", value, "name it with letters, digits, _ . and - (at most 64), such as H200")
    return value


def check_tags(tags: Iterable[str]) -> list[str]:
    found = list(dict.fromkeys(tags))
    wrong = next((tag for tag in found if not _TAG.fullmatch(tag)), None)
    if wrong is not None:
        raise UserError("tags", wrong, "a tag has small letters, digits and dashes, at most 32, such as memory-bound")
    if len(found) > MAX_TAGS:
        raise UserError("tags", len(found), f"give a board at most {MAX_TAGS} tags")
    return found


def check_choice(field: str, value: str, known: Iterable[str]) -> str:
    if value not in known:
        raise UserError(field, value, f"choose one of {', '.join(known)}")
    return value


def check_divisions(field: str, values: Iterable[str]) -> list[str]:
    """Return the divisions in the order of DIVISIONS."""
    found = set(values)
    if not found or not found <= set(DIVISIONS):
        raise UserError(field, ", ".join(sorted(found)), f"choose at least one of {', '.join(DIVISIONS)}")
    return [division for division in DIVISIONS if division in found]


def check_settings(values: Mapping[str, Any]) -> None:
    """Check all editable fields of a competition together, with their new values."""
    check_line("name", values["name"], most=MAX_NAME_CHARS, least=1)
    check_text("description", values["description"], most=MAX_TEXT_CHARS)
    check_text("rules", values["rules"], most=MAX_TEXT_CHARS)
    check_choice("visibility", values["visibility"], VISIBILITIES)
    check_choice("scoring", values["scoring"], SCORINGS)
    check_choice("default_licence", values["default_licence"], LICENCES)
    check_divisions("divisions", values["divisions"])
    check_choice("agents_rank", values["agents_rank"], AGENT_RANKINGS)
    if not 1 <= values["max_team_size"] <= MAX_TEAM_SIZE:
        raise UserError("max_team_size", values["max_team_size"], f"give 1 (no teams) to {MAX_TEAM_SIZE}")
    check_order(values)


def check_order(values: Mapping[str, Any]) -> None:
    """Check that the given times of a competition follow each other."""
    given = [(field, moment) for field in _ORDER if (moment := values.get(field)) is not None]
    for (early, first), (late, then) in itertools.pairwise(given):
        if first > then:
            text = f"{SAID[late]} ({then:%Y-%m-%d %H:%M} UTC) cannot come before {SAID[early]} ({first:%Y-%m-%d %H:%M})"
            raise UserError(late if late != "final_at" else early, then, text)


def check_near(values: Mapping[str, Any], now: datetime) -> None:
    """Check newly typed times."""
    for field in TIMES:
        if (moment := values.get(field)) is not None:
            check_not_far(field, moment, now)


def check_not_far(field: str, moment: datetime, now: datetime) -> None:
    if abs(moment - now) > FARTHEST:
        raise UserError(field, moment, f"{moment:%Y-%m-%d} is more than ten years away: mind the year")


def check_licence(given: str, *, default: str, field: str = "licence") -> str:
    """Return the SPDX id in its standard spelling, or `default` for an empty id. Raise UserError about `field`."""
    if not given:
        return default
    known = {name.lower(): name for name in LICENCES}
    if given.lower() not in known:
        shortened = given if len(given) <= 60 else given[:60] + "…"
        raise UserError(field, given, f"the licence {shortened!r} is none of {', '.join(LICENCES)}")
    return known[given.lower()]


def licence_in_words(licence: str) -> str:
    """Return a licence in words; "" marks a submission from before there was a choice."""
    return LICENCES.get(licence, "none was chosen: all rights reserved")


def smallest_unit(currency: str) -> Decimal:
    return Decimal(1).scaleb(-get_currency_precision(currency))


@cache
def _currencies() -> set[str]:
    """Return the codes of today's currencies without those of three digits: prizes are kept to the cent."""
    codes = {code for territory in get_global("territory_currencies") for code in get_territory_currencies(territory)}
    return {code for code in codes if get_currency_precision(code) <= 2}


def check_money(amount: Decimal, currency: str) -> None:
    """Raise UserError that names `currency` or `amount`."""
    if currency not in _currencies():
        known = ", ".join(sorted(_currencies()))
        raise UserError("currency", currency, f"give a code of ISO 4217 in capital letters; known here are {known}")
    if amount % smallest_unit(currency):
        unit = "cents" if get_currency_precision(currency) else "whole units"
        raise UserError("amount", amount, f"{currency} is paid in {unit}; give no smaller part")
