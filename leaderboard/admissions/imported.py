"""Admission tests for new imports and added boards before they take submissions, and for boards never tested."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from leaderboard.accounts.models import User
from leaderboard.admissions.ask import ask_test
from leaderboard.admissions.models import AdmissionTest
from leaderboard.competitions.models import Board, BoardQuerySet


def ask_for_imported(*, actor: User | None, now: datetime, gate: bool = True) -> int:
    """Ask for tests of the boards that this import (at the moment `now`) made or updated; return their number."""
    fresh = _never_tested().filter(Q(created_at=now) | Q(version__created_at=now))
    return _ask(fresh, actor=actor, now=now, gate=gate)


def ask_for_added(*, board: Board, actor: User, now: datetime) -> bool:
    """Ask for a test of an added board if its version had none; return whether it did.

    The test is a gate unless another board uses the same version on this hardware.
    """
    if board.version.part("unsupported", "") or not _never_tested().filter(pk=board.pk).exists():
        return False
    others = Board.objects.filter(version=board.version, hardware=board.hardware).exclude(pk=board.pk)
    ask_test(version=board.version, hardware=board.hardware, actor=actor, now=now, gate=not others.exists())
    return True


def ask_for_untested(*, actor: User | None, now: datetime) -> int:
    """Ask for a test of every board whose version was never tested on its hardware; they stay open unless they fail."""
    return _ask(_never_tested(), actor=actor, now=now, gate=False)


def _never_tested() -> BoardQuerySet:
    tests = AdmissionTest.objects.filter(version=OuterRef("version"), hardware=OuterRef("hardware"))
    return Board.objects.with_parts().filter(~Exists(tests))


def _ask(boards: BoardQuerySet, *, actor: User | None, now: datetime, gate: bool) -> int:
    supported = [board for board in boards if not board.version.part("unsupported", "")]
    for board in supported:
        ask_test(version=board.version, hardware=board.hardware, actor=actor, now=now, gate=gate)
    return len(supported)
