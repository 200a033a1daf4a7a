"""On a board that closes before its competition, later submissions never belong to its contest."""

from datetime import timedelta

import pytest

from leaderboard.competitions.models import Board, Competition
from leaderboard.judging.models import Result
from leaderboard.standings.read.records import contest_leader, would_rank
from tests.leaderboard.stage import NOON, Stage


@pytest.fixture
def early(stage: Stage) -> tuple[Board, Result, Result]:
    """Move the board's deadline before ben's faster submission while the competition goes on; return both results."""
    ada, ben = (
        stage.judge(stage.submit(who), ratio=ratio, score_us=1000 * ratio)
        for who, ratio in ((stage.ada, 0.9), (stage.ben, 0.6))
    )
    Competition.objects.update(deadline=NOON + timedelta(days=1))
    Board.objects.update(deadline=ben.attempt.submission.created_at)
    return Board.objects.with_parts().get(), ada, ben


def test_it_leads_no_contest(stage: Stage, early: tuple[Board, Result, Result]) -> None:
    _, ada, ben = early
    sent = ada.attempt.submission, ben.attempt.submission
    leader = contest_leader(sent[0], ada.epoch)
    assert leader is not None
    assert leader.submissions == (sent[0].pk,)
    assert contest_leader(sent[1], ben.epoch) is None


def test_it_takes_nobodys_place_on_the_podium(stage: Stage, early: tuple[Board, Result, Result]) -> None:
    _, ada, ben = early
    assert [would_rank(Result.objects.get(pk=result.pk)) for result in (ada, ben)] == [1, 1]
