"""Create and rename teams. The creator of a team is its captain."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.models import Competition
from leaderboard.entrants import checks
from leaderboard.entrants.members import join
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.entrants.names import clean_name
from leaderboard.errors import UserError


@transaction.atomic
def create_team(
    *, user: User, competition: Competition, name: str, now: datetime, division: str = "", model_name: str = ""
) -> Entrant:
    """Create a team with its first member.

    Earlier submissions stay with the person's own entrant; the team starts empty.
    """
    person = checks.lock_person(user)
    if competition.max_team_size < 2:
        raise UserError("team", competition.slug, "everybody competes alone here", status=409)
    checks.check_people_may_change(competition, now)
    checks.check_not_restless(person, competition)
    was = checks.membership_of(person, competition)
    if was is not None and was.entrant.is_team:
        raise UserError("team", was.entrant.name, "you are in a team already; leave it first", status=409)
    if not division and was is not None:
        division, model_name = was.entrant.division, was.entrant.model_name
    division, model_name = checks.checked_division(competition, division, model_name)
    name = clean_name("name", name)
    checks.lock_names(competition)
    checks.check_name_is_free(competition, "name", name)
    team = Entrant.objects.create(
        competition=competition, name=name, is_team=True, division=division, model_name=model_name, created_at=now
    )
    join(entrant=team, person=person, role=Membership.CAPTAIN, now=now)
    record(act="create_team", target=team, actor=person, reason="", now=now, after={"name": name})
    return team


@transaction.atomic
def rename_team(*, entrant: Entrant, actor: User, name: str, now: datetime) -> None:
    checks.lock_names(entrant.competition)
    team = checks.lock_entrant(entrant)
    checks.check_captain(team, actor, "rename it")
    checks.check_not_over(team.competition, now)
    if not team.is_team:
        raise UserError(
            "name", name, "who competes alone does so by their user name; there is the pseudonym", status=409
        )
    before, team.name = team.name, clean_name("name", name)
    checks.check_name_is_free(team.competition, "name", team.name, without=team)
    team.save(update_fields=["name"])
    record(
        act="rename_team",
        target=team,
        actor=actor,
        reason="",
        now=now,
        before={"name": before},
        after={"name": team.name},
    )
