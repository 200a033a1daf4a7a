"""Timing epochs: proposed by runners, pinned by contests, and which of them a board ranks.

The first epoch of a hardware becomes current automatically, as it displaces nothing. Every later epoch waits for a
decision (standings/epochs.py), so a new driver on a host never empties a board. A contest pins the epoch of its first
ranked line.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import IntegerField, Value

from leaderboard.competitions.calendar import Stage, stage_of, window_of
from leaderboard.competitions.models import Board, Competition, Prize
from leaderboard.errors import UserError
from leaderboard.judging.models import EPOCH_CHARS, Epoch, EpochPin, Result, Runner
from leaderboard.operations.notices import tell_operators
from leaderboard.submissions.models import Submission
from runner.wire import TIMED_MODES

MOST_PROPOSED: Final = 50  # per hardware, so that a runner with a new epoch each time cannot fill the table
UNREADABLE: Final = "unknown"  # a runner's word for an unreadable part of its host
_NAME: Final = re.compile(rf"[A-Za-z0-9:._-]{{0,{EPOCH_CHARS}}}")
_ALWAYS: Final = (datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))

log = structlog.get_logger(__name__)


def check_epoch(name: str, field: str) -> None:
    if not _NAME.fullmatch(name):
        raise UserError(field, name, f"use letters, digits, : . _ and - (at most {EPOCH_CHARS})")


def check_readable(fingerprint: Mapping[str, Any], field: str = "fingerprint") -> None:
    """Refuse an unreadable host: without an epoch its times are comparable with no other times."""
    for name, value in sorted(fingerprint.items()):
        if value == UNREADABLE:
            text = "the runner could not read it, so its times rank nowhere; run `runner doctor` and `nvidia-smi` on"
            raise UserError(f"{field}.{name}", value, f"{text} that host, then restart the runner")


def propose_epoch(*, hardware: str, name: str, fingerprint: Mapping[str, Any], now: datetime) -> str:
    """Record that a runner measures in this epoch; return the epoch's state, or "" if `name` is empty."""
    if not name:
        return ""
    known = Epoch.objects.filter(hardware=hardware, name=name).first()
    if known is not None:
        if fingerprint and not known.fingerprint:
            Epoch.objects.filter(pk=known.pk).update(fingerprint=dict(fingerprint))
        return known.state
    if Epoch.objects.filter(hardware=hardware, state=Epoch.PROPOSED).count() >= MOST_PROPOSED:
        text = f"{MOST_PROPOSED} epochs of {hardware} wait for a decision; dismiss some on /organise"
        raise UserError("epoch", name, text, status=409)
    # The first epoch displaces nothing if no time ranks without an epoch.
    timed = Result.objects.filter(attempt__hardware=hardware, attempt__submission__mode="ranked", epoch="")
    is_later = Epoch.objects.filter(hardware=hardware).exists() or timed.filter(ratio__isnull=False).exists()
    state = Epoch.PROPOSED if is_later else Epoch.CURRENT
    try:
        with transaction.atomic():
            _open(hardware, name, state, fingerprint, now)
    except IntegrityError:  # another runner was faster, with this epoch or with the first of the hardware
        state = Epoch.objects.filter(hardware=hardware, name=name).values_list("state", flat=True).first() or ""
        if not state:
            state = Epoch.PROPOSED
            _open(hardware, name, state, fingerprint, now)
    log.info("epoch_opened", hardware=hardware, epoch=name, state=state)
    if state == Epoch.PROPOSED:
        text = f"A runner measures in the new timing epoch {name}. Decide on it: {settings.SITE_URL}/runners"
        tell_operators("epoch_proposed", text, subject=hardware, now=now)
    return state


def pin_contests(results: Iterable[Result], *, now: datetime) -> None:
    """Pin the current epoch of each contest that has its first ranked line among these results.

    A contest is a competition with a deadline or a prize; a board that is open for ever follows the current epoch.
    """
    first: dict[tuple[int, str], Competition] = {}
    for result in results:
        board, sent_at = result.attempt.submission.board, result.attempt.submission.created_at
        if stage_of(board.competition.schedule, sent_at, board_deadline=board.deadline) is Stage.CONTEST:
            first[board.competition_id, board.hardware] = board.competition
    if not first:
        return
    pinned = EpochPin.objects.filter(competition__in={pk for pk, _ in first}).values_list("competition", "hardware")
    for competition_id, hardware in first.keys() - set(pinned):
        competition = first[competition_id, hardware]
        if competition.deadline is not None or Prize.objects.filter(track__competition=competition).exists():
            pin = {"epoch": current_epoch(hardware), "pinned_at": now}
            EpochPin.objects.get_or_create(competition=competition, hardware=hardware, defaults=pin)


def current_epoch(hardware: str) -> str:
    """Return the name of the hardware's current epoch; "" if no runner has named an epoch."""
    found = Epoch.objects.filter(hardware=hardware, state=Epoch.CURRENT).values_list("name", flat=True)
    return found.first() or ""


class RankedEpochs:
    """The epoch that each board ranks in a stage: the only place that decides. Two queries for any number of boards."""

    def __init__(self, boards: Sequence[Board]) -> None:
        known = Epoch.objects.filter(hardware__in={board.hardware for board in boards})
        self.known = {(epoch.hardware, epoch.name): epoch for epoch in known}
        self._current = {epoch.hardware: epoch.name for epoch in known if epoch.state == Epoch.CURRENT}
        pins = EpochPin.objects.filter(competition__in={board.competition_id for board in boards})
        self._pins = {(pin.competition_id, pin.hardware): pin.epoch for pin in pins}

    def of(self, board: Board, stage: Stage) -> str:
        """Return the ranked epoch.

        Pins bind the contest only: practice and later submissions follow the current epoch.
        """
        current = self._current.get(board.hardware, "")
        if stage is not Stage.CONTEST:
            return current
        return self._pins.get((board.competition_id, board.hardware), current)


def waits_for_epoch(submission: Submission) -> bool:
    """Return whether runners of its hardware exist but none measures in the epoch that its board ranks."""
    board = submission.board
    if submission.mode not in TIMED_MODES:
        return False
    stage = stage_of(board.competition.schedule, submission.created_at, board_deadline=board.deadline)
    runners = Runner.objects.filter(hardware=board.hardware, retired_at=None)
    return runners.exists() and not runners.filter(epoch=RankedEpochs([board]).of(board, stage)).exists()


def measurable(*, hardware: str, epoch: str) -> tuple[bool, dict[str, tuple[str, str]]]:
    """Return whether a runner of this epoch may take timed submissions, and the exceptions.

    The opposite holds for submissions sent to a board within its exception: board id → since (included), until
    (excluded), in ISO 8601. One query, or two if a contest pins a different epoch.
    """
    current = Epoch.objects.filter(hardware=hardware, state=Epoch.CURRENT).order_by()
    pinned = EpochPin.objects.filter(hardware=hardware).order_by().values_list("competition", "epoch")
    ranked = dict(current.values_list(Value(None, IntegerField()), "name").union(pinned, all=True))
    by_default = ranked.pop(None, "") == epoch
    others = [competition for competition, name in ranked.items() if (name == epoch) is not by_default]
    boards = Board.objects.filter(competition__in=others, hardware=hardware).select_related("competition")
    exceptions = {}
    for board in boards if others else ():
        window = window_of(board.competition.schedule, Stage.CONTEST, board_deadline=board.deadline)
        since, until = window.since or _ALWAYS[0], window.until or _ALWAYS[1]
        exceptions[str(board.pk)] = (since.isoformat(), until.isoformat())
    return by_default, exceptions


def _open(hardware: str, name: str, state: str, fingerprint: Mapping[str, Any], now: datetime) -> None:
    since = now if state == Epoch.CURRENT else None
    Epoch.objects.create(
        hardware=hardware, name=name, state=state, fingerprint=dict(fingerprint), opened_at=now, current_since=since
    )
