"""A runner takes the next confirmation: one job with both sources, that makes all runs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Board
from leaderboard.confirmations.models import RECORD, Confirmation
from leaderboard.judging.claim import frozen_times, longest
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.leased import claim
from leaderboard.judging.models import Runner
from leaderboard.judging.states import QUEUED
from runner.wire import Incumbent, Job

RUNS: Final = 5  # the k of docs/records.md
PAUSE: Final = timedelta(minutes=10)  # between two records of one board: near-ties that take turns fill no queue


@transaction.atomic
def claim_confirmation(*, runner: Runner, now: datetime, asked_before: datetime | None = None) -> Job | None:
    """The next one of this runner's hardware and epoch, or None. `asked_before`: only one that waits since then."""
    busy = Confirmation.objects.filter(cause=RECORD, claimed_at__gt=now - PAUSE).values("board")
    waiting = Confirmation.objects.filter(created_at__lte=asked_before or now, board__in=_measured_boards(runner))
    found = claim(waiting.exclude(Q(cause=RECORD, board__in=busy)).order_by("losses", "id"), runner=runner, now=now)
    if found is None:
        return None
    job = _job(found, epoch=runner.epoch)
    found.hard_deadline_at = now + job.most_judged * longest(found.version.bundle)
    found.save(update_fields=["hard_deadline_at"])
    return job


def _measured_boards(runner: Runner) -> list[int]:
    """Those with waiting confirmations whose contest ranks the runner's epoch."""
    waiting = Confirmation.objects.filter(state=QUEUED, hardware=runner.hardware).values("board")
    boards = list(Board.objects.filter(pk__in=waiting).select_related("competition"))
    ranked = RankedEpochs(boards)
    return [board.pk for board in boards if ranked.of(board, Stage.CONTEST) == runner.epoch]


def _job(asked: Confirmation, *, epoch: str) -> Job:
    candidate, incumbent = asked.candidate, asked.incumbent
    return Job(
        attempt_id=asked.attempt_id,
        token=asked.token,
        lease_s=settings.LEASE_S,
        hardware=asked.hardware,
        mode="ranked",
        submission_id=str(candidate.pk),
        filename=candidate.filename,
        source=candidate.source,
        problem=asked.version.bundle,
        problem_digest=asked.version.digest,
        reference_ns=frozen_times(asked.version, hardware=asked.hardware, epoch=epoch),
        incumbent=Incumbent(source=incumbent.source, filename=incumbent.filename, submission_id=str(incumbent.pk)),
        runs=RUNS,
    )
