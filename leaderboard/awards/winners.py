"""Pure: a track's winners and the entrants passed over, from its final standing, prizes and barred entrants.

Places are those of the standing without barred entrants; everybody behind moves up. Prizes go to places 1, 2, 3 … as
long as there are any. For tied entrants, the track's rule decides:

earlier   they take the places in turn, in the order in which they first were that fast
share     they share the places that they take: the sum of these prizes is split evenly to the cent. Remaining cents
          go to the earlier entrants, a cent each; prizes that are not money go to them in that order, undivided
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from itertools import groupby
from typing import Any, Final

from babel.numbers import format_currency

from leaderboard.competitions.checks import smallest_unit
from leaderboard.competitions.models import Prize, Track

CENT: Final = Decimal("0.01")
TIE_RULES: Final = {
    Track.EARLIER: "Entrants who are tied within the noise take the places one by one: whoever was that fast first "
    "stands before the others.",
    Track.SHARE: "Entrants who are tied within the noise share the places that they take: the sum of these prizes is "
    "split evenly to the cent; cents that are left go to the earlier ones, as does what is not money, in that order.",
}


@dataclass(frozen=True)
class TrackPlace:
    """An entrant's place in a track's ranking. Tied entrants share a `rank`."""

    entrant_id: int
    rank: int
    order: int  # in the standing: among tied entrants, the first who was that fast comes first
    why: str  # their achievement, for readers


@dataclass(frozen=True)
class Money:
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class Winner:
    place: int  # the first place of a shared group
    shared_by: int  # 1: alone
    entrant_id: int
    money: tuple[Money, ...]
    things: tuple[str, ...]  # prizes besides money
    sponsors: tuple[str, ...]
    why: str

    def to_json(self) -> dict[str, Any]:
        return {
            "place": self.place,
            "shared_by": self.shared_by,
            "entrant": self.entrant_id,
            "money": [{"amount": str(one.amount), "currency": one.currency} for one in self.money],
            "things": list(self.things),
            "sponsors": list(self.sponsors),
            "why": self.why,
        }


@dataclass(frozen=True)
class Outcome:
    winners: tuple[Winner, ...]
    skipped: Mapping[int, str]  # barred entrants before or among the winners, with the reason


def propose(
    places: Iterable[TrackPlace], *, prizes: Sequence[Prize], tie_rule: str, barred: Mapping[int, str]
) -> Outcome:
    """Assign places and prizes. `barred`: entrant → reason. A track without prizes has one place, for the honour."""
    last = max((prize.place for prize in prizes), default=1)
    winners: list[Winner] = []
    skipped: dict[int, str] = {}
    taken = 0
    ordered = sorted(places, key=lambda place: (place.rank, place.order))
    for _, tied in groupby(ordered, key=lambda place: place.rank):
        group = []
        for place in tied:
            if place.entrant_id in barred:
                skipped[place.entrant_id] = barred[place.entrant_id]
            else:
                group.append(place)
        if tie_rule == Track.SHARE and len(group) > 1:
            winners += _shared(group, taken, prizes)
        else:
            for number, place in enumerate(group[: last - taken], start=taken + 1):
                own = [prize for prize in prizes if prize.place == number]
                money = tuple(Money(prize.amount, prize.currency) for prize in own if prize.amount is not None)
                things = tuple(prize.text for prize in own if prize.text)
                winners.append(Winner(number, 1, place.entrant_id, money, things, _sponsors(own), place.why))
        taken += len(group)
        if taken >= last:
            break
    return Outcome(tuple(winners), skipped)


def _shared(group: Sequence[TrackPlace], taken: int, prizes: Sequence[Prize]) -> list[Winner]:
    """Split the prizes of the group's places. `taken`: places before the group."""
    won = sorted((prize for prize in prizes if taken < prize.place <= taken + len(group)), key=lambda one: one.place)
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for prize in won:
        if prize.amount is not None:
            sums[prize.currency] += prize.amount
    shares = {currency: split(total, len(group), smallest_unit(currency)) for currency, total in sorted(sums.items())}
    things = {prize.place - taken - 1: prize.text for prize in won if prize.text}
    return [
        Winner(
            place=taken + 1,
            shared_by=len(group),
            entrant_id=place.entrant_id,
            money=tuple(Money(parts[number], currency) for currency, parts in shares.items() if parts[number]),
            things=(things[number],) if number in things else (),
            sponsors=_sponsors(won),
            why=place.why,
        )
        for number, place in enumerate(group)
    ]


def split(total: Decimal, parts: int, unit: Decimal = CENT) -> list[Decimal]:
    """Split an amount evenly to the smallest unit; the units that remain go to the first parts."""
    each = (total / parts).quantize(unit, rounding=ROUND_DOWN)
    left = int((total - each * parts) / unit)
    return [each + (unit if number < left else 0) for number in range(parts)]


def _sponsors(prizes: Iterable[Prize]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(prize.sponsor for prize in prizes if prize.sponsor))


def ordinal(number: int) -> str:
    if 11 <= number % 100 <= 13:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def money(amount: Decimal | str, currency: str) -> str:
    """Format an amount, as in "EUR 1,000" or "EUR 12.50".

    It uses the currency's code because a sign like $ is ambiguous.
    """
    shown: str = format_currency(Decimal(amount), currency, "¤¤\N{NARROW NO-BREAK SPACE}#,##0.00", locale="en")
    return shown.removesuffix(".00")


def won(winner: Mapping[str, Any]) -> str:
    """Describe the prize of a winner in JSON form; "" for the honour alone."""
    return " and ".join([*(money(one["amount"], one["currency"]) for one in winner["money"]), *winner["things"]])
