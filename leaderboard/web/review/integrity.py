"""Results of review in a competition, as page and API show them: numbers without names."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from leaderboard.competitions.models import Competition
from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_seen_by
from leaderboard.review.integrity import OTHERS, Integrity, integrity
from leaderboard.review.rules.thresholds import RULES

MEANINGS: Final = {
    OTHERS: "rules that held fewer than five results each",
    "by_hand": "a reviewer held it, of their own accord or after a complaint",
    "rejected_before": "an earlier result of the same kernel had been rejected",
    "held_before": "an earlier result of the same kernel was held, for what no rule measures",
    "kernel_rejected": "another run of the same kernel was rejected",
    "record_failed": "it failed when its first place was confirmed on fresh seeds",
}


def show(slug: str, viewer: Viewer, now: datetime) -> tuple[Competition, Integrity] | None:
    """Return the figures, or None if there is no such competition or this viewer may not see it."""
    competition = competitions_seen_by(viewer).filter(slug=slug).first()
    if competition is None:
        return None
    boards = boards_seen_by(viewer).filter(competition=competition)
    return competition, integrity(competition, boards, now)


def meaning(rule: str) -> str:
    return MEANINGS.get(rule) or (RULES[rule].meaning if rule in RULES else "")
