"""One person may have several logins that are one account: those that are linked to it, and its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from leaderboard.accounts.models import User


def logins_of(user: User | AnonymousUser) -> QuerySet[User, Any]:
    """Keys of all logins of this person, for a subquery: whatever belongs to one of them is theirs."""
    if not isinstance(user, User):
        return User.objects.none().values("pk")  # "linked to nobody" would be everybody
    account = user.account_id
    return User.objects.filter(Q(pk=account) | Q(linked_to=account)).order_by().values("pk")


def lock_accounts(accounts: Iterable[int]) -> None:
    """All at once and in one order, so that two acts on many people never wait for one another."""
    found = User.objects.filter(pk__in=set(accounts)).order_by("pk")
    list(found.select_for_update(no_key=True).values_list("pk"))
