"""A machine that was disturbed, unfit or overloaded says nothing: another attempt follows by itself, later, elsewhere.

Noise is the site's problem. The next attempt waits, each time twice as long as the last time, then stands at the end of
the queue; another runner of the hardware takes it where there is one. It costs the owner nothing: the submission counts
once, and after the last try its token comes back (usage.py). Nobody can ask for a further attempt: it follows from a
verdict that the judge reaches only by its own figures: where the baseline beside the kernel scattered too, or where
programs of others kept a container from the processor until a time limit ran out. Any other verdict ends the tries.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import QuerySet

from leaderboard.judging.models import FIRST, REJUDGE, REMEASURE, Attempt
from leaderboard.judging.shadow import follow

SPOILED: Final = ("voids", "device_unfit", "unsteady", "starved")  # reasons of `unmeasurable` that are the machine's
MOST: Final = 3  # further attempts; then the submission is shown as it is, with what was measured
WHY: Final = {"device_unfit": "the machine was not fit", "starved": "the machine was overloaded"}
DISTURBED: Final = "the machine was disturbed"


def is_spoiled(outcome: str, reason: str) -> bool:
    return outcome == "unmeasurable" and reason in SPOILED


def measure_again(*, attempt: Attempt, now: datetime) -> Attempt | None:
    """The next attempt after this one that was spoiled; None once it was tried often enough."""
    tried = spoiled_tries(attempt).count()
    if tried > MOST:
        return None
    message = f"Judged again soon: {next_try(attempt.reason, tried)}"
    wait = timedelta(seconds=settings.REMEASURE_AFTER_S) * 2 ** (tried - 1)
    return follow(attempt, now=now, cause=REMEASURE, message=message, not_before=now + wait)


def next_try(reason: str, tried: int) -> str:
    """Why there is a further try after so many, of which the last was spoiled for this reason, and its number."""
    return f"{WHY.get(reason, DISTURBED)} (try {tried + 1} of {MOST + 1})"


def spoiled_tries(attempt: Attempt) -> QuerySet[Attempt]:
    """Those of the judging that this attempt belongs to: since it was sent, or since an organiser asked again."""
    row = Attempt.objects.of_line(attempt)
    began = row.filter(cause__in=(FIRST, REJUDGE)).order_by("-number").values_list("number", flat=True)[0]
    return row.filter(number__gte=began, outcome="unmeasurable", reason__in=SPOILED)
