"""Pure: licences for published code. A short list of SPDX ids: enough to choose from, few enough to know."""

from __future__ import annotations

from typing import Final

from leaderboard.errors import UserError

ALL_RIGHTS_RESERVED: Final = "LicenseRef-All-Rights-Reserved"
DEFAULT: Final = "MIT"
LICENCES: Final = {
    "MIT": "MIT",
    "Apache-2.0": "Apache 2.0",
    "BSD-3-Clause": "BSD, three clauses",
    "GPL-3.0-or-later": "GNU GPL 3 or later",
    "CC0-1.0": "CC0, public domain",
    ALL_RIGHTS_RESERVED: "All rights reserved: may be read, not used",
}


def check_licence(given: str, *, default: str) -> str:
    """Return the SPDX id in its standard spelling, or `default` for an empty id. Raise UserError."""
    if not given:
        return default
    known = {name.lower(): name for name in LICENCES}
    if given.lower() not in known:
        told = given if len(given) <= 60 else given[:60] + "…"
        raise UserError("licence", given, f"{told!r} is none of {', '.join(LICENCES)}")
    return known[given.lower()]


def said(licence: str) -> str:
    """Return a licence in words; "" marks a submission from before there was a choice."""
    return LICENCES.get(licence, "none was chosen: all rights reserved")
