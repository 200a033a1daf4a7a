"""`make bench-rejudge`: time of applying a set of re-judgings, on the board of `make bench-board`.

    python -m benchmarks.rejudge [--submissions N …] [--entries N] [--attempts N]

Each set is of N submissions that have a line and that were judged again in the shadow, with the evidence of an honest
run (some 40 kB) and fingerprints. It is applied and taken back, so that each size begins with the same tables. Prints
seconds, queries and the consequences.
"""

import argparse
import gzip
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from benchmarks.board import filled
from deploy.console import say

EVIDENCE: Final = Path(__file__).parents[1] / "tests/runner/evidence/honest/softmax-c_polynomial.json.gz"
PRINTS: Final = 130  # of a source; 30 of them out of 300 that all sources draw from

SOURCES: Final = """
INSERT INTO review_fingerprint (submission_id, entrant_id, owner_id, version, prints, opaque_chars)
SELECT id, entrant_id, owner_id, 1,
       ARRAY(SELECT DISTINCT CASE WHEN n <= 30 THEN (random() * 300)::int ELSE submission.id * 100 + n END
               FROM generate_series(1, %(prints)s) AS n WHERE submission.id > 0), 0
  FROM submissions_submission AS submission WHERE board_id = %(board)s;

INSERT INTO review_measurement (result_id, values, case_ratios, created_at)
SELECT result.id, '{"similar_source": 0.1, "faster_than_best": 0.9}', '{"rows: 512; cols: 4096": 0.5}', now()
  FROM judging_result AS result JOIN standings_entry AS entry ON entry.attempt_id = result.attempt_id
 WHERE entry.board_id = %(board)s;
"""
SHADOWS: Final = """
INSERT INTO judging_attempt
       (submission_id, owner_id, is_ranked, sent_at, number, is_current, is_shadow, rejudge_set_id, cause, losses,
       hardware,
        version_id, state, outcome, reason, token, created_at, claimed_at, finished_at)
SELECT submission_id, owner_id, is_ranked, sent_at, 1, false, true, %(set)s, 'rejudge', 0, hardware, version_id, 'done',
       'passed', '', 1, now(), now(), now()
  FROM judging_attempt
 WHERE id IN (SELECT attempt_id FROM standings_entry WHERE board_id = %(board)s ORDER BY id LIMIT %(submissions)s);

INSERT INTO judging_result
       (attempt_id, outcome, reason, message, flags, score_us, ratio, half_width, epoch, telemetry, report, created_at)
SELECT attempt.id, 'passed', '', '', '[]', 793 + random(), 0.793 + 0.001 * random(), 0.004, '', 'full', %(report)s,
       now()
  FROM judging_attempt AS attempt JOIN standings_entry AS entry USING (submission_id)
 WHERE attempt.rejudge_set_id = %(set)s;

INSERT INTO judging_rejudgeitem (rejudge_set_id, submission_id, before_id, after_id, became)
SELECT %(set)s, submission_id, entry.attempt_id, attempt.id, ''
  FROM judging_attempt AS attempt JOIN standings_entry AS entry USING (submission_id)
 WHERE attempt.rejudge_set_id = %(set)s;
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, nargs="+", default=[250, 1000, 5000])
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--attempts", type=int, default=200_000)
    asked = parser.parse_args()
    with filled(asked.entries, asked.attempts):
        measure(asked.submissions)


def measure(sizes: list[int]) -> None:
    from django.db import connection

    from leaderboard.accounts.models import User
    from leaderboard.competitions.models import Board

    board = Board.objects.get(slug="bench-0")
    with connection.cursor() as cursor:
        for statement in SOURCES.split(";\n\n"):
            cursor.execute(statement, {"board": board.pk, "prints": PRINTS})
        cursor.execute("ANALYZE")
    actor = User.objects.create_superuser("organiser")
    say(f"{'submissions':>12}{'s':>8}{'queries':>9}  what came of it")
    for size in sizes:
        took_s, queries, told = _apply(_make(board, actor, size), actor)
        say(f"{size:>12,}{took_s:8.1f}{queries:>9,}  {dict(told)}")


def _make(board: Any, actor: Any, size: int) -> Any:
    from django.db import connection
    from django.utils import timezone

    from leaderboard.judging.models import RejudgeSet

    chosen = RejudgeSet.objects.create(
        competition=board.competition,
        name=f"of {size}",
        why="a bench",
        selection={"kind": "list", "ids": []},
        estimate_s=0.0,
        created_by=actor,
        created_at=timezone.now(),
    )
    report = {"evidence": json.loads(gzip.decompress(EVIDENCE.read_bytes())), "cases": []}
    told = {"set": chosen.pk, "board": board.pk, "submissions": size, "report": json.dumps(report)}
    with connection.cursor() as cursor:
        for statement in SHADOWS.split(";\n\n"):
            cursor.execute(statement, told)
        cursor.execute("ANALYZE")
    return chosen


def _apply(chosen: Any, actor: Any) -> tuple[float, int, Counter[str]]:
    from django.db import connection, transaction
    from django.utils import timezone

    from leaderboard.rejudging import apply

    queries = Counter[str]()

    def count(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        queries["all"] += 1
        return execute(sql, params, many, context)

    began = time.monotonic()
    with connection.execute_wrapper(count), transaction.atomic():
        told = apply.apply_rejudging(
            chosen=chosen, actor=actor, reason="a bench", now=timezone.now(), leave_out=True, anyway=True
        )
        transaction.set_rollback(True)
    return time.monotonic() - began, queries["all"], told or Counter()


if __name__ == "__main__":
    main()
