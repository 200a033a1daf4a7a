"""The single writer of Entry: publish a result's line, or withdraw a submission's."""

from __future__ import annotations

from datetime import datetime

from leaderboard.judging.models import Result
from leaderboard.standings.admission import refusal
from leaderboard.standings.models import Entry
from leaderboard.submissions.models import Submission


def publish(*, result: Result, now: datetime) -> Entry:
    """The submission's line on its board; one that an earlier attempt had is replaced."""
    if result.score_us is None or result.ratio is None or refusal(telemetry=result.telemetry):
        raise ValueError(f"{result} cannot rank")
    submission = result.attempt.submission
    entry, _ = Entry.objects.update_or_create(
        submission=submission,
        defaults={
            "board_id": submission.board_id,
            "owner_id": submission.owner_id,
            "entrant_id": submission.entrant_id,
            "attempt": result.attempt,
            "score_us": result.score_us,
            "ratio": result.ratio,
            "half_width": result.half_width,
            "epoch": result.epoch,
            "code_digest": submission.kernel,
            "forgeable": result.forgeable,
            "telemetry": result.telemetry,
            "submitted_at": submission.created_at,
            "published_at": now,
        },
    )
    return entry


def withdraw(*, submission: Submission) -> bool:
    """Take the submission's line off its board, if it has one."""
    deleted, _ = Entry.objects.filter(submission=submission).delete()
    return deleted > 0
