"""The order of a board, as a property: best line of each owner, best first, the earlier of equals first."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.competitions.models import Board
from leaderboard.standings.boards import board_entries, entry_counts, rank_of
from leaderboard.standings.ranking import Line, rank, scale_us
from leaderboard.standings.status import status_of, statuses_of
from tests.leaderboard.stage import NOON, Stage

lines = st.builds(
    Line,
    ratio=st.sampled_from([0.5, 1.0, 1.25]),
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
        assert best.ratio == min(line.ratio for line in own)
        assert all(best.submitted_at <= line.submitted_at for line in own if line.ratio == best.ratio)


@given(boards)
def test_faster_comes_first_and_of_equals_the_earlier(board: list[Line]) -> None:
    ranked = rank(board)
    for above, below in pairwise(ranked):
        assert (above.ratio, above.submitted_at) <= (below.ratio, below.submitted_at)


@given(boards, st.randoms())
def test_the_order_of_the_rows_does_not_matter(board: list[Line], random: Random) -> None:
    shuffled = list(board)
    random.shuffle(shuffled)
    assert rank(shuffled) == rank(board)


@given(boards, lines)
def test_a_slower_line_of_a_ranked_owner_changes_nothing(board: list[Line], line: Line) -> None:
    ranked = rank(board)
    for best in ranked:
        slower = line._replace(owner_id=best.owner_id, ratio=best.ratio + 1, submission_id=0)
        assert rank([*board, slower]) == ranked


def test_a_deadline_goes_by_the_time_of_submission(stage: Stage) -> None:
    submission = stage.submit()
    Board.objects.update(deadline=stage.later(1))
    stage.later(3600)
    stage.judge(submission)
    assert [line.entry.submission for line in board_entries(stage.board)] == [submission]


def test_the_board_shows_the_best_of_each(stage: Stage) -> None:
    stage.judge(stage.submit(stage.ada), score_us=900.0, ratio=0.9)
    better = stage.submit(stage.ada)
    stage.judge(better, score_us=800.0, ratio=0.8)
    equal = stage.submit(stage.ben)
    stage.judge(equal, score_us=800.0, ratio=0.8)
    shown = [(line.rank, line.entry.owner.username, line.score_us) for line in board_entries(stage.board)]
    assert shown == [(1, "ada", 800.0), (2, "ben", 800.0)]
    assert entry_counts([stage.board]) == {stage.board.pk: 2}
    assert (rank_of(better), rank_of(equal)) == (1, 2)


def test_a_faster_kernel_on_a_slow_day_still_ranks_first(stage: Stage) -> None:
    """Each run is scored on the scale of its own baseline: 1000 µs, then 2000 µs, then 1000 µs."""
    runs = ((stage.ada, 900.0, 0.9), (stage.ben, 1200.0, 0.6), (stage.cleo, 800.0, 0.8))
    for owner, score_us, ratio in runs:
        stage.judge(stage.submit(owner), score_us=score_us, ratio=ratio)
    shown = [(line.entry.owner.username, line.score_us) for line in board_entries(stage.board)]
    assert shown == [("ben", 600.0), ("cleo", 800.0), ("ada", 900.0)]
    assert stage.ben.entries.get().score_us == 1200.0, "the entry stays as it was reported"


def test_a_submission_tells_the_time_of_its_board(stage: Stage) -> None:
    submissions = [stage.submit(owner) for owner in (stage.ada, stage.ben, stage.cleo)]
    for submission, baseline_us in zip(submissions, (1000.0, 2000.0, 1000.0), strict=True):
        stage.judge(submission, score_us=0.75 * baseline_us, ratio=0.75)
    timed = stage.submit(stage.ada, mode="benchmark")
    stage.judge(timed, score_us=1500.0, ratio=0.75)
    told = statuses_of([*submissions, timed])
    assert [told[it.pk].score_us for it in submissions] == [750.0] * 3
    assert status_of(submissions[1]).score_us == 750.0
    assert (told[timed.pk].score_us, told[timed.pk].published) == (1500.0, False)


times = st.floats(1e-3, 1e9)


@given(st.lists(st.tuples(times, st.floats(1e-6, 1e3)), min_size=1))
def test_times_and_order_agree(scored: list[tuple[float, float]]) -> None:
    scale = scale_us(scored)
    shown = [ratio * scale for _, ratio in sorted(scored, key=lambda pair: pair[1])]
    assert shown == sorted(shown)
    assert min(score / ratio for score, ratio in scored) <= scale <= max(score / ratio for score, ratio in scored)
