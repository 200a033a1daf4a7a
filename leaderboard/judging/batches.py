"""Batches of submissions: what they have spent, the order in which verdicts come, and their end.

`settle` runs after each report on a candidate, in a transaction of its own, and the sweeper repeats it for batches that
a crash or a single cancellation left behind. It locks the batch, so that arrivals are numbered without gaps: a reader
that has seen arrival 7 misses nothing by asking for those after 7.

A batch is over its budget when its attempts have used its device seconds, each from claim to end. Candidates that still
wait then end as cancelled with the reason `budget_spent`, and their quota tokens come back. Candidates that a runner
holds are judged to their end, so a batch exceeds its budget by at most an attempt for each runner. Attempts whose
runner was lost cost nothing, and neither does judging again for an organiser.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import F, QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.judging.attempts import CHANNEL, call_off
from leaderboard.judging.models import CANCELLED, DONE, FIRST, LOST, QUEUED, REJUDGE, Attempt
from leaderboard.judging.repeats import answer, stored_verdicts
from leaderboard.operations.notices import tell_operators
from leaderboard.submissions.ledger import give_back
from leaderboard.submissions.models import Batch, Candidate

SPENT: Final = "The batch's {budget:g} device seconds are spent; this candidate was not judged, and cost no quota"
TOPIC: Final = "batch:{}"  # payload of a notification on CHANNEL
AT_ONCE: Final = 1_000  # unsettled batches that a sweep looks at

_SPENT: Final = """
SELECT candidate.batch_id,
       sum(date_part('epoch', coalesce(attempt.finished_at, %(now)s) - attempt.claimed_at))
  FROM submissions_candidate AS candidate
  JOIN judging_attempt AS attempt ON attempt.submission_id = candidate.submission_id AND NOT attempt.is_shadow
 WHERE candidate.batch_id = ANY(%(batches)s)
   AND attempt.claimed_at IS NOT NULL AND attempt.state <> %(lost)s AND attempt.cause <> %(rejudge)s
 GROUP BY candidate.batch_id
"""


def batches_of(user: User) -> QuerySet[Batch]:
    """Return the batches of this person's account, whichever login sent them."""
    return Batch.objects.filter(owner__in=logins_of(user))


def spent_s(batches: Iterable[int], now: datetime) -> dict[int, float]:
    """Map batches to the device seconds that they have used."""
    values: dict[str, Any] = {"batches": list(batches), "now": now, "lost": LOST, "rejudge": REJUDGE}
    with connection.cursor() as cursor:
        cursor.execute(_SPENT, values)
        return defaultdict(float, cursor.fetchall())


def counts_of(batches: Iterable[int]) -> dict[int, tuple[Counter[str], Counter[str]]]:
    """Map batches to the number of candidates by state, and by outcome where they have one."""
    found: dict[int, tuple[Counter[str], Counter[str]]] = defaultdict(lambda: (Counter(), Counter()))
    rows = Attempt.objects.current().filter(submission__candidate__batch__in=list(batches)).order_by()
    for batch, state, outcome in rows.values_list("submission__candidate__batch", "state", "outcome"):
        states, outcomes = found[batch]
        states[state] += 1
        if outcome:
            outcomes[outcome] += 1
    return found


@transaction.atomic
def settle(batch_id: int, *, now: datetime) -> None:
    """Number the ends that came. Answer waiting candidates that equal a judged kernel; end those beyond the budget."""
    batch = Batch.objects.select_for_update(no_key=True).get(pk=batch_id)
    if batch.settled_at is not None:
        return
    if batch.may_repeat and _arriving(batch).exists():
        _answer_equal(batch, now)
    if spent_s([batch.pk], now)[batch.pk] >= batch.budget_s:
        rest = _locked(_waiting(batch).exclude(cause=REJUDGE))
        call_off(rest, now=now, message=SPENT.format(budget=batch.budget_s), reason=Batch.BUDGET_SPENT)
        for attempt in rest:
            give_back(submission=attempt.submission, now=now)
        if rest:
            batch.ended_as = Batch.BUDGET_SPENT
    known = Candidate.objects.filter(batch=batch, arrival__isnull=False).count()
    fresh = list(_arriving(batch).order_by("submission__attempts__finished_at", "number"))
    for arrival, candidate in enumerate(fresh, known + 1):
        candidate.arrival = arrival
    Candidate.objects.bulk_update(fresh, ["arrival"])
    if known + len(fresh) == batch.size:
        batch.settled_at = now
    batch.save(update_fields=["ended_as", "settled_at"])
    if fresh:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, TOPIC.format(batch.pk)])


def _answer_equal(batch: Batch, now: datetime) -> None:
    """Answer waiting candidates whose kernel has a verdict by now. Their quota tokens come back.

    Of the attempts, only these are locked: claims skip locked attempts, and would find no work. The account is locked
    before the stored verdicts, as by a batch that is being sent.
    """
    User.objects.select_for_update(no_key=True).get(pk=batch.owner.account_id)
    open_to_repeats = {"cause": FIRST, "version": F("submission__board__version")}
    waiting = list(_waiting(batch).filter(**open_to_repeats))
    verdicts = stored_verdicts([attempt.submission for attempt in waiting], owner=batch.owner, now=now)
    found = {attempt.pk: verdict for attempt, verdict in zip(waiting, verdicts, strict=True) if verdict is not None}
    for attempt in _locked(_waiting(batch).filter(pk__in=found)):
        verdict = found[attempt.pk]
        answer(attempt.submission, verdict, now=now, waiting=attempt)
        give_back(submission=attempt.submission, now=now)
        Candidate.objects.filter(submission=attempt.submission).update(same_as=verdict.attempt.submission)


def _arriving(batch: Batch) -> QuerySet[Candidate]:
    """Return the candidates whose end has no number yet."""
    ended = {"submission__attempts__is_current": True, "submission__attempts__state__in": (DONE, CANCELLED)}
    return Candidate.objects.filter(batch=batch, arrival=None, **ended)


def _waiting(batch: Batch) -> QuerySet[Attempt]:
    waiting = Attempt.objects.current().filter(submission__candidate__batch=batch, state=QUEUED).order_by("pk")
    return waiting.select_related("submission__owner", "submission__board__competition").defer("submission__source")


def _locked(attempts: QuerySet[Attempt]) -> list[Attempt]:
    """Return waiting attempts, locked. A claim that is taking one of them keeps it."""
    return list(attempts.select_for_update(of=("self",), skip_locked=True))


def settle_unsettled(*, now: datetime) -> int:
    """Settle each batch with an unfinished candidate. Return the number of failures; none holds up another batch."""
    unsettled = list(Batch.objects.filter(settled_at=None).order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
    failed: list[int] = []
    for pk in unsettled:
        try:
            settle(pk, now=now)
        except Exception as error:  # any: an operator hears of it, and the next sweep tries again
            failed.append(pk)
            last = error
    if failed:  # one notice, as a fault may concern all batches
        text = f"The ends of these batches could not be recorded: {', '.join(map(str, failed))}. Last error: {last!r}."
        tell_operators("batch_not_settled", text, subject="batch", now=now, exc_info=last)
    return len(failed)


def cancel_batch(*, batch: Batch, actor: User, reason: str, now: datetime) -> Batch:
    """Cancel the unfinished candidates of the owner's batch. As with single submissions, their quota stays spent."""
    with transaction.atomic():
        # The attempts before the batch, as `settle` follows a report.
        rows = Attempt.objects.current().unfinished().filter(submission__candidate__batch=batch)
        attempts = [one for one in rows.select_for_update(of=("self",)).order_by("pk") if one.cause != REJUDGE]
        if not attempts:
            raise UserError("batch", batch.pk, "already finished", 409, "already_finished")
        call_off(attempts, now=now, message="Cancelled with its batch", reason=Batch.CANCELLED)
        Batch.objects.filter(pk=batch.pk).update(ended_as=Batch.CANCELLED)
        after = {"cancelled": len(attempts)}
        record(act="cancel_batch", target=batch, actor=actor, reason=reason, now=now, before={}, after=after)
    settle(batch.pk, now=now)
    return Batch.objects.get(pk=batch.pk)
