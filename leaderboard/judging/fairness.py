"""Recent device time of each account: the claim serves the account with the least of it first.

Seconds count, not attempts: ten submissions that run into their timeouts take a device as long as hundreds of quick
submissions. A lost attempt costs its owner nothing, and neither does an attempt of a re-judging set.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection

from leaderboard.judging.states import LOST, RUNNING

FAIR_WINDOW: Final = timedelta(minutes=10)
LEAST_S: Final = 1.0  # minimum per attempt, so that an attempt claimed a moment ago counts too

# `served` has two branches, each with its own index: attempts that run, and attempts that ended in the window.
_DEVICE_SECONDS: Final = """
WITH served AS (
    SELECT owner_id, claimed_at, finished_at
      FROM judging_attempt
     WHERE state = ANY(%(running)s) AND hardware = %(hardware)s AND rejudge_set_id IS NULL
     UNION ALL
    SELECT owner_id, claimed_at, finished_at
      FROM judging_attempt
     WHERE finished_at > %(since)s AND hardware = %(hardware)s AND rejudge_set_id IS NULL
       AND claimed_at IS NOT NULL AND state <> %(lost)s
), by_login AS (
    SELECT owner_id,
           sum(greatest(
               %(least_s)s, date_part('epoch', coalesce(finished_at, %(now)s) - greatest(claimed_at, %(since)s))
           )) AS seconds
      FROM served
     GROUP BY owner_id
), by_account AS (
    SELECT coalesce(login.linked_to_id, login.id) AS account_id, sum(by_login.seconds) AS seconds
      FROM by_login
      JOIN accounts_user AS login ON login.id = by_login.owner_id
     GROUP BY account_id
)
SELECT account_id, seconds FROM by_account
 UNION ALL
SELECT login.id, by_account.seconds FROM by_account JOIN accounts_user AS login ON login.linked_to_id = account_id
"""


def device_seconds(*, hardware: str, now: datetime) -> dict[int, float]:
    """Map each login to the seconds of its whole account in FAIR_WINDOW, so that linked logins share their turns."""
    figures: dict[str, Any] = {
        "hardware": hardware,
        "now": now,
        "since": now - FAIR_WINDOW,
        "running": list(RUNNING),
        "lost": LOST,
        "least_s": LEAST_S,
    }
    with connection.cursor() as cursor:
        cursor.execute(_DEVICE_SECONDS, figures)
        return dict(cursor.fetchall())
