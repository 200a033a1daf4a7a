"""A share bounds a competition on a hardware while others wait, leaves no device idle, and costs the claim nothing."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.audit.models import Row
from leaderboard.competitions.models import Board, Competition
from leaderboard.errors import UserError
from leaderboard.judging.device_time import FAIR_WINDOW, beyond_share, by_competition, set_share
from leaderboard.judging.models import Share
from leaderboard.pipeline import claim_work
from tests.leaderboard.stage import PLENTY, Stage, make_board


@pytest.fixture
def contest(stage: Stage) -> Board:
    """A board of another competition on the same hardware."""
    board = make_board("vectoradd")
    board.competition = Competition.objects.create(slug="final", name="Final", quotas=PLENTY)
    board.save()
    return board


def boards_of(stage: Stage, count: int, *, took_s: float = 9) -> list[str]:
    """Claim and finish `count` attempts, each of `took_s` seconds, and return the boards in order."""
    found = []
    for _ in range(count):
        job = stage.claim()
        found.append(stage.board.competition.boards.model.objects.get(submissions=int(job.submission_id)).slug)
        stage.later(took_s - 1)
        stage.report(job)
    return found


def give(stage: Stage, percent: int | None, competition: Competition | None = None) -> None:
    told = {"actor": stage.olga, "reason": "the final matters more", "now": stage.now}
    set_share(competition=competition or stage.board.competition, hardware="cpu", percent=percent, **told)


def test_competition_beyond_its_share_comes_after_the_others(stage: Stage, contest: Board) -> None:
    give(stage, 25)
    for _ in range(6):  # five people of the class, each with less device time than the finalist
        stage.submit(stage.ada)
    for _ in range(6):
        stage.submit(stage.cleo, board=contest)
    order = boards_of(stage, 8)
    assert order.count("softmax") == 2
    assert order[:2] == ["softmax", "vectoradd"]


def test_competition_beyond_its_share_uses_hardware_that_nobody_else_wants(stage: Stage, contest: Board) -> None:
    give(stage, 10)
    for _ in range(3):
        stage.submit()
    assert boards_of(stage, 3) == ["softmax"] * 3
    stage.submit()
    stage.submit(stage.cleo, board=contest)
    assert boards_of(stage, 2) == ["vectoradd", "softmax"]
    stage.later(FAIR_WINDOW.total_seconds() + 60)
    assert beyond_share(hardware="cpu", now=stage.now) == []


def test_seconds_of_competitions_count_running_work(stage: Stage, contest: Board) -> None:
    stage.submit()
    stage.submit(stage.cleo, board=contest)
    stage.claim()
    stage.later(20)
    assert by_competition(hardware="cpu", now=stage.now) == {stage.board.competition_id: 20}
    stage.claim()
    assert by_competition(hardware="cpu", now=stage.now)[contest.competition_id] == 1
    give(stage, 90)
    assert beyond_share(hardware="cpu", now=stage.now) == [stage.board.competition_id]
    assert beyond_share(hardware="H200", now=stage.now) == []


def test_claim_without_shares_reads_one_row_set_more(stage: Stage, contest: Board) -> None:
    for _ in range(3):
        stage.submit()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        claim_work(runner=stage.rex, now=stage.now)
    about_shares = [query["sql"] for query in queries if "judging_share" in query["sql"]]
    assert len(about_shares) == 1
    assert sum("WITH served" in query["sql"] for query in queries) == 1


def test_set_share_is_for_staff_with_a_reason_and_bounds(stage: Stage, contest: Board) -> None:
    told = {"competition": stage.board.competition, "hardware": "cpu", "now": stage.now}
    for change, problem in (
        ({"actor": stage.ada}, "only an organiser"),
        ({"reason": " "}, "say why"),
        ({"percent": 100}, "expected 1 to 99"),
        ({"percent": None}, "this is its share already"),
        ({"hardware": "H200"}, "kernels-101 has no board on it; its hardware: cpu"),
    ):
        with pytest.raises(UserError, match=problem):
            set_share(**{**told, "actor": stage.olga, "reason": "x", "percent": 20} | change)
    give(stage, 20)
    give(stage, 30)
    assert [row.after["percent"] for row in Row.objects.filter(act="set_share")] == [30, 20]
    give(stage, None)
    assert not Share.objects.exists()


def test_command_sets_and_ends_a_share(stage: Stage) -> None:
    call_command("set_share", "kernels-101", "cpu", "40", reason="the final")
    assert Share.objects.get().percent == 40
    call_command("set_share", "kernels-101", "cpu", "0", reason="over")
    assert not Share.objects.exists()
    for arguments, problem in ((("nothing", "cpu", "1"), "no competition"), (("kernels-101", "cpu", "x"), "whole")):
        with pytest.raises(CommandError, match=problem):
            call_command("set_share", *arguments, reason="x")
