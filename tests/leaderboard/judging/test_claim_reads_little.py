"""A claim reads the waiting rows in the database, and no history of their owners.

Statistics of these small tables change from run to run, so scans of whole tables are made dear: the tests ask whether
indexes suffice. `make bench-claim` shows the plans that PostgreSQL chooses for a large site.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.claim import fill_history, fill_queue
from leaderboard import pipeline
from leaderboard.judging.device_time import beyond_share
from leaderboard.judging.models import Attempt, Runner, Share
from leaderboard.pipeline import claim_work
from tests.leaderboard.stage import Stage

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_indexes_first")]
BY_TABLE = "SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables"


@pytest.fixture
def _indexes_first(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")


def rows_read() -> Counter[str]:
    """Return the rows that this connection has read since the last commit, by table."""
    with connection.cursor() as cursor:
        cursor.execute(BY_TABLE)
        return Counter(dict(cursor.fetchall()))


def rows_of_a_claim() -> Counter[str]:
    """Return the rows that a claim reads, by table, and print them for a failing test."""
    runner = Runner.objects.exclude(attempts__state="claimed").order_by("pk")[0]
    before = rows_read()
    assert pipeline.claim_work(runner=runner, now=timezone.now()) is not None
    read = rows_read() - before
    print(read)
    return read


def scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all nodes of a plan that read attempts."""
    if plan.get("Relation Name") == "judging_attempt" and "Scan" in plan["Node Type"]:
        yield plan
    for child in plan.get("Plans", ()):
        yield from scans(child)


def test_claim_does_not_read_the_history_of_owners() -> None:
    figures = fill_history(20_000, 20, every_s=60)  # each owner sent 1,000, nearly all before the fair window
    fill_queue(figures, open_=300, shadows=0)
    assert rows_of_a_claim().total() < 1_000


@pytest.mark.parametrize("shared", [False, True], ids=["without shares", "with a share"])
def test_claim_reads_each_of_5000_waiting_attempts_once(shared: bool) -> None:
    figures = fill_history(5_000, 200, every_s=60)
    fill_queue(figures, open_=5_000, shadows=0)
    if shared:  # and the competition is beyond it, as it alone used the hardware
        Share.objects.create(competition_id=figures["competition"], hardware="cpu", percent=1, set_at=timezone.now())
        assert beyond_share(hardware="cpu", now=timezone.now()) == [figures["competition"]]
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        asked.append((sql, params))
        return execute(sql, params, many, context)

    runner = Runner.objects.order_by("pk")[0]
    with connection.execute_wrapper(note):
        assert claim_work(runner=runner, now=timezone.now()) is not None
    [claim] = [one for one in asked if one[0].strip().startswith("UPDATE judging_attempt AS taken")]
    with connection.cursor() as cursor:
        other = Runner.objects.order_by("pk")[1]
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + claim[0], claim[1] | {"runner": other.pk})
        told = cursor.fetchone()[0]
    plan = (json.loads(told) if isinstance(told, str) else told)[0]["Plan"]
    found = list(scans(plan))
    assert not [scan for scan in found if scan["Node Type"] == "Seq Scan"]
    assert sum(scan["Actual Rows"] * scan["Actual Loops"] for scan in found) < 5_500


def test_claim_does_not_read_what_its_runner_could_not_measure_before() -> None:
    fill_queue(fill_history(8_000, 20, every_s=60), open_=1_000, shadows=0)
    Attempt.objects.filter(state="done").update(outcome="unmeasurable", runner=Runner.objects.order_by("pk")[0])
    again = Attempt.objects.filter(state="queued").order_by("pk")[:100]
    Attempt.objects.filter(pk__in=[attempt.pk for attempt in again]).update(number=2)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    assert rows_of_a_claim().total() < 2_000, "each waiting attempt, half of them with their places in batches"


def test_claim_does_not_look_at_shadow_attempts_while_others_wait() -> None:
    figures = fill_history(10_000, 20, every_s=600)
    fill_queue(figures, open_=5, shadows=0)
    without = rows_of_a_claim()["judging_attempt"]  # the plan for the few accounts differs from run to run
    fill_queue(figures, open_=5, shadows=900)
    assert rows_of_a_claim()["judging_attempt"] < without + 50
    assert Attempt.objects.filter(state="claimed", is_shadow=False).count() == 2


def test_claim_looks_once_for_work_that_its_runner_holds(stage: Stage) -> None:
    stage.submit()
    with CaptureQueriesContext(connection) as asked:
        assert claim_work(runner=stage.rex, now=stage.now) is not None
    assert sum("FROM confirmations_confirmation" in query["sql"] for query in asked.captured_queries) == 1
