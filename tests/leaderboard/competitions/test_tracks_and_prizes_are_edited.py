"""Tracks and prizes: required parameters per kind of track, limits of a prize, and permission to edit."""

from decimal import Decimal
from typing import Any

import pytest

from leaderboard.audit.models import Row
from leaderboard.competitions.edit import create_track, edit_track, put_prize, remove_prize, remove_track
from leaderboard.competitions.models import Prize, Role, Track
from leaderboard.entrants.teams import declare
from leaderboard.errors import UserError
from tests.leaderboard.stage import NOON, Stage

SETTINGS: dict[str, Any] = {
    "name": "Best of all",
    "description": "",
    "kind": Track.OVERALL,
    "params": {},
    "divisions": ["human", "agent", "mixed"],
    "eligibility": "",
    "tie_rule": Track.EARLIER,
    "position": 0,
}
SOFTMAX = {"slug": "softmax", "hardware": "cpu"}


def create(stage: Stage, **settings: Any) -> Track:
    told = SETTINGS | settings
    return create_track(competition=stage.board.competition, actor=stage.olga, settings=told, now=NOON)


def put(stage: Stage, track: Track, **told: Any) -> Prize:
    prize: dict[str, Any] = {"place": 1, "amount": Decimal("500.00"), "currency": "EUR", "sponsor": "", "text": ""}
    return put_prize(track=track, actor=stage.olga, now=NOON, **(prize | told))


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        (Track.OVERALL, {"slug": "left over"}, {}),
        (Track.HARDWARE, {"hardware": "cpu"}, {"hardware": "cpu"}),
        (Track.BOARD, SOFTMAX | {"tag": "left over"}, SOFTMAX),
        (Track.TAG, {"tag": "memory-bound"}, {"tag": "memory-bound"}),
        (Track.FIRST_TO_BEAT, SOFTMAX | {"ratio": 0.5}, SOFTMAX | {"ratio": 0.5}),
    ],
)
def test_each_kind_keeps_what_it_needs(stage: Stage, kind: str, given: dict[str, Any], kept: dict[str, Any]) -> None:
    stage.board.tags = ["memory-bound"]
    stage.board.save()
    track = create(stage, kind=kind, params=given)
    assert (track.slug, track.params) == ("best-of-all", kept)


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("name", {"name": " "}),
        ("name", {"name": "…"}),
        ("name", {"name": "Gold\x01cup"}),
        ("kind", {"kind": "luck"}),
        ("tie_rule", {"tie_rule": "coin"}),
        ("divisions", {"divisions": []}),
        ("hardware", {"kind": Track.HARDWARE, "params": {"hardware": "H200"}}),
        ("tag", {"kind": Track.TAG, "params": {"tag": "none"}}),
        ("board", {"kind": Track.BOARD, "params": {"slug": "softmax", "hardware": "H200"}}),
        ("ratio", {"kind": Track.FIRST_TO_BEAT, "params": SOFTMAX}),
        ("ratio", {"kind": Track.FIRST_TO_BEAT, "params": SOFTMAX | {"ratio": 0}}),
        ("position", {"position": -1}),
    ],
)
def test_a_bad_track_is_told_at_its_field(stage: Stage, field: str, settings: dict[str, Any]) -> None:
    with pytest.raises(UserError) as caught:
        create(stage, **settings)
    assert caught.value.field == field


def test_a_name_is_given_once(stage: Stage) -> None:
    create(stage)
    with pytest.raises(UserError, match="a name of its own"):
        create(stage, name="Best of  all")


def test_a_track_is_changed_with_a_trace(stage: Stage) -> None:
    track = create(stage)
    edit_track(track=track, actor=stage.olga, settings=SETTINGS | {"eligibility": "Students."}, now=NOON)
    track.refresh_from_db()
    assert track.eligibility == "Students."
    row = Row.objects.get(act="edit_track")
    assert (row.before, row.after) == ({"eligibility": ""}, {"eligibility": "Students."})


def test_declarations_do_not_outlive_the_text_of_eligibility(stage: Stage) -> None:
    track = create(stage, eligibility="Students.")
    create(stage, name="Second", eligibility="Anybody.")
    entrant = stage.submit().entrant
    declare(entrant=entrant, actor=stage.ada, tracks=["best-of-all", "second"], now=NOON)
    settings = SETTINGS | {"eligibility": "Students."}
    edit_track(track=track, actor=stage.olga, settings=settings | {"position": 1}, now=NOON)
    entrant.refresh_from_db()
    assert entrant.declared == ["best-of-all", "second"], "the text is the same"
    edit_track(track=track, actor=stage.olga, settings=settings | {"eligibility": "Students in France."}, now=NOON)
    entrant.refresh_from_db()
    assert entrant.declared == ["second"]
    assert Row.objects.filter(act="edit_track").latest("pk").before["declared_by"] == [entrant.pk]
    declare(entrant=entrant, actor=stage.ada, tracks=["best-of-all"], now=NOON)
    remove_track(track=track, actor=stage.olga, now=NOON)
    entrant.refresh_from_db()
    assert entrant.declared == [], "a later track may take the name"


def test_a_prize_of_a_place_is_put_changed_and_removed(stage: Stage) -> None:
    track = create(stage)
    put(stage, track)
    prize = put(stage, track, amount=Decimal("750.00"), sponsor="ACME")
    assert [(prize.place, prize.amount, prize.sponsor) for prize in track.prizes.all()] == [
        (1, Decimal("750.00"), "ACME")
    ]
    assert Row.objects.filter(act="put_prize").count() == 2
    remove_prize(prize=prize, actor=stage.olga, now=NOON)
    assert not track.prizes.exists()
    assert Row.objects.get(act="remove_prize").before["amount"] == "750.00"


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("place", {"place": 0}),
        ("place", {"place": 101}),
        ("amount", {"amount": Decimal(0)}),
        ("amount", {"amount": Decimal("1e12")}),
        ("currency", {"currency": ""}),
        ("currency", {"currency": "eur"}),
        ("currency", {"currency": "EURO"}),
        ("currency", {"amount": None, "text": "A card"}),
        ("text", {"amount": None, "currency": ""}),
        ("sponsor", {"sponsor": "Acme\nand sons"}),
    ],
)
def test_a_bad_prize_is_told_at_its_field(stage: Stage, field: str, told: dict[str, Any]) -> None:
    track = create(stage)
    with pytest.raises(UserError) as caught:
        put(stage, track, **told)
    assert caught.value.field == field


def test_a_track_goes_with_its_prizes(stage: Stage) -> None:
    track = create(stage)
    put(stage, track)
    remove_track(track=track, actor=stage.olga, now=NOON)
    assert not Track.objects.exists()
    assert Row.objects.get(act="remove_track").before["prizes"][0]["place"] == 1


def test_nobody_below_an_owner_touches_tracks(stage: Stage) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.REVIEWER)
    track = create(stage)
    prize = put(stage, track)
    acts = [
        lambda: create_track(competition=track.competition, actor=stage.ben, settings=SETTINGS, now=NOON),
        lambda: edit_track(track=track, actor=stage.ben, settings=SETTINGS, now=NOON),
        lambda: remove_track(track=track, actor=stage.ben, now=NOON),
        lambda: remove_prize(prize=prize, actor=stage.ben, now=NOON),
    ]
    for act in acts:
        with pytest.raises(UserError) as caught:
            act()
        assert caught.value.status == 403
