"""Screening reads each result of its board at most once, and only the newest results of a long board."""

import pytest
from django.db import connection
from django.db.models import F, Min

from benchmarks import board
from benchmarks.board import fill
from benchmarks.claim import ROWS_READ
from leaderboard.judging.models import Result
from leaderboard.review.rules import screen as compared
from leaderboard.review.rules.findings import Known
from leaderboard.standings.models import Entry

pytestmark = pytest.mark.django_db
LEADER = 0.4
RATIO = 0.5  # of every result that `fill` makes


def analyse() -> None:
    """Renew the statistics of all tables, which the planner would otherwise have from other tests.

    Of tables as small as these it may read all rows instead of an index; whether the indexes suffice is the question.
    """
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute("SET LOCAL enable_seqscan = off")


@pytest.fixture
def newest() -> Result:
    fill(entries=800, attempts=1_000)
    analyse()
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
        compared._standing(result).aggregate(best=Min("ratio"))
        cursor.execute(ROWS_READ)
        [after] = cursor.fetchone()
    return int(after - before)


def test_known_reads_the_results_of_a_board_once(newest: Result) -> None:
    rows, known = rows_of(newest, 0.3)
    assert rows < 1.5 * rows_of_a_minimum(newest)
    assert known.incumbent_ratio == RATIO


@pytest.mark.parametrize("published", [0.6, None])
def test_known_reads_the_newest_results_of_a_long_board(
    newest: Result, monkeypatch: pytest.MonkeyPatch, published: float | None
) -> None:
    monkeypatch.setattr(compared, "COMPARED", 100)
    rows, known = rows_of(newest, published)
    assert rows < 0.5 * rows_of_a_minimum(newest)
    assert known.incumbent_ratio == (None if published is None else max(RATIO, published))


def test_known_finds_an_old_leader_of_a_long_board_from_its_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender's uncleared lines at the very front give no cover."""
    first = "0.5 - 0.1 * (id = (SELECT min(id) FROM judging_attempt))::int"
    monkeypatch.setattr(board, "FILL", board.FILL.replace(" 500, 0.5,", f" 500, {first},"))
    monkeypatch.setattr(compared, "COMPARED", 100)
    monkeypatch.setattr(compared, "AT_FIRST", 1)
    fill(entries=3_200, attempts=3_200)
    analyse()
    results = Result.objects.filter(attempt__submission__board__slug="bench-0")
    result = results.select_related("attempt__submission__board__competition").order_by("-pk")[0]
    lines, submission = Entry.objects.filter(board__slug="bench-0"), result.attempt.submission
    lines.update(ratio=F("ratio") + 1)
    lines.filter(attempt__result=results.earliest("pk")).update(ratio=LEADER)
    assert lines.filter(entrant=submission.entrant_id).exclude(submission=submission).update(ratio=0.25)
    rows, known = rows_of(result, 0.25)
    assert known.incumbent_ratio == LEADER
    assert known == compared.Compared([result]).known(result, 0.25)
    assert rows < 0.5 * rows_of_a_minimum(result)
