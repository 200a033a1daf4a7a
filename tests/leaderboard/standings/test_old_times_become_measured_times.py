"""The migration to measured times gives older results and lines the times of their reports."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import connection

from leaderboard.competitions.models import Board, ProblemVersion
from leaderboard.judging.models import Result
from leaderboard.standings.models import Entry
from tests.leaderboard.stage import Stage, make_problem

CASES = (
    {"stage": "check", "name": "n=1", "good": True},
    {"stage": "time", "name": "a", "measured_us": 1641.0},
    {"stage": "time", "name": "b", "measured_us": 2024.0},
)


def migrate_times() -> None:
    migration = import_module("leaderboard.standings.migrations.0014_measured_time")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(migration.UNLOCK + migration.MEASURED + migration.LOCK)


@pytest.mark.parametrize(("rule", "time_us"), [("geom", 1822.4664606), ("mean", 1832.5), ("last", 2024.0)])
def test_the_time_of_a_result_and_its_line_is_combined_as_the_problem_ranks(
    stage: Stage, rule: str, time_us: float
) -> None:
    made = make_problem(ranking_by=rule)
    found = {"problem": stage.board.problem, "bundle": made.to_bundle()}
    Board.objects.update(version=ProblemVersion.objects.get_or_create(digest=made.digest, defaults=found)[0])
    told = stage.judge(stage.submit(), score_us=2585.0, ratio=0.8, cases=CASES)
    silent = stage.judge(stage.submit(), score_us=900.0, ratio=0.9)
    wrong = stage.judge(stage.submit(), outcome="wrong", reason="mismatch", cases=CASES)
    migrate_times()
    assert Result.objects.get(pk=told.pk).score_us == pytest.approx(time_us)
    assert Entry.objects.get(attempt=told.attempt_id).score_us == pytest.approx(time_us)
    assert Result.objects.get(pk=silent.pk).score_us == 900.0, "a report without measured times keeps what it said"
    assert Result.objects.get(pk=wrong.pk).score_us is None
