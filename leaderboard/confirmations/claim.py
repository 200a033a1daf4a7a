"""A runner takes the next confirmation: a job with both sources, which makes all runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Q

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Board
from leaderboard.confirmations.models import RECORD, RUNS, Confirmation
from leaderboard.confirmations.report import give_back
from leaderboard.judging import leased
from leaderboard.judging.claim import longest
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.models import Runner
from leaderboard.judging.states import QUEUED
from runner.wire import Incumbent, Job

PAUSE: Final = timedelta(minutes=10)  # between two records of a board: near-ties that take turns fill no queue


def claim_confirmation(*, runner: Runner, now: datetime, asked_before: datetime | None = None) -> Job | None:
    """Return the next job for this runner's hardware and epoch, or None.

    `asked_before`: only work that waits since then.
    """
    busy = Confirmation.objects.filter(cause=RECORD, claimed_at__gt=now - PAUSE).values("board")
    waiting = Confirmation.objects.filter(created_at__lte=asked_before or now, board__in=_measured_boards(runner))
    waiting = waiting.exclude(Q(cause=RECORD, board__in=busy)).order_by("losses", "id")
    found = leased.claim(waiting, runner=runner, now=now)
    return None if found is None else _handed_out(found, now)


def claim_confirmation_again(*, runner: Runner, now: datetime) -> Job | None:
    """Return the runner's job again if the answer to its claim was lost; count a loss if its process is gone."""
    asked = leased.held_by(Confirmation, runner)
    if asked is None:
        return None
    if leased.claim_again(asked, runner=runner, now=now) is None:
        give_back(asked, why=leased.RESTARTED, now=now)
        return None
    return _handed_out(asked, now)


def _handed_out(found: Confirmation, now: datetime) -> Job:
    job = _job(found)
    held_for = job.most_judged * longest(found.version.bundle)
    found.hard_deadline_at = now + held_for
    found.save(update_fields=["hard_deadline_at"])
    return replace(job, deadline_s=held_for.total_seconds())


def _measured_boards(runner: Runner) -> list[int]:
    """Return the boards with waiting confirmations whose contest ranks the runner's epoch."""
    waiting = Confirmation.objects.filter(state=QUEUED, hardware=runner.hardware).values("board")
    boards = list(Board.objects.filter(pk__in=waiting).select_related("competition"))
    ranked = RankedEpochs(boards)
    return [board.pk for board in boards if ranked.of(board, Stage.CONTEST) == runner.epoch]


def _job(asked: Confirmation) -> Job:
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
        incumbent=Incumbent(source=incumbent.source, filename=incumbent.filename, submission_id=str(incumbent.pk)),
        runs=RUNS,
    )
