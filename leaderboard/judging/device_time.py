"""Device time of the last ten minutes, by account and by competition, and the shares that staff give competitions.

A share is a ceiling: while other competitions wait for the hardware, a competition beyond its percentage of the time
spent there comes after them. Alone it may use the whole hardware, so no device stays idle. Admission tests and
confirmations are no part of a share.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason, check_staff
from leaderboard.audit.record import record
from leaderboard.competitions.models import Competition
from leaderboard.errors import UserError
from leaderboard.judging.models import LOST, RUNNING, Share

FAIR_WINDOW: Final = timedelta(minutes=10)
LEAST_S: Final = 1.0  # minimum per attempt, so that an attempt claimed a moment ago counts too

# Seconds count, not attempts: ten submissions that run into their timeouts take a device as long as hundreds of quick
# ones. A lost attempt costs its owner nothing, and neither does an attempt of a re-judging set.
# `served` has two branches, each with its own index: attempts that run, and attempts that ended in the window.
_SERVED: Final = """
WITH served AS (
    SELECT owner_id, competition_id, claimed_at, finished_at
      FROM judging_attempt
     WHERE state = ANY(%(running)s) AND hardware = %(hardware)s AND rejudge_set_id IS NULL
     UNION ALL
    SELECT owner_id, competition_id, claimed_at, finished_at
      FROM judging_attempt
     WHERE finished_at > %(since)s AND hardware = %(hardware)s AND rejudge_set_id IS NULL
       AND claimed_at IS NOT NULL AND state <> %(lost)s
)
"""
_SECONDS: Final = """
sum(greatest(%(least_s)s, date_part('epoch', coalesce(finished_at, %(now)s) - greatest(claimed_at, %(since)s))))
"""
_BY_ACCOUNT: Final = f"""
{_SERVED}, by_login AS (
    SELECT owner_id, {_SECONDS} AS seconds FROM served GROUP BY owner_id
), by_account AS (
    SELECT coalesce(login.linked_to_id, login.id) AS account_id, sum(by_login.seconds) AS seconds
      FROM by_login
      JOIN accounts_user AS login ON login.id = by_login.owner_id
     GROUP BY account_id
)
SELECT account_id, seconds FROM by_account
 UNION ALL
SELECT login.id, by_account.seconds FROM by_account JOIN accounts_user AS login ON login.linked_to_id = account_id
"""  # noqa: S608 - the texts above and no value
_BY_COMPETITION: Final = f"{_SERVED} SELECT competition_id, {_SECONDS} FROM served GROUP BY competition_id"  # noqa: S608


def by_account(*, hardware: str, now: datetime) -> dict[int, float]:
    """Map each login to the seconds of its whole account in FAIR_WINDOW, so that linked logins share their turns."""
    return _seconds(_BY_ACCOUNT, hardware, now)


def by_competition(*, hardware: str, now: datetime) -> dict[int | None, float]:
    """Map each competition to its seconds in FAIR_WINDOW."""
    return _seconds(_BY_COMPETITION, hardware, now)


def beyond_share(*, hardware: str, now: datetime) -> list[int]:
    """Return the competitions that have used more than their share of a hardware. One query where none has a share."""
    shares = dict(Share.objects.filter(hardware=hardware).order_by().values_list("competition", "percent"))
    if not shares:
        return []
    used = by_competition(hardware=hardware, now=now)
    total = sum(used.values())
    return [pk for pk, percent in shares.items() if 100 * used.get(pk, 0.0) > percent * total]


@transaction.atomic
def set_share(
    *, competition: Competition, hardware: str, percent: int | None, actor: User | None, reason: str, now: datetime
) -> None:
    """Give a competition a share of a hardware, or with None end its share. `actor` None is the operator's command."""
    check_reason(reason)
    if actor is not None:
        check_staff(actor, "share out hardware, which competitions have in common")
    if percent is not None and not 1 <= percent <= 99:
        raise UserError("percent", percent, "expected 1 to 99; leave it empty for a competition without a ceiling")
    if not competition.boards.filter(hardware=hardware).exists():
        known = ", ".join(sorted(set(competition.boards.values_list("hardware", flat=True)))) or "none"
        raise UserError("hardware", hardware, f"{competition.slug} has no board on it; its hardware: {known}")
    share = Share.objects.select_for_update().filter(competition=competition, hardware=hardware).first()
    before = {"hardware": hardware, "percent": share.percent if share else None}
    if before["percent"] == percent:
        raise UserError("percent", percent, "this is its share already", status=409)
    if percent is None:
        Share.objects.filter(competition=competition, hardware=hardware).delete()
    else:
        values = {"percent": percent, "set_at": now}
        Share.objects.update_or_create(competition=competition, hardware=hardware, defaults=values)
    after = {"hardware": hardware, "percent": percent}
    record(act="set_share", target=competition, actor=actor, reason=reason, now=now, before=before, after=after)


def _seconds(query: str, hardware: str, now: datetime) -> dict[Any, float]:
    figures: dict[str, Any] = {
        "hardware": hardware,
        "now": now,
        "since": now - FAIR_WINDOW,
        "running": list(RUNNING),
        "lost": LOST,
        "least_s": LEAST_S,
    }
    with connection.cursor() as cursor:
        cursor.execute(query, figures)
        return dict(cursor.fetchall())
