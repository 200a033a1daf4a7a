"""A machine that was disturbed or unfit has measured nothing: another attempt follows, elsewhere where possible.

It costs the owner nothing: the submission counts once, however often it is measured.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from leaderboard.judging.models import FIRST, REJUDGE, REMEASURE, Attempt
from leaderboard.judging.shadow import follow

SPOILED: Final = ("voids", "device_unfit")  # reasons of `unmeasurable` that are the machine's
MOST: Final = 2  # further attempts; then it is shown as it is


def is_spoiled(outcome: str, reason: str) -> bool:
    return outcome == "unmeasurable" and reason in SPOILED


def measure_again(*, attempt: Attempt, now: datetime) -> Attempt | None:
    """The next attempt after this one that was spoiled; None once it was tried often enough."""
    row = Attempt.objects.of_line(attempt)
    began = row.filter(cause__in=(FIRST, REJUDGE)).order_by("-number").values_list("number", flat=True)[0]
    if row.filter(number__gte=began, outcome="unmeasurable", reason__in=SPOILED).count() > MOST:
        return None
    message = "The machine was not steady enough to time this; it is measured again, on another one if there is one"
    return follow(attempt, now=now, cause=REMEASURE, message=message)
