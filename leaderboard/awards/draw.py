"""A track's winners as of now, from the contest's full standing and everything further that decides.

The digest of this input is an award's basis. While it is unchanged, drawing again gives the same winners.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from leaderboard.awards import contested
from leaderboard.awards.contested import Pair
from leaderboard.awards.standing import barred_entrants, board_standings, places_of
from leaderboard.awards.winners import Outcome, propose
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
            "skipped": [{"entrant": entrant, "reason": reason} for entrant, reason in self.outcome.skipped.items()],
            "pairs": [
                asdict(pair) | {"candidate": list(pair.candidate), "incumbent": list(pair.incumbent)}
                for pair in self.pairs
            ],
        }


def draw(track: Track, *, now: datetime) -> Drawn:
    boards = board_standings(track, now=now)
    places = places_of(track, boards, now=now)
    barred = barred_entrants(track, [place.entrant_id for place in places])
    prizes = list(track.prizes.order_by("place"))
    outcome = propose(places, prizes=prizes, tie_rule=track.tie_rule, barred=barred)
    pairs = contested.pairs(track, boards, [place for place in places if place.entrant_id not in barred], outcome)
    basis = {
        "track": [track.kind, track.params, sorted(track.divisions), track.eligibility, track.tie_rule],
        "offers": [[one.place, str(one.amount), one.currency, one.sponsor, one.text] for one in prizes],
        "lines": [[place.entrant_id, place.rank, place.order, place.why] for place in places],
        "barred": sorted(barred.items()),
        "boards": [board.basis for board in boards],
    }
    digest = hashlib.sha256(json.dumps(basis, sort_keys=True).encode()).hexdigest()
    return Drawn(outcome, tuple(pairs), f"sha256:{digest}")


def names_of(contents: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Map every entrant in these awards to the name that the public reads: one query."""
    known = {one["entrant"] for content in contents for one in (*content["winners"], *content["skipped"])}
    known |= {pair[side] for content in contents for pair in content["pairs"] for side in ("upper", "lower")}
    return {entrant.pk: entrant.shown_name for entrant in Entrant.objects.filter(pk__in=known)}
