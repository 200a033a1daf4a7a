"""Claim of the next attempt by a runner: one conditional UPDATE that sets runner, lease and fencing token.

Concurrent claims skip each other's rows and never wait. The order is fair rather than first come first served:

1. Shadow attempts come last, after attempts that an organiser had judged again in the open.
2. A competition that has used its share of the hardware comes after the others (device_time.py).
3. The account with the least recent device time on this hardware comes first, so that competitors take turns.
4. Submissions by hand come before candidates of a batch: a person waits for them, and no other account pays for it.
5. Ranked comes before practice.
6. Submissions that this runner is building ahead come after others of their account and kind: they would wait for that.
7. Then the time of submission decides, so a replacement of a lost attempt keeps its place. An attempt that waits for a
   calmer machine (`not_before`) counts as sent when its wait is over.

A claim costs a pass over the waiting rows and few index probes, whatever owners sent before (`make bench-claim`).
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection

from leaderboard.judging import device_time
from leaderboard.judging.epochs import measurable
from leaderboard.judging.lease import hand_out, lock_held, start_lease
from leaderboard.judging.models import AT_WORK, CLAIMED, QUEUED, Attempt, Runner, check_move
from leaderboard.judging.sweep import lose
from runner.wire import LOOKED_AHEAD, Job, to_build_ahead

MOST_UPCOMING_BYTES: Final = 4_000_000  # of jobs to build ahead, as JSON; runner/daemon/client.py reads twice as much
MOST_CLAIMS_AT_ONCE: Final = 256  # per hardware; more than a site's database connections
IDLE_TAKES: Final = timedelta(seconds=3)  # until an idle runner has claimed new work
ALIVE: Final = timedelta(minutes=2)  # a runner silent for longer is no alternative

# Conditions for a runner to take a waiting attempt of its hardware; all must hold. A runner gets a submission that it
# could not measure before only if every spare runner has tried it too, and an attempt that is wanted on another device
# only if there is no spare runner: a living one that may take the attempt (for timed work, of the same epoch:
# _OF_ITS_EPOCH). Only an attempt with a predecessor can have been tried. OFFSET 0 forces a lookup for each of these few
# attempts: PostgreSQL would otherwise read all unmeasurable attempts of the runner into a hash table.
_SPARE: Final = """
    SELECT 1
      FROM judging_runner AS spare
     WHERE spare.hardware = attempt.hardware AND spare.last_seen_at > %(alive)s AND spare.id <> %(runner)s
       AND spare.suspended_at IS NULL AND spare.set_aside_at IS NULL
       AND spare.draining_at IS NULL AND spare.revoked_at IS NULL AND spare.skew = ''
       AND (spare.epoch = %(epoch)s
            OR EXISTS (
                SELECT 1
                  FROM submissions_submission AS untimed
                 WHERE untimed.id = attempt.submission_id AND untimed.mode IN ('test', 'profile')))
"""
_TRIED_ELSEWHERE: Final = f"""
(attempt.number = 1
 OR NOT EXISTS (
    SELECT 1
      FROM judging_attempt AS mine
     WHERE mine.submission_id = attempt.submission_id AND mine.runner_id = %(runner)s
       AND mine.is_shadow = attempt.is_shadow AND mine.outcome = 'unmeasurable'
    OFFSET 0)
 OR NOT EXISTS (
    {_SPARE}
       AND NOT EXISTS (
           SELECT 1
             FROM judging_attempt AS tried
            WHERE tried.submission_id = attempt.submission_id AND tried.runner_id = spare.id
              AND tried.is_shadow = attempt.is_shadow AND tried.outcome = 'unmeasurable')))
"""  # noqa: S608 - the condition above and no value
_NOT_KEPT_AWAY: Final = f"(attempt.away_from_id IS DISTINCT FROM %(runner)s OR NOT EXISTS ({_SPARE}))"
_IS_DUE: Final = "(attempt.not_before IS NULL OR attempt.not_before <= %(now)s)"
# A runner gets timed work only of its own epoch (epochs.measurable); tests and profiles run in any epoch. If every
# board ranks the runner's epoch, `any_epoch` avoids reading the submissions.
_OF_ITS_EPOCH: Final = """
(%(any_epoch)s
 OR EXISTS (
    SELECT 1
      FROM submissions_submission AS submission
     WHERE submission.id = attempt.submission_id
       AND (submission.mode IN ('test', 'profile')
            OR %(by_default)s <> COALESCE(
                submission.created_at
                    >= (%(exceptions)s::jsonb #>> ARRAY[submission.board_id::text, '0'])::timestamptz
                AND submission.created_at
                    < (%(exceptions)s::jsonb #>> ARRAY[submission.board_id::text, '1'])::timestamptz,
                false))))
"""
# OFFSET 0 forces an index probe for each waiting attempt, whatever batches came before.
_OF_A_BATCH: Final = """
EXISTS (
    SELECT 1
      FROM submissions_candidate AS candidate
     WHERE candidate.submission_id = attempt.submission_id
    OFFSET 0)
"""
_MAY_TAKE: Final = " AND ".join((_IS_DUE, _OF_ITS_EPOCH, _TRIED_ELSEWHERE, _NOT_KEPT_AWAY))

_NEXT: Final = f"""
SELECT attempt.id
  FROM judging_attempt AS attempt
  LEFT JOIN unnest(%(owners)s::bigint[], %(seconds)s::float8[]) AS used (owner_id, seconds)
    ON used.owner_id = attempt.owner_id
 WHERE attempt.state = %(queued)s AND attempt.hardware = %(hardware)s
   AND attempt.is_shadow = %(is_shadow)s
   AND {_MAY_TAKE}
 ORDER BY coalesce(attempt.competition_id = ANY(%(beyond)s::bigint[]), false),
          attempt.cause = 'rejudge',
          coalesce(used.seconds, 0),
          {_OF_A_BATCH},
          NOT attempt.is_ranked,
          attempt.submission_id::text = ANY(%(building)s::text[]),
          coalesce(attempt.not_before, attempt.sent_at),
          attempt.submission_id,
          attempt.id
"""  # noqa: S608 - the conditions above and no value

_CLAIM: Final = f"""
UPDATE judging_attempt AS taken
   SET state = %(claimed)s, runner_id = %(runner)s, token = nextval('judging_fencing_token'), claimed_at = %(now)s,
       lease_expires_at = %(lease)s, hard_deadline_at = %(lease)s
 WHERE taken.id = (
    SELECT free.id
      FROM unnest(ARRAY(
               {_NEXT}
                LIMIT {MOST_CLAIMS_AT_ONCE})) WITH ORDINALITY AS next (id, place)
      JOIN judging_attempt AS free ON free.id = next.id
     WHERE free.state = %(queued)s
     ORDER BY next.place
     LIMIT 1
       FOR UPDATE OF free SKIP LOCKED)
   AND taken.state = %(queued)s
RETURNING taken.id
"""  # noqa: S608 - the conditions above and no value


def claim_next(*, runner: Runner, now: datetime, building: Sequence[str] = ()) -> Job | None:
    """Claim the next attempt for this runner's hardware; return None if there is no work.

    `building`: the submissions that the runner is building ahead. Lock the runner's row before the call
    (runners.lock_able).
    """
    check_move(QUEUED, CLAIMED)
    figures = _figures(runner, now) | {"building": list(building)}
    with connection.cursor() as cursor:
        for is_shadow in (False, True):
            cursor.execute(_CLAIM, figures | {"is_shadow": is_shadow})
            if row := cursor.fetchone():
                attempt = Attempt.objects.select_related("submission__candidate__batch", "version").get(pk=row[0])
                return start_lease(attempt, runner=runner, now=now)
    return None


def is_wanted(*, runner: Runner, now: datetime) -> bool:
    """Return whether an attempt that this runner could claim has waited for longer than an idle runner would take."""
    with connection.cursor() as cursor:
        cursor.execute(f"{_NEXT} LIMIT 1", _figures(runner, now) | {"is_shadow": False, "building": []})
        keys = [key for (key,) in cursor.fetchall()]
    return Attempt.objects.filter(pk__in=keys, sent_at__lte=now - IDLE_TAKES).exists()


def upcoming(*, runner: Runner, now: datetime) -> list[Job]:
    """Return jobs that this runner would claim next and that need a compiler, without a claim: it may build them
    ahead."""
    with connection.cursor() as cursor:
        cursor.execute(f"{_NEXT} LIMIT {LOOKED_AHEAD}", _figures(runner, now) | {"is_shadow": False, "building": []})
        keys = [key for (key,) in cursor.fetchall()]
    attempts = Attempt.objects.select_related("submission__candidate__batch", "version").in_bulk(keys)
    found, left = list[Job](), MOST_UPCOMING_BYTES
    for job in to_build_ahead([attempts[key].job() for key in keys if key in attempts]):
        if (size := len(json.dumps(job.to_json()))) <= left:
            left, found = left - size, [*found, job]
    return found


def _figures(runner: Runner, now: datetime) -> dict[str, Any]:
    """Return the values of the statements above for this runner's claim."""
    used = device_time.by_account(hardware=runner.hardware, now=now)
    by_default, exceptions = measurable(hardware=runner.hardware, epoch=runner.epoch)
    return {
        "any_epoch": by_default and not exceptions,
        "by_default": by_default,
        "exceptions": json.dumps(exceptions),
        "claimed": CLAIMED,
        "queued": QUEUED,
        "runner": runner.pk,
        "hardware": runner.hardware,
        "epoch": runner.epoch,
        "owners": list(used),
        "seconds": list(used.values()),
        "beyond": device_time.beyond_share(hardware=runner.hardware, now=now),
        "now": now,
        "alive": now - ALIVE,
        "lease": now + timedelta(seconds=settings.LEASE_S),
    }


def claim_again(*, runner: Runner, now: datetime) -> Job | None:
    """Repeat the claim of work that the runner holds and never started, under a new token and without a loss.

    A runner does one piece of work at a time. If it asks for work while it judges an attempt, or has said hello since
    the claim, the claiming process is gone. The work is then lost at once, not when its lease runs out, and the loss
    counts, so that a submission that kills its runner is not handed to it for ever. Lock the runner's row before the
    call.
    """
    for work in lock_held(runner):
        if work.state in (CLAIMED, AT_WORK) and work.claimed_at and not runner.has_greeted_since(work.claimed_at):
            return hand_out(work, runner=runner, now=now)
        lose(work, now=now, why="its runner was started again without having finished it")
    return None
