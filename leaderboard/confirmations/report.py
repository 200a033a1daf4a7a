"""Claims and reports of confirmations. A confirmation whose runner failed or was lost returns to the queue."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Q

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Board
from leaderboard.confirmations.models import CONFIRMED, FAILED, HELD, RECORD, REFUSED, RUNS, Confirmation, Found
from leaderboard.errors import UserError
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.lease import finish, take_first
from leaderboard.judging.models import Runner
from leaderboard.judging.sweep import give_back
from leaderboard.judging.work import QUEUED
from runner.wire import Job, Report

PAUSE: Final = timedelta(minutes=10)  # between two records of a board: near-ties that take turns fill no queue

SENTENCE_CHARS: Final = 2_000
SPOILED: Final = ("unmeasurable", "infra_error")
UNDECIDED: Final = ("run_failed", "too_few_runs")  # reasons that leave open which kernel is faster
SAID_NOTHING: Final = "the runner's report has no verdict on a record; is it older than the site?"
UNWATCHED: Final = "nothing was seen of the device's state, so that the runs cannot decide anything"
NOT_FROZEN: Final = " The runner could not freeze the containers: a person must look at this."


def claim_confirmation(*, runner: Runner, now: datetime, asked_before: datetime | None = None) -> Job | None:
    """Return the next job for this runner's hardware and epoch, or None.

    `asked_before`: only work that waits since then.
    """
    busy = Confirmation.objects.filter(cause=RECORD, claimed_at__gt=now - PAUSE).values("board")
    waiting = Confirmation.objects.filter(created_at__lte=asked_before or now, board__in=_measured_boards(runner))
    waiting = waiting.exclude(Q(cause=RECORD, board__in=busy)).order_by("losses", "id")
    return take_first(waiting, runner=runner, now=now)


def _measured_boards(runner: Runner) -> list[int]:
    """Return the boards with waiting confirmations whose contest ranks the runner's epoch."""
    waiting = Confirmation.objects.filter(state=QUEUED, hardware=runner.hardware).values("board")
    boards = list(Board.objects.filter(pk__in=waiting).select_related("competition"))
    ranked = RankedEpochs(boards)
    return [board.pk for board in boards if ranked.of(board, Stage.CONTEST) == runner.epoch]


def record_confirmation(asked: Confirmation, *, report: Report, now: datetime) -> None:
    """Keep a report on a confirmation that the caller has received and locked; it is then done or queued again."""
    told = _parsed(asked, report)
    if why := _why_not_decided(report, told):
        give_back(asked, why=why, now=now)
    else:
        found = _keep(asked, report, told, now)
        finish(asked, outcome_of(found), found.sentence, now)


def outcome_of(found: Found) -> str:
    if found.reason == "candidate_failed":
        return FAILED
    if found.held:
        return HELD
    return CONFIRMED if found.accepted else REFUSED


def _why_not_decided(report: Report, told: dict[str, Any]) -> str:
    """Return why these runs are undecided, for an operator; "" if they decide."""
    if not told:
        return (report.outcome in SPOILED and (report.message or report.reason)) or SAID_NOTHING
    if told["reason"] in UNDECIDED:
        return str(told["sentence"])
    return UNWATCHED if report.telemetry == "none" else ""


def _keep(asked: Confirmation, report: Report, told: dict[str, Any], now: datetime) -> Found:
    if "not_certified" in report.flags and told["accepted"]:
        told = told | {"held": True, "sentence": told["sentence"] + NOT_FROZEN}
    return Found.objects.create(
        confirmation=asked,
        epoch=report.epoch,
        telemetry=report.telemetry,
        report=report.to_json(),
        created_at=now,
        **told,
    )


def _parsed(asked: Confirmation, report: Report) -> dict[str, Any]:
    """Validate Report.confirmation field by field; {} if the runner reported none. UserError names the field."""
    told = report.confirmation
    if not told:
        return {}
    gains: Any = told.get("gains")
    good = isinstance(gains, list) and len(gains) <= RUNS and all(_is_share(gain) for gain in gains)
    _check(good, "gains", f"expected at most {RUNS} shares below 1")
    _check(told.get("incumbent") == str(asked.incumbent_id), "incumbent", "is not the one that the job named")
    for name in ("accepted", "held"):
        _check(isinstance(told.get(name), bool), name, "expected true or false")
    for name, most in (("reason", 64), ("sentence", SENTENCE_CHARS)):
        _check(
            isinstance(told.get(name), str) and 0 < len(told[name]) <= most, name, f"expected 1 to {most} characters"
        )
    for name in ("median_gain", "least_gain"):
        _check(told.get(name) is None or _is_share(told[name]), name, "expected a share below 1, or null")
    wins = told.get("wins")
    _check(type(wins) is int and 0 <= wins <= len(gains), "wins", "expected how many of the runs are faster")
    if told["accepted"]:
        whole = len(gains) == RUNS and (told["least_gain"] or 0) > 0 and report.outcome == "passed"
        _check(whole, "accepted", f"a record needs {RUNS} passed runs and a gain at the bound")
    names = ("accepted", "held", "reason", "sentence", "gains", "median_gain", "least_gain", "wins")
    return {name: told[name] for name in names}


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value < 1


def _check(good: bool, name: str, problem: str) -> None:
    if not good:
        raise UserError(f"report.confirmation.{name}", None, problem)
