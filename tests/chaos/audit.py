"""The auditor of a chaos run: reads the site's database, and trusts none of the site's own conclusions.

    python -m tests.chaos.audit DATABASE_URL FOLDER

FOLDER holds the client's journal and the boards as the web hosts showed them (run.py writes both). The rules of states
are written down here a second time, on purpose. Only two pure functions of the site are used: the replay of a quota
and the ranking, each from rows that the auditor chooses itself.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.rows import namedtuple_row

from leaderboard.standings.ranking.ranking import Run, rank
from leaderboard.submissions.quota import Bucket, Movement, level_at, parse_quotas

JOURNAL, BOARDS = "journal.json", "boards.json"
RUNNING: Final = ("claimed", "building", "checking", "timing")
FINAL: Final = ("done", "lost", "cancelled")
NEXT: Final = {
    "": {"queued"},
    "queued": {"claimed", "cancelled"},
    "claimed": {"claimed", "building", "checking", "timing", "queued", *FINAL},  # claimed: the answer was repeated
    "building": {"checking", "timing", "queued", *FINAL},
    "checking": {"timing", "queued", *FINAL},
    "timing": {"queued", *FINAL},
    **{state: set() for state in FINAL},
}
SPOILED: Final = {
    "unmeasurable": ("voids", "device_unfit", "unsteady", "starved"),
    "infra_error": ("sandbox", "judge_died", "judge_hung", "judge_protocol"),
}
ATTEMPTS: Final = "SELECT * FROM judging_attempt WHERE NOT is_shadow ORDER BY submission_id, number"
EVENTS: Final = "SELECT * FROM judging_attemptevent WHERE NOT in_shadow ORDER BY attempt_id, id"
RESULTS: Final = """
SELECT result.*, result.report->>'token' AS reported, attempt.submission_id, attempt.number, attempt.token,
       held.result_id IS NOT NULL AS is_held
  FROM judging_result AS result
  JOIN judging_attempt AS attempt ON attempt.id = result.attempt_id AND NOT attempt.is_shadow
  LEFT JOIN review_case AS held ON held.result_id = result.id
 ORDER BY attempt.submission_id, attempt.number
"""
SUBMISSIONS: Final = """
SELECT sent.*, board.slug, board.hardware, contest.quotas
  FROM submissions_submission AS sent
  JOIN competitions_board AS board ON board.id = sent.board_id
  JOIN competitions_competition AS contest ON contest.id = board.competition_id
 ORDER BY sent.id
"""


@dataclass(frozen=True)
class Finding:
    check: str
    text: str


class Audit:
    """The rows of a site's database, and the checks over them."""

    def __init__(self, connection: psycopg.Connection[Any], journal: list[dict[str, Any]], boards: dict[str, Any]):
        """`journal`: accepted submissions; `boards`: by web host and slug, the entries that it showed."""
        self._journal, self._boards = journal, boards
        with connection.cursor(row_factory=namedtuple_row) as cursor:

            def rows(query: str) -> list[Any]:
                return cursor.execute(query).fetchall()  # type: ignore[call-overload,no-any-return]

            self.submissions = {row.id: row for row in rows(SUBMISSIONS)}
            self.attempts = rows(ATTEMPTS)
            self.events: dict[int, list[Any]] = defaultdict(list)
            for event in rows(EVENTS):
                self.events[event.attempt_id].append(event)
            self.results = [row for row in rows(RESULTS) if row.submission_id in self.submissions]
            self.entries = rows("SELECT * FROM standings_entry ORDER BY id")
            self.quota = rows("SELECT * FROM submissions_quotaline ORDER BY id")
            self.ranked_epochs = {
                row.hardware: row.name for row in rows("SELECT * FROM judging_epoch WHERE state = 'current'")
            }
        self.tries: dict[int, list[Any]] = defaultdict(list)
        for attempt in self.attempts:
            self.tries[attempt.submission_id].append(attempt)
        self.checks: dict[str, Callable[[], Iterator[str]]] = {
            "lost": self._lost,
            "unfinished": self._unfinished,
            "two results": self._two_results,
            "ranked twice": self._ranked_twice,
            "events": self._events,
            "quotas": self._quotas,
            "tokens": self._tokens,
            "boards": self._boards_differ,
        }

    def findings(self) -> list[Finding]:
        return [Finding(name, text) for name, check in self.checks.items() for text in check()]

    def _lost(self) -> Iterator[str]:
        """Every accepted submission is there once, and none that no client sent."""
        accepted = Counter(line["id"] for line in self._journal)
        for pk, times in accepted.items():
            if times > 1:
                yield f"submission {pk} was the answer to {times} different submissions"
            if pk not in self.submissions:
                yield f"submission {pk} was accepted and is gone"
        for pk in self.submissions.keys() - accepted.keys():
            yield f"submission {pk} was stored, and no client knows it"
        for pk in self.submissions.keys() - self.tries.keys():
            yield f"submission {pk} has no attempt"

    def _unfinished(self) -> Iterator[str]:
        """Every attempt is in a final state, and the last of each submission is current and has an outcome."""
        for attempt in self.attempts:
            if attempt.state not in FINAL:
                yield f"attempt {attempt.id} is {attempt.state}"
        for pk, tries in self.tries.items():
            if [one.number for one in tries] != list(range(1, len(tries) + 1)):
                yield f"submission {pk} has the attempts {[one.number for one in tries]}"
            if [one.id for one in tries if one.is_current] != [tries[-1].id]:
                yield f"submission {pk}: its last attempt is not its current attempt"
            if tries[-1].state != "done" or not tries[-1].outcome:
                yield f"submission {pk} ended as {tries[-1].state}, without an outcome"

    def _two_results(self) -> Iterator[str]:
        """One report counted for each attempt, and one verdict for each submission."""
        by_attempt = Counter(result.attempt_id for result in self.results)
        for attempt in self.attempts:
            given_up = attempt.outcome == "infra_error" and attempt.reason in ("runner_lost", "set_aside")
            wanted = int(attempt.state == "done" and not given_up)
            if by_attempt[attempt.id] != wanted:
                yield f"attempt {attempt.id} ({attempt.state}) has {by_attempt[attempt.id]} results instead of {wanted}"
        verdicts = Counter(result.submission_id for result in self.results if not is_spoiled(result))
        for pk, number in verdicts.items():
            if number > 1:
                yield f"submission {pk} has {number} verdicts"

    def _verdicts(self) -> dict[int, Any]:
        """Return the results that must be on a board, by submission."""
        found = {}
        for result in self.results:
            if self.submissions[result.submission_id].mode == "ranked" and not is_failure(result):
                found[result.submission_id] = result
        return {
            pk: result
            for pk, result in found.items()
            if result.outcome == "passed" and result.ratio and result.telemetry != "none" and not result.is_held
        }

    def _ranked_twice(self) -> Iterator[str]:
        """Every result that can rank has one entry with its figures, and there is no further entry."""
        lines = Counter(entry.submission_id for entry in self.entries)
        for pk, number in lines.items():
            if number > 1:
                yield f"submission {pk} is ranked {number} times"
        verdicts = self._verdicts()
        for pk in verdicts.keys() ^ lines.keys():
            yield f"submission {pk} {'is not ranked' if pk in verdicts else 'is ranked without a result that may rank'}"
        for entry in self.entries:
            result = verdicts.get(entry.submission_id)
            columns = ("attempt_id", "score_us", "ratio", "half_width", "epoch", "telemetry")
            if result and any(getattr(entry, name) != getattr(result, name) for name in columns):
                yield f"the entry of submission {entry.submission_id} differs from its result"

    def _events(self) -> Iterator[str]:
        """Every attempt's events are a legal chain to its state, and each claim's are numbered in order."""
        for attempt in self.attempts:
            state, seqs = "", defaultdict(list)
            for event in self.events[attempt.id]:
                if event.kind == "state":
                    if event.state not in NEXT[state]:
                        yield f"attempt {attempt.id}: {state or 'nothing'}, then {event.state}"
                    state = event.state
                elif state in FINAL:
                    yield f"attempt {attempt.id}: an event after {state}"
                if event.seq is not None:
                    seqs[event.token].append(event.seq)
            if state != attempt.state:
                yield f"attempt {attempt.id} is {attempt.state}, and its last event is {state or 'missing'}"
            for token, numbers in seqs.items():
                if any(after <= before for before, after in pairwise(numbers)):
                    yield f"attempt {attempt.id}: the events of claim {token} are not in order"

    def _tokens(self) -> Iterator[str]:
        """Fencing tokens only grow, none is given twice, and the report that counted bears the last."""
        taken = Counter(attempt.token for attempt in self.attempts if attempt.token)
        for token, number in taken.items():
            if number > 1:
                yield f"token {token} was given {number} times"
        for pk, tries in self.tries.items():
            tokens = [one.token for one in tries if one.token]
            if any(after <= before for before, after in pairwise(tokens)):
                yield f"submission {pk}: its attempts have the tokens {tokens}"
        for attempt in self.attempts:
            tokens = [event.token for event in self.events[attempt.id] if event.token]
            if any(after < before for before, after in pairwise([*tokens, *[attempt.token] * (attempt.token > 0)])):
                yield f"attempt {attempt.id}: its events have the tokens {tokens}, and it has {attempt.token}"
        for result in self.results:
            if result.reported != str(result.token):
                yield f"attempt {result.attempt_id}: a report under token {result.reported} counted, not {result.token}"

    def _quotas(self) -> Iterator[str]:
        """Each submission spent one token; submissions without a verdict by our fault, and only they, have it back."""
        acts: dict[int, list[str]] = defaultdict(list)
        buckets: dict[tuple[int, int, str], list[Any]] = defaultdict(list)
        for line in self.quota:
            acts[line.submission_id].append(line.act)
            buckets[line.user_id, line.board_id, line.mode].append(line)
        for pk, tries in self.tries.items():
            wanted = ["spent", "given_back"] if is_failure(tries[-1]) else ["spent"]
            if acts[pk] != wanted:
                yield f"submission {pk} ({tries[-1].outcome}): {acts[pk]} instead of {wanted}"
        for (user, board, mode), lines in buckets.items():
            known = (self.submissions.get(line.submission_id) for line in lines)
            quotas = parse_quotas(next((sent.quotas for sent in known if sent), {}))
            for number, line in enumerate(lines, start=1):
                filled = level(quotas[mode], lines[:number])
                if filled != line.filled_us:
                    text = f"{line.filled_us} µs are filled instead of {filled}"
                    yield f"account {user}, board {board}, {mode}: after line {line.id} {text}"

    def _boards_differ(self) -> Iterator[str]:
        """Every web host shows each board as it follows from the results."""
        runs: dict[str, list[Run]] = defaultdict(list)
        for pk, result in self._verdicts().items():
            sent = self.submissions[pk]
            if result.epoch == self.ranked_epochs.get(sent.hardware):
                figures = (result.ratio, result.half_width, result.forgeable)
                kernel = sent.code_digest or sent.source_digest
                runs[sent.slug].append(Run(*figures, sent.created_at, pk, sent.entrant_id, kernel))
        for host, boards in self._boards.items():
            for slug in runs.keys() - boards.keys():
                yield f"{host} does not show the board {slug}"
            for slug, shown in boards.items():
                wanted = [
                    (place.rank, place.value.submissions[0], place.value.ratio, len(place.value.submissions))
                    for place in rank(runs[slug])
                ]
                found = [(line["rank"], line["submission"], line["ratio"], line["runs"]) for line in shown]
                if found != wanted:
                    yield f"{host} shows {slug} as {found} instead of {wanted}"


def is_failure(row: Any) -> bool:
    """Return whether an attempt or a result is no verdict, by our fault."""
    return row.outcome == "infra_error" or is_spoiled(row)


def is_spoiled(row: Any) -> bool:
    return row.reason in SPOILED.get(row.outcome, ())


def level(bucket: Bucket, lines: list[Any]) -> int:
    """Return the level after the last line, in µs of refilling."""
    movements = (Movement(line.created_at, -1 if line.act == "spent" else 1) for line in lines)
    return level_at(bucket, movements, lines[-1].created_at).filled // timedelta(microseconds=1)


def audit(database: str, folder: Path) -> list[Finding]:
    journal, boards = (json.loads((folder / name).read_text()) for name in (JOURNAL, BOARDS))
    with psycopg.connect(database) as connection:
        return Audit(connection, journal, boards).findings()


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    found = audit(sys.argv[1], Path(sys.argv[2]))
    for finding in found:
        print(f"{finding.check}: {finding.text}")
    print(f"{len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
