"""A clone has its original's boards, tracks, prizes and rules, shifted or cleared times, and no entrants."""

from datetime import timedelta
from decimal import Decimal

import pytest

from leaderboard.audit.models import Row
from leaderboard.competitions.edit import clone_competition, create_track, edit_competition, put_prize
from leaderboard.competitions.models import CLOSED, Board, Competition, Role
from leaderboard.errors import UserError
from tests.leaderboard.competitions.test_tracks_and_prizes_are_edited import SETTINGS, SOFTMAX
from tests.leaderboard.stage import NOON, Stage

WEEK = timedelta(days=7)
YEAR = timedelta(days=365)


@pytest.fixture
def original(stage: Stage) -> Competition:
    """Create a competition with every part that a clone copies, plus an entrant, a role and a reveal to leave out."""
    stage.submit()
    made = stage.board.competition
    told = {
        "deadline": NOON + WEEK,
        "merge_deadline": NOON,
        "rules": "Be fair.",
        "scoring": "points",
        "max_team_size": 3,
    }
    edit_competition(competition=made, actor=stage.olga, settings=told, now=NOON, reason="To begin with.")
    Competition.objects.filter(pk=made.pk).update(thresholds={"x": 1}, quotas={"test": 2}, revealed_at=NOON)
    Board.objects.filter(pk=stage.board.pk).update(tags=["memory-bound"], deadline=NOON + WEEK)
    made.refresh_from_db()
    settings = SETTINGS | {"kind": "first_to_beat", "params": SOFTMAX | {"ratio": 0.5}}
    track = create_track(competition=made, actor=stage.olga, settings=settings, now=NOON)
    prize = {"place": 1, "amount": Decimal("10.00"), "currency": "EUR", "sponsor": "ACME", "text": ""}
    put_prize(track=track, actor=stage.olga, now=NOON, **prize)
    Role.objects.create(competition=made, user=stage.ben, role=Role.REVIEWER)
    return made


def clone(stage: Stage, source: Competition, shift: timedelta | None = YEAR, slug: str = "kernels-102") -> Competition:
    return clone_competition(source=source, actor=stage.olga, slug=slug, name="Kernels 102", shift=shift, now=NOON)


def test_everything_but_people_is_copied(stage: Stage, original: Competition) -> None:
    made = clone(stage, original)
    assert (made.name, made.visibility, made.rules, made.scoring) == ("Kernels 102", CLOSED, "Be fair.", "points")
    assert (made.thresholds, made.quotas, made.max_team_size) == ({"x": 1}, {"test": 2}, 3)
    board = made.boards.get()
    assert (board.slug, board.hardware, board.version) == ("softmax-kernels-102", "cpu", stage.board.version)
    assert board.tags == ["memory-bound"]
    track = made.tracks.get()
    assert track.params == {"slug": "softmax-kernels-102", "hardware": "cpu", "ratio": 0.5}
    assert (track.prizes.get().amount, track.prizes.get().sponsor) == (Decimal("10.00"), "ACME")
    assert [(role.user, role.role) for role in made.roles.all()] == [(stage.olga, Role.OWNER)]
    assert not made.entrants.exists()
    assert Row.objects.get(act="clone_competition").after["of"] == "kernels-101"


def test_times_are_shifted(stage: Stage, original: Competition) -> None:
    made = clone(stage, original)
    assert (made.deadline, made.merge_deadline) == (NOON + WEEK + YEAR, NOON + YEAR)
    assert made.boards.get().deadline == NOON + WEEK + YEAR
    assert (made.revealed_at, made.final_at) == (None, None)


def test_or_cleared(stage: Stage, original: Competition) -> None:
    made = clone(stage, original, shift=None)
    assert (made.deadline, made.merge_deadline, made.boards.get().deadline) == (None, None, None)


def test_a_clone_of_a_clone_has_names_of_one_suffix(stage: Stage, original: Competition) -> None:
    again = clone(stage, clone(stage, original), slug="kernels-103")
    assert again.boards.get().slug == "softmax-kernels-103"


def test_an_owner_may_clone_and_a_reviewer_may_not(stage: Stage, original: Competition) -> None:
    with pytest.raises(UserError) as caught:
        clone_competition(source=original, actor=stage.ben, slug="mine", name="Mine", shift=None, now=NOON)
    assert caught.value.status == 403
    original.roles.update(role=Role.OWNER)
    made = clone_competition(source=original, actor=stage.ben, slug="mine", name="Mine", shift=None, now=NOON)
    assert made.roles.get().user == stage.ben


def test_a_shift_beyond_reason_is_refused(stage: Stage, original: Competition) -> None:
    with pytest.raises(UserError, match="mind the year"):
        clone(stage, original, shift=20 * YEAR)
