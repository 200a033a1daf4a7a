"""Pure: who wins what, and who is passed over. From a track's final standing, its prizes and who may not win it.

Places are those of the standing without those who may not win it; everybody behind moves up. Prizes are given to places
1, 2, 3 … as long as there are any. What happens where entrants are tied is the track's rule:

earlier   they take the places one by one, whoever was that fast first before the others
share     they share the places that they take: the sum of these prizes is split evenly to the cent, what does not
          divide goes, a cent each, to the earlier ones; what is not money goes to them in that order, undivided
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from itertools import groupby
from typing import Any, Final

from leaderboard.competitions.currencies import smallest_unit

EARLIER: Final = "earlier"
SHARE: Final = "share"
CENT: Final = Decimal("0.01")


@dataclass(frozen=True)
class Line:
    """Where an entrant stands in what a track ranks. `rank` is shared by those who are tied."""

    entrant_id: int
    rank: int
    order: int  # in the standing: of those who are tied, whoever was that fast first stands first
    why: str  # what they did, for a person


@dataclass(frozen=True)
class Offer:
    """A prize of a place. `amount` None: no money."""

    place: int
    amount: Decimal | None = None
    currency: str = ""
    sponsor: str = ""
    text: str = ""


@dataclass(frozen=True)
class Money:
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class Winner:
    place: int  # the first of those that are shared, where they are
    shared_by: int  # 1: alone
    entrant_id: int
    money: tuple[Money, ...]
    things: tuple[str, ...]  # what is not money
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
class Skipped:
    """Would have won, or stands among those who do, and may not."""

    entrant_id: int
    reason: str


@dataclass(frozen=True)
class Outcome:
    winners: tuple[Winner, ...]
    skipped: tuple[Skipped, ...]


def propose(lines: Iterable[Line], *, offers: Sequence[Offer], tie_rule: str, barred: Mapping[int, str]) -> Outcome:
    """`barred`: entrant → why it may not win. A track without prizes has one place, for the honour."""
    places = max((offer.place for offer in offers), default=1)
    winners: list[Winner] = []
    skipped: list[Skipped] = []
    taken = 0
    ordered = sorted(lines, key=lambda line: (line.rank, line.order))
    for _, tied in groupby(ordered, key=lambda line: line.rank):
        group = []
        for line in tied:
            if line.entrant_id in barred:
                skipped.append(Skipped(line.entrant_id, barred[line.entrant_id]))
            else:
                group.append(line)
        given = _shared(group, taken, offers) if tie_rule == SHARE else _one_by_one(group, taken, offers, places)
        winners += given
        taken += len(group)
        if taken >= places:
            break
    return Outcome(tuple(winners), tuple(skipped))


def split(total: Decimal, parts: int, unit: Decimal = CENT) -> list[Decimal]:
    """Evenly to the smallest unit; the units that are left go to the first ones."""
    each = (total / parts).quantize(unit, rounding=ROUND_DOWN)
    left = int((total - each * parts) / unit)
    return [each + (unit if number < left else 0) for number in range(parts)]


def _one_by_one(group: Sequence[Line], taken: int, offers: Sequence[Offer], places: int) -> list[Winner]:
    return [
        _winner(line, place, 1, [offer for offer in offers if offer.place == place])
        for place, line in enumerate(group, taken + 1)
        if place <= places
    ]


def _winner(line: Line, place: int, shared_by: int, offers: Sequence[Offer]) -> Winner:
    return Winner(
        place=place,
        shared_by=shared_by,
        entrant_id=line.entrant_id,
        money=tuple(Money(offer.amount, offer.currency) for offer in offers if offer.amount is not None),
        things=tuple(offer.text for offer in offers if offer.text),
        sponsors=_sponsors(offers),
        why=line.why,
    )


def _shared(group: Sequence[Line], taken: int, offers: Sequence[Offer]) -> list[Winner]:
    if len(group) <= 1:
        return [_winner(line, taken + 1, 1, [o for o in offers if o.place == taken + 1]) for line in group]
    won = sorted((offer for offer in offers if taken < offer.place <= taken + len(group)), key=lambda one: one.place)
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for offer in won:
        if offer.amount is not None:
            sums[offer.currency] += offer.amount
    shares = {currency: split(total, len(group), smallest_unit(currency)) for currency, total in sorted(sums.items())}
    things = {offer.place - taken - 1: offer.text for offer in won if offer.text}
    return [
        Winner(
            place=taken + 1,
            shared_by=len(group),
            entrant_id=line.entrant_id,
            money=tuple(Money(parts[number], currency) for currency, parts in shares.items() if parts[number]),
            things=(things[number],) if number in things else (),
            sponsors=_sponsors(won),
            why=line.why,
        )
        for number, line in enumerate(group)
    ]


def _sponsors(offers: Iterable[Offer]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(offer.sponsor for offer in offers if offer.sponsor))
