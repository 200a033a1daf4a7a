"""Concurrent team acts: the second act sees the result of the first."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from leaderboard.accounts.models import User
from leaderboard.competitions.edit import TRACK_FIELDS, edit_track
from leaderboard.competitions.models import Board, Competition, Track
from leaderboard.discussion.acts import write_post
from leaderboard.discussion.models import WRITE_UP, Post
from leaderboard.entrants import teams
from leaderboard.entrants.permissions import members_of
from leaderboard.entrants.teams import create_team
from leaderboard.errors import UserError
from tests.leaderboard.stage import Stage


@pytest.fixture
def competition(live_stage: Stage) -> Competition:
    Competition.objects.update(max_team_size=2)
    live_stage.board.competition.refresh_from_db()
    return live_stage.board.competition


def while_first_is_open(first: Callable[[], Any], second: Callable[[], Any]) -> list[str]:
    """Run `second` while `first` is uncommitted, and return the refusal messages of `second`."""
    refused: list[str] = []

    def act() -> None:
        try:
            second()
        except UserError as error:
            refused.append(error.message)
        finally:
            connection.close()

    other = threading.Thread(target=act)
    with transaction.atomic():
        first()
        other.start()
        other.join(0.3)
        assert other.is_alive(), "the second waits until the first has committed"
    other.join(20)
    return refused


def test_two_who_accept_at_once_do_not_share_the_last_place(live_stage: Stage, competition: Competition) -> None:
    team = create_team(user=live_stage.ada, competition=competition, name="Fast", now=live_stage.now)

    def asked(user: User) -> int:
        told = {"entrant": team, "username": user.username, "actor": live_stage.ada, "now": live_stage.now}
        return teams.invite(**told).pk  # type: ignore[arg-type]

    for_ben, for_cleo = asked(live_stage.ben), asked(live_stage.cleo)
    refused = while_first_is_open(
        lambda: teams.accept_invite(invite_id=for_ben, user=live_stage.ben, now=live_stage.now),
        lambda: teams.accept_invite(invite_id=for_cleo, user=live_stage.cleo, now=live_stage.now),
    )
    assert refused == ["is full: a team has at most 2 members"]
    assert members_of(team).count() == 2


def test_two_teams_at_once_do_not_get_the_same_name(live_stage: Stage, competition: Competition) -> None:
    refused = while_first_is_open(
        lambda: create_team(user=live_stage.ada, competition=competition, name="Fast", now=live_stage.now),
        lambda: create_team(user=live_stage.ben, competition=competition, name="FAST", now=live_stage.now),
    )
    assert refused == ["this name is taken here, or looks like one that is; choose another"]


def test_one_person_in_two_windows_is_in_one_team(live_stage: Stage, competition: Competition) -> None:
    refused = while_first_is_open(
        lambda: create_team(user=live_stage.ada, competition=competition, name="Fast", now=live_stage.now),
        lambda: create_team(user=live_stage.ada, competition=competition, name="Slow", now=live_stage.now),
    )
    assert refused == ["you are in a team already; leave it first"]


def test_declaration_beside_an_edit_of_its_text_is_dropped_or_refused(
    live_stage: Stage, competition: Competition
) -> None:
    """Regression: an edit did not see a declaration of the old text that was being saved."""
    team = create_team(user=live_stage.ada, competition=competition, name="Fast", now=live_stage.now)
    track = Track.objects.create(
        competition=competition, slug="students", name="Students", kind=Track.OVERALL, eligibility="Enrolled"
    )
    shown = teams.eligibility_digest([track])

    def declare() -> None:
        told = {"entrant": team, "actor": live_stage.ada, "tracks": ["students"], "now": live_stage.now}
        teams.declare(**told, shown=shown)  # type: ignore[arg-type]

    def edit(text: str) -> None:
        settings = {name: getattr(track, name) for name in TRACK_FIELDS} | {"eligibility": text}
        edit_track(track=track, actor=live_stage.olga, settings=settings, now=live_stage.now)

    assert while_first_is_open(declare, lambda: edit("Enrolled full time")) == []
    team.refresh_from_db()
    assert team.declared == []
    edit("Enrolled")
    [refused] = while_first_is_open(lambda: edit("Enrolled full time"), declare)
    assert "an organiser has changed the texts" in refused


def test_two_members_at_once_do_not_both_publish_the_write_up(live_stage: Stage, competition: Competition) -> None:
    team = create_team(user=live_stage.ada, competition=competition, name="Fast", now=live_stage.now)
    told = {"entrant": team, "username": "ben", "actor": live_stage.ada, "now": live_stage.now}
    teams.accept_invite(invite_id=teams.invite(**told).pk, user=live_stage.ben, now=live_stage.now)  # type: ignore[arg-type]
    live_stage.judge(live_stage.submit(live_stage.ada))
    Competition.objects.update(deadline=live_stage.later(1))
    board, after = Board.objects.select_related("competition").get(), live_stage.later(1)

    def write(author: User) -> None:
        write_post(board=board, author=author, kind=WRITE_UP, text="Tiles.", now=after)

    refused = while_first_is_open(lambda: write(live_stage.ada), lambda: write(live_stage.ben))
    assert refused == ["you have a write-up here; remove it first"]
    assert Post.objects.get().author == live_stage.ada
