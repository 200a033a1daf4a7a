"""Competition roles: an owner grants, changes and removes them, and the last owner stays."""

import pytest

from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.competitions.access import grant_role, revoke_role
from leaderboard.competitions.edit import create_competition
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import ADMINISTRATOR, competitions_of, has_role, role_of
from leaderboard.errors import UserError
from tests.leaderboard.stage import NOON, Stage


@pytest.fixture
def spring(stage: Stage) -> Competition:
    """Create a competition owned by ada alone, who is not staff."""
    made = create_competition(actor=stage.olga, slug="spring", settings={"name": "Spring"}, now=NOON)
    made.roles.update(user=stage.ada)
    return made


def grant(competition: Competition, actor: User, username: str, role: str) -> Role:
    return grant_role(competition=competition, actor=actor, username=username, role=role, now=NOON)


def test_an_owner_gives_and_changes_roles(stage: Stage, spring: Competition) -> None:
    grant(spring, stage.ada, "BEN", Role.VIEWER)
    assert role_of(stage.ben, spring) == Role.VIEWER
    grant(spring, stage.ada, "ben", Role.REVIEWER)
    assert has_role(stage.ben, spring, Role.VIEWER)
    assert not has_role(stage.ben, spring, Role.OWNER)
    row = Row.objects.filter(act="grant_role").first()
    assert row is not None
    assert (row.before, row.after) == ({"role": "viewer"}, {"user": "ben", "role": "reviewer"})
    grant(spring, stage.ada, "ben", Role.REVIEWER)
    assert Row.objects.filter(act="grant_role").count() == 2


def test_the_last_owner_stays(stage: Stage, spring: Competition) -> None:
    own = spring.roles.get()
    with pytest.raises(UserError, match="last owner"):
        revoke_role(role=own, actor=stage.ada, now=NOON)
    with pytest.raises(UserError, match="last owner"):
        grant(spring, stage.ada, "ada", Role.VIEWER)
    grant(spring, stage.ada, "cleo", Role.OWNER)
    revoke_role(role=own, actor=stage.cleo, now=NOON)
    assert role_of(stage.ada, spring) == ""
    assert Row.objects.get(act="revoke_role").before == {"user": "ada", "role": "owner"}


def test_nobody_below_an_owner_gives_roles(stage: Stage, spring: Competition) -> None:
    given = grant(spring, stage.ada, "ben", Role.REVIEWER)
    for act in (
        lambda: grant(spring, stage.ben, "ben", Role.OWNER),
        lambda: revoke_role(role=given, actor=stage.cleo, now=NOON),
    ):
        with pytest.raises(UserError) as caught:
            act()
        assert caught.value.status == 403


def test_unknown_people_and_roles_are_told(stage: Stage, spring: Competition) -> None:
    with pytest.raises(UserError, match="sign up first"):
        grant(spring, stage.ada, "nobody", Role.VIEWER)
    with pytest.raises(UserError, match="choose one of viewer, reviewer, owner"):
        grant(spring, stage.ada, "ben", "king")


def test_competitions_of_a_person(stage: Stage, spring: Competition) -> None:
    grant(spring, stage.ada, "ben", Role.VIEWER)
    assert list(competitions_of(stage.ben)) == [spring]
    assert not competitions_of(stage.ben, Role.REVIEWER).exists()
    assert not competitions_of(stage.cleo).exists()
    assert competitions_of(stage.olga).count() == 2
    assert role_of(stage.olga, spring) == ADMINISTRATOR
    stage.ben.is_active = False
    assert not competitions_of(stage.ben).exists()


def test_an_agent_reads_but_does_not_decide(stage: Stage, spring: Competition) -> None:
    User.objects.create_user("robo", agent_of=stage.ada)
    for role in (Role.REVIEWER, Role.OWNER):
        with pytest.raises(UserError, match="robo is an agent: give this role to a person"):
            grant(spring, stage.ada, "robo", role)
    assert grant(spring, stage.ada, "robo", Role.VIEWER).role == Role.VIEWER
