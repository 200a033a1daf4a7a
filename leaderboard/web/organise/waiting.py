"""Work that waits for an organiser of one competition: the figures of its first page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from leaderboard.admissions.door import refusals
from leaderboard.competitions.models import Competition
from leaderboard.judging.models import Attempt
from leaderboard.judging.verdicts import judged_since
from leaderboard.judging.work import QUEUED, RUNNING
from leaderboard.review.case import states
from leaderboard.review.case.settle import unsettled
from leaderboard.review.models import Case


@dataclass(frozen=True)
class Waits:
    """A kind of waiting work: its count, the action to take, and its address. `urgent`: it stops a person."""

    count: int
    text: str
    url: str
    urgent: bool = True


def of(competition: Competition, now: datetime) -> list[Waits]:
    """Return the kinds of work that exist, in a fixed number of queries."""
    base = f"/organise/{competition.slug}"
    attempts = Attempt.objects.current().filter(submission__board__competition=competition)
    cases = Case.objects.filter(~judged_since("result__attempt"), board__competition=competition)
    review = f"/review?competition={competition.slug}"
    closed = sum(bool(why) for why in refusals(competition.boards.all()).values())
    unsupported = competition.boards.filter(version__bundle__has_key="unsupported")
    unsupported = unsupported.exclude(version__bundle__unsupported="")
    found = [
        Waits(cases.filter(state__in=states.HELD).count(), "held for review", review),
        Waits(cases.filter(state=states.APPEALED).count(), "appealed", f"{review}&state={states.APPEALED}"),
        Waits(unsettled(competition).count(), "confirmations that decided nothing", f"{base}/confirmations"),
        Waits(closed, "closed by the admission test", f"{base}/boards"),
        Waits(unsupported.count(), "cannot be judged here", f"{base}/boards"),
        Waits(attempts.filter(state=QUEUED).count(), "queued", f"{base}/state", urgent=False),
        Waits(attempts.filter(state__in=RUNNING).count(), "being judged", f"{base}/state", urgent=False),
    ]
    return [one for one in found if one.count]


def counts(competition: Competition) -> dict[str, int]:
    return {
        "boards": competition.boards.count(),
        "entrants": competition.entrants.count(),
        "submissions": Attempt.objects.current().filter(submission__board__competition=competition).count(),
        "tracks": competition.tracks.count(),
        "organisers": competition.roles.count(),
    }
