"""Pure: a track's winners and the entrants passed over, from its final standing, prizes and barred entrants.
Places are those of the standing without barred entrants; everybody behind moves up. Prizes go to places 1, 2, 3 … as
long as there are any. For tied entrants, the track's rule decides:

earlier   they take the places in turn, in the order in which they first were that fast
share     they share the places that they take: the sum of these prizes is split evenly to the cent. Remaining cents
          go to the earlier entrants, a cent each; prizes that are not money go to them in that order, undivided
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
    """An entrant's place in a track's ranking. Tied entrants share a `rank`."""

    entrant_id: int
    rank: int
    order: int  # in the standing: among tied entrants, the first who was that fast comes first
    why: str  # their achievement, for readers


@dataclass(frozen=True)
class Offer:
    """A prize for a place. `amount` None: no money."""

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
class Skipped:
    """An entrant who is barred from a place that wins, or stands among the winners."""

    entrant_id: int
    reason: str


@dataclass(frozen=True)
class Outcome:
    winners: tuple[Winner, ...]
    skipped: tuple[Skipped, ...]


def propose(lines: Iterable[Line], *, offers: Sequence[Offer], tie_rule: str, barred: Mapping[int, str]) -> Outcome:
    """Assign places and prizes. `barred`: entrant → reason. A track without prizes has one place, for the honour."""
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
    """Split an amount evenly to the smallest unit; the units that remain go to the first parts."""
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
