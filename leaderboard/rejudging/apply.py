"""Apply a set of re-judgings as a whole: the part of the pipeline (pipeline.py) for many submissions at a time.

Until then its results stay in the shadow (rejudging/sets.py).
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from django.db import connection, transaction

from leaderboard import publication
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError
from leaderboard.judging.epochs import propose_epoch
from leaderboard.judging.models import Attempt, RejudgeItem, RejudgeSet, Result
from leaderboard.rejudging import sets
from leaderboard.rejudging.compare import board_changes, fates_of, ranks_of
from leaderboard.review.standing import not_standing
from leaderboard.standings.publish import kernel_of, publish_all, retracted_kernels, withdraw_all

_KEEP_FATES: Final = """
    UPDATE judging_rejudgeitem AS item
    SET became = fate.became, rank_before = fate.rank_before, rank_after = fate.rank_after
    FROM unnest(%s::bigint[], %s::text[], %s::integer[], %s::integer[]) AS fate (id, became, rank_before, rank_after)
    WHERE item.id = fate.id
"""


@transaction.atomic
def apply_rejudging(
    *, chosen: RejudgeSet, actor: User, reason: str, now: datetime, leave_out: bool = False, anyway: bool = False
) -> Counter[str] | None:
    """Apply all results of a set at once. Return counts of published, held, …; None: it is applied already.

    Refuses if some attempts are unfinished, unless `leave_out`. Refuses if a board would keep lines in an epoch that it
    then does not rank, unless `anyway`.
    """
    items = sets.begin_applying(chosen=chosen, actor=actor, reason=reason, leave_out=leave_out, now=now)
    if items is None:
        return None
    fates = fates_of(items, sets.lock_currents(items))
    changes = board_changes(items, fates)
    if (behind := sum(change.left_behind for change in changes)) and not anyway:
        text = f"{behind} lines would stay behind in a timing epoch that their board then does not rank; judge them too"
        raise UserError("anyway", behind, f"{text}, or apply it anyway", status=409)
    counts = Counter(fates.values())
    counts.update(_bring_to_light([item.after for item in items if fates[item.pk] == RejudgeItem.APPLIED], now))
    ranks = [ranks_of(items, changes), ranks_of(items, board_changes(items, dict.fromkeys(fates, "")))]
    for item in items:
        item.became, (item.rank_before, item.rank_after) = fates[item.pk], [found[item.pk] for found in ranks]
    columns = [[getattr(item, name) for item in items] for name in ("pk", "became", "rank_before", "rank_after")]
    with connection.cursor() as cursor:
        cursor.execute(_KEEP_FATES, columns)
    sets.settle(chosen, RejudgeSet.APPLIED, actor=actor, reason=reason, now=now, after=dict(counts))
    return counts


def try_rejudging(*, chosen: RejudgeSet, actor: User, now: datetime) -> Counter[str]:
    """Return how many results would be published, held, … if the set were applied now without unjudged submissions.

    The prediction uses a snapshot that delays no transaction: it locks and writes no row.
    """
    check_role(actor, chosen.competition, Role.OWNER, "try a re-judging")
    with _snapshot():
        chosen.refresh_from_db()
        if not chosen.is_open:
            raise UserError("rejudge_set", chosen.name, f"is {chosen.state} already", status=409)
        items = sets.items_of(chosen)
        fates = {pk: fate or RejudgeItem.NO_VERDICT for pk, fate in fates_of(items, sets.currents_of(chosen)).items()}
        ranked = [
            item.after.result
            for item in items
            if fates[item.pk] == RejudgeItem.APPLIED and item.submission.mode == "ranked"
        ]
        waiting = publication.foresee_held(ranked, now) | not_standing(ranked)
        retracted = retracted_kernels({result.attempt.submission.board_id for result in ranked})
        sound = publication.all_that_may_rank(ranked) - waiting
        published = {
            result.pk
            for result in ranked
            if result.pk in sound and kernel_of(result.attempt.submission) not in retracted
        }
        held = {result.pk for result in ranked if publication.could_rank(result)} & waiting
        return Counter(fates.values()) + _counts(ranked, published, held)


@contextmanager
def _snapshot() -> Iterator[None]:
    """Read from a single snapshot of the database. Inside an outer transaction, the outer snapshot applies."""
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _bring_to_light(attempts: list[Attempt], now: datetime) -> Counter[str]:
    """Publish shadow results. All are screened against the board before them, so their order does not matter."""
    results = [attempt.result for attempt in attempts]
    ranked = [result for result in results if result.attempt.submission.mode == "ranked"]
    publication.lock_all(ranked)
    lights = publication.look_all(ranked, now)
    sound = publication.all_that_may_rank(ranked)
    sets.bring_to_light(attempts, now=now)
    for hardware, epoch in sorted({(result.attempt.hardware, result.epoch) for result in results}):
        propose_epoch(hardware=hardware, name=epoch, fingerprint={}, now=now)
    leaders = publication.leaders(result for result in ranked if result.pk in sound)
    published = publish_all(results=[result for result in ranked if result.pk in sound], lights=lights, now=now)
    withdraw_all(submissions=[result.attempt.submission for result in ranked if result.pk not in published])
    held = not_standing(result for result in ranked if publication.could_rank(result)) - published
    counts = _counts(ranked, published, held)
    for result, first in leaders:
        publication.confirm_if_first(result, first, now)
    return counts


def _counts(ranked: list[Result], published: set[int], held: set[int]) -> Counter[str]:
    """Return how many results are published, held or failed, without zeros."""
    return +Counter({"published": len(published), "held": len(held), "failed": len(ranked) - len(published | held)})
