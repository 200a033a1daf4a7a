"""Progress on a board is counted from ratios: an entrant's best over time, gaps, the next rank, the field."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.standings.ranking.progress import MOST_BINS, bests, distribution, faster_than, gap, next_rank
from leaderboard.standings.ranking.ranking import Run, rank

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def run(number: int, ratio: float, entrant: int = 1, code: str = "", half_width: float | None = 0.004) -> Run:
    return Run(ratio, half_width, None, NOON + timedelta(minutes=number), number, entrant, code or f"code {number}")


def test_bests_follow_an_entrants_value_and_not_their_luckiest_run() -> None:
    found = bests([run(1, 0.9), run(2, 0.95), run(3, 0.8, code="new"), run(4, 0.9, code="new"), run(5, 0.7)])
    assert [best.at.minute for best in found] == [1, 3, 4, 5]
    assert [round(best.ratio, 4) for best in found] == [0.9, 0.8, 0.8485, 0.7], (
        "a second run of a kernel pulls its mean"
    )


def test_gap_is_a_share_of_the_lines_own_time() -> None:
    [value] = [place.value for place in rank([run(1, 0.8)])]
    found = gap(value, 400.0, 0.6)
    assert (round(found.share, 6), round(found.time_us, 6)) == (0.25, 100.0)


@given(
    st.lists(st.tuples(st.floats(0.1, 2.0), st.sampled_from([None, 0.001, 0.01, 0.03])), min_size=1, max_size=12),
    st.data(),
)
def test_a_kernel_that_reaches_the_thresholds_gets_the_next_rank(lines, data) -> None:
    runs = [run(at, ratio, entrant=at, half_width=half_width) for at, (ratio, half_width) in enumerate(lines)]
    places = rank(runs)
    at = data.draw(st.integers(0, len(places) - 1))
    own = places[at]
    needed = next_rank(places, at)
    if needed is None:
        assert (own.rank, own.is_tied) == (1, False)
        return
    number = own.value.submissions[0]

    def ranked(ratio: float) -> tuple[int, bool]:
        [place] = [
            place
            for place in rank([*runs, runs[number]._replace(ratio=ratio, submission_id=99, code="new")])
            if place.value.entrant_id == number
        ]
        return place.rank, place.is_tied

    assert needed.rank < own.rank or own.rank == 1
    assert ranked(needed.alone_ratio * 0.9999)[0] <= needed.rank
    if needed.share_ratio is None:
        assert own.rank == 1
    else:
        assert needed.alone_ratio < needed.share_ratio <= own.value.ratio * (1 + 1e-9)


def test_next_rank_is_shared_within_the_noise_and_taken_beyond_it() -> None:
    places = rank([run(1, 0.5, entrant=1), run(2, 0.8, entrant=2)])
    needed = next_rank(places, 1)
    assert needed is not None
    assert needed.share_ratio is not None
    assert needed.rank == 1
    assert needed.share_ratio == pytest.approx(0.5 * (1 + 0.004 * 2**0.5))
    assert needed.alone_ratio == pytest.approx(0.5 / (1 + 0.004 * 2**0.5))
    assert next_rank(places, 0) is None


def test_tied_leader_is_told_what_leading_alone_takes() -> None:
    places = rank([run(1, 0.5, entrant=1), run(2, 0.5001, entrant=2)])
    for at in (0, 1):
        needed = next_rank(places, at)
        assert needed is not None
        assert (needed.rank, needed.share_ratio) == (1, None)
        assert needed.alone_ratio < 0.5


@given(st.lists(st.floats(1e-6, 1e4), max_size=60), st.data())
def test_distribution_counts_every_kernel_once(ratios, data) -> None:
    own = data.draw(st.sampled_from(ratios)) if ratios else None
    bins = distribution(ratios, own)
    assert sum(one.count for one in bins) == len(ratios)
    assert len(bins) <= MOST_BINS + 1
    assert sum(one.is_own for one in bins) == bool(ratios)
    assert all(one.count for one in bins if one.is_own)
    assert all(low.high == high.low for low, high in pairwise(bins))


def test_faster_than_leaves_out_the_viewers_own_line() -> None:
    assert faster_than([0.5, 0.7, 0.9], 0.7) == 0.5
    assert faster_than([0.5], 0.5) == 1.0
