"""Membership of entrants: join, leave, remove a member, hand over the captaincy. Submissions keep their entrant.

An ended membership stays as a row with its end, and identifies a person's own entrant.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.models import Competition
from leaderboard.entrants import checks
from leaderboard.entrants.models import Entrant, Membership, TeamInvite
from leaderboard.errors import UserError


def join(*, entrant: Entrant, person: User, role: str, now: datetime) -> Membership:
    """Move a person into an entrant, for the acts of this app, which hold the person's row.

    The person leaves their present entrant. Their acceptance of the rules goes with them; without acceptance they are
    asked before they submit.
    """
    before = Membership.objects.filter(competition=entrant.competition, user__in=logins_of(person)).order_by("-pk")
    accepted = before.values_list("rules_digest", flat=True).first() or ""
    before.filter(left_at=None).update(left_at=now)
    return Membership.objects.create(
        entrant=entrant,
        competition=entrant.competition,
        user=person,
        role=role,
        rules_digest=accepted,
        joined_at=now,
    )


@transaction.atomic
def leave(*, user: User, competition: Competition, now: datetime) -> None:
    """Leave the team or the competition. A later submission enters again, as the person's own entrant."""
    person = checks.lock_person(user)
    member = checks.membership_of(person, competition)
    if member is None:
        raise UserError("competition", competition.slug, "you are not in it", status=409)
    checks.check_not_restless(person, competition)
    entrant = checks.lock_entrant(member.entrant)
    member = checks.check_member(entrant, person)  # read again under the lock
    checks.check_people_may_change(competition, now)
    is_last = not checks.members_of(entrant).exclude(pk=member.pk).exists()
    if member.role == Membership.CAPTAIN and not is_last:
        raise UserError("team", entrant.name, "you are its captain; make another member captain first", status=409)
    _end(member, now)
    if is_last:
        TeamInvite.objects.filter(entrant=entrant, answer="").update(answer=TeamInvite.WITHDRAWN, answered_at=now)
    record(act="leave_entrant", target=entrant, actor=person, reason="", now=now)


@transaction.atomic
def remove_member(*, entrant: Entrant, username: str, actor: User, now: datetime) -> None:
    team = checks.lock_entrant(entrant)
    captain = checks.check_captain(team, actor, "remove a member")
    checks.check_people_may_change(team.competition, now)
    member = _named(team, username)
    if member.pk == captain.pk:
        raise UserError("username", username, "you are its captain; hand that over, then leave", status=409)
    _end(member, now)
    after = {"username": member.user.get_username()}
    record(act="remove_member", target=team, actor=actor, reason="", now=now, after=after)


@transaction.atomic
def hand_over(*, entrant: Entrant, username: str, actor: User, now: datetime) -> None:
    """Make another member captain; the earlier captain stays a member."""
    team = checks.lock_entrant(entrant)
    captain = checks.check_captain(team, actor, "make another one captain")
    member = _named(team, username)
    if member.pk == captain.pk:
        raise UserError("username", username, "is its captain already", status=409)
    Membership.objects.filter(pk=captain.pk).update(role=Membership.MEMBER)
    Membership.objects.filter(pk=member.pk).update(role=Membership.CAPTAIN)
    record(
        act="hand_over_captain",
        target=team,
        actor=actor,
        reason="",
        now=now,
        before={"captain": captain.user.get_username()},
        after={"captain": member.user.get_username()},
    )


def _named(team: Entrant, username: str) -> Membership:
    member = next((one for one in checks.members_of(team) if one.user.get_username() == username), None)
    if member is None:
        raise UserError("username", username, f"is not in {team.name}", status=404)
    return member


def _end(member: Membership, now: datetime) -> None:
    Membership.objects.filter(pk=member.pk, left_at=None).update(left_at=now)
