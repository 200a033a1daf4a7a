"""Candidates of batches that were judged before: the stored verdict answers a kernel that its sender tests again.

A candidate is looked up when its batch is sent, and as long as it waits, whenever a verdict of its batch comes: equal
candidates of one batch are judged once.

A stored verdict answers in mode test alone, as times must be measured anew. It is one on a submission of the sender,
their agents or their teams: an answer from a stranger's kernel would tell that this kernel exists. Both sources have
the same tokens, and it was judged by the same version of the problem, on the same hardware, in the timing epoch that is
current there, so by the same software. Only `passed` and `wrong` answer: other outcomes may be due to the host.

Each judgement draws secret seeds. A contest with an end or a prize promises fresh seeds to each submission: there, each
candidate is judged.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import Stage, stage_of
from leaderboard.competitions.models import Board, Prize
from leaderboard.judging import archive
from leaderboard.judging.attempts import end_at_once
from leaderboard.judging.epochs import current_epoch
from leaderboard.judging.models import Attempt, Result, ResultArchived
from leaderboard.judging.report import KEPT
from leaderboard.submissions.models import Submission
from leaderboard.submissions.permissions import is_own
from runner.wire import TEST

ANSWERING: Final = ("passed", "wrong")
MESSAGE: Final = "Judged before: the stored verdict is the answer"


def stored_verdicts(submissions: Sequence[Submission], *, owner: User, now: datetime) -> list[Result | None]:
    """Return for each checked submission of mode test the verdict that answers it; None: a runner has to judge it.

    The caller has a transaction. It keeps the reports of these verdicts from deletion until it ends.
    """
    boards = {submission.board_id: submission.board for submission in submissions}
    open_to_repeats = _without_contest(list(boards.values()), now)
    epochs = {hardware: current_epoch(hardware) for hardware in {board.hardware for board in boards.values()}}
    sent = Submission.objects.filter(
        is_own(owner),
        verbatim_digest__in={submission.verbatim_digest for submission in submissions},
        mode=TEST,
        takedown=None,
        candidate__same_as=None,
    )
    key = ("attempt__submission__verbatim_digest", "attempt__version_id", "attempt__hardware", "epoch")
    found = Result.objects.filter(attempt__submission__in=sent, attempt__is_current=True, outcome__in=ANSWERING)
    found = found.filter(archived__expired_at=None).order_by(*key, "-pk").distinct(*key)
    results = list(
        found.select_related("attempt__submission", "archived").defer("inline", "attempt__submission__source")
    )
    archived = [result.pk for result in results if hasattr(result, "archived")]
    locked = ResultArchived.objects.select_for_update(no_key=True).filter(of__in=archived, expired_at=None)
    gone = set(archived) - set(locked.order_by("pk").values_list("of", flat=True))
    known = {
        (
            result.attempt.submission.verbatim_digest,
            result.attempt.version_id,
            result.attempt.hardware,
            result.epoch,
        ): result
        for result in results
        if result.pk not in gone
    }
    return [
        known.get((one.verbatim_digest, one.board.version_id, one.board.hardware, epochs[one.board.hardware]))
        if one.board_id in open_to_repeats
        else None
        for one in submissions
    ]


def _without_contest(boards: Sequence[Board], now: datetime) -> set[int]:
    """Return the boards that are not in a contest with an end or a prize."""
    prized = set(
        Prize.objects.filter(track__competition__in={board.competition_id for board in boards}).values_list(
            "track__competition", flat=True
        )
    )
    return {
        board.pk
        for board in boards
        if stage_of(board.competition.schedule, now, board_deadline=board.deadline) is not Stage.CONTEST
        or (board.closes_at is None and board.competition_id not in prized)
    }


def answer(submission: Submission, verdict: Result, *, now: datetime, waiting: Attempt | None = None) -> None:
    """End the submission's first attempt with a stored verdict and its report. No runner takes part.

    `waiting`: the attempt, where it is queued already; the caller has locked it.
    """
    attempt = end_at_once(
        submission=submission,
        outcome=verdict.outcome,
        reason=verdict.reason,
        message=MESSAGE,
        now=now,
        waiting=waiting,
    )
    columns = {name: getattr(verdict, name) for name in (*KEPT, "flags", "epoch", "stage")}
    place = getattr(verdict, "archived", None)
    archive.create(
        Result(attempt=attempt, created_at=now, **columns),
        {} if place else verdict.inline,
        archive.Content(place.digest, place.size) if place else None,
        phase=archive.phase_of(submission),
    )
