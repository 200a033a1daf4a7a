"""The standing over several boards: points, geometric mean and fast_p, by properties and by examples."""

from datetime import timedelta
from random import Random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.competitions.models import FAST_P, GEOMETRIC_MEAN, POINTS, Board, Competition
from leaderboard.standings.ranking.overall import POINTS_OF, OverallLine, overall
from leaderboard.standings.ranking.ranking import Place, Run, rank
from leaderboard.standings.read.boards import overall_standing
from tests.leaderboard.stage import NOON, Stage, make_board
from tests.leaderboard.standings.test_ties_are_anchored_by_the_leader import line, runs

boards = st.dictionaries(st.sampled_from("xyz"), st.lists(runs, unique_by=lambda run: run.submission_id).map(rank))


def order(found: list[OverallLine]) -> list[tuple[int, int]]:
    return [(one.rank, one.entrant_id) for one in found]


def of(*found: Run) -> list[Place]:
    return rank(found)


@given(boards, st.sampled_from([POINTS, GEOMETRIC_MEAN, FAST_P]), st.randoms(use_true_random=False))
def test_everybody_once_whatever_the_order_of_the_boards(
    found: dict[str, list[Place]], how: str, random: Random
) -> None:
    lines = overall(found, how)
    assert sorted(it.entrant_id for it in lines) == sorted({p.value.entrant_id for ps in found.values() for p in ps})
    names = list(found)
    random.shuffle(names)
    assert order(overall({name: found[name] for name in names}, how)) == order(lines)
    for number, one in enumerate(lines, start=1):
        shared = [other for other in lines if other.rank == one.rank]
        assert one.is_tied == (len(shared) > 1)
        assert one.rank <= number < one.rank + len(shared)
        assert (one.low is None) == (one.high is None)
        assert one.low is None or one.high is None or one.low - 1e-9 <= one.score <= one.high + 1e-9


@given(boards)
def test_points_of_a_board_are_those_of_its_places(found: dict[str, list[Place]]) -> None:
    total = sum(one.score for one in overall(found, POINTS))
    assert total == pytest.approx(sum(sum(POINTS_OF[: len(places)]) for places in found.values()))


@given(boards)
def test_a_board_that_nobody_has_solved_moves_nobody(found: dict[str, list[Place]]) -> None:
    for how in (POINTS, FAST_P):
        assert order(overall(found | {"empty": []}, how)) == order(overall(found, how))


@given(boards, runs)
def test_a_kernel_slower_than_the_baseline_is_no_worse_than_none(found: dict[str, list[Place]], run: Run) -> None:
    without = overall(found | {"new": []}, GEOMETRIC_MEAN)
    slow = run._replace(ratio=1.5, submitted_at=NOON - timedelta(hours=1))
    scores = {one.entrant_id: one.score for one in overall(found | {"new": of(slow)}, GEOMETRIC_MEAN)}
    assert {one.entrant_id: one.score for one in without}.items() <= scores.items()


def test_who_is_tied_shares_the_points_of_the_places_taken() -> None:
    lines = overall({"x": of(line(0.5, 1, 0), line(0.501, 2, 1), line(0.6, 3, 0))}, POINTS)
    assert [(one.score, one.low, one.high) for one in lines] == [(21.5, 18, 25), (21.5, 18, 25), (15, 15, 15)]
    assert order(lines) == [(1, 1), (1, 2), (3, 3)]


def test_an_unsolved_board_counts_as_the_baseline() -> None:
    found = {"x": of(line(0.25, 1, 0)), "y": of(line(0.5, 2, 0)), "z": of(line(0.5, 2, 0), line(2.0, 1, 0))}
    lines = overall(found, GEOMETRIC_MEAN)
    assert [(one.entrant_id, one.score) for one in lines] == [
        (1, pytest.approx(4 ** (1 / 3))),
        (2, pytest.approx(4 ** (1 / 3))),
    ]
    assert {one.rank for one in lines} == {1}


def test_means_that_cannot_be_told_apart_are_tied_and_the_faster_stands_first() -> None:
    lines = overall({"x": of(line(0.5, 1, 3), line(0.501, 2, 1))}, GEOMETRIC_MEAN)
    assert order(lines) == [(1, 1), (1, 2)]


def test_an_interval_is_that_of_the_mean() -> None:
    found = {"x": of(line(0.5, 1, 0, half_width=0.03)), "y": of(line(0.5, 1, 0, half_width=0.04)), "z": []}
    [one] = overall(found, GEOMETRIC_MEAN)
    assert one.high == pytest.approx(one.score * (1 + 0.05 / 3))
    [unknown] = overall({"x": of(line(0.5, 1, 0)._replace(half_width=None))}, GEOMETRIC_MEAN)
    assert (unknown.low, unknown.high) == (None, None)


def test_fast_p_counts_all_boards() -> None:
    found = {"x": of(line(0.4, 1, 0), line(0.9, 2, 0)), "y": of(line(0.9, 2, 0))}
    assert [(one.entrant_id, one.score) for one in overall(found, FAST_P)] == [(2, 1.0), (1, 0.5)]


def test_a_competition_is_read_in_as_many_queries_whatever_it_has(stage: Stage) -> None:
    def count() -> int:
        listed = list(Board.objects.with_parts())
        with CaptureQueriesContext(
            connection,
        ) as seen:
            found = overall_standing(Competition.objects.get(), boards=listed, now=stage.now)
            assert [row.entrant.name for row in found.rows()][:1] == ["ada"]
        return len(seen)

    stage.judge(stage.submit(stage.ada), ratio=0.5)
    few = count()
    for number in range(3):
        board = make_board(f"more-{number}")
        for owner, ratio in ((stage.ada, 0.6), (stage.ben, 0.8), (stage.cleo, 0.9)):
            stage.judge(stage.submit(owner, board=board), ratio=ratio)
    assert count() == few


def test_only_the_boards_asked_for_and_only_what_is_shown(stage: Stage) -> None:
    other = make_board("other")
    stage.judge(stage.submit(stage.ada), ratio=0.6)
    Competition.objects.update(freeze_at=stage.later(60))
    stage.judge(stage.submit(stage.ben, board=other), ratio=0.55)
    listed = list(Board.objects.with_parts())
    contest = listed[0].competition

    def names(boards: list[Board], *, in_full: bool = False) -> list[str]:
        found = overall_standing(contest, boards=boards, now=stage.now, in_full=in_full)
        return [row.entrant.name for row in found.rows()]

    assert names(listed) == ["ada"]
    assert names(listed, in_full=True) == ["ben", "ada"]
    assert names([board for board in listed if board.slug == "other"]) == []
