"""Enter a competition as a person alone, make agents, and link two logins of a person.

Entering is safe to run again: an earlier entrant stays as it is.

If a competition has rules, entering means accepting the current rules; the digest of that text is kept with the
membership. When the rules change, people with an older acceptance are asked again before the next submission. Without
rules the first submission enters.

An agent is the account of a program. Its owner makes its tokens; it has no password and cannot sign in. It competes in
the division Agent, under the name of a model. Its owner answers for it: without that account its tokens do not work,
and a suspended owner's agents are suspended with them.
"""

import hashlib
from datetime import datetime
from typing import Final

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from leaderboard.accounts import logins
from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import Phase, phase_at
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import may_see
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.entrants.permissions import (
    checked_division,
    is_taken,
    lock_names,
    lock_person,
    membership_of,
    memberships_of,
)
from leaderboard.errors import UserError

MOST_AGENTS: Final = 5  # of an account; each has quotas of its own


def entrant_of(user: User, competition: Competition) -> Entrant | None:
    """Return the person's current entrant, through any of their logins; None if they have not entered."""
    member = membership_of(user, competition)
    return member.entrant if member else None


def rules_digest(competition: Competition) -> str:
    """Return the digest of the rules to accept on entering; "": no rules."""
    return "sha256:" + hashlib.sha256(competition.rules.encode()).hexdigest() if competition.rules else ""


def has_accepted(user: User, competition: Competition) -> bool:
    """Return whether the person has accepted the current rules. True if there are no rules."""
    rules = rules_digest(competition)
    return not rules or memberships_of(user).filter(competition=competition).filter(rules_digest=rules).exists()


def page_of(competition: Competition) -> str:
    return f"/competitions/{competition.slug}"


@transaction.atomic
def enter(
    *, user: User, competition: Competition, accepted: str, now: datetime, division: str = "", model_name: str = ""
) -> Entrant:
    """Enter, or accept the rules anew.

    `accepted` is the digest of the rules that were shown; "" without rules. `division` "" means human, if the
    competition has that division. If the person is in a different division already, the error names the page that
    changes it.
    """
    known = _known_or_may_enter(user, competition, now)
    if known is not None and division not in ("", known.division):
        where = f"choose another at {page_of(competition)}/team"
        raise UserError("division", division, f"you are in it as {known.division}; {where}", status=409)
    rules = rules_digest(competition)
    if accepted != rules:
        text = "the rules are other ones than you accepted" if accepted else "the rules have to be accepted"
        text = f"{text}; read them at {page_of(competition)}"
        raise UserError("rules_digest", accepted, text, 409, "rules_not_accepted")
    entrant = known or enter_alone(
        user=user, competition=competition, now=now, division=division, model_name=model_name
    )
    mine = memberships_of(user).filter(competition=competition).exclude(rules_digest=rules).first()
    if mine is not None and rules:
        Membership.objects.filter(pk=mine.pk).update(rules_digest=rules)
        record("accept_rules", mine, actor=user, reason=rules, now=now)
    return entrant


@transaction.atomic
def enter_in_division(
    *, user: User, competition: Competition, division: str, model_name: str, now: datetime
) -> Entrant:
    """Enter alone in a chosen division. Rules are accepted on the competition's page before the first submission."""
    return _known_or_may_enter(user, competition, now) or enter_alone(
        user=user, competition=competition, now=now, division=division, model_name=model_name
    )


def check_accepted(user: User, competition: Competition) -> None:
    """Raise UserError with the address of the rules if they are not accepted."""
    if not has_accepted(user, competition):
        is_in = memberships_of(user).filter(competition=competition).exists()
        text = "its rules have changed since you accepted them" if is_in else "entering it means accepting its rules"
        where = f"read and accept them at {page_of(competition)}, then submit again"
        raise UserError("competition", competition.slug, f"{text}; {where}", 409, "rules_not_accepted")


def enter_by_submitting(*, user: User, competition: Competition, now: datetime, model_name: str = "") -> Entrant:
    """Return the entrant of a submission by this account, whose row the caller has locked.

    `model_name`: of an agent that enters by it. Raise UserError as check_accepted does.
    """
    check_accepted(user, competition)
    return _enter_alone(user, competition, now, model_name=model_name)


@transaction.atomic
def enter_alone(
    *, user: User, competition: Competition, now: datetime, division: str = "", model_name: str = ""
) -> Entrant:
    """Enter alone, without a check of the rules: the acts above make it.

    After leaving a team, a person becomes their earlier entrant again. `division` "" means human, if the competition
    has that division.
    """
    return _enter_alone(lock_person(user), competition, now, division, model_name)


def _enter_alone(
    person: User, competition: Competition, now: datetime, division: str = "", model_name: str = ""
) -> Entrant:
    """Enter as `person`, an account whose row the caller has locked."""
    known = entrant_of(person, competition)
    if known is not None:
        return known
    alone = Entrant.objects.filter(competition=competition, is_team=False, memberships__user__in=logins_of(person))
    somebody = Membership.objects.filter(entrant=OuterRef("pk"), left_at=None)  # a login that was once linked
    entrant = alone.exclude(Exists(somebody)).order_by("pk").first()
    if entrant is None:
        division, model_name = checked_division(person, competition, division, model_name)
        lock_names(competition)
        username = person.get_username()  # numbered if a team took it before this user existed
        taken = Entrant.objects.filter(competition=competition, name__istartswith=username)
        known_names = {name.lower() for name in taken.values_list("name", flat=True)}
        names = (username, *(f"{username} ({count})" for count in range(2, len(known_names) + 3)))
        entrant = Entrant.objects.create(
            competition=competition,
            name=next(name for name in names if name.lower() not in known_names),
            division=division,
            model_name=model_name,
            created_at=now,
        )
    Membership.objects.create(
        entrant=entrant, competition=competition, user=person, role=Membership.CAPTAIN, joined_at=now
    )
    return entrant


def _known_or_may_enter(user: User, competition: Competition, now: datetime) -> Entrant | None:
    """Return the existing entrant, or None if the person may enter. Raise UserError if they may not."""
    if not may_see(user, competition):
        raise UserError("competition", competition.slug, "no such competition", status=404)
    known = entrant_of(user, competition)
    if known is None and phase_at(competition.schedule, now) in (Phase.REVIEW, Phase.FINAL):
        raise UserError("competition", competition.slug, "its contest is over; nobody enters it now", status=409)
    return known


def agents_of(owner: User) -> QuerySet[User]:
    return User.objects.filter(agent_of__in=logins_of(owner)).order_by("pk")


@transaction.atomic
def create_agent(*, owner: User, name: str, now: datetime) -> User:
    """Create an agent of this person's account. The caller has checked the spelling of the name."""
    account = User.objects.select_for_update(no_key=True).get(pk=owner.account_id)
    if account.agent_of_id is not None:
        raise UserError("owner", account.get_username(), "an agent owns no agents", status=403)
    if agents_of(account).count() >= MOST_AGENTS:
        raise UserError("name", name, f"you have {MOST_AGENTS} agents, the most for an account", status=409)
    if is_taken(name):
        raise UserError("name", name, "this name is taken, or too similar to a name that is; choose another")
    agent = User.objects.create(username=name, password=make_password(None), agent_of=account, date_joined=now)
    record("create_agent", agent, actor=account, now=now, after={"owner": account.get_username()})
    return agent


@transaction.atomic
def link_logins(*, user: User, own_password: str, username: str, password: str, now: datetime, keep: str = "") -> User:
    """Link two logins of a person, unless they compete separately in a competition in progress.

    Return their common account. `keep` is the name that stays; "": the older login's.
    """
    logins.check_own_password(user, own_password)
    other = logins.prove(username=username, password=password)
    one, other = logins.lock_both(user, other)
    if Role.objects.filter(user__in=[one, other]).exists():
        text = "a login that organises a competition stays by itself; an owner of that takes the role back first"
        raise UserError("username", other.get_username(), text, status=409)
    # In one team the logins take two places of it; as two entrants the person competes against themselves.
    theirs, mine = (
        Membership.objects.filter(user__in=logins_of(login), left_at=None).values("competition")
        for login in (other, one)
    )
    for competition in Competition.objects.filter(pk__in=mine).filter(pk__in=theirs):
        if phase_at(competition.schedule, now) not in (Phase.FINAL, Phase.OPEN):
            where = f"leave it with one of them first, at {page_of(competition)}/team"
            text = f"both of your logins compete in {competition.name}; {where}, or ask an organiser"
            raise UserError("username", other.get_username(), text, status=409)
    return logins.link(one=one, other=other, keep=keep, now=now)
