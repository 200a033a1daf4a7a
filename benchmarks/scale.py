"""`make bench-scale`: cost of the site's acts and pages with 10,000, 100,000 and 1,000,000 submissions.

    python -m benchmarks.scale [--submissions N …] [--times N] [--plot FILE.svg]

Each size fills a scratch PostgreSQL of its own in bulk: 3,000 people in six competitions with 60 boards, popular and
quiet ones, over 30 days, and 5,000 submissions that wait. Prints median, 95th percentile and maximum in ms, the number
of queries, and the limits. An act is taken back each time. A page goes through the whole of the site (middleware,
session, template). `--plot` wants matplotlib.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.board import counted, look, make_board, queries_of, scratch_site
from deploy.console import say

COMPETITIONS: Final = 6
BOARDS: Final = 60
PEOPLE: Final = 3_000
WAITING: Final = 5_000
RUNNERS: Final = 4
EXPIRED: Final = 3  # leases in each sweep
DAYS: Final = 30

# A line's trigger would note every change, and the index of prints costs more row by row than built at the end.
PREPARE: Final = """
ALTER TABLE standings_entry DISABLE TRIGGER USER;
SET maintenance_work_mem = '1GB';
SELECT setseed(0.5);
DROP INDEX fingerprint_by_print
"""
FILL: Final = """
INSERT INTO accounts_user
       (username, password, is_superuser, first_name, last_name, email, is_staff, is_active, date_joined,
        session_generation)
SELECT 'racer' || n, '', false, '', '', '', false, true, now(), 0 FROM generate_series(1, %(people)s) AS n ORDER BY n;

INSERT INTO entrants_entrant
       (competition_id, name, looks, is_team, pseudonym, division, model_name, affiliation, declared, created_at)
SELECT competition.id, username, ARRAY[username::text], false, '', 'agent', 'model-' || person.id %% 3,
       'Institute ' || person.id %% 40, '[]', now()
  FROM competitions_competition AS competition CROSS JOIN accounts_user AS person
 WHERE username LIKE 'racer%%' ORDER BY competition.id, person.id;

INSERT INTO entrants_membership (entrant_id, competition_id, user_id, role, rules_digest, joined_at)
SELECT entrant.id, entrant.competition_id, person.id, 'captain', '', now()
  FROM entrants_entrant AS entrant JOIN accounts_user AS person ON person.username = entrant.name;

INSERT INTO judging_runner
       (name, hardware, token_prefix, token_digest, fingerprint, epoch, last_seen_at, suspended_reason,
        set_aside_reason, created_at, old_token_digest, revoked_reason)
SELECT 'rex' || n, 'cpu', '', 'digest' || n, '{}', '', now(), '', '', now(), '', ''
  FROM generate_series(1, %(runners)s) AS n;

CREATE TEMPORARY TABLE draw AS
SELECT n, floor(%(boards)s * power(random(), 2))::int AS board, floor(%(people)s * power(random(), 2))::int AS person,
       n %% 3 <> 0 AS is_ranked, random() < 0.8 AS is_good
  FROM generate_series(1, %(submissions)s + %(waiting)s) AS n;

INSERT INTO submissions_submission
       (id, owner_id, entrant_id, board_id, mode, filename, source, source_digest, code_digest, size_bytes, licence,
        created_at)
SELECT n, (SELECT min(id) FROM accounts_user WHERE username LIKE 'racer%%') + person,
       (SELECT min(id) FROM entrants_entrant)
         + %(people)s * (board / (%(boards)s / %(competitions)s)) + person,
       %(board)s + board, CASE WHEN is_ranked THEN 'ranked' ELSE 'test' END, 'kernel.py',
       repeat('value = value + ' || n || E'\\n', 20), 'sha256:' || encode(sha256(n::text::bytea), 'hex'),
       'tokens1:' || encode(sha256((n / 2)::text::bytea), 'hex'), 400, 'MIT',
       now() - greatest(0, %(submissions)s - n) * (%(days)s * 86400.0 / %(submissions)s) * interval '1 second'
  FROM draw ORDER BY n;

INSERT INTO judging_attempt
       (id, submission_id, owner_id, is_ranked, sent_at, number, is_current, is_shadow, cause, losses, hardware,
        competition_id, version_id, state, outcome, reason, runner_id, token, created_at, claimed_at, finished_at)
SELECT submission.id, submission.id, owner_id, is_ranked, submission.created_at, 1, true, false, 'first', 0, 'cpu',
       board.competition_id, version_id, 'done',
       CASE WHEN n %% 100 = 0 THEN 'unmeasurable' WHEN is_good THEN 'passed' ELSE 'wrong' END, '',
       (SELECT min(id) FROM judging_runner) + n %% %(runners)s, n, submission.created_at, submission.created_at,
       submission.created_at + interval '20 seconds'
  FROM submissions_submission AS submission JOIN draw ON n = submission.id
  JOIN competitions_board AS board ON board.id = board_id
 WHERE n <= %(submissions)s ORDER BY n;

INSERT INTO judging_attempt
       (id, submission_id, owner_id, is_ranked, sent_at, number, is_current, is_shadow, cause, losses, hardware,
        competition_id, version_id, state, outcome, reason, token, created_at)
SELECT submission.id, submission.id, owner_id, mode = 'ranked', submission.created_at, 1, true, false, 'first', 0,
       'cpu', board.competition_id, version_id, 'queued', '', '', 0, submission.created_at
  FROM submissions_submission AS submission JOIN competitions_board AS board ON board.id = board_id
 WHERE submission.id > %(submissions)s ORDER BY submission.id;

INSERT INTO judging_attemptevent
       (submission_id, attempt_id, token, seq, kind, state, message, data, in_shadow, created_at)
SELECT attempt.id, attempt.id, token, place, 'state', state_then, '', '{}', false,
       attempt.created_at + place * interval '5 seconds'
  FROM judging_attempt AS attempt
 CROSS JOIN unnest(ARRAY['claimed', 'building', 'checking', 'done']) WITH ORDINALITY AS step (state_then, place)
 WHERE attempt.state = 'done' ORDER BY attempt.id, place;

INSERT INTO judging_result
       (id, attempt_id, outcome, reason, message, flags, score_us, ratio, half_width, epoch, telemetry, report,
        created_at)
SELECT id, id, outcome, '', '', '[]', 1000 * drawn, drawn, CASE WHEN drawn > 0 THEN 0.004 END, '',
       CASE WHEN drawn > 0 THEN 'full' ELSE '' END, '{}', finished_at
  FROM (SELECT *, CASE WHEN outcome = 'passed' AND is_ranked THEN 0.2 + 0.8 * random() END AS drawn
          FROM judging_attempt WHERE state = 'done' ORDER BY id) AS attempt;

INSERT INTO standings_entry
       (board_id, owner_id, entrant_id, submission_id, attempt_id, score_us, ratio, half_width, epoch, code_digest,
        forgeable, telemetry, submitted_at, published_at)
SELECT board_id, submission.owner_id, entrant_id, submission.id, attempt_id, score_us, ratio, half_width, '',
       code_digest, 0.001, 'full', submission.created_at, result.created_at
  FROM judging_result AS result JOIN submissions_submission AS submission ON submission.id = result.id
 WHERE ratio IS NOT NULL AND result.id %% 50 <> 0 ORDER BY result.id;

INSERT INTO review_case (result_id, board_id, origin, opened_at, state, since, is_by_itself, labels)
SELECT result.id, board_id, 'held', result.created_at,
       CASE WHEN result.id > %(submissions)s - 20000 THEN 'waiting' ELSE 'cleared' END, result.created_at, false, '{}'
  FROM judging_result AS result JOIN submissions_submission AS submission ON submission.id = result.id
 WHERE ratio IS NOT NULL AND result.id %% 50 = 0;

INSERT INTO review_finding (result_id, rule, threshold, sentence, figures, samples, created_at)
SELECT result_id, 'faster_than_best', 2, 'It is far faster than the best line.', '{}', '{}', opened_at FROM review_case;

INSERT INTO review_measurement (result_id, values, case_ratios, created_at)
SELECT id, '{"similar_source": 0.1, "faster_than_best": 0.9}', '{"rows: 512; cols: 4096": 0.5}', created_at
  FROM judging_result WHERE ratio IS NOT NULL;

INSERT INTO review_fingerprint (submission_id, entrant_id, owner_id, version, prints, opaque_chars)
SELECT id, entrant_id, owner_id, 1,
       ARRAY(SELECT DISTINCT CASE WHEN n <= 10 THEN 1000 * board_id + (random() * 300)::int
                                  ELSE 1000000 + submission.id * 30 + n END
               FROM generate_series(1, 40) AS n WHERE submission.id > 0), 0
  FROM submissions_submission AS submission WHERE mode = 'ranked';

INSERT INTO submissions_quotaline (user_id, board_id, mode, submission_id, act, filled_us, created_at)
SELECT owner_id, board_id, mode, id, 'spent', 0, created_at FROM submissions_submission ORDER BY id;

INSERT INTO audit_row (act, object_type, object_id, reason, before, after, address, request, created_at)
SELECT 'change', 'submission', id::text, 'a bench', '{}', '{}', '', '', created_at
  FROM submissions_submission WHERE id %% 10 = 0
"""
FINISH: Final = """
CREATE INDEX fingerprint_by_print ON review_fingerprint USING gin (prints) WITH (fastupdate = off);
SELECT setval(pg_get_serial_sequence('submissions_submission', 'id'), max(id)) FROM submissions_submission;
SELECT setval(pg_get_serial_sequence('judging_attempt', 'id'), max(id)) FROM judging_attempt;
SELECT setval(pg_get_serial_sequence('judging_result', 'id'), max(id)) FROM judging_result;
SELECT setval('judging_fencing_token', max(id)) FROM judging_attempt;
ALTER TABLE standings_entry ENABLE TRIGGER USER;
UPDATE standings_entry SET ratio = ratio
 WHERE id IN (SELECT min(id) FROM standings_entry GROUP BY board_id);
VACUUM ANALYZE
"""


@dataclass(frozen=True)
class Cost:
    """What an act or a page costs with a number of submissions, in ms."""

    name: str
    limit_ms: float  # of the 95th percentile
    p50_ms: float
    p95_ms: float
    max_ms: float
    queries: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--times", type=int, default=60, help="of each act and page")
    parser.add_argument("--plot", type=Path, help="an SVG file to write")
    parser.add_argument("--costs", type=Path, help=argparse.SUPPRESS)  # of one size: a process has one database
    asked = parser.parse_args()
    if asked.costs:
        asked.costs.write_text(json.dumps([asdict(cost) for cost in measure(asked.submissions[0], asked.times)]))
        return
    say(f"{os.cpu_count()} cores; {asked.times} times each, in ms")
    by_size = {size: _in_its_own_process(size, asked.times) for size in asked.submissions}
    report(by_size)
    if asked.plot:
        plot(by_size, asked.plot)


def _in_its_own_process(size: int, times: int) -> list[Cost]:
    costs = Path(f"/tmp/pf-scale-{os.getpid()}.json")
    arguments = ["--submissions", str(size), "--times", str(times), "--costs", str(costs)]
    try:
        subprocess.run([sys.executable, "-m", "benchmarks.scale", *arguments], check=True)
        return [Cost(**row) for row in json.loads(costs.read_text())]
    finally:
        costs.unlink(missing_ok=True)


def report(by_size: dict[int, list[Cost]]) -> None:
    say("| submissions | act or page | p50 | p95 | max | limit of p95 | queries |")
    say("| --- | --- | --- | --- | --- | --- | --- |")
    for size, costs in by_size.items():
        for cost in costs:
            figures = " | ".join(f"{ms:.1f}" for ms in (cost.p50_ms, cost.p95_ms, cost.max_ms))
            missed = "" if cost.p95_ms < cost.limit_ms else " **missed**"
            say(f"| {size:,} | {cost.name} | {figures} | {cost.limit_ms:.0f}{missed} | {cost.queries} |")


def plot(by_size: dict[int, list[Cost]], file: Path) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for lines in zip(*by_size.values(), strict=True):
        axes.plot([*by_size], [cost.p95_ms for cost in lines], marker="o", label=lines[0].name)
    axes.set(xscale="log", yscale="log", xlabel="submissions", ylabel="95th percentile, ms")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(file, bbox_inches="tight")


def measure(submissions: int, times: int) -> list[Cost]:
    """Fill a scratch database and return the cost of every act and page."""
    with scratch_site():
        began = time.monotonic()
        person = fill(submissions)
        say(f"{submissions:,} submissions: filled in {time.monotonic() - began:.0f} s")
        return [*_acts(times), *_pages(person, times)]


def fill(submissions: int) -> Any:
    """Make the rows, and return the person with most submissions."""
    from django.db import connection

    from leaderboard.accounts.models import User
    from leaderboard.competitions.models import Competition

    boards = []
    for number in range(COMPETITIONS):
        competition = Competition.objects.create(slug=f"bench-{number}", name=f"Bench {number}")
        boards += [make_board(competition, f"bench-{number}-{place}") for place in range(BOARDS // COMPETITIONS)]
    figures = {
        "board": boards[0].pk,
        "boards": BOARDS,
        "competitions": COMPETITIONS,
        "people": PEOPLE,
        "runners": RUNNERS,
        "submissions": submissions,
        "waiting": WAITING,
        "days": DAYS,
    }
    with connection.cursor() as cursor:
        for part, separator in ((PREPARE, ";\n"), (FILL, ";\n\n"), (FINISH, ";\n")):
            for statement in part.split(separator):
                cursor.execute(statement, figures)
    return User.objects.get(username="racer1")


def _acts(times: int) -> Iterator[Cost]:
    for name, limit_ms, act in (
        ("claim", 20, _claim),
        ("report of a ranked pass", 100, _report),
        (f"sweep with {EXPIRED} expired leases", 1_000, _sweep),
    ):
        with counted() as queries:
            act(0)
        yield _cost(name, limit_ms, [act(number) for number in range(times)], len(queries))


def _claim(number: int) -> float:
    with _taken_back():
        return _timed(lambda: _claimed(number))


def _report(number: int) -> float:
    from django.utils import timezone

    from leaderboard import pipeline
    from tests.leaderboard.stage import passing

    with _taken_back():
        runner, job = _claimed(number)
        if job.mode != "ranked":
            raise SystemExit("no ranked submission waits")
        report = passing(job, ratio=0.5 + 0.001 * number)
        return _timed(lambda: pipeline.take_report(runner=runner, report=report, now=timezone.now()))


def _sweep(number: int) -> float:
    from django.utils import timezone

    from leaderboard.judging.management.commands.sweep import sweep_once
    from leaderboard.judging.models import RUNNING, Attempt

    with _taken_back():
        sweep_once()  # or the pause since the last sweep would extend the leases
        for place in range(EXPIRED):
            _claimed(place)
        Attempt.objects.filter(state__in=RUNNING).update(lease_expires_at=timezone.now() - timedelta(minutes=1))
        lost = []
        took_ms = _timed(lambda: lost.append(sweep_once()[0]))
        if lost != [EXPIRED]:
            raise SystemExit(f"{lost} leases expired in place of {EXPIRED}")
        return took_ms


def _claimed(number: int) -> tuple[Any, Any]:
    """Return a runner and its job."""
    from django.utils import timezone

    from leaderboard import pipeline
    from leaderboard.judging.models import Runner

    runner = Runner.objects.order_by("pk")[number % RUNNERS]
    job = pipeline.claim_work(runner=runner, now=timezone.now())
    if job is None:
        raise SystemExit("nothing was claimed")
    return runner, job


@contextmanager
def _taken_back() -> Iterator[None]:
    from django.db import transaction

    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def _timed(act: Callable[[], object]) -> float:
    """Return the time of the act in ms, with the checks that a commit would make."""
    from django.db import connection

    began = time.perf_counter()
    act()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    return (time.perf_counter() - began) * 1e3


def _cost(name: str, limit_ms: float, took: list[float], queries: int) -> Cost:
    return Cost(name, limit_ms, statistics.median(took), statistics.quantiles(took, n=20)[18], max(took), queries)


def _pages(person: Any, times: int) -> Iterator[Cost]:
    from django.test import Client

    from leaderboard.accounts.models import User

    stranger, competitor, reviewer = Client(), Client(), Client()
    competitor.force_login(person)
    reviewer.force_login(User.objects.create_superuser("reviewer"))
    board = "/boards/bench-0-0/cpu"
    for name, limit_ms, client, address in (
        ("board page", 50, stranger, board),
        ("board API, 100 lines", 50, stranger, f"/api/v1{board}/entries?limit=100"),
        ("home page", 100, stranger, "/"),
        ("boards page", 100, stranger, "/boards"),
        ("own submissions", 100, competitor, "/submissions"),
        ("own submissions, API", 100, competitor, "/api/v1/submissions"),
        ("status page with queues", 100, stranger, "/status"),
        ("review queue", 100, reviewer, "/review"),
    ):
        queries = queries_of(client, address)  # the first look fills the process's tables
        yield _cost(name, limit_ms, [look(client, address).took_ms for _ in range(times)], queries)


if __name__ == "__main__":
    main()
