"""Reports are large and seldom asked for, so that lists are read without them; here many are had for a moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from leaderboard.judging.models import Result

AT_ONCE: Final = 50  # reports in memory, of 40 kB of text each or so


def with_reports(results: Sequence[Result]) -> Iterator[list[Result]]:
    """All of them, some at a time; a report is there until the next ones are: one query for each AT_ONCE."""
    for first in range(0, len(results), AT_ONCE):
        some = list(results[first : first + AT_ONCE])
        reports = dict(Result.objects.filter(pk__in=[one.pk for one in some]).values_list("pk", "report"))
        for one in some:
            one.report = reports[one.pk]
        yield some
        for one in some:
            del one.report
