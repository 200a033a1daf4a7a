"""A track's winners as of now: reads the contest's full standing and everything further that decides.

The digest of this input is an award's basis. While it is unchanged, drawing again gives the same winners.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leaderboard.awards import contested
from leaderboard.awards.barred import barred_entrants
from leaderboard.awards.contested import Pair
from leaderboard.awards.standing import board_standings, lines_of
from leaderboard.awards.winners import Offer, Outcome, propose
from leaderboard.competitions.models import Track
from leaderboard.entrants.models import Entrant


@dataclass(frozen=True)
class Drawn:
    outcome: Outcome
    pairs: tuple[Pair, ...]  # to be confirmed before approval
    basis: str

    def to_json(self) -> dict[str, Any]:
        return {
            "winners": [winner.to_json() for winner in self.outcome.winners],
            "skipped": [{"entrant": one.entrant_id, "reason": one.reason} for one in self.outcome.skipped],
            "pairs": [pair.to_json() for pair in self.pairs],
        }


def draw(track: Track, *, now: datetime) -> Drawn:
    boards = board_standings(track, now=now)
    lines = lines_of(track, boards, now=now)
    barred = barred_entrants(track, [line.entrant_id for line in lines], now=now)
    offers = offers_of(track)
    outcome = propose(lines, offers=offers, tie_rule=track.tie_rule, barred=barred)
    pairs = contested.pairs(track, boards, [line for line in lines if line.entrant_id not in barred], outcome)
    said = {
        "track": [track.kind, track.params, sorted(track.divisions), track.eligibility, track.tie_rule],
        "offers": [[o.place, str(o.amount), o.currency, o.sponsor, o.text] for o in offers],
        "lines": [[line.entrant_id, line.rank, line.order, line.why] for line in lines],
        "barred": sorted(barred.items()),
        "boards": [board.basis for board in boards],
    }
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    return Drawn(outcome, tuple(pairs), f"sha256:{digest}")


def offers_of(track: Track) -> list[Offer]:
    return [
        Offer(prize.place, prize.amount, prize.currency, prize.sponsor, prize.text)
        for prize in track.prizes.order_by("place")
    ]


def names_of(contents: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Map every entrant in these awards to the name that the public reads: one query."""
    known = {one["entrant"] for content in contents for one in (*content["winners"], *content["skipped"])}
    known |= {pair[side] for content in contents for pair in content["pairs"] for side in ("upper", "lower")}
    return {entrant.pk: entrant.shown_name for entrant in Entrant.objects.filter(pk__in=known)}
