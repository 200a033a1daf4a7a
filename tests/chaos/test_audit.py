"""The auditor finds every kind of damage: a site judges a few submissions, then rows are tampered with.

Each damage is undone before the next. The database's own constraints and triggers, which refuse all of it, are off.
"""

import json
import uuid
from typing import Any

import httpx
import psycopg
import pytest

from tests.chaos.audit import BOARDS, JOURNAL, Audit, audit
from tests.e2e import conftest as e2e
from tests.e2e.conftest import Stage, await_that

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

founded, database, empty_stage, stage = e2e.founded, e2e.database, e2e.empty_stage, e2e.stage

SLUG = "softmax"
FIRST = "(SELECT min(id) FROM {})"
COPY = "CREATE TEMP TABLE copy AS SELECT * FROM {0} WHERE id = (SELECT min(id) FROM {0}); UPDATE copy SET id = 900;"
SENT, TRIED, RESULTS = "submissions_submission", "judging_attempt", "judging_result"
EVENTS, LINES, ENTRIES = "judging_attemptevent", "submissions_quotaline", "standings_entry"
# By check: acts that it must report, each alone.
DAMAGES = {
    "lost": [
        f"DELETE FROM {SENT} WHERE id = {FIRST.format(SENT)}",
        f"DELETE FROM {TRIED} WHERE id = {FIRST.format(TRIED)}",
        f"{COPY.format(SENT)} INSERT INTO {SENT} SELECT * FROM copy",
    ],
    "unfinished": [
        f"UPDATE {TRIED} SET state = 'queued' WHERE id = {FIRST.format(TRIED)}",
        f"UPDATE {TRIED} SET state = 'lost', outcome = '' WHERE id = {FIRST.format(TRIED)}",
        f"UPDATE {TRIED} SET is_current = false WHERE id = {FIRST.format(TRIED)}",
        f"UPDATE {TRIED} SET number = 2 WHERE id = {FIRST.format(TRIED)}",
    ],
    "two results": [
        f"{COPY.format(RESULTS)} INSERT INTO {RESULTS} SELECT * FROM copy",
        f"DELETE FROM {RESULTS} WHERE id = {FIRST.format(RESULTS)}",
        # Two attempts of a submission count, each with a report.
        f"UPDATE {TRIED} SET submission_id = {FIRST.format(SENT)}",
    ],
    "ranked twice": [
        f"{COPY.format(ENTRIES)} INSERT INTO {ENTRIES} SELECT * FROM copy",
        f"DELETE FROM {ENTRIES} WHERE id = {FIRST.format(ENTRIES)}",
        f"UPDATE {ENTRIES} SET ratio = ratio / 2 WHERE id = {FIRST.format(ENTRIES)}",
        f"UPDATE {RESULTS} SET outcome = 'wrong' WHERE id = {FIRST.format(RESULTS)}",
    ],
    "events": [
        f"DELETE FROM {EVENTS} WHERE state = 'claimed' AND kind = 'state'",
        f"{COPY.format(EVENTS)} UPDATE copy SET id = 90000; INSERT INTO {EVENTS} SELECT * FROM copy",
        f"UPDATE {EVENTS} SET seq = 9 - seq WHERE seq IS NOT NULL",
        f"DELETE FROM {EVENTS} WHERE state = 'done'",
    ],
    "quotas": [
        f"DELETE FROM {LINES} WHERE id = {FIRST.format(LINES)}",
        f"{COPY.format(LINES)} UPDATE copy SET id = 90000, act = 'given_back'; INSERT INTO {LINES} SELECT * FROM copy",
        f"UPDATE {LINES} SET filled_us = filled_us + 1 WHERE id = {FIRST.format(LINES)}",
    ],
    "tokens": [
        f"UPDATE {TRIED} SET token = 1",
        f"UPDATE {EVENTS} SET token = token + 1000 WHERE token > 0",
        f"""UPDATE {RESULTS} SET report = report || '{{"token": 1000}}' WHERE id = {FIRST.format(RESULTS)}""",
    ],
}
UNCONSTRAINED = """
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT conrelid::regclass AS place, conname FROM pg_constraint
              WHERE contype IN ('u', 'c', 'f') AND coninhcount = 0 AND connamespace = 'public'::regnamespace LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I CASCADE', one.place, one.conname);
  END LOOP;
  FOR one IN SELECT indexrelid::regclass AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
              WHERE indisunique AND NOT indisprimary AND relnamespace = 'public'::regnamespace LOOP
    EXECUTE format('DROP INDEX %s', one.name);
  END LOOP;
  FOR one IN SELECT DISTINCT tgrelid::regclass AS place FROM pg_trigger WHERE NOT tgisinternal LOOP
    EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', one.place);
  END LOOP;
END $$
"""


def judged(stage: Stage) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Have a few submissions judged; return the client's journal and the board as shown."""
    token = stage.manage("create_runner", "rex", "--hardware", "cpu").strip()
    stage.begin_runner("rex", token, RUNNER_JUDGE_COMMAND=e2e.slow_judge(0))
    accounts = json.loads((stage.folder / "accounts.json").read_text())
    journal = []
    for name in ("ada", "ben", "cleo"):
        headers = {"Authorization": f"Bearer {accounts[name]['token']}", "Idempotency-Key": str(uuid.uuid4())}
        code = f"def custom_kernel(data):\n    return data  # {name}\n"
        sent = {"board": SLUG, "hardware": "cpu", "mode": "ranked", "filename": "kernel.py", "code": code}
        answer = httpx.post(f"{stage.url}/api/v1/submissions", json=sent, headers=headers, trust_env=False)
        assert answer.status_code == 201, answer.text
        journal.append({"id": answer.json()["id"]})
    await_that(lambda: stage.rows("SELECT count(*) FROM judging_result") == [(3,)], within_s=90)
    shown = httpx.get(f"{stage.url}/api/v1/boards/{SLUG}/cpu/entries", trust_env=False).json()
    return journal, {"web-1": {SLUG: shown}}


@pytest.fixture(autouse=True)
def _reports_in_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """The auditor reads them there, as `make chaos` leaves them."""
    monkeypatch.setenv("REPORT_STORE", "")


def test_the_auditor_reports_every_kind_of_damage(stage: Stage) -> None:
    journal, boards = judged(stage)
    (stage.folder / JOURNAL).write_text(json.dumps(journal))
    (stage.folder / BOARDS).write_text(json.dumps(boards))
    assert boards["web-1"][SLUG], "a board without entries proves nothing"
    assert audit(stage.database, stage.folder) == []
    for process in stage.processes:
        process.kill()
        process.wait()

    with psycopg.connect(stage.database) as connection:
        connection.execute(UNCONSTRAINED)
        for check, acts in DAMAGES.items():
            for act in acts:
                with connection.transaction(force_rollback=True):
                    connection.execute(act)
                    found = {finding.check for finding in Audit(connection, journal, boards).findings()}
                assert check in found, f"{act}: {found}"
        line, *rest = boards["web-1"][SLUG]
        for wrong in ([], rest, [line, line, *rest], [line | {"rank": 2}, *rest], [line | {"runs": 2}, *rest]):
            shown = {"web-2": {SLUG: wrong}}
            assert {finding.check for finding in Audit(connection, journal, shown).findings()} == {"boards"}, wrong
        found = Audit(connection, [*journal, journal[0], {"id": 901}], boards).findings()
        assert [finding.check for finding in found] == ["lost", "lost"]
        connection.rollback()
