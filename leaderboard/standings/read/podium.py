"""The rank that a result would have if it were published now: review requires two people for the podium."""

from __future__ import annotations

from leaderboard.competitions.calendar import window_of
from leaderboard.judging.models import Result
from leaderboard.review.integrity import PODIUM as PODIUM
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.level import level_pairs
from leaderboard.standings.ranking.ranking import Run, rank
from leaderboard.standings.read.table import run_of
from leaderboard.standings.read.windows import inside, stage_at


def would_rank(result: Result) -> int | None:
    """Return its rank among its epoch's and stage's lines, also frozen; None: no rank, or behind its entrant's own."""
    if result.ratio is None:
        return None
    submission = result.attempt.submission
    board = submission.board
    stage = stage_at(board, submission.created_at)
    window = window_of(board.competition.schedule, stage, board_deadline=board.deadline)
    entries = Entry.objects.filter(inside(window), board=board, epoch=result.epoch)
    runs = [run_of(entry) for entry in entries.exclude(submission=submission)]
    own = Run(
        ratio=result.ratio,
        half_width=result.half_width,
        forgeable=result.forgeable,
        submitted_at=submission.created_at,
        submission_id=submission.pk,
        entrant_id=submission.entrant_id,
        code=submission.kernel,
    )
    places = rank([*runs, own], level=level_pairs([board.pk]).get(board.pk, ()))
    return next((place.rank for place in places if submission.pk in place.value.submissions), None)
