"""Quotas of competitions and their exceptions, and the quota tokens that are spent and given back.

Token rows are written once and never changed. The balance is found by replaying them. Cancellation and all acts of the
owner write no row, so they return no token.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.models import Board, Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.submissions.models import QuotaException, QuotaLine, Submission
from leaderboard.submissions.quota import Bucket, Level, Movement, check_bucket, level_at, parse_quotas, unusual

READ_LINES: Final = 50  # per bucket; the filled level of the oldest line read sums up the lines before it
_US: Final = timedelta(microseconds=1)


def levels(*, owner: User, boards: Iterable[Board], now: datetime) -> dict[tuple[int, str], Level]:
    """Return the owner's level by board and mode. Two queries for any number of boards."""
    boards = list(boards)
    lines: dict[tuple[int, str], list[QuotaLine]] = defaultdict(list)
    for line in _newest_lines(owner, boards):
        lines[line.board_id, line.mode].append(line)
    buckets = _buckets(owner, boards, now)
    return {key: _replay(bucket, lines[key], now) for key, bucket in buckets.items()}


def exceptions_of(owner: User, now: datetime) -> QuerySet[QuotaException]:
    """Return the exceptions in force for this account, newest first."""
    return QuotaException.objects.filter(user__in=logins_of(owner), ends_at__gt=now, ended_at=None)


def _buckets(owner: User, boards: Iterable[Board], now: datetime) -> dict[tuple[int, str], Bucket]:
    """Return the quotas by board and mode. An exception for a board counts before one for its competition."""
    own = {(row.competition_id, row.board_id, row.mode): row for row in exceptions_of(owner, now).reverse()}
    found = {}
    for board in boards:
        for mode, bucket in parse_quotas(board.competition.quotas).items():
            where = board.competition_id
            row = own.get((where, board.pk, mode)) or own.get((where, None, mode))
            found[board.pk, mode] = Bucket(row.capacity, row.per_day) if row else bucket
    return found


def boards_spent_on(owner: User) -> list[Board]:
    """Return the boards on which this owner has ever spent quota."""
    spent = QuotaLine.objects.filter(user__in=logins_of(owner)).values("board")
    return list(Board.objects.with_parts().filter(pk__in=spent))


def check_left(*, owner: User, board: Board, mode: str, now: datetime, wanted: int = 1) -> None:
    """Raise RateLimited if fewer than `wanted` tokens are left now."""
    level = levels(owner=owner, boards=[board], now=now)[board.pk, mode]
    check_bucket(level, mode=mode, board=str(board), now=now, wanted=wanted)


def spend(*, submissions: Sequence[Submission], now: datetime) -> None:
    """Spend a token for each of these submissions of an owner. Raise RateLimited if too few are left.

    The caller holds the owner's row, so two calls cannot both take the last token.
    """
    by_bucket: dict[tuple[int, str], list[Submission]] = defaultdict(list)
    for submission in submissions:
        by_bucket[submission.board_id, submission.mode].append(submission)
    for some in by_bucket.values():
        _write(some, QuotaLine.SPENT, now)


def give_back(*, submission: Submission, now: datetime) -> bool:
    """Give back the token of this submission, once. Return False if it spent none or has it back already."""
    User.objects.select_for_update(no_key=True).get(pk=submission.owner.account_id)
    if set(submission.quota_lines.values_list("act", flat=True)) != {QuotaLine.SPENT}:
        return False
    _write([submission], QuotaLine.GIVEN_BACK, now)
    return True


def _write(submissions: Sequence[Submission], act: str, now: datetime) -> None:
    """Write a line for each of these submissions of an owner to the same board, in the same mode."""
    owner, board, mode = submissions[0].owner, submissions[0].board, submissions[0].mode
    known = [line for line in _newest_lines(owner, [board]) if line.mode == mode]
    bucket = _buckets(owner, [board], now)[board.pk, mode]
    fresh = []
    for submission in submissions:
        line = QuotaLine(
            user=owner, board=board, mode=mode, submission=submission, act=act, created_at=now, filled_us=0
        )
        if act == QuotaLine.SPENT:
            check_bucket(_replay(bucket, known, now), mode=mode, board=str(board), now=now)
        line.filled_us = _replay(bucket, [*known, line], now).filled // _US
        known = [*known, line][-READ_LINES:]
        fresh.append(line)
    QuotaLine.objects.bulk_create(fresh)


def _newest_lines(owner: User, boards: list[Board]) -> list[QuotaLine]:
    """Return the last READ_LINES lines of each bucket, oldest first."""
    newest_first = Window(RowNumber(), partition_by=[F("board"), F("mode")], order_by=F("pk").desc())
    lines = QuotaLine.objects.filter(user__in=logins_of(owner), board__in=boards).annotate(place=newest_first)
    return list(lines.filter(place__lte=READ_LINES).order_by("pk"))


def _replay(bucket: Bucket, lines: list[QuotaLine], now: datetime) -> Level:
    opening = None
    if len(lines) >= READ_LINES:
        opening, lines = Level(bucket, lines[0].filled_us * _US, lines[0].created_at), lines[1:]
    return level_at(bucket, (Movement(line.created_at, line.tokens) for line in lines), now, opening=opening)


@transaction.atomic
def set_quotas(*, competition: Competition, actor: User, quotas: object, reason: str, now: datetime) -> Competition:
    """Set the quotas, given as for quota.parse_quotas, and store the unusual modes. Raise UserError."""
    check_role(actor, competition, Role.OWNER, "set its quotas")
    new = unusual(parse_quotas(quotas))
    competition = Competition.objects.select_for_update().get(pk=competition.pk)
    if new == competition.quotas:
        return competition
    check_reason(reason)
    before, after, competition.quotas = {"quotas": competition.quotas}, {"quotas": new}, new
    competition.save(update_fields=["quotas"])
    record("set_quotas", competition, actor=actor, reason=reason, now=now, before=before, after=after)
    return competition
