"""Reasons for rejection: a code for statistics, and the text that the owner reads."""

from __future__ import annotations

from typing import Final

from leaderboard.errors import UserError

REASONS: Final[dict[str, str]] = {
    "not_the_work": "does not do the work that the problem declares",
    "special_case": "is made for the tests: shapes, seeds or values are told apart",
    "reused_results": "reuses results of earlier calls",
    "tampering": "interferes with the clock, the judge or other processes",
    "precision": "computes in a precision that the problem does not allow",
    "copied": "is the work of somebody else",
    "rules": "is against the competition's rules",
    "unexplained": "is implausible, and nobody could explain it",
    "other": "other",
}


def check_code(code: str) -> None:
    if code not in REASONS:
        raise UserError("code", code, f"is no reason for a rejection; choose one of {', '.join(REASONS)}")
