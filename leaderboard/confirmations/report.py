"""Keep a runner's report on a record, once; and requeue a confirmation whose runner failed or was lost."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any, Final

import structlog
from django.db import transaction

from leaderboard.confirmations.models import CONFIRMED, ERROR, FAILED, HELD, REFUSED, RUNS, Confirmation, Found
from leaderboard.errors import UserError
from leaderboard.judging import leased, suspend
from leaderboard.judging.epochs import check_epoch
from leaderboard.judging.models import Runner
from leaderboard.judging.storable import check_storable
from runner.wire import Report

MAX_LOSSES: Final = 3
SENTENCE_CHARS: Final = 2_000
SPOILED: Final = ("unmeasurable", "infra_error")
UNDECIDED: Final = ("run_failed", "too_few_runs")  # reasons that leave open which kernel is faster
GIVEN_UP: Final = "No runner could finish this confirmation: {why}. Ask again, or see the runners' page"
SAID_NOTHING: Final = "the runner's report has no verdict on a record; is it older than the site?"
UNWATCHED: Final = "nothing was seen of the device's state, so that the runs cannot decide anything"
NOT_FROZEN: Final = " The runner could not freeze the containers: a person must look at this."

log = structlog.get_logger(__name__)


@transaction.atomic
def record_confirmation(*, pk: int, runner: Runner, report: Report, now: datetime) -> Confirmation | None:
    """Return the confirmation, done or queued again; None: its report is kept already."""
    asked = leased.lock(Confirmation, pk=pk, runner=runner, token=report.token)
    if asked.is_done:
        return None
    leased.check_live(asked, now=now)
    check_epoch(report.epoch, "report.epoch")
    check_storable(report.to_json() | {"cases": list(report.cases), "flags": list(report.flags)}, "report")
    told = _parsed(asked, report)
    if report.set_aside:
        suspend.set_aside(runner=runner, reason=report.set_aside, now=now)
    if why := _why_not_decided(report, told):
        give_back(asked, why=why, now=now)
    else:
        found = _keep(asked, report, told, now)
        finish(asked, outcome_of(found), found.sentence, now)
    return asked


def outcome_of(found: Found) -> str:
    if found.reason == "candidate_failed":
        return FAILED
    if found.held:
        return HELD
    return CONFIRMED if found.accepted else REFUSED


def expire_leases(*, now: datetime) -> int:
    """Requeue every confirmation whose lease has expired. Return their number."""
    count = 0
    while _expire_one(now):
        count += 1
    return count


@transaction.atomic
def _expire_one(now: datetime) -> bool:
    asked = leased.expired(Confirmation, now=now)
    if asked is None:
        return False
    give_back(asked, why="its runner stopped answering", now=now)
    return True


def give_back(asked: Confirmation, *, why: str, now: datetime) -> None:
    """Requeue a confirmation; after MAX_LOSSES losses it ends without a decision. The caller holds the row."""
    log.warning("confirmation_lost", confirmation=asked.pk, runner=asked.runner_id, why=why)
    asked.losses += 1
    if asked.losses >= MAX_LOSSES:
        finish(asked, ERROR, GIVEN_UP.format(why=why.rstrip(".")), now)
    else:
        leased.requeue(asked)


def finish(asked: Confirmation, outcome: str, message: str, now: datetime) -> None:
    asked.state, asked.outcome, asked.message, asked.finished_at = leased.DONE, outcome, message, now
    asked.save()
    log.info("confirmation_done", confirmation=asked.pk, outcome=outcome)


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
