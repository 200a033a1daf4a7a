"""Helpers for tests of awards: a finished contest with tracks and prizes."""

from decimal import Decimal
from typing import Any

from leaderboard.competitions.models import Prize, Track
from leaderboard.submissions.models import Submission
from tests.leaderboard.stage import Stage

BOARD = {"slug": "softmax", "hardware": "cpu"}


def sent(stage: Stage, owner: Any, ratio: float, **told: Any) -> Submission:
    submission = stage.submit(owner, **told)
    stage.judge(submission, ratio=ratio)
    return submission


def over(stage: Stage) -> None:
    """Move the contest's deadline into the past."""
    competition = stage.board.competition
    competition.deadline = stage.later(1)
    competition.save()
    stage.later(1)


def track(stage: Stage, *amounts: int, **told: Any) -> Track:
    made = Track.objects.create(
        competition=stage.board.competition,
        **{"slug": "best", "name": "Best softmax", "kind": Track.BOARD, "params": BOARD} | told,
    )
    for place, amount in enumerate(amounts, 1):
        Prize.objects.create(track=made, place=place, amount=Decimal(amount), currency="EUR", sponsor="Acme")
    return made
