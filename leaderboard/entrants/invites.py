"""Team invites by username: the invited person accepts or declines, or the captain withdraws.

An invite opens no closed competition: a person who cannot see the competition cannot accept.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Lower

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.visible import competitions_seen_by, may_see
from leaderboard.entrants import checks
from leaderboard.entrants.members import join
from leaderboard.entrants.models import Entrant, Membership, TeamInvite
from leaderboard.errors import UserError

MAX_OPEN: Final = 20  # per team, unanswered
MAX_EVER: Final = 200
MAX_A_PERSON: Final = 3  # per team and person, ever
NONE: Final = "there is no such invite"


def open_invites_of(user: User) -> QuerySet[TeamInvite]:
    seen = competitions_seen_by(user)
    mine = TeamInvite.objects.filter(user__in=logins_of(user), answer="", entrant__competition__in=seen)
    return mine.select_related("entrant__competition", "invited_by")


@transaction.atomic
def invite(*, entrant: Entrant, username: str, actor: User, now: datetime) -> TeamInvite:
    team = checks.lock_entrant(entrant)
    checks.check_captain(team, actor, "invite somebody")
    if not team.is_team:
        raise UserError("team", team.name, "make a team first", status=409)
    checks.check_people_may_change(team.competition, now)
    user = _wanted(username)
    if checks.members_of(team).filter(user__in=logins_of(user)).exists():
        raise UserError("username", username, f"is in {team.name} already", status=409)
    if checks.members_of(team).count() >= team.competition.max_team_size:
        raise UserError("team", team.name, _full(team), status=409)
    _check_not_too_many(team, user)
    return TeamInvite.objects.create(entrant=team, user=user, invited_by=actor, created_at=now)


@transaction.atomic
def withdraw_invite(*, invite_id: int, entrant: Entrant, actor: User, now: datetime) -> None:
    team = checks.lock_entrant(entrant)
    checks.check_captain(team, actor, "withdraw an invite")
    _answer(_open(TeamInvite.objects.filter(pk=invite_id, entrant=team)), TeamInvite.WITHDRAWN, now)


@transaction.atomic
def decline_invite(*, invite_id: int, user: User, now: datetime) -> TeamInvite:
    found = _open(TeamInvite.objects.filter(pk=invite_id, user__in=logins_of(user)))
    _answer(found, TeamInvite.DECLINED, now)
    return found


@transaction.atomic
def accept_invite(*, invite_id: int, user: User, now: datetime) -> Membership:
    """Join the team and leave the person's own entrant.

    Raise UserError if the team is full, the merge deadline or the contest is past, or the person is in another team.
    """
    person = checks.lock_person(user)
    mine = TeamInvite.objects.filter(pk=invite_id, user__in=logins_of(person))
    team = checks.lock_entrant(_open(mine).entrant)  # concurrent acceptances run in sequence from here on
    found = _open(mine)
    if not may_see(person, team.competition):
        raise UserError("invite", "", NONE, status=404)
    checks.check_people_may_change(team.competition, now)
    was = checks.membership_of(person, team.competition)
    if was is not None and was.entrant.is_team:
        raise UserError("team", was.entrant.name, "you are in a team already; leave it first", status=409)
    if checks.members_of(team).count() >= team.competition.max_team_size:
        raise UserError("team", team.name, _full(team), status=409)
    _answer(found, TeamInvite.ACCEPTED, now)
    member = join(entrant=team, person=person, role=Membership.MEMBER, now=now)
    record(act="join_team", target=team, actor=person, reason="", now=now, after={"invite": found.pk})
    return member


def _wanted(username: str) -> User:
    """Return the account for a username in any case."""
    name = username.strip().lower() if username.isprintable() else ""
    found = User.objects.alias(low=Lower("username")).filter(low=name, is_active=True).first()
    if found is None or not found.account.is_active:
        raise UserError("username", username, "nobody has this user name", status=404)
    return found.account


def _check_not_too_many(team: Entrant, user: User) -> None:
    invites = TeamInvite.objects.filter(entrant=team)
    if invites.filter(user=user, answer="").exists():
        raise UserError("username", user.get_username(), "is invited already", status=409)
    if invites.filter(user=user).count() >= MAX_A_PERSON:
        said = f"was invited {MAX_A_PERSON} times; that is enough"
        raise UserError("username", user.get_username(), said, status=409)
    if invites.count() >= MAX_EVER:
        raise UserError("team", team.name, f"it has sent {MAX_EVER} invites; that is enough", status=409)
    if invites.filter(answer="").count() >= MAX_OPEN:
        raise UserError("team", team.name, f"{MAX_OPEN} invites wait for an answer; withdraw one first", status=409)


def _open(invites: QuerySet[TeamInvite]) -> TeamInvite:
    found = invites.select_related("entrant__competition").first()
    if found is None:
        raise UserError("invite", "", NONE, status=404)
    if found.answer:
        raise UserError("invite", found.answer, f"it was {found.answer} already", status=409)
    return found


def _answer(found: TeamInvite, answer: str, now: datetime) -> None:
    if not TeamInvite.objects.filter(pk=found.pk, answer="").update(answer=answer, answered_at=now):
        raise UserError("invite", "", "it was answered at this moment by somebody else", status=409)


def _full(team: Entrant) -> str:
    return f"is full: a team has at most {team.competition.max_team_size} members"
