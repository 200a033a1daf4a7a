"""Load reports in batches: reports are large and rarely needed, so lists are read without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from leaderboard.judging.models import Result

AT_ONCE: Final = 50  # reports in memory, of about 40 kB of text each


def with_reports(results: Sequence[Result]) -> Iterator[list[Result]]:
    """Yield the results in batches of AT_ONCE, one query each.

    A batch holds its reports until the next batch is read.
    """
    for first in range(0, len(results), AT_ONCE):
        some = list(results[first : first + AT_ONCE])
        reports = dict(Result.objects.filter(pk__in=[one.pk for one in some]).values_list("pk", "report"))
        for one in some:
            one.report = reports[one.pk]
        yield some
        for one in some:
            del one.report
