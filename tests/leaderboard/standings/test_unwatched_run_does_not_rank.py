"""A run without a watch on the device's clocks gets no line, at any speed, and its owner reads the reason."""

import pytest

from leaderboard import pipeline
from leaderboard.errors import UserError
from leaderboard.judging.attempts import rejudge
from leaderboard.review.models import Finding
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import publish
from leaderboard.standings.read.status import status_of, statuses_of
from tests.leaderboard.stage import Stage
from tests.leaderboard.standings.test_board_order import entries_of


@pytest.mark.parametrize("level", ["", "full", "mask_only"])
def test_what_was_watched_ranks_and_says_how_much(stage: Stage, level: str) -> None:
    submission = stage.submit()
    stage.judge(submission, telemetry=level, forgeable=0.02)
    (line,) = entries_of(stage.board)
    assert (line.telemetry, line.value.forgeable) == (level, 0.02)
    seen = status_of(submission, now=stage.now)
    assert (seen.telemetry, seen.forgeable, seen.unranked) == (level, 0.02, None)


@pytest.mark.parametrize("ratio", [0.9, 0.1])
def test_none_cannot_rank_nor_be_published(stage: Stage, ratio: float) -> None:
    submission = stage.submit()
    result = stage.judge(submission, telemetry="none", ratio=ratio)
    for seen in (status_of(submission, now=stage.now), statuses_of([submission])[submission.pk]):
        assert (seen.outcome, seen.published, seen.unranked, seen.review) == ("passed", False, "no_telemetry", None)
    assert not Finding.objects.exists()
    with pytest.raises(UserError, match="never held"):
        pipeline.clear_result(result=result, actor=stage.olga, reason="but it is fast", now=stage.now)
    with pytest.raises(ValueError, match="cannot rank"):
        publish(result=result, now=stage.now)
    assert not Entry.objects.exists()


def test_practice_is_not_called_unranked(stage: Stage) -> None:
    submission = stage.submit(mode="benchmark")
    stage.judge(submission, telemetry="none")
    assert status_of(submission, now=stage.now).unranked is None


def test_judged_again_where_somebody_watches_it_ranks(stage: Stage) -> None:
    submission = stage.submit()
    stage.judge(submission, telemetry="none")
    rejudge(submission=submission, actor=stage.olga, reason="on the other host", now=stage.now)
    stage.judge(submission, telemetry="full")
    assert status_of(submission, now=stage.now).rank == 1


def test_a_value_is_as_watched_as_its_least_watched_run(stage: Stage) -> None:
    for level in ("full", "mask_only", "full"):
        stage.judge(stage.submit(kernel=1), telemetry=level)
    (line,) = entries_of(stage.board)
    assert line.telemetry == "mask_only"
