"""What an account and a token have sent and used: the limits at the door of submissions and batches."""

import math
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import ApiToken, User
from leaderboard.errors import RateLimited, UserError
from leaderboard.judging.batches import spent_s
from leaderboard.judging.models import LOST, REJUDGE, Attempt
from leaderboard.submissions.models import Batch, QuotaLine, Submission
from leaderboard.submissions.quota import DAY, RETRY_UNFINISHED_S, WINDOW, Usage


def usage_of(owner: User, *, now: datetime, in_batches: bool = False) -> Usage:
    """Return recent and unfinished submissions of the owner, over all logins of the account.

    `in_batches`: of the candidates of batches, else of the rest, where a submission whose token came back counts as
    none. Re-judging requested by an organiser does not count as an unfinished submission.
    """
    kind = {"candidate__isnull": not in_batches}
    sent = Submission.objects.filter(owner__in=logins_of(owner), created_at__gt=now - WINDOW, **kind)
    if not in_batches:
        sent = sent.exclude(quota_lines__act=QuotaLine.GIVEN_BACK)
    recent = sent.order_by("created_at").values_list("created_at", flat=True)
    unfinished = (
        Attempt.objects.current()
        .unfinished()
        .filter(submission__owner__in=logins_of(owner), submission__candidate__isnull=not in_batches)
    )
    by_us = Attempt.objects.in_the_open().filter(submission=OuterRef("submission"), cause=REJUDGE)
    return Usage(recent=list(recent), unfinished=unfinished.exclude(Exists(by_us)).count())


def check_token(token: ApiToken, *, wanted: int, budget_s: float, now: datetime) -> None:
    """Raise RateLimited if a token's own limits do not admit that many submissions, with a batch's device seconds.

    A submission counts with the device seconds of its attempts, from claim to end, once they have begun. A batch that
    runs counts with its whole budget. The account's limits hold beside these.
    """
    sent = Submission.objects.filter(token_key=token.pk).order_by("created_at")
    if token.per_hour is not None:
        recent = list(sent.filter(created_at__gt=now - WINDOW).values_list("created_at", flat=True))
        over = len(recent) + wanted - token.per_hour
        if wanted > token.per_hour:
            text = f"token {token.name!r} may send {token.per_hour} submissions an hour, and these are {wanted}"
            raise UserError("candidates", wanted, f"{text}; send at most {token.per_hour}")
        if over > 0:
            wait_s = _seconds(recent[over - 1] + WINDOW - now)
            text = f"has sent {len(recent)} submissions in the last hour, and may send {token.per_hour}"
            raise RateLimited("token", token.name, f"{text}; try again in {wait_s} s", retry_after_s=wait_s)
    if token.device_s_per_day is not None:
        judged = Attempt.objects.filter(
            submission__token_key=token.pk, submission__created_at__gt=now - 2 * DAY, claimed_at__gt=now - DAY
        )
        rows = judged.filter(is_shadow=False).exclude(state=LOST).exclude(cause=REJUDGE).order_by("claimed_at")
        times = rows.values_list("claimed_at", "finished_at")
        spent = [(at, ((end or now) - at).total_seconds()) for at, end in times if at is not None]
        running = Batch.objects.filter(settled_at=None, candidates__submission__token_key=token.pk).distinct()
        used = spent_s([batch.pk for batch in running], now)
        promised = sum(max(0.0, batch.budget_s - used[batch.pk]) for batch in running)
        total, most = sum(seconds for _, seconds in spent), token.device_s_per_day
        if budget_s > most:
            raise UserError(
                "token", token.name, f"may use {most} device seconds a day, fewer than this batch's {budget_s:g}"
            )
        if total + promised + budget_s <= most and total + promised < most:
            return
        left, wait_s = total, RETRY_UNFINISHED_S  # if batches alone are in the way
        for at, seconds in spent:
            if left + budget_s <= most and left < most:
                break
            left, wait_s = left - seconds, _seconds(at + DAY - now)
        text = f"has used {total:.0f} of its {most} device seconds of 24 hours"
        text += f", and its batches may use {promised:.0f} more" if promised else ""
        raise RateLimited("token", token.name, f"{text}; try again in {wait_s} s", retry_after_s=wait_s)


def _seconds(wait: timedelta) -> int:
    return max(1, math.ceil(wait.total_seconds()))
