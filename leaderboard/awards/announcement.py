"""Awards in words: tie rules, places, money, winners."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from leaderboard.awards.draw import names_of
from leaderboard.awards.models import Award
from leaderboard.competitions.models import Track

TIE_RULES: Final = {
    Track.EARLIER: "Entrants who are tied within the noise take the places one by one: whoever was that fast first "
    "stands before the others.",
    Track.SHARE: "Entrants who are tied within the noise share the places that they take: the sum of these prizes is "
    "split evenly to the cent; cents that are left go to the earlier ones, as does what is not money, in that order.",
}


THIN: Final = "\N{NARROW NO-BREAK SPACE}"


def place(number: int) -> str:
    if 11 <= number % 100 <= 13:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def money(amount: Decimal | str, currency: str) -> str:
    """Format an amount, as in "EUR 1,000" or "EUR 12.50".

    It uses the currency's code because a sign like $ is ambiguous.
    """
    return f"{currency}{THIN}{Decimal(amount):,.2f}".removesuffix(".00")


def won(winner: Mapping[str, Any]) -> str:
    """Describe a winner's prize; "" for the honour alone."""
    return " and ".join([*(money(one["amount"], one["currency"]) for one in winner["money"]), *winner["things"]])


def announcement(award: Award) -> tuple[str, str]:
    """Return title and text."""
    names = names_of([award.content])
    lines = [
        f"{place(winner['place'])} place{' (shared)' if winner['shared_by'] > 1 else ''}: "
        f"{names.get(winner['entrant'], 'an entrant')}" + (f", {won(winner)}" if won(winner) else "")
        for winner in award.winners
    ]
    return f"Winners: {award.track.name}"[:200], "\n".join(lines)
