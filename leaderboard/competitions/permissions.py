"""Roles and permissions for a competition. Each role includes the roles before it; staff may do everything.

viewer     sees what organisers see: queue, findings, results under review, exports
reviewer   decides on results, claims cases, asks owners, re-judges
owner      edits the competition, its boards, tracks, codes and roles; reveals, awards
"""

from __future__ import annotations

from typing import Final

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, Role
from leaderboard.errors import UserError

ADMINISTRATOR: Final = "administrator"
ORDER: Final = {Role.VIEWER: 1, Role.REVIEWER: 2, Role.OWNER: 3, ADMINISTRATOR: 4}


def role_of(user: User | AnonymousUser, competition: Competition) -> str:
    """Return the user's role; "" without a role."""
    if not isinstance(user, User) or not user.is_active:
        return ""
    if user.is_staff or user.is_superuser:
        return ADMINISTRATOR
    return Role.objects.filter(competition=competition, user=user).values_list("role", flat=True).first() or ""


def has_role(user: User | AnonymousUser, competition: Competition, least: str) -> bool:
    return ORDER.get(role_of(user, competition), 0) >= ORDER[least]


def competitions_of(user: User | AnonymousUser, least: str = Role.VIEWER) -> QuerySet[Competition]:
    """Return the competitions in which the user has at least this role."""
    if not isinstance(user, User) or not user.is_active:
        return Competition.objects.none()
    if user.is_staff or user.is_superuser:
        return Competition.objects.all()
    enough = [role for role in Role.ROLES if ORDER[role] >= ORDER[least]]
    return Competition.objects.filter(pk__in=Role.objects.filter(user=user, role__in=enough).values("competition"))


def check_role(user: User, competition: Competition, least: str, act: str) -> None:
    """Raise UserError (403) without the role. `act` completes "may …", for example "clear a held result"."""
    if not has_role(user, competition, least):
        raise UserError("actor", user.get_username(), f"only a {least} of {competition} may {act}", status=403)
