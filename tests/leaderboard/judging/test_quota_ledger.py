"""The ledger records a submission's cost once, and refunds it only for a fault of the site."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from leaderboard.competitions.models import Board, Competition
from leaderboard.errors import RateLimited
from leaderboard.judging.attempts import cancel, rejudge
from leaderboard.judging.sweep import expire_leases
from leaderboard.judging.verdicts import MOST
from leaderboard.submissions import ledger
from leaderboard.submissions.models import QuotaLine
from tests.leaderboard.stage import Stage, make_board

SPOILED: dict[str, Any] = {"outcome": "unmeasurable", "reason": "voids"}


@pytest.fixture
def stage(stage: Stage) -> Stage:
    """Return a stage that admits two ranked submissions at once, and two a day."""
    Competition.objects.update(quotas={"ranked": 2})
    stage.board.refresh_from_db()
    return stage


def left(stage: Stage, mode: str = "ranked") -> int:
    return ledger.levels(owner=stage.ada, boards=[stage.board], now=stage.now)[stage.board.pk, mode].left


def test_each_board_and_mode_has_a_bucket_of_its_own(stage: Stage) -> None:
    stage.submit()
    stage.submit()
    with pytest.raises(RateLimited, match="none left of your 2 ranked submissions to softmax on cpu") as caught:
        stage.submit()
    assert caught.value.retry_after_s == pytest.approx(12 * 3600, abs=5)
    stage.submit(mode="test")
    stage.submit(board=make_board("matmul"))
    stage.submit(stage.ben)
    stage.later(12 * 3600)
    stage.submit()
    with pytest.raises(RateLimited):
        stage.submit()


def test_calling_off_gives_nothing_back(stage: Stage) -> None:
    for _ in range(2):
        cancel(submission=stage.submit(), actor=stage.ada, reason="never mind", now=stage.now)
    with pytest.raises(RateLimited):
        stage.submit()


def test_a_verdict_gives_nothing_back(stage: Stage) -> None:
    stage.judge(stage.submit(), outcome="timeout")
    stage.judge(stage.submit(), outcome="unmeasurable", reason="too_fast")
    assert left(stage) == 0


def test_our_failure_gives_back_one_token_once(stage: Stage) -> None:
    stage.submit()
    failed = stage.submit()
    stage.judge(stage.ada.submissions.last(), outcome="wrong")  # type: ignore[arg-type]
    assert left(stage) == 0
    stage.judge(failed, outcome="infra_error")
    assert left(stage) == 1
    assert [line.act for line in failed.quota_lines.all()] == ["spent", "given_back"]


def test_lost_runners_give_back(stage: Stage) -> None:
    stage.submit()
    for _ in range(3):
        stage.claim()
        expire_leases(now=stage.later(61))
    assert left(stage) == 2


def test_a_spoiled_measurement_costs_once_and_nothing_where_it_never_succeeds(stage: Stage) -> None:
    submission = stage.submit()
    stage.judge(submission, **SPOILED)
    assert left(stage) == 1, "it is measured again"
    for _ in range(MOST):
        stage.judge(submission, **SPOILED)
    assert left(stage) == 2


def test_judging_again_by_an_act_of_ours_gives_nothing_back(stage: Stage) -> None:
    submission = stage.submit()
    stage.judge(submission)
    rejudge(submission=submission, actor=stage.olga, reason="a new judge", now=stage.now)
    stage.judge(submission, outcome="infra_error")
    assert left(stage) == 1


def test_a_long_ledger_is_read_in_part_with_the_same_answer(
    stage: Stage, django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "READ_LINES", 5)
    Competition.objects.update(quotas={"ranked": {"capacity": 3, "per_day": 24}})
    stage.board.refresh_from_db()
    for _ in range(8):
        stage.judge(stage.submit(), outcome="infra_error" if stage.sent % 3 == 0 else "wrong")
        stage.later(3600)
    for _ in range(2):
        stage.submit()
    assert QuotaLine.objects.filter(user=stage.ada).count() == 12
    board = Board.objects.with_parts().get(pk=stage.board.pk)
    with django_assert_num_queries(2):
        few = ledger.levels(owner=stage.ada, boards=[board], now=stage.now)
    monkeypatch.setattr(ledger, "READ_LINES", 100)
    assert few == ledger.levels(owner=stage.ada, boards=[board], now=stage.now)
    assert few[board.pk, "ranked"].left == 1
    stage.now += timedelta(days=1)
    assert left(stage) == 3
