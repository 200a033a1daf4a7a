"""Pure: who stood first on a board from when on, by time of submission, as far as it is published now.

What was retracted or rejected since was never there, and what was cleared late stood from when it was sent. At every
moment it is exactly what ranking.py would have said of the runs until then; kept up run by run instead of ranked anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from leaderboard.standings.ranking.field import Field
from leaderboard.standings.ranking.ranking import Run, Value, pairs_of


@dataclass(frozen=True)
class Record:
    """A kernel that came to stand first."""

    value: Value  # as it was at that moment
    since: datetime
    until: datetime | None  # None: it does still
    gain: float | None  # how many times as fast as the one before; below 1 where an earlier one stands first in a tie


def records(runs: Iterable[Run], level: Iterable[tuple[int, int]] = ()) -> list[Record]:
    """The oldest first. `level`: as for `rank`."""
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
