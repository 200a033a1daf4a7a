"""The order of a board, as a property: best line of each owner, best first, the earlier of equals first."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.competitions.models import Board
from leaderboard.standings.boards import board_entries, entry_counts, rank_of
from leaderboard.standings.ranking import Line, rank
from tests.leaderboard.stage import NOON, Stage

lines = st.builds(
    Line,
    score_us=st.sampled_from([1.0, 2.0, 2.5]),
    submitted_at=st.integers(0, 3).map(lambda hours: NOON + timedelta(hours=hours)),
    submission_id=st.integers(1, 10**6),
    owner_id=st.integers(1, 5),
)
boards = st.lists(lines, unique_by=lambda line: line.submission_id)


@given(boards)
def test_one_line_an_owner_and_it_is_the_best(board: list[Line]) -> None:
    ranked = rank(board)
    assert {line.owner_id for line in ranked} == {line.owner_id for line in board}
    assert len(ranked) == len({line.owner_id for line in ranked})
    for best in ranked:
        own = [line for line in board if line.owner_id == best.owner_id]
        assert best.score_us == min(line.score_us for line in own)
        assert all(best.submitted_at <= line.submitted_at for line in own if line.score_us == best.score_us)


@given(boards)
def test_faster_comes_first_and_of_equals_the_earlier(board: list[Line]) -> None:
    ranked = rank(board)
    for above, below in pairwise(ranked):
        assert (above.score_us, above.submitted_at) <= (below.score_us, below.submitted_at)


@given(boards, st.randoms())
def test_the_order_of_the_rows_does_not_matter(board: list[Line], random: Random) -> None:
    shuffled = list(board)
    random.shuffle(shuffled)
    assert rank(shuffled) == rank(board)


@given(boards, lines)
def test_a_slower_line_of_a_ranked_owner_changes_nothing(board: list[Line], line: Line) -> None:
    ranked = rank(board)
    for best in ranked:
        slower = line._replace(owner_id=best.owner_id, score_us=best.score_us + 1, submission_id=0)
        assert rank([*board, slower]) == ranked


def test_a_deadline_goes_by_the_time_of_submission(stage: Stage) -> None:
    submission = stage.submit()
    Board.objects.update(deadline=stage.later(1))
    stage.later(3600)
    stage.judge(submission)
    assert [line.entry.submission for line in board_entries(stage.board)] == [submission]


def test_the_board_shows_the_best_of_each(stage: Stage) -> None:
    stage.judge(stage.submit(stage.ada), score_us=900.0)
    better = stage.submit(stage.ada)
    stage.judge(better, score_us=800.0)
    equal = stage.submit(stage.ben)
    stage.judge(equal, score_us=800.0)
    shown = [(line.rank, line.entry.owner.username, line.entry.score_us) for line in board_entries(stage.board)]
    assert shown == [(1, "ada", 800.0), (2, "ben", 800.0)]
    assert entry_counts([stage.board]) == {stage.board.pk: 2}
    assert (rank_of(better), rank_of(equal)) == (1, 2)
