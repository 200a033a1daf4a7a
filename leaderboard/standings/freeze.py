"""Acts on a competition's standing as a whole: freeze, unfreeze, reveal, finalise, reopen. Owners only, with a reason.

Each act is one transaction with its audit row, and safe to repeat: an act without effect changes no row and returns
False. calendar.py defines the meaning of the times; the acts only set them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import Phase, Stage, is_frozen_at, phase_at, window_of
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError
from leaderboard.judging.models import Attempt
from leaderboard.judging.work import UNFINISHED
from leaderboard.review.standing import held_results
from leaderboard.standings.read.windows import inside

FREEZE: Final = "freeze"
UNFREEZE: Final = "unfreeze"
REVEAL: Final = "reveal"
FINALISE: Final = "finalise"
REOPEN: Final = "reopen"

Times = Mapping[str, datetime | None]


@dataclass(frozen=True)
class Waiting:
    """Open work between a competition and its final standing."""

    held: int  # results of the contest without a decision
    unjudged: int  # submissions to the contest whose attempt is not finished

    def __bool__(self) -> bool:
        return bool(self.held or self.unjudged)

    def __str__(self) -> str:
        told = ((self.held, "held for review"), (self.unjudged, "not judged yet"))
        return ", ".join(f"{count} {what}" for count, what in told if count)


def freeze(*, competition: Competition, actor: User, reason: str, now: datetime) -> bool:
    """Freeze the public standing. Later submissions count, and are shown at the reveal."""

    def times(known: Competition) -> Times:
        if is_frozen_at(known.schedule, now):
            return {}
        if phase_at(known.schedule, now) not in (Phase.CONTEST, Phase.FROZEN):
            raise _refused(known, "is not in its contest, so there is nothing to freeze")
        return {"freeze_at": now, "revealed_at": None}

    return _act(FREEZE, times, competition, actor, reason, now)


def unfreeze(*, competition: Competition, actor: User, reason: str, now: datetime) -> bool:
    """Unfreeze the standing, as if it had never been frozen. After the deadline, reveal it instead."""

    def times(known: Competition) -> Times:
        if not is_frozen_at(known.schedule, now):
            return {}
        if phase_at(known.schedule, now) is not Phase.FROZEN:
            raise _refused(known, "is past its deadline; reveal its standing instead")
        return {"freeze_at": None}

    return _act(UNFREEZE, times, competition, actor, reason, now)


def reveal(*, competition: Competition, actor: User, reason: str, now: datetime) -> bool:
    """Show the submissions sent during the freeze, everywhere at once. A reveal is permanent."""

    def times(known: Competition) -> Times:
        if not is_frozen_at(known.schedule, now):
            return {}
        if known.deadline is not None and now < known.deadline:
            raise _refused(known, "still takes submissions; unfreeze it, or wait for its deadline")
        return {"revealed_at": now}

    return _act(REVEAL, times, competition, actor, reason, now)


def finalise(*, competition: Competition, actor: User, reason: str, now: datetime, anyway: bool = False) -> bool:
    """Finalise the standing: review is over, and a frozen standing is revealed.

    `anyway`: although work is still open.
    """

    def times(known: Competition) -> Times:
        if known.final_at is not None and known.final_at <= now:
            return {}
        if not can_be_final(known, now):
            raise _refused(known, "is not past its deadline, so its standing cannot be final")
        left = waiting(known, now)
        if left and not anyway:
            raise UserError("anyway", False, f"{left}; settle that first, or finalise anyway and say why", status=409)
        return {"final_at": now} | ({"revealed_at": now} if is_frozen_at(known.schedule, now) else {})

    return _act(FINALISE, times, competition, actor, reason, now, anyway=anyway)


def reopen(*, competition: Competition, actor: User, reason: str, now: datetime) -> bool:
    """Undo `finalise`: the competition is in review again. A revealed standing stays revealed."""

    def times(known: Competition) -> Times:
        return {} if known.final_at is None else {"final_at": None}

    return _act(REOPEN, times, competition, actor, reason, now)


def can_be_final(competition: Competition, now: datetime) -> bool:
    """Return whether the standing can be final: after the deadline, or, without a deadline, while the contest runs.

    Without a deadline, finalising ends the contest.
    """
    phase = phase_at(competition.schedule, now)
    return phase is Phase.REVIEW or (competition.deadline is None and phase in (Phase.CONTEST, Phase.FROZEN))


def waiting(competition: Competition, now: datetime) -> Waiting:
    """Count the contest's results without a decision and its unjudged submissions."""
    counted = window_of(competition.schedule, Stage.CONTEST)
    held = held_results().filter(
        inside(counted, "attempt__submission__created_at"), attempt__submission__board__competition=competition
    )
    unjudged = Attempt.objects.current().filter(
        inside(counted, "submission__created_at"),
        submission__board__competition=competition,
        submission__mode="ranked",
        state__in=UNFINISHED,
    )
    return Waiting(held=held.order_by().count(), unjudged=unjudged.count())


@transaction.atomic
def _act(
    act: str,
    times: Callable[[Competition], Times],
    competition: Competition,
    actor: User,
    reason: str,
    now: datetime,
    **told: Any,
) -> bool:
    check_role(actor, competition, Role.OWNER, f"{act} its standing")
    check_reason(reason)
    known = Competition.objects.select_for_update().get(pk=competition.pk)
    changes = times(known)
    if not changes:
        return False
    before = {name: _iso(getattr(known, name)) for name in changes}
    for name, moment in changes.items():
        setattr(known, name, moment)
    known.save(update_fields=list(changes))
    record(
        act=f"{act}_standing",
        target=known,
        actor=actor,
        reason=reason,
        now=now,
        before=before,
        after={name: _iso(moment) for name, moment in changes.items()} | told,
    )
    return True


def _refused(competition: Competition, why: str) -> UserError:
    return UserError("competition", competition.slug, f"{competition} {why}", status=409)


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
