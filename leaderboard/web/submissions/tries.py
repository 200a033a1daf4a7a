"""Retries of a submission that a disturbed machine could not time: next try, its time, and measured figures so far."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from leaderboard.judging.faults import SPOILED, next_try, spoiled_tries
from leaderboard.judging.models import REMEASURE, Attempt
from leaderboard.judging.work import QUEUED, UNFINISHED
from leaderboard.submissions.models import Submission
from leaderboard.web.submissions.progress import Cases, measured_so_far


@dataclass(frozen=True)
class Tries:
    """`spoiled`: number of spoiled tries so far. `next`: a sentence about the next try, "" if there is none."""

    spoiled: int
    next: str
    not_before: datetime | None
    measured: Cases


def tries_of(submission: Submission, now: datetime) -> Tries:
    """Return the tries, without shadow attempts. After the last try its figures stand with its verdict, not here."""
    opened = Attempt.objects.in_the_open().filter(submission=submission)
    count = opened.filter(outcome="unmeasurable", reason__in=SPOILED).count()
    current = opened.filter(is_current=True, cause=REMEASURE, state__in=UNFINISHED).first() if count else None
    if current is None:
        return Tries(count, "", None, Cases([], []))
    tried = list(spoiled_tries(current).order_by("number"))
    began = "Judged again soon" if current.state == QUEUED else "Judged again now"
    sentence = f"{began}: {next_try(tried[-1].reason, len(tried))}"
    is_later = current.state == QUEUED and current.not_before is not None and current.not_before > now
    return Tries(count, sentence, current.not_before if is_later else None, measured_so_far(tried))
