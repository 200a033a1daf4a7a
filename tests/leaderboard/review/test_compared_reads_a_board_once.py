"""Screening reads each result of its board at most once, and only the newest results of a long board."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import Min

from benchmarks.board import fill
from benchmarks.claim import ROWS_READ
from leaderboard.judging.models import Result
from leaderboard.review.rules import known as compared
from leaderboard.review.rules.findings import Known

pytestmark = pytest.mark.django_db
RATIO = 0.5  # of every result that `fill` makes


@pytest.fixture
def newest() -> Result:
    fill(entries=800, attempts=1_000)
    results = Result.objects.filter(attempt__submission__board__slug="bench-0")
    return results.select_related("attempt__submission__board__competition").order_by("-pk")[0]


def rows_of(result: Result, incumbent_ratio: float | None) -> tuple[int, Known]:
    with connection.cursor() as cursor:
        cursor.execute(ROWS_READ)
        [before] = cursor.fetchone()
        known = compared.known(result, incumbent_ratio)
        cursor.execute(ROWS_READ)
        [after] = cursor.fetchone()
    return int(after - before), known


def rows_of_a_minimum(result: Result) -> int:
    """Return the number of rows read to find the minimum ratio of the board's results."""
    with connection.cursor() as cursor:
        cursor.execute(ROWS_READ)
        [before] = cursor.fetchone()
        assert compared._standing(result).aggregate(best=Min("ratio")) == {"best": RATIO}
        cursor.execute(ROWS_READ)
        [after] = cursor.fetchone()
    return int(after - before)


def test_known_reads_the_results_of_a_board_once(newest: Result) -> None:
    rows, known = rows_of(newest, 0.3)
    assert rows < 1.5 * rows_of_a_minimum(newest)
    assert known.incumbent_ratio == RATIO


@pytest.mark.parametrize(("published", "times"), [(0.6, 0.5), (None, 0.5), (0.3, 1.5)])
def test_known_reads_all_of_a_long_board_only_where_its_newest_results_are_slower(
    newest: Result, monkeypatch: pytest.MonkeyPatch, published: float | None, times: float
) -> None:
    monkeypatch.setattr(compared, "COMPARED", 100)
    rows, known = rows_of(newest, published)
    assert rows < times * rows_of_a_minimum(newest)
    assert known.incumbent_ratio == (None if published is None else max(RATIO, published))
