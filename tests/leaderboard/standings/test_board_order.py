"""Board order: each owner's best kernel, best first; ties share a rank, the earlier submission first."""

from datetime import datetime

from leaderboard.competitions.calendar import Stage as CalendarStage
from leaderboard.competitions.models import Board
from leaderboard.standings.read.boards import RankedEntry, standing_of
from leaderboard.standings.read.status import status_of, statuses_of
from tests.leaderboard.board_lines import board_entries, board_epochs
from tests.leaderboard.stage import NOON, Stage


def entries_of(board: Board, stage: CalendarStage = CalendarStage.CONTEST, now: datetime = NOON) -> list[RankedEntry]:
    board = Board.objects.with_parts().get(pk=board.pk)
    epochs = board_epochs(board, stage=stage, now=now)
    return board_entries(board, epochs[0].name, stage=stage, now=now) if epochs else []


def test_a_deadline_goes_by_the_time_of_submission(stage: Stage) -> None:
    submission = stage.submit()
    Board.objects.update(deadline=stage.later(1))
    stage.later(3600)
    stage.judge(submission)
    assert [line.entry.submission for line in entries_of(stage.board)] == [submission]


def test_the_board_shows_the_best_of_each_and_equals_share_a_rank(stage: Stage) -> None:
    worse = stage.submit(stage.ada)
    stage.judge(worse, score_us=900.0, ratio=0.9)
    better = stage.submit(stage.ada)
    stage.judge(better, score_us=800.0, ratio=0.8)
    equal = stage.submit(stage.ben)
    stage.judge(equal, score_us=800.0, ratio=0.8)
    slower = stage.submit(stage.cleo)
    stage.judge(slower, score_us=900.0, ratio=0.9)
    shown = [(line.rank, line.is_tied, line.entry.owner.username, line.score_us) for line in entries_of(stage.board)]
    assert shown == [(1, True, "ada", 800.0), (1, True, "ben", 800.0), (3, False, "cleo", 900.0)]
    standings = [standing_of(it, now=stage.now) for it in (worse, better, equal, slower)]
    assert [it.rank for it in standings if it] == [None, 1, 1, 3]


def test_the_ratio_ranks_and_the_time_is_the_measured_one(stage: Stage) -> None:
    """The baseline took 1000 µs, then 2000 µs, then 1000 µs: the machine was slow in the second run."""
    runs = ((stage.ada, 900.0, 0.9), (stage.ben, 1200.0, 0.6), (stage.cleo, 800.0, 0.8))
    for owner, score_us, ratio in runs:
        stage.judge(stage.submit(owner), score_us=score_us, ratio=ratio)
    shown = [(line.entry.owner.username, line.score_us) for line in entries_of(stage.board)]
    assert shown == [("ben", 1200.0), ("cleo", 800.0), ("ada", 900.0)]


def test_a_submission_says_the_measured_time_of_its_own_run(stage: Stage) -> None:
    submissions = [stage.submit(owner) for owner in (stage.ada, stage.ben, stage.cleo)]
    for submission, baseline_us in zip(submissions, (1000.0, 2000.0, 1000.0), strict=True):
        stage.judge(submission, score_us=0.75 * baseline_us, ratio=0.75)
    timed = stage.submit(stage.ada, mode="benchmark")
    stage.judge(timed, score_us=1500.0, ratio=0.75)
    told = statuses_of([*submissions, timed])
    assert [told[it.pk].score_us for it in submissions] == [750.0, 1500.0, 750.0]
    assert status_of(submissions[1], now=stage.now).score_us == 1500.0
    assert (told[timed.pk].score_us, told[timed.pk].published) == (1500.0, False)
