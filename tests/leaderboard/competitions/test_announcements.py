"""Owners publish and withdraw announcements; readers of the competition see them as news for 14 days."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser

from leaderboard.audit.models import Row
from leaderboard.awards.models import ANNOUNCED, Award
from leaderboard.competitions.access import (
    announcements_of,
    issue_codes,
    news_for,
    publish_announcement,
    redeem_code,
    withdraw_announcement,
)
from leaderboard.competitions.models import CLOSED, UNLISTED, Announcement, Board, Competition, Role, Track
from leaderboard.competitions.permissions import tracks_seen_by
from leaderboard.errors import UserError
from tests.leaderboard.stage import NOON, Stage, make_board


def announce(stage: Stage, title: str = "It begins", **changes: object) -> Announcement:
    told = {"title": title, "text": "At **noon**.", "actor": stage.olga, "now": NOON}
    return publish_announcement(competition=stage.board.competition, **{**told, **changes})  # type: ignore[arg-type]


def test_the_newest_comes_first_and_what_is_withdrawn_is_gone(stage: Stage) -> None:
    first, second = announce(stage, "One"), announce(stage, "Two")
    competition = stage.board.competition
    assert list(announcements_of(competition, stage.cleo)) == [second, first]
    assert withdraw_announcement(announcement=second, actor=stage.olga, reason="a mistake", now=NOON)
    assert not withdraw_announcement(announcement=second, actor=stage.olga, reason="again", now=NOON)
    assert list(announcements_of(competition, stage.cleo)) == [first]
    assert list(Row.objects.order_by("id").values_list("act", flat=True)) == [
        "announce",
        "announce",
        "withdraw_announcement",
    ]


def test_only_an_owner_announces(stage: Stage) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.REVIEWER)
    with pytest.raises(UserError) as caught:
        announce(stage, actor=stage.cleo)
    assert caught.value.status == 403
    Role.objects.update(role=Role.OWNER)
    assert announce(stage, actor=stage.cleo).author == stage.cleo


def test_a_competition_announces_some_times_a_day(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each announcement is a message to every entrant."""
    monkeypatch.setattr("leaderboard.competitions.access.MOST_A_DAY", 2, raising=False)
    announce(stage)
    announce(stage)
    with pytest.raises(UserError) as caught:
        announce(stage)
    assert caught.value.status == 429
    assert announce(stage, now=NOON + timedelta(days=1))


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"title": " "}, "title"), ({"title": "x" * 201}, "title"), ({"text": "x" * 20_001}, "text")],
)
def test_limits_are_named(stage: Stage, changes: dict[str, object], field: str) -> None:
    with pytest.raises(UserError) as caught:
        announce(stage, **changes)
    assert caught.value.field == field


def test_it_is_news_for_two_weeks(stage: Stage) -> None:
    announcement = announce(stage)
    assert news_for(AnonymousUser(), NOON + timedelta(days=13)) == announcement
    assert news_for(AnonymousUser(), NOON + timedelta(days=14)) is None


def test_news_of_what_one_may_not_see_is_none(stage: Stage) -> None:
    announcement = announce(stage)
    competition = stage.board.competition
    Competition.objects.update(visibility=UNLISTED)
    assert news_for(AnonymousUser(), NOON) is None
    assert news_for(AnonymousUser(), NOON, competition) == announcement, "at its address it is told"
    Competition.objects.update(visibility=CLOSED)
    assert news_for(AnonymousUser(), NOON, competition) is None
    assert news_for(stage.cleo, NOON, competition) is None
    assert news_for(stage.olga, NOON) == announcement


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (Track.BOARD, {"slug": "softmax", "hardware": "cpu"}),
        (Track.FIRST_TO_BEAT, {"slug": "softmax", "hardware": "cpu", "ratio": 0.5}),
        (Track.HARDWARE, {"hardware": "cpu"}),
        (Track.TAG, {"tag": "memory"}),
    ],
)
def test_winners_are_told_to_who_may_see_a_board_of_theirs(stage: Stage, kind: str, params: dict[str, object]) -> None:
    competition, other = stage.board.competition, make_board("gemm", "H200")
    Competition.objects.update(visibility=CLOSED)
    Board.objects.filter(slug="softmax").update(tags=["memory"])
    for user, boards in ((stage.ben, [other]), (stage.cleo, [])):
        [issued] = issue_codes(competition=competition, count=1, boards=boards, actor=stage.olga, now=NOON)
        redeem_code(text=issued.text, user=user, now=NOON)
    began, won = announce(stage), announce(stage, "Winners: best softmax")
    track = Track.objects.create(competition=competition, slug="best", name="Best", kind=kind, params=params)
    Award.objects.create(track=track, state=ANNOUNCED, basis="-", content={}, announcement=won, created_at=NOON)
    assert list(announcements_of(competition, stage.ben)) == [began]
    assert news_for(stage.ben, NOON) == news_for(stage.ben, NOON, competition) == began
    assert not tracks_seen_by(stage.ben, competition)
    for user in (stage.cleo, stage.olga):
        assert list(announcements_of(competition, user)) == [won, began]
        assert news_for(user, NOON) == won
        assert list(tracks_seen_by(user, competition)) == [track]
