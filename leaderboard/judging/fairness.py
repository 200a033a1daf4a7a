"""Device time that each account used lately: the claim serves the account with the least of it first.

Seconds count, not attempts: ten submissions that run into their timeouts take a device as long as hundreds of quick
ones. A lost attempt costs its owner nothing, and neither does an attempt of a re-judging set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection
from django.db.models.functions import Coalesce

from leaderboard.accounts.models import User
from leaderboard.judging.states import LOST, RUNNING

FAIR_WINDOW: Final = timedelta(minutes=10)
LEAST_S: Final = 1.0  # that an attempt counts as, so that an attempt claimed a moment ago counts too

# Two branches, each with an index of its own: what runs, and what ended within the window.
_DEVICE_TIME: Final = """
SELECT owner_id,
       sum(greatest(%(least_s)s,
                    extract(epoch FROM coalesce(finished_at, %(now)s) - greatest(claimed_at, %(since)s))))::float8
  FROM (SELECT owner_id, claimed_at, finished_at
          FROM judging_attempt
         WHERE state = ANY(%(running)s) AND hardware = %(hardware)s AND rejudge_set_id IS NULL
         UNION ALL
        SELECT owner_id, claimed_at, finished_at
          FROM judging_attempt
         WHERE finished_at > %(since)s AND hardware = %(hardware)s AND rejudge_set_id IS NULL
           AND claimed_at IS NOT NULL AND state <> %(lost)s) AS served
 GROUP BY owner_id
"""


def device_seconds(*, hardware: str, now: datetime) -> dict[int, float]:
    """Login → seconds within FAIR_WINDOW of its whole account, so that linked logins take turns as one person."""
    figures: dict[str, Any] = {
        "hardware": hardware,
        "now": now,
        "since": now - FAIR_WINDOW,
        "running": list(RUNNING),
        "lost": LOST,
        "least_s": LEAST_S,
    }
    with connection.cursor() as cursor:
        cursor.execute(_DEVICE_TIME, figures)
        used: dict[int, float] = dict(cursor.fetchall())
    for account, logins in _linked(used).items():
        total = sum(used.get(login, 0.0) for login in (account, *logins))
        used |= dict.fromkeys((account, *logins), total)
    return used


def _linked(logins: Iterable[int]) -> dict[int, list[int]]:
    """Account → all logins that are linked to it, of the accounts of these logins."""
    accounts = User.objects.filter(pk__in=logins).order_by().values(account=Coalesce("linked_to", "pk"))
    found: dict[int, list[int]] = defaultdict(list)
    for login in User.objects.filter(linked_to__in=accounts).only("linked_to"):
        found[login.account_id].append(login.pk)
    return found
