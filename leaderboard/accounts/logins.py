"""Logins of an account: its own login and all logins linked to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from leaderboard.accounts.models import User


def logins_of(user: User | AnonymousUser) -> QuerySet[User, Any]:
    """Return the keys of all logins of this person, for a subquery: rows of any of them belong to the person."""
    if not isinstance(user, User):
        return User.objects.none().values("pk")  # a filter for logins without a link would match everybody
    account = user.account_id
    return User.objects.filter(Q(pk=account) | Q(linked_to=account)).order_by().values("pk")


def lock_accounts(accounts: Iterable[int]) -> None:
    """Lock accounts together and in a fixed order, so that two acts on many people never wait for one another."""
    found = User.objects.filter(pk__in=set(accounts)).order_by("pk")
    list(found.select_for_update(no_key=True).values_list("pk"))
