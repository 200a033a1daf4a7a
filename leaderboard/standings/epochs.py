"""Decisions on timing epochs: make an epoch current, dismiss a proposal, let a contest rank a different epoch.

They change the lines that boards show, and write no line. Boards therefore get a new revision in the same transaction,
as after new times (migrations/times.sql). Locks: epochs of the hardware, revisions of boards, the contest's pin.
"""

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason, check_staff
from leaderboard.audit.record import record
from leaderboard.competitions.models import Board, Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError
from leaderboard.judging.models import Epoch, EpochPin
from leaderboard.standings.publish import renew_revisions


@transaction.atomic
def choose_epoch(*, hardware: str, name: str, actor: User | None, reason: str, now: datetime) -> None:
    """Make this epoch current: boards of the hardware rank it, unless their contest pins a different epoch."""
    _check_decides(actor, reason)
    chosen = _locked(hardware, name)
    if chosen.state == Epoch.CURRENT:
        raise UserError("epoch", name, f"it is the current epoch of {hardware} already", status=409)
    former = Epoch.objects.filter(hardware=hardware, state=Epoch.CURRENT).first()
    before = {"state": chosen.state, "current": former.name if former else ""}
    renew_revisions(Board.objects.filter(hardware=hardware).values_list("pk", flat=True))
    Epoch.objects.filter(hardware=hardware, state=Epoch.CURRENT).update(state=Epoch.RETIRED)
    chosen.state, chosen.current_since = Epoch.CURRENT, now
    chosen.save(update_fields=["state", "current_since"])
    record(act="choose_epoch", target=chosen, actor=actor, reason=reason, now=now, before=before)


@transaction.atomic
def dismiss_epoch(*, hardware: str, name: str, actor: User | None, reason: str, now: datetime) -> None:
    """Decide against a proposed epoch: its runners get no timed work until they measure in a ranked epoch."""
    _check_decides(actor, reason)
    epoch = _locked(hardware, name)
    if epoch.state != Epoch.PROPOSED:
        raise UserError("epoch", name, f"it is {epoch.state}; only a proposed epoch can be dismissed", status=409)
    epoch.state = Epoch.DISMISSED
    epoch.save(update_fields=["state"])
    record(act="dismiss_epoch", target=epoch, actor=actor, reason=reason, now=now, before={"state": Epoch.PROPOSED})


@transaction.atomic
def move_pin(
    *, competition: Competition, hardware: str, name: str, actor: User | None, reason: str, now: datetime
) -> None:
    """Let the contest of this competition rank another epoch on one hardware."""
    check_reason(reason)
    if actor is not None:
        check_role(actor, competition, Role.OWNER, "move its contest to another timing epoch")
    _locked(hardware, name)
    renew_revisions(competition.boards.filter(hardware=hardware).values_list("pk", flat=True))
    pin, was_made = EpochPin.objects.select_for_update().get_or_create(
        competition=competition, hardware=hardware, defaults={"epoch": name, "pinned_at": now}
    )
    before = {"hardware": hardware, "epoch": None if was_made else pin.epoch}
    if not was_made and pin.epoch == name:
        raise UserError("epoch", name, f"the contest ranks this epoch on {hardware} already", status=409)
    pin.epoch, pin.pinned_at = name, now
    pin.save(update_fields=["epoch", "pinned_at"])
    record(act="move_epoch_pin", target=competition, actor=actor, reason=reason, now=now, before=before)


def _check_decides(actor: User | None, reason: str) -> None:
    """Check that `actor` is staff, because competitions share hardware. `None` is the operator's command."""
    check_reason(reason)
    if actor is not None:
        check_staff(actor, "decide on timing epochs")


def _locked(hardware: str, name: str) -> Epoch:
    """Return an epoch after locking all epochs of its hardware: concurrent decisions run in sequence."""
    known = {epoch.name: epoch for epoch in Epoch.objects.select_for_update().filter(hardware=hardware)}
    if name not in known:
        names = ", ".join(sorted(known)[:20]) or "none"
        raise UserError("epoch", name, f"no such epoch of {hardware}; there are {names}", status=404)
    return known[name]
