"""Requests for confirmations, their claims and reports.

A runner of the board's hardware makes the runs when it has nothing more urgent. A confirmation whose runner failed or
was lost returns to the queue.
"""

import math
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Q

from leaderboard import broker
from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Board
from leaderboard.confirmations.models import CONFIRMED, DROPPED, RECORD, REFUSED, RUNS, Confirmation, Found
from leaderboard.errors import UserError
from leaderboard.judging import archive
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.lease import finish, take_first
from leaderboard.judging.models import DONE, QUEUED, Runner
from leaderboard.judging.sweep import give_back
from leaderboard.submissions.models import Submission
from runner.wire import Job, Report

OVERTAKEN = "Another submission took first place before this was begun"
PAUSE: Final = timedelta(minutes=10)  # between two records of a board: near-ties that take turns fill no queue

SENTENCE_CHARS: Final = 2_000
SPOILED: Final = ("unmeasurable", "infra_error")
UNDECIDED: Final = ("run_failed", "too_few_runs")  # reasons that leave open which kernel is faster
SAID_NOTHING: Final = "the runner's report has no verdict on a record; is it older than the site?"
UNWATCHED: Final = "nothing was seen of the device's state, so that the runs cannot decide anything"
NOT_FROZEN: Final = " The runner could not freeze the containers: a person must look at this."


@transaction.atomic
def ask_confirmation(
    *, candidate: Submission, incumbent: Submission, cause: str, actor: User | None, now: datetime, reason: str = ""
) -> Confirmation:
    """Create a confirmation, or return the pair's unfinished confirmation. `actor` None: the site asks by itself.

    A person or prize that waits for an unfinished confirmation is stored: it then yields to no submission.
    The site does not repeat a record's confirmation of a pair that is already decided: a line that comes back took its
    place before. In another epoch it is measured anew. The callers check permissions (pipeline, review.case.acts,
    awards.life).
    """
    if candidate.board_id != incumbent.board_id or candidate.entrant_id == incumbent.entrant_id:
        raise UserError("incumbent", incumbent.pk, "a record is taken from another entrant, on one board")
    board = Board.objects.select_for_update(no_key=True).get(pk=candidate.board_id)  # serialises requests of a board
    pair = {"candidate": candidate, "incumbent": incumbent}
    asked = Confirmation.objects.filter(**pair).exclude(state=DONE).first()
    if asked is not None:
        before = asked.cause, asked.asked_by
        asked.cause = cause if asked.cause == RECORD else asked.cause  # for a prize it is not paused either
        asked.asked_by = asked.asked_by or actor
        if (asked.cause, asked.asked_by) == before:
            return asked
        asked.save(update_fields=["cause", "asked_by"])
    elif cause == RECORD and actor is None:
        epoch = RankedEpochs([board]).of(board, Stage.CONTEST)
        known = Confirmation.objects.filter(version=board.version_id, found__epoch=epoch, **pair)
        decided = known.filter(outcome__in=(CONFIRMED, REFUSED)).order_by("-id").first()
        if decided is not None:
            return decided
        # The candidate of the board's waiting record, of which the site asks for at most one, was overtaken.
        overtaken = Confirmation.objects.filter(board=board, cause=RECORD, state=QUEUED, asked_by=None)
        overtaken.update(state=DONE, outcome=DROPPED, message=OVERTAKEN, finished_at=now)
    if asked is None:
        place = {"board": board, "version_id": board.version_id, "hardware": board.hardware}
        asked = Confirmation.objects.create(cause=cause, asked_by=actor, created_at=now, **pair, **place)
    wanted = {"candidate": candidate.pk, "incumbent": incumbent.pk, "cause": cause}
    record(act="ask_confirmation", target=asked, actor=actor, reason=reason, now=now, after=wanted)
    if asked.state == QUEUED:
        transaction.on_commit(lambda: broker.ring(hardware=asked.hardware, hint=asked.attempt_id))
    return asked


def claim_confirmation(
    *, runner: Runner, now: datetime, asked_before: datetime | None = None, unasked_before: datetime | None = None
) -> Job | None:
    """Return the next job for this runner's hardware and epoch, or None.

    Only confirmations that have waited since `asked_before`; since `unasked_before` those that nobody awaits, because
    the site asked for them when a record fell.
    """
    busy = Confirmation.objects.filter(cause=RECORD, claimed_at__gt=now - PAUSE).values("board")
    queued = Confirmation.objects.filter(state=QUEUED, hardware=runner.hardware).values("board")
    boards = list(Board.objects.filter(pk__in=queued).select_related("competition"))
    ranked = RankedEpochs(boards)
    measured = [board.pk for board in boards if ranked.of(board, Stage.CONTEST) == runner.epoch]
    is_awaited = Q(asked_by__isnull=False) | ~Q(cause=RECORD)
    is_due = is_awaited & Q(created_at__lte=asked_before or now) | Q(created_at__lte=unasked_before or now)
    waiting = Confirmation.objects.filter(is_due, board__in=measured)
    waiting = waiting.exclude(Q(cause=RECORD, board__in=busy)).order_by("losses", "id")
    return take_first(waiting, runner=runner, now=now)


def record_confirmation(
    asked: Confirmation, *, report: Report, now: datetime, content: archive.Content | None = None
) -> None:
    """Keep a report on a confirmation that the caller has received and locked; it is then done or queued again."""
    verdict = _parsed(asked, report)
    why = ""  # the runs decide
    if not verdict:
        why = (report.outcome in SPOILED and (report.message or report.reason)) or SAID_NOTHING
    elif verdict["reason"] in UNDECIDED:
        why = str(verdict["sentence"])
    elif report.telemetry == "none":
        why = UNWATCHED
    if why:
        give_back(asked, why=why, now=now)
    else:
        if "not_certified" in report.flags and verdict["accepted"]:
            verdict |= {"held": True, "sentence": verdict["sentence"] + NOT_FROZEN}
        epoch = report.epoch or (asked.runner.epoch if asked.runner else "")
        kept = {"epoch": epoch, "telemetry": report.telemetry, "created_at": now}
        found = Found(confirmation=asked, **kept, **verdict)
        archive.create(found, report.to_json(), content, phase=Stage.CONTEST)
        finish(asked, found.outcome, found.sentence, now)


def _parsed(asked: Confirmation, report: Report) -> dict[str, Any]:
    """Validate Report.confirmation field by field; {} if the runner reported none. UserError names the field."""
    verdict = report.confirmation
    if not verdict:
        return {}
    gains: Any = verdict.get("gains")
    good = isinstance(gains, list) and len(gains) <= RUNS and all(_is_share(gain) for gain in gains)
    _check(good, "gains", f"expected at most {RUNS} shares below 1")
    _check(verdict.get("incumbent") == str(asked.incumbent_id), "incumbent", "is not the one that the job named")
    for name in ("accepted", "held"):
        _check(isinstance(verdict.get(name), bool), name, "expected true or false")
    for name, most in (("reason", 64), ("sentence", SENTENCE_CHARS)):
        good = isinstance(verdict.get(name), str) and 0 < len(verdict[name]) <= most
        _check(good, name, f"expected 1 to {most} characters")
    for name in ("median_gain", "least_gain"):
        _check(verdict.get(name) is None or _is_share(verdict[name]), name, "expected a share below 1, or null")
    wins = verdict.get("wins")
    _check(type(wins) is int and 0 <= wins <= len(gains), "wins", "expected how many of the runs are faster")
    if verdict["accepted"]:
        whole = len(gains) == RUNS and (verdict["least_gain"] or 0) > 0 and report.outcome == "passed"
        _check(whole, "accepted", f"a record needs {RUNS} passed runs and a gain at the bound")
    names = ("accepted", "held", "reason", "sentence", "gains", "median_gain", "least_gain", "wins")
    return {name: verdict[name] for name in names}


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value < 1


def _check(good: bool, name: str, problem: str) -> None:
    if not good:
        raise UserError(f"report.confirmation.{name}", None, problem)
