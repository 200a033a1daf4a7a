"""Pure: the successive leaders of a board by time of submission, from the lines that are published now.

A retracted or rejected run never counts, and a run that was cleared late counts from its time of submission. At every
moment the leader equals ranking.py's for the runs until then; it is maintained run by run instead of ranked anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from leaderboard.standings.ranking.field import Field
from leaderboard.standings.ranking.ranking import Run, Value, pairs_of


@dataclass(frozen=True)
class Record:
    """A kernel that took first place."""

    value: Value  # at that moment
    since: datetime
    until: datetime | None  # None: it still leads
    gain: float | None  # speedup over the leader before; below 1 if an earlier run stands first in a tie


def records(runs: Iterable[Run], level: Iterable[tuple[int, int]] = ()) -> list[Record]:
    """Return the records, oldest first. `level`: as for `rank`."""
    field, same = Field(), pairs_of(level)
    found: list[tuple[Value, datetime]] = []
    for run in sorted(runs, key=lambda run: (run.submitted_at, run.submission_id)):
        field.put(run)
        first = field.first(same)
        if not found or found[-1][0].submissions[0] != first.submissions[0]:
            found.append((first, run.submitted_at))
    if not found:
        return []
    ends = [moment for _, moment in found[1:]]
    before = [value for value, _ in found]
    return [
        Record(value, moment, until, gain=before[at - 1].ratio / value.ratio if at else None)
        for at, ((value, moment), until) in enumerate(zip(found, [*ends, None], strict=True))
    ]
