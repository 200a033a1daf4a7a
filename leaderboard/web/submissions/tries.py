"""A submission that a disturbed machine could not time: which try is next, when, and what was measured so far."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from leaderboard.judging.models import REMEASURE, Attempt
from leaderboard.judging.remeasure import SPOILED, next_try, spoiled_tries
from leaderboard.judging.states import QUEUED, UNFINISHED
from leaderboard.submissions.models import Submission
from leaderboard.web.submissions.progress import Cases, measured_so_far


@dataclass(frozen=True)
class Tries:
    """`spoiled` of them so far. `next`: the sentence about the one that follows, "" where none does."""

    spoiled: int
    next: str
    not_before: datetime | None
    measured: Cases


def tries_of(submission: Submission, now: datetime) -> Tries:
    """Nothing of the shadow. Figures only while a try is to come: after the last they stand with its verdict."""
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
