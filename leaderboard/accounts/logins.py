"""Logins of an account: its own login and all logins linked to it; links, and new passwords.

No row changes its owner: a linked login acts as its account, and queries for a person's rows include all of their
logins. The person links two logins and proves both. Only an organiser may undo a link, because the person then has two
accounts again.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import F, Q, QuerySet

from leaderboard.accounts.models import ALL, DATA_SET_CHOICES, NONE, DataSetChoice, User
from leaderboard.accounts.permissions import check_reason, check_staff, choose_data_sets, data_set_choice
from leaderboard.audit.record import record
from leaderboard.errors import UserError

MAX_LOGINS: Final = 5  # per account
NOT_PROVED: Final = "name and password do not belong together; mind upper and lower case in both"


def logins_of(user: User | AnonymousUser) -> QuerySet[User, Any]:
    """Return the keys of all logins of this person, for a subquery: rows of any of them belong to the person."""
    if not isinstance(user, User):
        return User.objects.none().values("pk")  # a filter for logins without a link would match everybody
    account = user.account_id
    return User.objects.filter(Q(pk=account) | Q(linked_to=account)).order_by().values("pk")


def logins_and_agents(accounts: Any) -> QuerySet[User, Any]:
    """Return the keys of all logins of these accounts and of all agents that they own, for a subquery."""
    logins = User.objects.filter(Q(pk__in=accounts) | Q(linked_to__in=accounts)).order_by().values("pk")
    # A union, because no index helps an OR of two subqueries.
    return logins.union(User.objects.filter(agent_of__in=logins).order_by().values("pk"))


def logins_that_left() -> QuerySet[User, Any]:
    """Return the keys of all logins that data sets leave out: of accounts with that choice, and of their agents."""
    return logins_and_agents(DataSetChoice.objects.filter(choice=NONE).values("account"))


def logins_that_share_all() -> QuerySet[User, Any]:
    """Return the keys of all logins whose kernels without a pass data sets may have; of agents if owners agree."""
    accounts = DataSetChoice.objects.filter(choice=ALL).values("account")
    logins = User.objects.filter(Q(pk__in=accounts) | Q(linked_to__in=accounts)).order_by()
    return logins.filter(Q(agent_of=None) | Q(agent_of__in=logins.values("pk"))).values("pk")


def lock_accounts(accounts: Iterable[int]) -> None:
    """Lock accounts, an agent's owner with it, in a fixed order: two acts on many people never wait for one another."""
    named = User.objects.filter(pk__in=set(accounts))
    found = User.objects.filter(Q(pk__in=named) | Q(pk__in=named.values("agent_of"))).order_by("pk")
    list(found.select_for_update(no_key=True).values_list("pk"))


def prove(*, username: str, password: str) -> User:
    """Return the login with this name and password. The duration does not reveal whether the login exists."""
    found = ModelBackend().authenticate(None, username=username, password=password)
    if not isinstance(found, User):
        raise UserError("password", "", NOT_PROVED)
    return found


def check_own_password(account: User, password: str) -> None:
    """Check the password of any of the account's logins.

    Access to an open session is then not enough to add a login.
    """
    mine = User.objects.filter(pk__in=logins_of(account), is_active=True)
    if not any(login.check_password(password) for login in mine):
        raise UserError("own_password", "", "this is not your password")


def lock_both(one: User, other: User) -> tuple[User, User]:
    """Lock both accounts with all of their logins, in a fixed order.

    No lock on a login is stronger than FOR NO KEY UPDATE: a new row that references the login must not wait, and every
    act writes such a row.
    """
    rows = User.objects.select_for_update(no_key=True).filter(Q(pk__in=logins_of(one)) | Q(pk__in=logins_of(other)))
    found = {row.pk: row for row in rows.order_by("pk")}
    return found[one.pk], found[other.pk]


@transaction.atomic
def link(*, one: User, other: User, keep: str, now: datetime) -> User:
    """Link two accounts; return the remaining account: the older, or the account whose name is `keep`.

    Of two choices about data sets the stricter holds. The caller has proved both accounts. Raise UserError if they
    cannot be linked.
    """
    one, other = lock_both(one, other)
    wrong = ""
    if one.account_id == other.account_id:
        wrong = "is your account already"
    elif other.linked_to_id is not None:
        wrong = "belongs to another account already"
    elif Authenticator.objects.filter(user=other).exists():
        wrong = "has a second factor; remove it there first"  # its password alone must not open this account
    elif any(user.is_staff or user.is_superuser for user in (one, other)):
        wrong = "an organiser's login stays by itself"
    elif logins_of(one).count() + logins_of(other).count() > MAX_LOGINS:
        wrong = f"an account has at most {MAX_LOGINS} logins"
    if wrong:
        raise UserError("username", other.get_username(), wrong, status=409)
    stays = min(one, other, key=lambda user: (user.date_joined, user.pk))
    if keep:
        named = {user.get_username(): user for user in (one, other)}
        if keep not in named:
            raise UserError("keep", keep, f"choose one of {', '.join(sorted(named))}")
        stays = named[keep]
    goes = other if stays.pk == one.pk else one
    choice = min(data_set_choice(goes), data_set_choice(stays), key=DATA_SET_CHOICES.index)
    DataSetChoice.objects.filter(account=goes).delete()
    choose_data_sets(user=stays, choice=choice, now=now)
    _hand_over(goes, stays)
    User.objects.filter(pk__in=logins_of(goes)).update(linked_to=stays)
    record("link_login", goes, actor=one, now=now, after={"account": stays.get_username()})
    return stays


def _hand_over(goes: User, stays: User) -> None:
    """Give all ways to sign in, and the address if the remaining account has none, to that account."""
    if EmailAddress.objects.filter(user=stays).exists():
        EmailAddress.objects.filter(user=goes).delete()
    else:
        User.objects.filter(pk=stays.pk).update(email=goes.email)
    User.objects.filter(pk=goes.pk).update(email="")
    for table in (EmailAddress, SocialAccount, Authenticator):
        table.objects.filter(user=goes).update(user=stays)


@transaction.atomic
def unlink(*, login: User, actor: User, reason: str, now: datetime) -> None:
    """Make a linked login an account again, with its name, its password and the account's choice about data sets.

    Submissions since the link stay with the account that sent them; so do address, providers and second factors.
    """
    check_staff(actor, "unlink a login")
    check_reason(reason)
    login = User.objects.select_for_update(no_key=True).get(pk=login.pk)
    if login.linked_to_id is None:
        raise UserError("login", login.get_username(), "is linked to no account", status=409)
    before, choice = {"account": login.account.get_username()}, data_set_choice(login)
    login.linked_to = None
    login.save(update_fields=["linked_to"])
    choose_data_sets(user=login, choice=choice, now=now)
    record("unlink_login", login, actor=actor, reason=reason, now=now, before=before)


@transaction.atomic
def change_password(*, login: User, account: User, password: str, now: datetime) -> User:
    """Change the password of `login`, which is the account or linked to it; return the updated account.

    All sessions of the account end; its API tokens stay.
    """
    held = User.objects.select_for_update(no_key=True).get(pk=login.pk)
    held.set_password(password)
    held.save(update_fields=["password"])
    record("change_password", login, actor=account, now=now)
    return end_sessions(account, now=now)


@transaction.atomic
def end_sessions(account: User, *, now: datetime) -> User:
    """End all sessions of the account; return the updated account."""
    sign_out_everywhere(account)
    record("end_sessions", account, actor=account, now=now)
    return User.objects.get(pk=account.pk)


def sign_out_everywhere(account: User) -> None:
    """End all sessions of the account, in one row: their hashes name its former session generation."""
    User.objects.filter(pk=account.pk).update(session_generation=F("session_generation") + 1)
