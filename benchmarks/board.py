"""`make bench-board`: times of the busiest pages with 10,000 lines on a board and 200,000 attempts.

    python -m benchmarks.board [--entries N] [--attempts N] [--requests N]

Fills a scratch PostgreSQL of its own in bulk, requests each address many times through the whole of the site
(middleware, session, template), and prints median, 95th and 99th percentile in ms, with the number of queries. *warm*:
no data changed since the last look; *changing*: a line of the board got a new time before every tenth look, and
*changed* are only the first looks after that; *begun*: a process with empty caches. *cpu* is the site's own time, the
mean: on a machine with further work it is the most reliable column.
"""

import argparse
import os
import secrets
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from deploy.console import say
from deploy.embedded import Postgres, Valkey

BOARDS: Final = 8  # of the competition; the first has all the entries. As many of a collection
CHANGE_EVERY: Final = 10  # looks
BEGUN: Final = 10  # processes that begin
ENTRANTS_EACH: Final = 3  # entries an entrant has, on average


class Look(NamedTuple):
    took_ms: float
    cpu_ms: float


# Rows get their numbers in the order of their submissions, whatever the planner chooses.
FILL: Final = """
INSERT INTO accounts_user
       (username, password, is_superuser, first_name, last_name, email, is_staff, is_active, date_joined,
        session_generation)
SELECT 'racer' || n, '', false, '', '', '', false, true, now(), 0 FROM generate_series(1, %(entrants)s) AS n ORDER BY n;

INSERT INTO entrants_entrant
       (competition_id, name, looks, is_team, pseudonym, division, model_name, affiliation, declared, created_at)
SELECT %(competition)s, username, ARRAY[username::text], false, '', CASE WHEN id %% 3 = 0 THEN 'agent' ELSE 'human' END,
       CASE WHEN id %% 3 = 0 THEN 'model-1' ELSE '' END, 'Institute ' || id %% 40, '[]', now()
  FROM accounts_user WHERE username LIKE 'racer%%' ORDER BY id;

INSERT INTO entrants_membership (entrant_id, competition_id, user_id, role, rules_digest, joined_at)
SELECT entrant.id, entrant.competition_id, person.id, 'captain', '', now()
  FROM entrants_entrant AS entrant JOIN accounts_user AS person ON person.username = entrant.name
 ORDER BY entrant.id;

INSERT INTO submissions_submission
       (owner_id, entrant_id, board_id, mode, filename, source, source_digest, code_digest, size_bytes, licence,
        created_at)
SELECT membership.user_id, membership.entrant_id, %(board)s + (n > %(entries)s)::int * (n %% (2 * %(boards)s)),
       'ranked', 'kernel.py', 'x', 'sha256:' || repeat('0', 64),
       'tokens1:' || encode(sha256(((n / 2)::text)::bytea), 'hex'), 1,
       'MIT', now() - interval '30 days' + n * interval '1 second'
  FROM generate_series(1, %(attempts)s) AS n
  JOIN entrants_membership AS membership
    ON membership.id = (SELECT min(id) FROM entrants_membership) + (n * 7919) %% %(entrants)s
 ORDER BY n;

INSERT INTO judging_attempt
       (submission_id, owner_id, is_ranked, sent_at, number, is_current, is_shadow, cause, losses, hardware, version_id,
        state, outcome, reason, token, created_at, claimed_at, finished_at)
SELECT submission.id, submission.owner_id, true, submission.created_at, 1, true, false, 'first', 0, board.hardware,
       board.version_id, 'done', 'passed', '', 1, submission.created_at, submission.created_at, submission.created_at
  FROM submissions_submission AS submission JOIN competitions_board AS board ON board.id = submission.board_id
 ORDER BY submission.id;

INSERT INTO judging_result
       (attempt_id, outcome, reason, message, flags, score_us, ratio, half_width, epoch, telemetry, report, created_at)
SELECT id, 'passed', '', '', '[]', 500, 0.5, 0.004, '', 'full', '{}', created_at FROM judging_attempt ORDER BY id;

INSERT INTO standings_entry
       (board_id, owner_id, entrant_id, submission_id, attempt_id, score_us, ratio, half_width, epoch, code_digest,
        forgeable, telemetry, submitted_at, published_at)
SELECT submission.board_id, submission.owner_id, submission.entrant_id, submission.id, attempt.id,
       1000 * ratio, ratio, 0.002 + 0.01 * random(), '', submission.code_digest, 0.002 * random(), 'full',
       submission.created_at, now()
  FROM ((SELECT *, 0.2 + 0.8 * random() AS ratio FROM submissions_submission ORDER BY id LIMIT %(entries)s) UNION ALL
        (SELECT *, 0.2 + 0.8 * random() FROM submissions_submission WHERE board_id >= %(board)s + %(boards)s
          ORDER BY id LIMIT %(entries)s)) AS submission
  JOIN judging_attempt AS attempt ON attempt.submission_id = submission.id;

INSERT INTO review_case (result_id, board_id, origin, opened_at, state, since, is_by_itself, labels)
SELECT result.id, submission.board_id, 'held', result.created_at, 'waiting', result.created_at, false, '{}'
  FROM judging_result AS result
  JOIN judging_attempt AS attempt ON attempt.id = result.attempt_id
  JOIN submissions_submission AS submission ON submission.id = attempt.submission_id
 WHERE submission.id %% 400 = 0 AND NOT EXISTS (SELECT FROM standings_entry WHERE submission_id = submission.id);
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--attempts", type=int, default=200_000)
    parser.add_argument("--requests", type=int, default=60)
    asked = parser.parse_args()
    with filled(asked.entries, asked.attempts):
        _measure(asked.requests)


@contextmanager
def filled(entries: int, attempts: int) -> Iterator[None]:
    """Run a site on a PostgreSQL of its own, with a board of that size."""
    with scratch_site():
        fill(entries, attempts)
        yield


@contextmanager
def scratch_site() -> Iterator[None]:
    """Run a site without any data, on a PostgreSQL of its own."""
    with tempfile.TemporaryDirectory(prefix="pf-bench-") as folder:
        state = Path(folder)
        state.chmod(0o711)  # the server has a user of its own when we are root
        postgres, valkey = Postgres(state, durable=False), Valkey(state)
        try:
            set_up(postgres.url, valkey.url)
            yield
        finally:
            valkey.stop()
            postgres.stop()


def set_up(url: str, broker_url: str) -> None:
    os.environ.update(
        DJANGO_SETTINGS_MODULE="leaderboard.settings",
        DATABASE_URL=url,
        BROKER_URL=broker_url,
        SECRET_KEY=secrets.token_urlsafe(48),
        ALLOWED_HOSTS="testserver",
        SITE_URL="http://127.0.0.1:8000",
        DEBUG="0",
        LOG_LEVEL="ERROR",
    )
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    import_module("leaderboard.asgi")  # begins as a process of the site does


def fill(entries: int, attempts: int) -> None:
    from django.db import connection

    began = time.monotonic()
    first = _boards()
    numbers = {
        "competition": first.competition_id,
        "board": first.pk,
        "boards": BOARDS,
        "entries": entries,
        "attempts": attempts,
        "entrants": max(1, entries // ENTRANTS_EACH),
    }
    with connection.cursor() as cursor:
        for statement in FILL.split(";\n\n"):
            cursor.execute(statement, numbers)
        cursor.execute("ANALYZE")
    what = f"{entries:,} entries on one board, as many in a collection, {attempts:,} attempts"
    say(f"{what}: filled in {time.monotonic() - began:.0f} s")


def _boards() -> Any:
    """Make the boards, the collection's last, and return the first."""
    from leaderboard.competitions.models import Competition

    competition = Competition.objects.create(slug="bench", name="Bench")
    made = [make_board(competition, f"bench-{number}") for number in range(BOARDS)]
    collection = Competition.objects.create(slug="suite", name="Suite")
    for number in range(BOARDS):
        make_board(collection, f"suite-{number}", interface="model", entry="Model", level=1)
    return made[0]


def make_board(competition: Any, slug: str, **more: Any) -> Any:
    from leaderboard.competitions.models import Board, Problem, ProblemVersion
    from problems.spec import Problem as Specification

    specification = Specification(
        slug=slug,
        title=slug,
        description="Softmax of each row.",
        files={"reference.py": "def ref_kernel(data):\n    return data\n"},
        benchmarks=({"rows": 512, "cols": 4096, "seed": 1},),
        ranking_by="geom",
        gpus=("cpu",),
        **more,
    )
    problem = Problem.objects.create(slug=slug, title=slug)
    version = ProblemVersion.objects.create(
        problem=problem, digest=specification.digest, bundle=specification.to_bundle()
    )
    return Board.objects.create(competition=competition, problem=problem, version=version, slug=slug, hardware="cpu")


def _measure(requests: int) -> None:
    from django.test import Client

    from leaderboard.accounts.models import User

    stranger, reviewer = Client(), Client()
    reviewer.force_login(User.objects.create_superuser("reviewer"))
    say(f"{os.cpu_count()} cores; ms a request, {requests} each, five times as many where the board changes")
    say(f"{'':44}{'p50':>8}{'p95':>8}{'p99':>8}{'cpu':>8}  queries")
    board, standings = "/boards/bench-0/cpu", "/competitions/bench/standings"
    for name, client, address, changes in (
        ("board page", stranger, board, True),
        ("board page, last lines", stranger, f"{board}?from=3000", False),
        ("board page, one division", stranger, f"{board}?division=agent", False),
        ("board API, 100 lines", stranger, f"/api/v1{board}/entries?limit=100", True),
        ("competition's standings", stranger, standings, True),
        ("standings API, 100 lines", stranger, f"/api/v1{standings}?limit=100", False),
        ("records of a board", stranger, f"{board}/history", True),
        ("collection", stranger, "/collections/suite", False),
        ("home page", stranger, "/", False),
        ("review queue", reviewer, "/review", False),
        ("review queue API, 50 cases", reviewer, "/api/v1/review", False),
    ):
        queries = queries_of(client, address)
        _line(f"{name}, warm", [look(client, address) for _ in range(requests)], queries)
        if changes:
            looks, firsts = _changing(client, address, 5 * requests)
            _line(f"{name}, changing", looks, queries)
            _line(f"{name}, changed", firsts, queries)
    _line("board page, begun", [_begin(stranger, board) for _ in range(BEGUN)], queries_of(stranger, board))


def _changing(client: Any, address: str, requests: int) -> tuple[list[Look], list[Look]]:
    """Return all looks, and the looks right after a change."""
    from leaderboard.standings.models import Entry

    chance, looks = Random(1), []
    lines = list(Entry.objects.filter(board__slug="bench-0").order_by("pk").values_list("pk", flat=True))
    for number in range(requests):
        if not number % CHANGE_EVERY:
            ratio = chance.uniform(0.2, 1.0)
            Entry.objects.filter(pk=chance.choice(lines)).update(ratio=ratio, score_us=1000 * ratio)
        looks.append(look(client, address))
    return looks, looks[::CHANGE_EVERY]


def _begin(client: Any, address: str) -> Look:
    from leaderboard.standings.read import table

    table.forget()
    return look(client, address)


def look(client: Any, address: str) -> Look:
    began, ran = time.perf_counter(), time.process_time()
    who = f"10.{secrets.randbelow(256)}.{secrets.randbelow(256)}.{secrets.randbelow(256)}"  # evades the rate limit
    answer = client.get(address, REMOTE_ADDR=who)
    took = Look((time.perf_counter() - began) * 1e3, (time.process_time() - ran) * 1e3)
    if answer.status_code != 200:
        raise SystemExit(f"{address} answers {answer.status_code}")
    return took


def queries_of(client: Any, address: str) -> int:
    """Return the queries of a look that is not the first."""
    client.get(address)
    with counted() as queries:
        client.get(address)
    return len(queries)


@contextmanager
def counted() -> Iterator[list[str]]:
    """Collect the queries of this connection."""
    from django.db import connection

    queries: list[str] = []

    def count(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        queries.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        yield queries


def _line(name: str, looks: list[Look], queries: int) -> None:
    took = [look.took_ms for look in looks]
    parts = statistics.quantiles(took, n=100)
    figures = (statistics.median(took), parts[94], parts[98], statistics.fmean(look.cpu_ms for look in looks))
    say(f"{name:44}{''.join(f'{figure:8.1f}' for figure in figures)}  {queries}")


if __name__ == "__main__":
    main()
