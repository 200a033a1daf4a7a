"""Roles of a competition: give, change, take back. The last owner stays owner."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.checks import check_choice
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError

MAX_ROLES: Final = 200  # per competition


@transaction.atomic
def grant_role(*, competition: Competition, actor: User, username: str, role: str, now: datetime) -> Role:
    """Give a person a role, or change the role they have."""
    _lock(competition, actor)
    check_choice("role", role, Role.ROLES)
    user = User.objects.filter(username__iexact=username, is_active=True).first()
    if user is None:
        raise UserError("username", username, "nobody of this name has an account here; they sign up first", status=404)
    user = user.account
    known = Role.objects.filter(competition=competition, user=user).first()
    if known is None and competition.roles.count() >= MAX_ROLES:
        raise UserError("username", username, f"{MAX_ROLES} people have a role here, which is the most", status=409)
    before = {} if known is None else {"role": known.role}
    if known is not None and known.role != role:
        _check_another_owner(known)
    given, _ = Role.objects.update_or_create(
        competition=competition, user=user, defaults={"role": role}, create_defaults={"role": role, "created_at": now}
    )
    if before != {"role": role}:
        told = {"user": user.get_username(), "role": role}
        record(act="grant_role", target=competition, actor=actor, reason="", now=now, before=before, after=told)
    return given


@transaction.atomic
def revoke_role(*, role: Role, actor: User, now: datetime) -> None:
    _lock(role.competition, actor)
    _check_another_owner(role)
    told = {"user": role.user.get_username(), "role": role.role}
    if Role.objects.filter(pk=role.pk).delete()[0]:  # else another process was faster
        record(act="revoke_role", target=role.competition, actor=actor, reason="", now=now, before=told)


def _lock(competition: Competition, actor: User) -> None:
    """Serialise changes of roles, or two owners could remove each other."""
    check_role(actor, competition, Role.OWNER, "give and take roles")
    Competition.objects.select_for_update().get(pk=competition.pk)


def _check_another_owner(role: Role) -> None:
    others = Role.objects.filter(competition=role.competition_id, role=Role.OWNER).exclude(pk=role.pk)
    if role.role == Role.OWNER and not others.exists():
        raise UserError("role", role.role, "the last owner stays: make somebody else an owner first", status=409)
