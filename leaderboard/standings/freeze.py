"""Acts on a competition's standing as a whole: freeze, unfreeze, reveal, finalise, reopen. Owners only, with a reason.

Each act takes `competition`, `actor`, `reason` and `now` by name. It is one transaction with its audit row, and safe to
repeat: an act without effect changes no row and returns False. calendar.py defines the meaning of the times; the acts
only set them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import Phase, Stage, is_frozen_at, phase_at, window_of
from leaderboard.competitions.edit import IMPORTED
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError
from leaderboard.judging.models import UNFINISHED, Attempt
from leaderboard.review.standing import held_results
from leaderboard.standings.read.table import inside

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
        counts = ((self.held, "held for review"), (self.unjudged, "not judged yet"))
        return ", ".join(f"{count} {state}" for count, state in counts if count)


def _act(times: Callable[..., Times]) -> Callable[..., bool]:
    """Make an act of a function that returns the new times of a competition; {}: the act has no effect."""
    name = times.__name__

    @wraps(times)
    @transaction.atomic
    def act(*, competition: Competition, actor: User, reason: str, now: datetime, **options: bool) -> bool:
        check_role(actor, competition, Role.OWNER, f"{name} its standing")
        check_reason(reason)
        locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        new = times(locked, now, **options)
        if not new:
            return False
        before = {field: getattr(locked, field) for field in new}
        for field, moment in new.items():
            setattr(locked, field, moment)
        locked.edited = sorted({*locked.edited, *new} & set(IMPORTED))  # no import takes a deadline away again
        locked.save(update_fields=[*new, "edited"])
        after = {**new, **options}
        record(f"{name}_standing", locked, actor=actor, reason=reason, now=now, before=before, after=after)
        return True

    return act


@_act
def freeze(competition: Competition, now: datetime) -> Times:
    """Freeze the public standing. Later submissions count, and are shown at the reveal."""
    if is_frozen_at(competition.schedule, now):
        return {}
    if phase_at(competition.schedule, now) not in (Phase.CONTEST, Phase.FROZEN):
        raise _refused(competition, "is not in its contest, so there is nothing to freeze")
    return {"freeze_at": now, "revealed_at": None}


@_act
def unfreeze(competition: Competition, now: datetime) -> Times:
    """Unfreeze the standing, as if it had never been frozen. After the deadline, reveal it instead."""
    if not is_frozen_at(competition.schedule, now):
        return {}
    if phase_at(competition.schedule, now) is not Phase.FROZEN:
        raise _refused(competition, "is past its deadline; reveal its standing instead")
    return {"freeze_at": None}


@_act
def reveal(competition: Competition, now: datetime) -> Times:
    """Show the submissions sent during the freeze, everywhere at once. A reveal is permanent."""
    if not is_frozen_at(competition.schedule, now):
        return {}
    if competition.deadline is not None and now < competition.deadline:
        raise _refused(competition, "still takes submissions; unfreeze it, or wait for its deadline")
    return {"revealed_at": now}


@_act
def finalise(competition: Competition, now: datetime, *, anyway: bool = False) -> Times:
    """Finalise the standing: review is over, and a frozen standing is revealed.

    `anyway`: although work is still open.
    """
    if competition.final_at is not None and competition.final_at <= now:
        return {}
    if not can_be_final(competition, now):
        raise _refused(competition, "is not past its deadline, so its standing cannot be final")
    left = waiting(competition, now)
    if left and not anyway:
        raise UserError("anyway", False, f"{left}; settle that first, or finalise anyway and say why", status=409)
    return {"final_at": now} | ({"revealed_at": now} if is_frozen_at(competition.schedule, now) else {})


@_act
def reopen(competition: Competition, now: datetime) -> Times:
    """Undo `finalise`: the competition is in review again. A revealed standing stays revealed.

    A contest that ended by being final gets that moment as its deadline: later submissions stay outside of it.
    """
    ended = competition.final_at
    if ended is None:
        return {}
    new: dict[str, datetime | None] = {"final_at": None}
    if competition.deadline is None:
        new["deadline"] = ended
        if competition.freeze_at is not None and competition.freeze_at > ended:  # planned, and never came
            new["freeze_at"] = None
    return new


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


def _refused(competition: Competition, why: str) -> UserError:
    return UserError("competition", competition.slug, f"{competition} {why}", status=409)
