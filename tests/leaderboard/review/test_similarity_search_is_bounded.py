"""most_similar visits a bounded number of pairs, for any number of submissions that share fingerprints."""

import json
import random
import time
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.review.rules import similarity
from leaderboard.review.rules.findings import Likeness
from leaderboard.review.rules.fingerprints import most_similar
from tests.leaderboard.stage import Stage

FLOOD = 500
MOST_VISITED = 110_000


@pytest.fixture
def own() -> list[int]:
    return random.Random(1).sample(range(-(1 << 31), 1 << 31), similarity.MOST_PRINTS)


def test_most_similar_visits_few_of_500_sources_that_share_6000_prints(stage: Stage, own: list[int]) -> None:
    likeness, visited = search(stage, own, [own] * FLOOD)
    assert likeness is not None
    assert likeness.share > 0.9
    assert visited <= MOST_VISITED


def test_most_similar_finds_the_copied_source_beside_500_that_share_a_little(stage: Stage, own: list[int]) -> None:
    chance = random.Random(2)
    decoys = [own[:400] + chance.sample(range(-(1 << 31), 1 << 31), 600) for _ in range(FLOOD)]
    likeness, visited = search(stage, own, [*decoys, own[-600:]])
    assert likeness is not None
    assert (likeness.share, likeness.submission_id) == (1.0, -FLOOD - 1)
    assert visited <= MOST_VISITED


def search(stage: Stage, own: list[int], others: Sequence[list[int]]) -> tuple[Likeness | None, int]:
    """Return the likeness found for these prints, and the largest row count of any step of the query's plan."""
    suspect = stage.submit(stage.cleo)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE review_fingerprint (LIKE public.review_fingerprint) ON COMMIT DROP")
        cursor.executemany(
            "INSERT INTO review_fingerprint (id, submission_id, entrant_id, owner_id, version, prints, opaque_chars)"
            " VALUES (%s, %s, 0, 0, %s, %s, 0)",
            [(number, -number, similarity.VERSION, prints) for number, prints in enumerate(others, start=1)],
        )
        cursor.execute("ALTER TABLE review_fingerprint ADD PRIMARY KEY (id)")
        cursor.execute("CREATE INDEX ON review_fingerprint USING gin (prints) WITH (fastupdate = off)")
        cursor.execute("ANALYZE review_fingerprint")
    began = time.perf_counter()
    with CaptureQueriesContext(connection) as asked:
        likeness = most_similar(frozenset(own), suspect)
    print(f"{len(others)} sources asked in {1000 * (time.perf_counter() - began):.0f} ms")
    (query,) = (one["sql"] for one in asked.captured_queries if "prints" in one["sql"])
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) " + query)
        (plan,) = cursor.fetchone()
    return likeness, max(rows_of((plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"]))


def rows_of(step: dict[str, Any]) -> list[int]:
    inner = [rows for part in step.get("Plans", ()) for rows in rows_of(part)]
    return [round(step["Actual Rows"] * step["Actual Loops"]), *inner]
