"""The end of an account by its owner: closing it, and erasing all names of the person.

Rows that other people rely on stay: submissions, results, entries, memberships, reviews and the audit. An erased person
stands in them as `deleted-N`, each of their agents too, and their matches are private from then on. What people wrote
freely stays as well: sources, names of teams, announcements, reasons of decisions about others. Worklogs that the
person wrote alone go with the drafts; those of a team stay. Rosters lose the person, and extensions their reasons. Of a
grade the scores stay; its text and its remarks go with the worklog, and the text of an appeal goes with its author.
"""

import itertools
from datetime import datetime
from typing import Any, Final

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.contrib.auth.hashers import make_password
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from leaderboard.accounts.logins import end_sessions, lock_accounts, logins_and_agents, logins_of
from leaderboard.accounts.models import ApiToken, User
from leaderboard.audit.record import record
from leaderboard.competitions.models import Role
from leaderboard.entrants.models import Entrant, Membership, TeamInvite
from leaderboard.entrants.permissions import members_of
from leaderboard.errors import UserError

GONE: Final = "deleted-{}"


@transaction.atomic
def close(*, account: User, erase: bool, now: datetime) -> list[int]:
    """Close the account and all of its logins; with `erase`, remove all names of the person, for good.

    Its agents lose their tokens, and with `erase` their names. Return the keys of the entrants that lost their names.
    An administrator can open a closed account again; its agents then need new tokens. Raise UserError while other
    people depend on it.
    """
    lock_accounts([account.pk])
    _check_may_close(account)
    logins = list(logins_and_agents([account.pk]).values_list("pk", flat=True))
    ApiToken.objects.filter(owner__in=logins, revoked_at=None).update(revoked_at=now)
    TeamInvite.objects.filter(user__in=logins, answer="").update(answer=TeamInvite.DECLINED, answered_at=now)
    end_sessions(account, now=now)
    User.objects.filter(pk__in=logins, agent_of=None).update(is_active=False)  # agents stop with their owner
    record("erase_account" if erase else "close_account", account, actor=account, now=now)
    return _erase(account, logins) if erase else []


def _check_may_close(account: User) -> None:
    problem = ""
    if account.is_staff or account.is_superuser:
        problem = "an administrator's account is closed by another administrator"
    elif role := Role.objects.filter(user__in=logins_of(account)).select_related("competition").first():
        problem = f"you are {role.role} of {role.competition.name}; an owner takes the role back first"
    ours = Membership.objects.filter(user__in=logins_and_agents([account.pk]), left_at=None)
    for member in ours.filter(role=Membership.CAPTAIN).select_related("entrant", "user"):
        if members_of(member.entrant).exclude(pk=member.pk).exists():
            captain = f"your agent {member.user.username} is" if member.user.agent_of_id else "you are"
            problem = f"{captain} the captain of {member.entrant.name}; make another member captain first"
    if problem:
        raise UserError("account", account.get_username(), problem, status=409)


def _erase(account: User, logins: list[int]) -> list[int]:
    """Erase the person from these logins of theirs and of their agents."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT photofinish_erase_names(%s)", [account.pk])  # first: it looks the names up
        cursor.execute("SELECT photofinish_erase_worklogs(%s)", [account.pk])
    entrants = list(Entrant.objects.filter(is_team=False, memberships__user__in=logins).distinct())
    for entrant in entrants:
        rivals = Entrant.objects.filter(competition=entrant.competition_id).alias(low=Lower("name"))
        entrant.name, entrant.pseudonym, entrant.affiliation = _free_name(entrant, rivals), "", ""
        entrant.save(update_fields=["name", "pseudonym", "affiliation"])
    Session.objects.filter(session_key__in=UserSession.objects.filter(user__in=logins).values("session_key")).delete()
    apps.get_model("web.KeyedAnswer").objects.filter(account__in=logins).delete()  # of an app above
    matches = apps.get_model("matches.Match").objects  # of an app above, too
    matches.filter(operator__in=logins).update(machine_public_at=None)
    matches.filter(human__in=entrants).update(human_public_at=None, texts_public_at=None)
    _erase_from_classes(logins)
    apps.get_model("matches.SectionText").objects.filter(match__human__in=entrants).delete()
    apps.get_model("classes.Remark").objects.filter(work__entrant__in=entrants).delete()
    apps.get_model("classes.Grade").objects.filter(work__entrant__in=entrants).update(text="")
    apps.get_model("classes.Appeal").objects.filter(author__in=logins).update(text="")
    for name in ("submissions.Draft", "submissions.Note", "submissions.Welcome"):
        apps.get_model(name).objects.filter(user__in=logins).delete()
    for table in (EmailAddress, SocialAccount, Authenticator, UserSession):
        table.objects.filter(user__in=logins).delete()
    ApiToken.objects.filter(owner__in=logins).delete()
    users = User.objects.alias(low=Lower("username"))
    for login in User.objects.filter(pk__in=logins):
        User.objects.filter(pk=login.pk).update(
            username=_free_name(login, users),
            first_name="",
            last_name="",
            email="",
            password=make_password(None),
            is_active=False,
        )
    return [entrant.pk for entrant in entrants]


def _free_name(erased: Entrant | User, named: QuerySet[Any, Any]) -> str:
    """Return `deleted-N`, or the first free name of `deleted-N-2`, `deleted-N-3`, …

    An account or entrant may have such a name from before they were reserved. `named`: the rows among which a name is
    unique, with their names in small letters as `low`.
    """
    name = GONE.format(erased.pk)
    later = (f"{name}-{number}" for number in itertools.count(2))
    rest = named.exclude(pk=erased.pk)
    return next(free for free in itertools.chain([name], later) if not rest.filter(low=free).exists())


def _erase_from_classes(logins: list[int]) -> None:
    """Erase the person from rosters and seats, and the reasons of their extensions, which may name an illness.

    A line that nobody has joined by goes if it names a login or a confirmed address of the person.
    """
    names = User.objects.filter(pk__in=logins).annotate(low=Lower("username")).values("low")
    confirmed = EmailAddress.objects.filter(user__in=logins, verified=True)
    addresses = confirmed.annotate(low=Lower("email")).values("low")
    expected = Q(seat=None) & (Q(login__in=names) | Q(login__in=addresses))
    apps.get_model("classes.RosterLine").objects.filter(expected | Q(seat__account__in=logins)).delete()
    apps.get_model("classes.Seat").objects.filter(account__in=logins).update(name="")
    apps.get_model("classes.Extension").objects.filter(seat__account__in=logins).update(reason="")
