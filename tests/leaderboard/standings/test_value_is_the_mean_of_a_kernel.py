"""The ranked value is the mean over all runs of near-identical code: resubmitting buys no new draw."""

import math
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard import pipeline
from leaderboard.judging.attempts import rejudge
from leaderboard.standings.ranking.ranking import Run, pool
from leaderboard.standings.read.boards import standing_of
from leaderboard.standings.read.records import incumbent_ratio
from leaderboard.submissions.tokens import code_digest
from tests.leaderboard.stage import NOON, Stage
from tests.leaderboard.standings.test_board_order import entries_of

runs = st.builds(
    Run,
    ratio=st.floats(0.01, 10),
    half_width=st.none() | st.floats(0, 0.3),
    forgeable=st.none() | st.floats(0, 1),
    submitted_at=st.integers(0, 3).map(lambda hours: NOON + timedelta(hours=hours)),
    submission_id=st.integers(1, 10**6),
    entrant_id=st.integers(1, 3),
    code=st.sampled_from("ab"),
)
boards = st.lists(runs, unique_by=lambda run: run.submission_id)


@given(boards)
def test_each_run_is_in_one_value_between_its_extremes(board: list[Run]) -> None:
    values = pool(board)
    assert sorted(pk for value in values for pk in value.submissions) == sorted(run.submission_id for run in board)
    for value in values:
        own = [run for run in board if run.submission_id in value.submissions]
        assert {(run.entrant_id, run.code) for run in own} == {(value.entrant_id, own[0].code)}
        ratios = [run.ratio for run in own]
        assert min(ratios) * (1 - 1e-12) <= value.ratio <= max(ratios) * (1 + 1e-12)
        assert value.submitted_at == min(run.submitted_at for run in own)


@given(boards, st.randoms(use_true_random=False))
def test_the_order_of_the_runs_does_not_matter(board: list[Run], random: Random) -> None:
    shuffled = list(board)
    random.shuffle(shuffled)
    assert pool(shuffled) == pool(board)


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=20))
def test_which_side_is_divided_by_which_does_not_matter(ratios: list[float]) -> None:
    def value(numbers: list[float]) -> float:
        (only,) = pool(
            Run(ratio, 0.01, None, NOON, number, entrant_id=1, code="a") for number, ratio in enumerate(numbers)
        )
        return only.ratio

    assert math.isclose(value(ratios), 1 / value([1 / ratio for ratio in ratios]))


@given(st.integers(0, 10**6), st.integers(1, 30))
def test_sending_it_again_narrows_the_interval_and_pays_nothing(seed: int, more: int) -> None:
    """Runs have noise of 0.5 %, as for a competitor who resubmits a kernel many times and hopes."""
    random = Random(seed)
    board = [Run(random.gauss(1, 0.005), 0.01, 0.1, NOON, number, entrant_id=1, code="a") for number in range(1 + more)]
    (value,) = pool(board)
    assert value.ratio >= min(run.ratio for run in board)
    assert value.half_width == pytest.approx(0.01 / math.sqrt(1 + more))
    assert value.forgeable == pytest.approx(0.1), "what can be forged in each run can be forged in their mean"


def test_twenty_comments_buy_no_better_draw(stage: Stage, settings) -> None:
    settings.SUBMISSIONS_PER_HOUR = 100
    random = Random(1)
    ratios = [0.9 * math.exp(random.gauss(0, 0.005)) for _ in range(20)]
    for ratio in ratios:
        stage.judge(stage.submit(kernel=1), ratio=ratio, score_us=1000 * ratio)
    (line,) = entries_of(stage.board)
    assert line.value.ratio == pytest.approx(math.prod(ratios) ** (1 / 20))
    assert line.value.ratio > min(ratios) * 1.005
    assert len(line.value.submissions) == 20


def test_another_kernel_another_owner_and_practice_are_not_in_it(stage: Stage) -> None:
    first = stage.submit(kernel=1)
    stage.judge(first, ratio=0.9)
    for owner, mode, kernel in (
        (stage.ada, "ranked", 2),
        (stage.ben, "ranked", 1),
        (stage.ada, "benchmark", 1),
        (stage.ada, "test", 1),
    ):
        submission = stage.submit(owner, mode=mode, kernel=kernel)
        told = {} if mode == "test" else {"ratio": 0.8}
        stage.judge(submission, **told)
    standing = standing_of(first, now=stage.now)
    assert standing is not None
    assert (standing.value.ratio, standing.value.submissions, standing.rank) == (0.9, (first.pk,), None)


def test_the_digest_is_kept_at_the_door(stage: Stage) -> None:
    one, same, other = stage.submit(kernel=1), stage.submit(kernel=1), stage.submit(kernel=2)
    assert one.source != same.source
    assert one.code_digest == same.code_digest == code_digest(one.source) != other.code_digest


def test_what_is_held_or_wrong_or_taken_back_is_not_in_it(stage: Stage) -> None:
    first, second = stage.submit(kernel=1), stage.submit(kernel=1)
    stage.judge(first, ratio=0.9)
    stage.judge(second, ratio=0.8)
    held = stage.submit(kernel=1)
    result = stage.judge(held, ratio=0.3)
    stage.judge(stage.submit(kernel=1), outcome="wrong")
    assert ratio_of(stage) == pytest.approx(math.sqrt(0.9 * 0.8))

    pipeline.clear_result(result=result, actor=stage.olga, reason="it is sound", now=stage.now)
    assert ratio_of(stage) == pytest.approx((0.9 * 0.8 * 0.3) ** (1 / 3))

    rejudge(submission=held, actor=stage.olga, reason="a bug in the judge", now=stage.now)
    stage.judge(held, outcome="policy", reason="clock_mismatch")
    assert ratio_of(stage) == pytest.approx(math.sqrt(0.9 * 0.8))

    rejudge(submission=second, actor=stage.olga, reason="a bug in the judge", now=stage.now)
    stage.judge(second, ratio=0.85)
    assert ratio_of(stage) == pytest.approx(math.sqrt(0.9 * 0.85)), "judged again, a run takes the place of the old one"


def test_the_incumbent_is_a_value_too(stage: Stage) -> None:
    for ratio in (0.9, 0.8):
        stage.judge(stage.submit(kernel=1), ratio=ratio)
    best = incumbent_ratio(epoch="", without=stage.submit(stage.ben))
    assert best == pytest.approx(math.sqrt(0.9 * 0.8))


def ratio_of(stage: Stage) -> float:
    (line,) = entries_of(stage.board)
    return line.value.ratio
