"""Properties of ties: values indistinguishable from the leader share its rank, fastest first."""

from datetime import timedelta
from itertools import groupby, pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.standings.ranking.ranking import TIE, WIDEST, Place, Run, Value, are_tied, holder, pool, rank
from tests.leaderboard.stage import NOON

near = st.floats(0.97, 1.03) | st.sampled_from([0.5, 0.999, 1.0, 1.001, 1.004, 1.006, 1.25])
runs = st.builds(
    Run,
    ratio=near,
    half_width=st.none() | st.sampled_from([0.0, 0.001, 0.003, 0.01, 0.3]),
    forgeable=st.none() | st.sampled_from([0.0, 0.002, 0.02]),
    submitted_at=st.integers(0, 3).map(lambda hours: NOON + timedelta(hours=hours)),
    submission_id=st.integers(1, 10**6),
    entrant_id=st.integers(1, 6),
    code=st.sampled_from("ab"),
)
boards = st.lists(runs, unique_by=lambda run: run.submission_id)


def groups(places: list[Place]) -> list[list[Value]]:
    return [[place.value for place in same] for _, same in groupby(places, key=lambda place: place.rank)]


def leader(group: list[Value]) -> Value:
    return min(group, key=lambda value: (value.ratio, value.submitted_at, value.submissions[0]))


@given(boards)
def test_one_line_an_owner_and_it_is_the_best_value(board: list[Run]) -> None:
    places = rank(board)
    assert sorted(place.value.entrant_id for place in places) == sorted({run.entrant_id for run in board})
    for place in places:
        own = [value for value in pool(board) if value.entrant_id == place.value.entrant_id]
        assert place.value.ratio == min(value.ratio for value in own)


@given(boards)
def test_a_group_is_tied_with_its_leader_and_the_next_one_is_not(board: list[Run]) -> None:
    found = groups(rank(board))
    for group in found:
        assert all(are_tied(leader(group), value) for value in group if value is not leader(group))
    for above, below in pairwise(found):
        assert not are_tied(leader(above), leader(below)), "the first behind a group could not join it"
        assert max(value.ratio for value in above) <= min(value.ratio for value in below)


@given(boards)
def test_ranks_are_shared_and_then_skipped(board: list[Run]) -> None:
    places = rank(board)
    for number, place in enumerate(places, start=1):
        shared = [other for other in places if other.rank == place.rank]
        assert place.is_tied == (len(shared) > 1)
        assert place.rank <= number < place.rank + len(shared)


@given(boards)
def test_inside_a_tie_the_fastest_stands_first(board: list[Run]) -> None:
    speed = [(place.value.ratio, place.value.sent) for place in rank(board)]
    assert speed == sorted(speed)


@given(boards.filter(bool))
def test_the_first_who_was_that_fast_holds_the_place(board: list[Run]) -> None:
    values, places = pool(board), rank(board)
    for group in groups(places):
        first = leader(group)

        def since(line: Value, first: Value = first) -> tuple[object, int]:
            own = [value for value in values if value.entrant_id == line.entrant_id]
            as_fast = [value for value in own if value == line or are_tied(first, value)]
            return min((value.submitted_at, value.submissions[0]) for value in as_fast)

        assert [place.since for place in places if place.value in group] == [since(line) for line in group]
    assert holder(places).since == min(place.since for place in places if place.rank == 1)


@given(boards, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(board: list[Run], random: Random) -> None:
    shuffled = list(board)
    random.shuffle(shuffled)
    assert rank(shuffled) == rank(board)


@given(boards, runs)
def test_a_much_slower_kernel_of_a_ranked_owner_changes_nothing(board: list[Run], run: Run) -> None:
    for place in rank(board):
        slower = run._replace(entrant_id=place.value.entrant_id, ratio=9.0, submission_id=0, code="c")
        assert rank([*board, slower]) == rank(board)


@given(boards, near)
def test_a_later_line_holds_no_tie_and_moves_nobody_who_is_faster(board: list[Run], ratio: float) -> None:
    """The order of slower values may change: a new leader splits or ties different values than the previous leader."""
    late = Run(ratio, 0.001, None, NOON + timedelta(hours=9), 10**7, 99, "late")
    before, after = rank(board), rank([*board, late])
    [own] = [place for place in after if place.value.entrant_id == 99]
    assert own.since == max(place.since for place in after if place.rank == own.rank)
    faster = [[(it.rank, it.value) for it in places if it.value.ratio < ratio] for places in (before, after)]
    assert faster[0] == faster[1]


def line(
    ratio: float, owner: int, hour: int, *, half_width: float = 0.0, forgeable: float = 0.0, code: str = ""
) -> Run:
    return Run(ratio, half_width, forgeable, NOON + timedelta(hours=hour), 10 * owner + hour, owner, code or str(owner))


def order(*board: Run) -> list[tuple[int, int]]:
    return [(place.rank, place.value.entrant_id) for place in rank(board)]


@pytest.mark.parametrize(
    ("slower", "tied"),
    [
        (line(1.0 + 0.9 * TIE, 2, 0), True),
        (line(1.0 + 1.1 * TIE, 2, 0), False),
        (line(1.01, 2, 0, half_width=0.011), True),
        (line(1.01, 2, 0, half_width=0.009), False),
        (line(1.01, 2, 0, forgeable=0.011), True),
        (line(1.01, 2, 0, forgeable=0.009), False),
        (line(2.4, 2, 0, forgeable=0.6), True),  # at 1.0 its true time would be 2.5
        (line(2.6, 2, 0, forgeable=0.6), False),
        (line(900.0, 2, 0, forgeable=1.0), True),
        (line(1.0 + 1.1 * WIDEST, 2, 0, half_width=0.3), False),  # limits the ties of an unsteady kernel
    ],
)
def test_what_ties(slower: Run, tied: bool) -> None:
    assert order(line(1.0, 1, 1), slower) == ([(1, 1), (1, 2)] if tied else [(1, 1), (2, 2)])


def test_ties_do_not_chain() -> None:
    step = 0.8 * TIE
    board = [line((1 + step) ** place, place + 1, 9 - place) for place in range(4)]
    assert order(*board) == [(1, 1), (1, 2), (3, 3), (3, 4)]


def test_an_unsteady_kernel_does_not_leap_over_what_it_is_slower_than() -> None:
    board = [line(1.0, 1, 2), line(1.01, 2, 1), line(1.012, 3, 0, half_width=0.02)]
    assert order(*board) == [(1, 1), (2, 2), (2, 3)]


def test_an_improvement_loses_nobody_their_place_in_time() -> None:
    first, rival, better = line(1.0, 1, 0, code="v1"), line(1.001, 2, 1), line(0.999, 1, 2, code="v2")
    assert holder(rank([first, rival, better])).value.entrant_id == 1
    slow = line(1.1, 1, 0, code="v1")
    assert holder(rank([slow, rival, better])).value.entrant_id == 2, "the old one was not as fast"


@given(boards.filter(lambda board: len({run.entrant_id for run in board}) > 1), st.data())
def test_two_whom_a_confirmation_could_not_tell_apart_share_a_rank(board: list[Run], data: st.DataObject) -> None:
    lines = [place.value for place in rank(board)]
    one, other = data.draw(st.lists(st.sampled_from(lines), min_size=2, max_size=2, unique_by=id))
    pair = (one.submissions[-1], other.submissions[0])
    before = {place.value.entrant_id: place.rank for place in rank(board)}
    after = {place.value.entrant_id: place.rank for place in rank(board, level=[pair])}
    ahead = min(before[one.entrant_id], before[other.entrant_id])
    behind = max(before[one.entrant_id], before[other.entrant_id])
    leads = {place.value.entrant_id for place in rank(board) if leader(_group(board, place.rank)) == place.value}
    if {one.entrant_id, other.entrant_id} & {who for who in leads if before[who] == ahead}:
        assert all(after[who] == ahead for who, rank_of in before.items() if ahead <= rank_of < behind)
        assert after[one.entrant_id] == after[other.entrant_id]
    assert rank(board, level=[pair]) == rank(reversed(board), level=[pair[::-1]])


def _group(board: list[Run], number: int) -> list[Value]:
    return [place.value for place in rank(board) if place.rank == number]
