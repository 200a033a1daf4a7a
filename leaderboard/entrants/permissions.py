"""Checks of this app's acts before they write: permission to act, changes of members, free names.

An act locks in this order, so that two acts never wait for each other: people, then the competition, then the entrant.
"""

from datetime import datetime
from typing import Any, Final

from django.db.models import CharField, Exists, F, Func, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Lower

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import is_over_at
from leaderboard.competitions.models import AGENT, CLOSED, HUMAN, MIXED, Competition, InviteCode, Role
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.entrants.names import LOOKALIKES, clean_text, is_reserved, look
from leaderboard.errors import UserError

MAX_MODEL_CHARS: Final = 128
MAX_MEMBERSHIPS: Final = 20  # per person and competition, ended memberships included


def lock_person(user: User) -> User:
    """Return the person's account, locked, so that their concurrent acts run after this act."""
    return User.objects.select_for_update(no_key=True).get(pk=user.account_id)


def lock_names(competition: Competition) -> None:
    """Keep concurrent acts from taking names or editing tracks in this competition until this transaction ends."""
    Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)


def lock_entrant(entrant: Entrant) -> Entrant:
    return Entrant.objects.select_for_update(of=("self",)).select_related("competition").get(pk=entrant.pk)


def members_of(entrant: Entrant) -> QuerySet[Membership]:
    """Return the current members, in order of joining."""
    return Membership.objects.filter(entrant=entrant, left_at=None).select_related("user")


def seeing_members(competition: Competition) -> QuerySet[Any, Any]:
    """Return the memberships of present entrants that still see the competition, with their `account`.

    In a closed competition, people whose invite codes are all revoked lose their view, although they once entered.
    """
    present: QuerySet[Any, Any] = Membership.objects.filter(competition=competition, left_at=None, user__is_active=True)
    present = present.annotate(account=Coalesce(F("user__linked_to"), F("user"))).order_by()
    if competition.visibility != CLOSED:
        return present
    login = Q(used_by=OuterRef("user")) | Q(used_by=OuterRef("account")) | Q(used_by__linked_to=OuterRef("account"))
    codes = InviteCode.objects.filter(login, competition=competition)
    role = Role.objects.filter(competition=competition, user=OuterRef("account"))
    return present.filter(Exists(codes.filter(revoked_at=None)) | ~Exists(codes) | Exists(role))


def memberships_of(user: User) -> QuerySet[Membership]:
    """Return the person's current memberships, through any of their logins."""
    present = Membership.objects.filter(user__in=logins_of(user), left_at=None)
    return present.select_related("entrant__competition")


def membership_of(user: User, competition: Competition) -> Membership | None:
    return memberships_of(user).filter(competition=competition).first()


def check_member(entrant: Entrant, user: User) -> Membership:
    member = members_of(entrant).filter(user__in=logins_of(user)).first()
    if member is None:
        raise UserError("entrant", entrant.name, "you are not in it", status=403)
    return member


def check_captain(entrant: Entrant, user: User, act: str) -> Membership:
    member = check_member(entrant, user)
    if member.role != Membership.CAPTAIN:
        raise UserError("actor", user.get_username(), f"only the captain of {entrant.name} may {act}", status=403)
    return member


def lock_as_captain(entrant: Entrant, user: User, act: str) -> Entrant:
    """Return the entrant, locked, after a check that `user` is its captain."""
    found = lock_entrant(entrant)
    check_captain(found, user, act)
    return found


def check_not_restless(user: User, competition: Competition) -> None:
    """Refuse further changes at the limit: each entry, exit and team takes a row for good, and each team a name."""
    if Membership.objects.filter(competition=competition, user__in=logins_of(user)).count() >= MAX_MEMBERSHIPS:
        text = f"you entered, left and changed teams {MAX_MEMBERSHIPS} times here; an organiser can help"
        raise UserError("competition", competition.slug, text, status=409)


def check_people_may_change(competition: Competition, now: datetime) -> None:
    merge_deadline = competition.merge_deadline
    if merge_deadline is not None and merge_deadline <= now:
        text = f"teams do not change any more since {merge_deadline:%Y-%m-%d %H:%M} UTC"
        raise UserError("team", competition.slug, text, status=409)
    check_not_over(competition, now)


def check_not_over(competition: Competition, now: datetime) -> None:
    if is_over_at(competition.schedule, now):
        raise UserError("competition", competition.slug, "its contest is over", status=409)


def check_name_is_free(competition: Competition, field: str, name: str, *, without: Entrant | None = None) -> None:
    """Refuse a name that equals or resembles a username, or a name or pseudonym of this competition."""
    if is_reserved(name):
        raise UserError(field, name, "this name is reserved for the site; choose another")
    if looks_like_a_login(name):
        raise UserError(field, name, "this is somebody's user name, or looks like one; choose another")
    others = Entrant.objects.filter(competition=competition).exclude(pk=without.pk if without else 0)
    if others.filter(looks__contains=[look(name)]).exists():
        raise UserError(field, name, "this name is taken here, or looks like one that is; choose another")


def looks_like_a_login(name: str) -> bool:
    """Return whether a login looks like `name`. The expression must match the index on User."""
    looks = Func(Lower("username"), *map(Value, LOOKALIKES), function="translate", output_field=CharField())
    return User.objects.alias(look=looks).filter(look=look(name)).exists()


def is_taken(username: str) -> bool:
    """Return whether a username is reserved, or equals or resembles a login, a team or a pseudonym anywhere."""
    if is_reserved(username) or looks_like_a_login(username):
        return True
    return Entrant.objects.filter(looks__contains=[look(username)]).exists()


def checked_division(person: User, competition: Competition, division: str, model_name: str) -> tuple[str, str]:
    """Return a division of this competition with its model.

    "" means human, if the competition has that division, and agent for an agent's account, which takes no other.
    """
    if person.account.agent_of_id is not None:
        if AGENT not in competition.divisions:
            raise UserError("division", AGENT, f"{competition} admits no agents", 403, "agents_not_admitted")
        if division not in ("", AGENT):
            raise UserError("division", division, "an agent competes in the division agent", status=403)
        division = AGENT
    offered = ", ".join(competition.divisions)
    if not division and HUMAN not in competition.divisions:
        text = f"this competition is for {offered}; say which at /competitions/{competition.slug}/team"
        raise UserError("division", "", text, status=409)
    division = division or HUMAN
    if division not in competition.divisions:
        raise UserError("division", division, f"no such division here; there is {offered}")
    model_name = clean_text("model_name", model_name, most=MAX_MODEL_CHARS)
    if division in (AGENT, MIXED) and not model_name:
        raise UserError("model_name", "", "name the model that writes the code")
    return division, model_name if division != HUMAN else ""
