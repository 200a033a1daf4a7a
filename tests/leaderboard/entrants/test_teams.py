"""Teams: creation, joining, leaving, handover. A submission stays with the entrant that it was sent for."""

from datetime import timedelta

import pytest

from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.competitions.models import CLOSED, Competition
from leaderboard.entrants import permissions, teams
from leaderboard.entrants.enter import enter, enter_alone, entrant_of, rules_digest
from leaderboard.entrants.models import Entrant, Membership, TeamInvite
from leaderboard.entrants.permissions import is_taken, members_of
from leaderboard.entrants.teams import create_team, hand_over, leave, remove_member, rename_team
from leaderboard.errors import UserError
from tests.leaderboard.stage import Stage


@pytest.fixture
def competition(stage: Stage) -> Competition:
    """Return a competition with teams of two and a week until the merge deadline."""
    found = stage.board.competition
    found.max_team_size, found.merge_deadline = 2, stage.now + timedelta(days=7)
    found.deadline = stage.now + timedelta(days=30)
    found.save()
    return found


def make(stage: Stage, competition: Competition, captain: User | None = None, name: str = "Fast") -> Entrant:
    return create_team(user=captain or stage.ada, competition=competition, name=name, now=stage.later(1))


def ask(stage: Stage, team: Entrant, user: User, actor: User | None = None) -> TeamInvite:
    return teams.invite(entrant=team, username=user.username, actor=actor or stage.ada, now=stage.later(1))


def take_in(stage: Stage, team: Entrant, user: User) -> Membership:
    return teams.accept_invite(invite_id=ask(stage, team, user).pk, user=user, now=stage.later(1))


def names(team: Entrant) -> list[tuple[str, str]]:
    return [(one.user.username, one.role) for one in members_of(team)]


def test_who_makes_a_team_is_its_captain_and_members_join_by_invite(stage: Stage, competition: Competition) -> None:
    team = make(stage, competition)
    take_in(stage, team, stage.ben)
    assert names(team) == [("ada", "captain"), ("ben", "member")]
    assert stage.submit(stage.ben).entrant == team
    assert set(Row.objects.values_list("act", flat=True)) == {"create_team", "join_team"}


def test_what_was_sent_stays_and_leaving_goes_back_to_one_s_own(stage: Stage, competition: Competition) -> None:
    alone = stage.submit(stage.ben).entrant
    team = make(stage, competition)
    take_in(stage, team, stage.ben)
    sent = stage.submit(stage.ben)
    leave(user=stage.ben, competition=competition, now=stage.later(1))
    assert entrant_of(stage.ben, competition) is None
    after = stage.submit(stage.ben)
    sent.refresh_from_db()
    assert (sent.entrant, after.entrant) == (team, alone)
    assert names(alone) == [("ben", "captain")]


def test_a_full_team_takes_nobody(stage: Stage, competition: Competition) -> None:
    team = make(stage, competition)
    waiting = ask(stage, team, stage.cleo)
    take_in(stage, team, stage.ben)
    with pytest.raises(UserError, match="at most 2 members"):
        ask(stage, team, User.objects.create_user("dora"))
    with pytest.raises(UserError, match="at most 2 members"):
        teams.accept_invite(invite_id=waiting.pk, user=stage.cleo, now=stage.later(1))
    remove_member(entrant=team, username="ben", actor=stage.ada, now=stage.later(1))
    teams.accept_invite(invite_id=waiting.pk, user=stage.cleo, now=stage.later(1))


def test_one_is_in_one_team_at_a_time(stage: Stage, competition: Competition) -> None:
    team, other = make(stage, competition), make(stage, competition, stage.ben, "Faster")
    with pytest.raises(UserError, match="in a team already"):
        take_in(stage, team, stage.ben)
    with pytest.raises(UserError, match="in a team already"):
        make(stage, competition, stage.ben, "Fastest")
    assert entrant_of(stage.ben, competition) == other


def test_nothing_changes_after_the_merge_deadline(stage: Stage, competition: Competition) -> None:
    team = make(stage, competition)
    take_in(stage, team, stage.ben)
    remove_member(entrant=team, username="ben", actor=stage.ada, now=stage.later(1))
    waiting = ask(stage, team, stage.ben)
    assert competition.merge_deadline is not None
    stage.now = competition.merge_deadline
    refused = [
        lambda: teams.accept_invite(invite_id=waiting.pk, user=stage.ben, now=stage.now),
        lambda: ask(stage, team, stage.cleo),
        lambda: make(stage, competition, stage.cleo, "Late"),
        lambda: leave(user=stage.ada, competition=competition, now=stage.now),
        lambda: remove_member(entrant=team, username="ada", actor=stage.ada, now=stage.now),
    ]
    for act in refused:
        with pytest.raises(UserError, match="do not change any more") as caught:
            act()
        assert caught.value.status == 409
    teams.decline_invite(invite_id=waiting.pk, user=stage.ben, now=stage.now)
    assert names(team) == [("ada", "captain")]


def test_only_the_captain_has_a_say(stage: Stage, competition: Competition) -> None:
    team = make(stage, competition)
    take_in(stage, team, stage.ben)
    for actor in (stage.ben, stage.cleo, stage.olga):
        refused = [
            lambda who=actor: ask(stage, team, stage.cleo, who),
            lambda who=actor: remove_member(entrant=team, username="ada", actor=who, now=stage.now),
            lambda who=actor: hand_over(entrant=team, username="ben", actor=who, now=stage.now),
            lambda who=actor: rename_team(entrant=team, actor=who, name="Mine", now=stage.now),
        ]
        for act in refused:
            with pytest.raises(UserError) as caught:
                act()
            assert caught.value.status == 403
    assert names(team) == [("ada", "captain"), ("ben", "member")]


def test_the_captain_hands_over_before_leaving(stage: Stage, competition: Competition) -> None:
    team = make(stage, competition)
    take_in(stage, team, stage.ben)
    with pytest.raises(UserError, match="make another member captain first"):
        leave(user=stage.ada, competition=competition, now=stage.later(1))
    with pytest.raises(UserError, match="is not in Fast"):
        hand_over(entrant=team, username="cleo", actor=stage.ada, now=stage.now)
    hand_over(entrant=team, username="ben", actor=stage.ada, now=stage.later(1))
    assert sorted(names(team)) == [("ada", "member"), ("ben", "captain")]
    leave(user=stage.ada, competition=competition, now=stage.later(1))
    waiting = ask(stage, team, stage.cleo, stage.ben)
    leave(user=stage.ben, competition=competition, now=stage.later(1))
    waiting.refresh_from_db()
    assert (names(team), waiting.answer) == ([], "withdrawn")


def test_an_invite_is_answered_once_and_by_whom_it_is_for(stage: Stage, competition: Competition) -> None:
    team = make(stage, competition)
    waiting = ask(stage, team, stage.ben)
    with pytest.raises(UserError, match="is invited already"):
        ask(stage, team, stage.ben)
    for act in (teams.accept_invite, teams.decline_invite):
        with pytest.raises(UserError) as caught:
            act(invite_id=waiting.pk, user=stage.cleo, now=stage.now)
        assert caught.value.status == 404
    teams.withdraw_invite(invite_id=waiting.pk, entrant=team, actor=stage.ada, now=stage.later(1))
    with pytest.raises(UserError, match="it was withdrawn already"):
        teams.accept_invite(invite_id=waiting.pk, user=stage.ben, now=stage.now)
    for _ in range(2):
        teams.decline_invite(invite_id=ask(stage, team, stage.ben).pk, user=stage.ben, now=stage.later(1))
    with pytest.raises(UserError, match="3 times"):
        ask(stage, team, stage.ben)


def test_teams_need_a_competition_that_has_them(stage: Stage) -> None:
    with pytest.raises(UserError, match="everybody competes alone"):
        make(stage, stage.board.competition)


@pytest.mark.parametrize("name", ["ada", "BEN", "Cleo", "bеn", "fast"])
def test_a_team_takes_nobody_else_s_name(stage: Stage, competition: Competition, name: str) -> None:
    make(stage, competition)
    with pytest.raises(UserError) as caught:
        make(stage, competition, stage.cleo, name)
    assert caught.value.field == "name"


def test_a_team_may_be_renamed_to_what_is_free(stage: Stage, competition: Competition) -> None:
    team = make(stage, competition)
    rename_team(entrant=team, actor=stage.ada, name="FAST", now=stage.later(1))
    with pytest.raises(UserError, match="user name"):
        rename_team(entrant=team, actor=stage.ada, name="Cleo", now=stage.later(1))
    team.refresh_from_db()
    assert team.name == "FAST"


def test_a_name_that_a_team_has_is_no_user_s(stage: Stage, competition: Competition) -> None:
    make(stage, competition, name="Dora")
    assert is_taken("dora")
    assert is_taken("D0RA")
    assert not is_taken("somebody")
    late = enter_alone(user=User.objects.create_user("dora"), competition=competition, now=stage.now)
    assert late.name == "dora (2)"


def test_rules_that_were_accepted_go_with_one_into_a_team(stage: Stage, competition: Competition) -> None:
    competition.rules = "No cheating."
    competition.save()
    enter(user=stage.ben, competition=competition, accepted=rules_digest(competition), now=stage.now)
    team = make(stage, competition)
    take_in(stage, team, stage.ben)
    assert stage.submit(stage.ben).entrant == team
    with pytest.raises(UserError, match="accept"):
        stage.submit(stage.ada)
    enter(user=stage.ada, competition=competition, accepted=rules_digest(competition), now=stage.now)
    assert stage.submit(stage.ada).entrant == team


def test_an_invite_opens_no_closed_competition(stage: Stage, competition: Competition) -> None:
    team = make(stage, competition)
    competition.visibility = CLOSED
    competition.save()
    waiting = ask(stage, team, stage.ben)
    assert not teams.open_invites_of(stage.ben).exists()
    with pytest.raises(UserError, match="there is no such invite"):
        teams.accept_invite(invite_id=waiting.pk, user=stage.ben, now=stage.now)


def test_nobody_takes_names_without_end(stage: Stage, competition: Competition) -> None:
    other = make(stage, competition, stage.ben)
    for number in range(permissions.MAX_MEMBERSHIPS):
        Membership.objects.create(
            entrant=other,
            competition=competition,
            user=stage.ada,
            role=Membership.MEMBER,
            joined_at=stage.now,
            left_at=stage.later(number),
        )
    with pytest.raises(UserError, match="20 times here"):
        make(stage, competition, name="One more")
    stage.submit(stage.ada)
    with pytest.raises(UserError, match="20 times here"):
        leave(user=stage.ada, competition=competition, now=stage.now)


def test_a_captain_who_was_just_made_one_does_not_slip_away(stage: Stage, competition: Competition) -> None:
    team = make(stage, competition)
    take_in(stage, team, stage.ben)
    hand_over(entrant=team, username="ben", actor=stage.ada, now=stage.later(1))
    with pytest.raises(UserError, match="make another member captain first"):
        leave(user=stage.ben, competition=competition, now=stage.later(1))
    with pytest.raises(UserError) as caught:
        hand_over(entrant=team, username="ada", actor=stage.ada, now=stage.later(1))
    assert caught.value.status == 403, "who handed it over cannot take it back"
