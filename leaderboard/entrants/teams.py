"""Teams: create and rename, join and leave, hand over the captaincy, and invites by username. Profile of an entrant:
division, cost, affiliation, pseudonym, eligibility.

The creator of a team is its captain, who also edits the profile. Submissions keep their entrant. An ended membership
stays as a row with its end, and identifies a person's own entrant. An invite opens no closed competition: a person who
cannot see the competition cannot accept.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Lower

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import Stage, window_of
from leaderboard.competitions.models import HUMAN, Competition, Track
from leaderboard.competitions.permissions import competitions_seen_by, may_see
from leaderboard.entrants import permissions
from leaderboard.entrants.models import Entrant, Membership, TeamInvite
from leaderboard.entrants.names import clean_name, clean_text
from leaderboard.errors import UserError

MAX_OPEN: Final = 20  # per team, unanswered
MAX_EVER: Final = 200
MAX_A_PERSON: Final = 3  # per team and person, ever
MAX_AFFILIATION_CHARS: Final = 128
_DOLLARS: Final = re.compile(r"[0-9]{1,7}(\.[0-9]{1,2})?")
_CENT: Final = Decimal("0.01")
NO_INVITE: Final = "there is no such invite"


@transaction.atomic
def create_team(
    *, user: User, competition: Competition, name: str, now: datetime, division: str = "", model_name: str = ""
) -> Entrant:
    """Create a team with its first member.

    Earlier submissions stay with the person's own entrant; the team starts empty.
    """
    person = permissions.lock_person(user)
    if competition.max_team_size < 2:
        raise UserError("team", competition.slug, "everybody competes alone here", status=409)
    permissions.check_people_may_change(competition, now)
    permissions.check_not_restless(person, competition)
    was = _without_team(person, competition)
    if not division and was is not None:
        division, model_name = was.entrant.division, was.entrant.model_name
    division, model_name = permissions.checked_division(person, competition, division, model_name)
    name = clean_name("name", name)
    permissions.lock_names(competition)
    permissions.check_name_is_free(competition, "name", name)
    team = Entrant.objects.create(
        competition=competition, name=name, is_team=True, division=division, model_name=model_name, created_at=now
    )
    join(entrant=team, person=person, role=Membership.CAPTAIN, now=now)
    record("create_team", team, actor=person, now=now, after={"name": name})
    return team


@transaction.atomic
def rename_team(*, entrant: Entrant, actor: User, name: str, now: datetime) -> None:
    permissions.lock_names(entrant.competition)
    team = permissions.lock_as_captain(entrant, actor, "rename it")
    permissions.check_not_over(team.competition, now)
    if not team.is_team:
        text = "who competes alone does so by their user name; there is the pseudonym"
        raise UserError("name", name, text, status=409)
    before, team.name = team.name, clean_name("name", name)
    permissions.check_name_is_free(team.competition, "name", team.name, without=team)
    team.save(update_fields=["name"])
    record("rename_team", team, actor=actor, now=now, before={"name": before}, after={"name": team.name})


def _without_team(person: User, competition: Competition) -> Membership | None:
    """Return the person's membership in their own entrant. Raise UserError if they are in a team."""
    member = permissions.membership_of(person, competition)
    if member is not None and member.entrant.is_team:
        raise UserError("team", member.entrant.name, "you are in a team already; leave it first", status=409)
    return member


def join(*, entrant: Entrant, person: User, role: str, now: datetime) -> Membership:
    """Move a person into an entrant, for the acts of this app, which hold the person's row.

    The person leaves their present entrant. Their acceptance of the rules goes with them; without acceptance they are
    asked before they submit.
    """
    before = Membership.objects.filter(competition=entrant.competition, user__in=logins_of(person)).order_by("-pk")
    accepted = before.values_list("rules_digest", flat=True).first() or ""
    before.filter(left_at=None).update(left_at=now)
    return Membership.objects.create(
        entrant=entrant, competition=entrant.competition, user=person, role=role, rules_digest=accepted, joined_at=now
    )


@transaction.atomic
def leave(*, user: User, competition: Competition, now: datetime) -> None:
    """Leave the team or the competition. A later submission enters again, as the person's own entrant."""
    person = permissions.lock_person(user)
    member = permissions.membership_of(person, competition)
    if member is None:
        raise UserError("competition", competition.slug, "you are not in it", status=409)
    permissions.check_not_restless(person, competition)
    entrant = permissions.lock_entrant(member.entrant)
    member = permissions.check_member(entrant, person)  # read again under the lock
    permissions.check_people_may_change(competition, now)
    is_last = not permissions.members_of(entrant).exclude(pk=member.pk).exists()
    if member.role == Membership.CAPTAIN and not is_last:
        raise UserError("team", entrant.name, "you are its captain; make another member captain first", status=409)
    _end(member, now)
    if is_last:
        TeamInvite.objects.filter(entrant=entrant, answer="").update(answer=TeamInvite.WITHDRAWN, answered_at=now)
    record("leave_entrant", entrant, actor=person, now=now)


@transaction.atomic
def remove_member(*, entrant: Entrant, username: str, actor: User, now: datetime) -> None:
    team = permissions.lock_as_captain(entrant, actor, "remove a member")
    permissions.check_people_may_change(team.competition, now)
    member = _named(team, username)
    if member.role == Membership.CAPTAIN:
        raise UserError("username", username, "you are its captain; hand that over, then leave", status=409)
    _end(member, now)
    after = {"username": member.user.get_username()}
    record("remove_member", team, actor=actor, now=now, after=after)


@transaction.atomic
def hand_over(*, entrant: Entrant, username: str, actor: User, now: datetime) -> None:
    """Make another member captain; the earlier captain stays a member."""
    team = permissions.lock_entrant(entrant)
    captain = permissions.check_captain(team, actor, "make another one captain")
    member = _named(team, username)
    if member.pk == captain.pk:
        raise UserError("username", username, "is its captain already", status=409)
    Membership.objects.filter(pk=captain.pk).update(role=Membership.MEMBER)
    Membership.objects.filter(pk=member.pk).update(role=Membership.CAPTAIN)
    before, after = ({"captain": one.user.get_username()} for one in (captain, member))
    record("hand_over_captain", team, actor=actor, now=now, before=before, after=after)


def _named(team: Entrant, username: str) -> Membership:
    member = next((one for one in permissions.members_of(team) if one.user.get_username() == username), None)
    if member is None:
        raise UserError("username", username, f"is not in {team.name}", status=404)
    return member


def _end(member: Membership, now: datetime) -> None:
    Membership.objects.filter(pk=member.pk, left_at=None).update(left_at=now)


def open_invites_of(user: User) -> QuerySet[TeamInvite]:
    seen = competitions_seen_by(user)
    mine = TeamInvite.objects.filter(user__in=logins_of(user), answer="", entrant__competition__in=seen)
    return mine.select_related("entrant__competition", "invited_by")


@transaction.atomic
def invite(*, entrant: Entrant, username: str, actor: User, now: datetime) -> TeamInvite:
    team = permissions.lock_as_captain(entrant, actor, "invite somebody")
    if not team.is_team:
        raise UserError("team", team.name, "make a team first", status=409)
    permissions.check_people_may_change(team.competition, now)
    name = username.strip().lower() if username.isprintable() else ""
    found = User.objects.alias(low=Lower("username")).filter(low=name, is_active=True).first()
    if found is None or not found.account.is_active:
        raise UserError("username", username, "nobody has this user name", status=404)
    user = found.account
    if permissions.members_of(team).filter(user__in=logins_of(user)).exists():
        raise UserError("username", username, f"is in {team.name} already", status=409)
    _check_not_full(team)
    invites = TeamInvite.objects.filter(entrant=team)
    if invites.filter(user=user, answer="").exists():
        raise UserError("username", user.get_username(), "is invited already", status=409)
    if invites.filter(user=user).count() >= MAX_A_PERSON:
        text = f"was invited {MAX_A_PERSON} times; that is enough"
        raise UserError("username", user.get_username(), text, status=409)
    if invites.count() >= MAX_EVER:
        raise UserError("team", team.name, f"it has sent {MAX_EVER} invites; that is enough", status=409)
    if invites.filter(answer="").count() >= MAX_OPEN:
        raise UserError("team", team.name, f"{MAX_OPEN} invites wait for an answer; withdraw one first", status=409)
    return TeamInvite.objects.create(entrant=team, user=user, invited_by=actor, created_at=now)


@transaction.atomic
def withdraw_invite(*, invite_id: int, entrant: Entrant, actor: User, now: datetime) -> None:
    team = permissions.lock_as_captain(entrant, actor, "withdraw an invite")
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
    person = permissions.lock_person(user)
    mine = TeamInvite.objects.filter(pk=invite_id, user__in=logins_of(person))
    team = permissions.lock_entrant(_open(mine).entrant)  # concurrent acceptances run in sequence from here on
    found = _open(mine)
    if not may_see(person, team.competition):
        raise UserError("invite", "", NO_INVITE, status=404)
    if person.agent_of_id is not None and team.division == HUMAN:
        raise UserError("invite", "", "an agent joins no team of the division human", status=403)
    permissions.check_people_may_change(team.competition, now)
    _without_team(person, team.competition)
    _check_not_full(team)
    _answer(found, TeamInvite.ACCEPTED, now)
    member = join(entrant=team, person=person, role=Membership.MEMBER, now=now)
    record("join_team", team, actor=person, now=now, after={"invite": found.pk})
    return member


def _open(invites: QuerySet[TeamInvite]) -> TeamInvite:
    found = invites.select_related("entrant__competition").first()
    if found is None:
        raise UserError("invite", "", NO_INVITE, status=404)
    if found.answer:
        raise UserError("invite", found.answer, f"it was {found.answer} already", status=409)
    return found


def _answer(found: TeamInvite, answer: str, now: datetime) -> None:
    if not TeamInvite.objects.filter(pk=found.pk, answer="").update(answer=answer, answered_at=now):
        raise UserError("invite", "", "it was answered at this moment by somebody else", status=409)


def _check_not_full(team: Entrant) -> None:
    most = team.competition.max_team_size
    if permissions.members_of(team).count() >= most:
        raise UserError("team", team.name, f"is full: a team has at most {most} members", status=409)


def division_is_fixed(entrant: Entrant) -> bool:
    """Return whether the first ranked submission of the contest has fixed the division."""
    window = window_of(entrant.competition.schedule, Stage.CONTEST)
    sent = entrant.submissions.filter(mode="ranked")
    if window.since is not None:
        sent = sent.filter(created_at__gte=window.since)
    if window.until is not None:
        sent = sent.filter(created_at__lt=window.until)
    return sent.exists()


@transaction.atomic
def choose_division(*, entrant: Entrant, actor: User, division: str, model_name: str, now: datetime) -> None:
    found = permissions.lock_as_captain(entrant, actor, "choose its division")
    if division_is_fixed(found):
        text = "it is fixed since your first ranked submission of the contest; an organiser can tell you more"
        raise UserError("division", division, text, status=409)
    if not division:
        raise UserError("division", "", "choose one")
    division, model_name = permissions.checked_division(actor, found.competition, division, model_name)
    agent = permissions.members_of(found).exclude(user__agent_of=None).first()
    if division == HUMAN and agent is not None:
        text = f"{agent.user.get_username()} is an agent; remove it from the team, or choose another division"
        raise UserError("division", division, text, status=409)
    values = {"division": division, "model_name": model_name}
    _set(found, actor, now, "choose_division", **values, **({"cost_usd": None} if division == HUMAN else {}))


@transaction.atomic
def declare_cost(*, entrant: Entrant, actor: User, cost_usd: str, now: datetime) -> None:
    """Declare the cost of the model's work so far, in US dollars; "" withdraws the figure.

    Costs grow, so a captain may correct them until the competition is final.
    """
    found = permissions.lock_as_captain(entrant, actor, "declare its cost")
    _check_not_final(found.competition, "cost_usd", now)
    if found.division == HUMAN:
        raise UserError("cost_usd", cost_usd, "only the divisions agent and mixed declare what their model cost")
    if cost_usd and not _DOLLARS.fullmatch(cost_usd):
        text = "expected US dollars from 0 to 9999999, with at most two decimals, such as 12.50; or nothing"
        raise UserError("cost_usd", cost_usd, text)
    _set(found, actor, now, "declare_cost", cost_usd=Decimal(cost_usd).quantize(_CENT) if cost_usd else None)


@transaction.atomic
def say_affiliation(*, entrant: Entrant, actor: User, affiliation: str, now: datetime) -> None:
    found = permissions.lock_as_captain(entrant, actor, "say its affiliation")
    text = clean_text("affiliation", affiliation, most=MAX_AFFILIATION_CHARS)
    _set(found, actor, now, "say_affiliation", affiliation=text)


@transaction.atomic
def take_pseudonym(*, entrant: Entrant, actor: User, pseudonym: str, now: datetime) -> None:
    """Set the pseudonym, once: readers of the board can rely on it that a name is always the same entrant."""
    permissions.lock_names(entrant.competition)
    found = permissions.lock_as_captain(entrant, actor, "choose its pseudonym")
    permissions.check_not_over(found.competition, now)
    if found.pseudonym:
        raise UserError("pseudonym", pseudonym, f"you have one: {found.pseudonym}; it stays the same", status=409)
    name = clean_name("pseudonym", pseudonym)
    permissions.check_name_is_free(found.competition, "pseudonym", name, without=found)
    if name.casefold() == found.name.casefold():
        raise UserError("pseudonym", pseudonym, "this is your name; choose another")
    _set(found, actor, now, "take_pseudonym", pseudonym=name)


@transaction.atomic
def reveal(*, entrant: Entrant, actor: User, now: datetime) -> None:
    """Show the name with the pseudonym from now on. It cannot be hidden again."""
    found = permissions.lock_as_captain(entrant, actor, "reveal its name")
    if not found.pseudonym or found.revealed_at:
        raise UserError("pseudonym", found.pseudonym, "there is nothing to reveal", status=409)
    found.revealed_at = now
    found.save(update_fields=["revealed_at"])
    record("reveal_entrant", found, actor=actor, now=now)


def tracks_to_declare(competition: Competition) -> list[Track]:
    return list(competition.tracks.exclude(eligibility=""))


def eligibility_digest(tracks: Iterable[Track]) -> str:
    """Return the digest of the texts that entrants declare to meet."""
    texts = sorted((track.slug, track.eligibility) for track in tracks)
    return "sha256:" + hashlib.sha256(json.dumps(texts).encode()).hexdigest()


@transaction.atomic
def declare(*, entrant: Entrant, actor: User, tracks: Collection[str], now: datetime, shown: str | None = None) -> None:
    """Declare that the entrant meets the eligibility text of exactly these tracks.

    `shown`: the digest of the texts that the captain read on the page; None: a program names the tracks.
    """
    permissions.lock_names(entrant.competition)  # edits of tracks take the same lock, and drop declarations
    found = permissions.lock_as_captain(entrant, actor, "declare that it is eligible")
    _check_not_final(found.competition, "declared", now)
    asked = tracks_to_declare(found.competition)
    unknown = sorted(set(tracks) - {track.slug for track in asked})
    if unknown:
        raise UserError("declared", ", ".join(unknown), "no such track asks for it")
    if shown is not None and shown != eligibility_digest(asked):
        text = "an organiser has changed the texts meanwhile; read them as they are now, and declare again"
        raise UserError("declared", "", text, status=409)
    _set(found, actor, now, "declare_eligibility", declared=sorted(set(tracks)))


def _check_not_final(competition: Competition, field: str, now: datetime) -> None:
    if competition.final_at is not None and competition.final_at <= now:
        raise UserError(field, "", "the competition is final", status=409)


def _set(entrant: Entrant, actor: User, now: datetime, act: str, **values: Any) -> None:
    before = {name: getattr(entrant, name) for name in values}
    if before == values:
        return
    for name, value in values.items():
        setattr(entrant, name, value)
    entrant.save(update_fields=list(values))
    record(act, entrant, actor=actor, now=now, before=before, after=values)
