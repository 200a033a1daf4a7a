"""Suspend an account from competing, everywhere or in a competition, and reinstate it.

pipeline applies the consequences. Staff of the site suspend everywhere, the owner of a competition only there. No data
of the account is deleted: during the suspension none of its results rank and it cannot submit.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from leaderboard.accounts.logins import logins_and_agents, logins_of
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason, check_staff
from leaderboard.audit.record import record
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError
from leaderboard.review.models import Suspension


@transaction.atomic
def suspend(*, user: User, competition: Competition | None, actor: User, reason: str, now: datetime) -> Suspension:
    """Suspend the account of this login. `competition` None: everywhere."""
    user = _begin(user, competition, actor, reason, "suspend an account")
    if user.pk == actor.account_id or user.is_staff or user.is_superuser:
        raise UserError("user", user.get_username(), "is staff or yourself, and cannot be suspended", status=409)
    if _standing(user, competition):
        raise UserError("user", user.get_username(), "is suspended already", status=409)
    return _append(user, competition, Suspension.SUSPEND, actor, reason, now)


@transaction.atomic
def reinstate(*, user: User, competition: Competition | None, actor: User, reason: str, now: datetime) -> Suspension:
    """Reinstate an account. This includes suspensions of logins that were linked to the account later."""
    user = _begin(user, competition, actor, reason, "reinstate an account")
    standing = _standing(user, competition)
    if not standing:
        raise UserError("user", user.get_username(), "is not suspended", status=409)
    rows = [_append(row.user, competition, Suspension.REINSTATE, actor, reason, now) for row in standing]
    return rows[-1]


def is_suspended(user: User, competition: Competition) -> bool:
    return bool(suspensions_of(user, competition))


def suspensions_of(user: User, competition: Competition) -> list[Suspension]:
    """Return the account's suspensions that apply in this competition: everywhere, here, both or none.

    An agent is suspended with its owner.
    """
    people = Q(user__in=logins_of(user))
    if (owner := user.account.agent_of) is not None:
        people |= Q(user__in=logins_of(owner))
    rows = Suspension.objects.filter(people, Q(competition=competition) | Q(competition=None))
    newest = {(row.user_id, row.competition_id): row for row in rows.select_related("competition").order_by("id")}
    return [row for row in newest.values() if row.act == Suspension.SUSPEND]


def suspended_users(users: Iterable[int], competition: Competition) -> set[int]:
    """Return the users whose account is suspended here or everywhere, by any login: three queries at most."""
    return set(users) & suspended_logins(competition)


def suspended_logins(competition: Competition) -> set[int]:
    """Return all logins of accounts that are suspended here or everywhere, and their agents."""
    rows = Suspension.objects.filter(Q(competition=competition) | Q(competition=None)).order_by("id")
    newest = {(user, where): act for user, where, act in rows.values_list("user", "competition", "act")}
    named = [user for (user, _), act in newest.items() if act == Suspension.SUSPEND]
    accounts = [to or pk for pk, to in User.objects.filter(pk__in=named).values_list("pk", "linked_to")]
    return set(logins_and_agents(accounts).values_list("pk", flat=True))


def was_ever_suspended(user: User) -> bool:
    """Return whether the account was ever suspended, by any login, anywhere."""
    return Suspension.objects.filter(user__in=logins_of(user)).exists()


def standing_suspensions(competitions: QuerySet[Competition], *, everywhere: bool) -> list[Suspension]:
    """Return the suspensions in force in these competitions, and optionally those everywhere; newest first."""
    reach = Q(competition__in=competitions) | Q(competition=None) if everywhere else Q(competition__in=competitions)
    rows = Suspension.objects.filter(reach).select_related("user", "competition", "actor").order_by("id")
    newest = {(row.user_id, row.competition_id): row for row in rows}
    return [row for row in reversed(newest.values()) if row.act == Suspension.SUSPEND]


def check_not_suspended(user: User, competition: Competition) -> None:
    """Check that the account is not suspended here. Raises UserError (403)."""
    for row in suspensions_of(user, competition):
        where = "everywhere" if row.competition_id is None else f"from {competition}"
        said = f"this account is suspended {where} since {row.created_at:%Y-%m-%d}: {row.reason}"
        raise UserError("owner", user.get_username(), said, status=403)


def _begin(user: User, competition: Competition | None, actor: User, reason: str, act: str) -> User:
    """Check the actor and return the account, locked against concurrent publication."""
    if competition is None:
        check_staff(actor, act)
    else:
        check_role(actor, competition, Role.OWNER, act)
    check_reason(reason)
    return User.objects.select_for_update(no_key=True).get(pk=user.account_id)


def _standing(user: User, competition: Competition | None) -> list[Suspension]:
    """Return the account's suspensions in force of exactly this scope."""
    rows = Suspension.objects.filter(user__in=logins_of(user), competition=competition).select_related("user")
    newest = {row.user_id: row for row in rows.order_by("id")}
    return [row for row in newest.values() if row.act == Suspension.SUSPEND]


def _append(
    user: User, competition: Competition | None, act: str, actor: User, reason: str, now: datetime
) -> Suspension:
    row = Suspension.objects.create(
        user=user, competition=competition, actor=actor, act=act, reason=reason, created_at=now
    )
    where = {"competition": None if competition is None else competition.slug}
    record(act=f"{act}_account", target=user, actor=actor, reason=reason, now=now, after=where)
    return row
