"""`make bench-claim`: times of a runner's claim, beside a long history and with a long queue.

    python -m benchmarks.claim [--attempts N] [--owners N] [--claims N]

Fills a scratch PostgreSQL of its own in bulk: finished attempts of some hundred owners, of which some ended within the
fair window and some were unmeasurable. Half of an owner's submissions, those that wait too, are candidates of a batch,
and a third are tests: a claim orders them by both, then by time. Then it claims again and again from queues of several
lengths, alone and with 5,000 shadow attempts beside them, each claim taken back. Prints median, 95th percentile and
maximum in ms, of the whole of `pipeline.claim_work`, the rows that a claim read in the database, and the time for the
places of the queue.
"""

import argparse
import os
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.board import make_board, scratch_site
from deploy.console import say

QUEUES: Final = ((10, 0), (200, 0), (1_000, 0), (5_000, 0), (5_000, 5_000), (0, 5_000))  # waiting in the open, shadows
RUNNERS: Final = 4
LINES: Final = 11  # computations of the places in the queue

HISTORY: Final = """
INSERT INTO accounts_user
       (username, password, is_superuser, first_name, last_name, email, is_staff, is_active, date_joined,
        session_generation)
SELECT 'racer' || n, '', false, '', '', '', false, true, now(), 0 FROM generate_series(1, %(owners)s) AS n;

INSERT INTO entrants_entrant
       (competition_id, name, looks, is_team, pseudonym, division, model_name, affiliation, declared, created_at)
SELECT %(competition)s, username, ARRAY[username::text], false, '', 'human', '', '', '[]', now()
  FROM accounts_user WHERE username LIKE 'racer%%';

INSERT INTO judging_runner
       (name, hardware, token_prefix, token_digest, fingerprint, epoch, last_seen_at, suspended_reason,
        set_aside_reason, created_at, old_token_digest, revoked_reason)
SELECT 'rex' || n, 'cpu', '', 'digest' || n, '{}', '', now(), '', '', now(), '', '' FROM generate_series(1,
       %(runners)s) AS n;

INSERT INTO submissions_submission
       (owner_id, entrant_id, board_id, mode, filename, source, source_digest, code_digest, size_bytes, licence,
        created_at)
SELECT person.id, entrant.id, %(board)s, CASE WHEN n %% 3 = 0 THEN 'test' ELSE 'ranked' END, 'kernel.py',
       repeat('x', 100), 'sha256:' || repeat('0', 64), '', 1000, 'MIT',
       now() - greatest(0, %(attempts)s - n) * %(every_s)s * interval '1 second'
  FROM generate_series(1, %(attempts)s + 5000) AS n
  JOIN accounts_user AS person ON person.username = 'racer' || 1 + (n::bigint * 7919) %% %(owners)s
  JOIN entrants_entrant AS entrant ON entrant.name = person.username
 ORDER BY n;

INSERT INTO submissions_batch (owner_id, mode, budget_s, size, ended_as, created_at, settled_at)
SELECT id, 'ranked', 1000, 256, '', now(), now() FROM accounts_user WHERE username LIKE 'racer%%';

INSERT INTO submissions_candidate (batch_id, submission_id, number)
SELECT batch.id, submission.id, row_number() OVER (PARTITION BY batch.id ORDER BY submission.id)
  FROM submissions_submission AS submission
  JOIN submissions_batch AS batch ON batch.owner_id = submission.owner_id
 WHERE submission.id %% 2 = 0;

INSERT INTO judging_attempt
       (submission_id, owner_id, is_ranked, sent_at, number, is_current, is_shadow, cause, losses, hardware,
       competition_id, version_id, state,
        outcome, reason, runner_id, token, created_at, claimed_at, finished_at)
SELECT id, owner_id, mode = 'ranked', created_at, 1, true, false, 'first', 0, 'cpu', %(competition)s,
       %(version)s, 'done',
       CASE WHEN id %% 100 = 0 THEN 'unmeasurable' ELSE 'passed' END, '',
       (SELECT min(id) FROM judging_runner) + id %% %(runners)s, nextval('judging_fencing_token'),
       created_at, created_at, created_at + interval '1 second'
  FROM submissions_submission ORDER BY id LIMIT %(attempts)s
"""
CLEAR: Final = "DELETE FROM judging_attempt WHERE state = 'queued'"
OPEN: Final = """
INSERT INTO judging_attempt
       (submission_id, owner_id, is_ranked, sent_at, number, is_current, is_shadow, cause, losses, hardware,
       competition_id, version_id, state,
        outcome, reason, token, created_at)
SELECT id, owner_id, mode = 'ranked', created_at, 1, true, false, 'first', 0, 'cpu', %(competition)s,
       %(version)s, 'queued', '', '',
       0, created_at
  FROM submissions_submission AS submission
 WHERE NOT EXISTS (SELECT FROM judging_attempt WHERE submission_id = submission.id)
 ORDER BY id LIMIT %(open)s
"""
SHADOW: Final = """
INSERT INTO judging_attempt
       (submission_id, owner_id, is_ranked, sent_at, number, is_current, is_shadow, rejudge_set_id, cause, losses,
       hardware,
        competition_id, version_id, state, outcome, reason, token, created_at)
SELECT submission_id, owner_id, is_ranked, sent_at, 1, false, true, %(set)s, 'rejudge', 0, 'cpu',
       competition_id, %(version)s,
       'queued', '', '',
       0, now()
  FROM judging_attempt WHERE state = 'done' ORDER BY id DESC LIMIT %(shadows)s
"""
ROWS_READ: Final = "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=1_000_000)
    parser.add_argument("--owners", type=int, default=200)
    parser.add_argument("--claims", type=int, default=200)
    asked = parser.parse_args()
    with scratch_site():
        began = time.monotonic()
        figures = fill_history(asked.attempts, asked.owners)
        _run("VACUUM ANALYZE", {})
        filled_s = time.monotonic() - began
        say(f"{asked.attempts:,} finished attempts of {asked.owners:,} owners: filled in {filled_s:.0f} s")
        say(f"{os.cpu_count()} cores; ms a claim, {asked.claims} each; cpu: of site and database together, mean")
        say("| waiting | shadows beside | p50 | p95 | max | cpu | rows read | all places, p50 |")
        say("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for open_, shadows in QUEUES:
            fill_queue(figures, open_=open_, shadows=shadows)
            _measure(f"{open_:,} | {shadows:,}", asked.claims)


def fill_history(attempts: int, owners: int, every_s: float = 0.2) -> dict[str, Any]:
    """Make finished attempts, one submitted every `every_s` seconds until now. Return the figures for fill_queue."""
    from leaderboard.accounts.models import User
    from leaderboard.competitions.models import Competition
    from leaderboard.judging.models import RejudgeSet

    competition = Competition.objects.create(slug="bench", name="Bench")
    board = make_board(competition, "bench")
    figures = {
        "competition": competition.pk,
        "board": board.pk,
        "version": board.version_id,
        "attempts": attempts,
        "owners": owners,
        "every_s": every_s,
        "runners": RUNNERS,
    }
    for statement in HISTORY.split(";\n\n"):
        _run(statement, figures)
    chosen = RejudgeSet.objects.create(
        competition=competition,
        name="bench",
        why="a bench",
        selection={"kind": "list", "ids": []},
        estimate_s=0.0,
        created_by=User.objects.create_superuser("organiser"),
        created_at=board.version.created_at,
    )
    return figures | {"set": chosen.pk}


def fill_queue(figures: dict[str, Any], *, open_: int, shadows: int) -> None:
    """Queue `open_` attempts in the open, 5,000 at most, and `shadows` shadow attempts, and remove all that waited."""
    for statement in (CLEAR, OPEN, SHADOW, "ANALYZE judging_attempt, submissions_submission"):
        _run(statement, figures | {"open": open_, "shadows": shadows})


def _measure(name: str, claims: int) -> None:
    took, cpu_before, rows = [], _cpu_ms(), 0
    for number in range(claims):
        ms, rows = _claim(number)
        took.append(ms)
    parts = statistics.quantiles(took, n=20)
    figures = (statistics.median(took), parts[18], max(took), (_cpu_ms() - cpu_before) / claims)
    say(f"| {name} | {' | '.join(f'{ms:.1f}' for ms in figures)} | {rows:,} | {_places_ms():.1f} |")


def _places_ms() -> float:
    """Return the median time of computing the places of all that waits, which a site keeps for a few seconds."""
    from django.utils import timezone

    from leaderboard.judging import queue

    took = []
    for _ in range(LINES):
        queue.forget()
        began = time.perf_counter()
        queue.line("cpu", now=timezone.now())
        took.append((time.perf_counter() - began) * 1e3)
    return statistics.median(took)


def _cpu_ms() -> float:
    """Return the CPU time of this process and of the process that serves its connection, in ms."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [backend] = cursor.fetchone()
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in ("self", backend)) / 1e6


def _claim(number: int) -> tuple[float, int]:
    from django.db import connection, transaction
    from django.utils import timezone

    from leaderboard import pipeline
    from leaderboard.judging.models import Runner

    runner = Runner.objects.order_by("pk")[number % RUNNERS]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(ROWS_READ)
        [before] = cursor.fetchone()
        began = time.perf_counter()
        job = pipeline.claim_work(runner=runner, now=timezone.now())
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        took_ms = (time.perf_counter() - began) * 1e3
        cursor.execute(ROWS_READ)
        [rows] = cursor.fetchone()
        transaction.set_rollback(True)
    if job is None:
        raise SystemExit("nothing was claimed")
    return took_ms, int(rows - before)


def _run(statement: str, figures: Mapping[str, Any]) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement, figures)


if __name__ == "__main__":
    main()
