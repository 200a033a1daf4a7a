"""Organisers add, change, close and remove boards; a board with submissions is never removed."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.admissions.models import AdmissionTest
from leaderboard.audit.models import Row
from leaderboard.competitions.edit import close_board, create_competition, create_track, edit_board, remove_board
from leaderboard.competitions.models import Board, Competition, ProblemVersion, Role
from leaderboard.errors import UserError
from tests.leaderboard.stage import NOON, Stage, make_board, make_problem

HOUR = timedelta(hours=1)


def make_competition(stage: Stage, slug: str = "spring") -> Competition:
    made = create_competition(actor=stage.olga, slug=slug, settings={"name": slug.title()}, now=NOON)
    Role.objects.create(competition=made, user=stage.ada, role=Role.OWNER)
    return made


def add(stage: Stage, competition: Competition, actor: User | None = None, **told: Any) -> Board:
    settings = {"version": stage.board.version, "hardware": "H200"} | told
    return pipeline.add_board(competition=competition, actor=actor or stage.ada, now=NOON, **settings)


def edit(board: Board, actor: User, **told: Any) -> Board:
    settings = {"version": board.version, "deadline": board.deadline, "tags": board.tags} | told
    return edit_board(board=board, actor=actor, now=NOON, **settings)


def test_a_board_takes_the_problems_name_or_its_competitions_behind_it(stage: Stage) -> None:
    spring = make_competition(stage)
    assert add(stage, spring).slug == "softmax-spring"
    assert add(stage, stage.board.competition, stage.olga).slug == "softmax"
    assert add(stage, spring, hardware="cpu", slug="rows", tags=["memory-bound"]).tags == ["memory-bound"]
    assert Row.objects.filter(act="add_board").count() == 3


def test_a_new_board_waits_for_its_admission_test(stage: Stage) -> None:
    board = add(stage, make_competition(stage))
    test = AdmissionTest.objects.get()
    assert (test.version, test.hardware, test.gate, test.asked_by) == (board.version, "H200", True, stage.ada)


def test_a_board_that_another_competition_has_open_is_not_closed_by_it(stage: Stage) -> None:
    add(stage, make_competition(stage), hardware="cpu")
    assert not AdmissionTest.objects.get().gate
    stage.submit()


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("hardware", {"hardware": "a b"}),
        ("slug", {"slug": "A b"}),
        ("tags", {"tags": ["Memory bound"]}),
        ("tags", {"tags": [f"t{number}" for number in range(17)]}),
        ("deadline", {"deadline": NOON.replace(year=2062)}),
    ],
)
def test_a_bad_board_is_told_at_its_field(stage: Stage, field: str, told: dict[str, Any]) -> None:
    with pytest.raises(UserError) as caught:
        add(stage, make_competition(stage), **told)
    assert caught.value.field == field


def test_the_same_board_twice_is_refused(stage: Stage) -> None:
    spring = make_competition(stage)
    add(stage, spring)
    with pytest.raises(UserError, match="already"):
        add(stage, spring)


def test_boards_of_one_name_are_one_problem(stage: Stage) -> None:
    spring, other = make_competition(stage), make_board("matmul")
    add(stage, spring, slug="rows")
    with pytest.raises(UserError, match="another problem"):
        add(stage, spring, slug="rows", version=other.version, hardware="cpu")


def test_a_board_without_submissions_is_removed(stage: Stage) -> None:
    board = add(stage, make_competition(stage))
    remove_board(board=board, actor=stage.ada, now=NOON)
    assert not Board.objects.filter(pk=board.pk).exists()
    row = Row.objects.get(act="remove_board")
    assert (row.object_id, row.before["slug"]) == (str(board.pk), "softmax-spring")


def test_a_board_with_submissions_is_closed_instead(stage: Stage) -> None:
    stage.submit()
    with pytest.raises(UserError, match="close it instead"):
        remove_board(board=stage.board, actor=stage.olga, now=stage.now)
    closed = close_board(board=stage.board, actor=stage.olga, reason="The reference is wrong.", now=stage.now)
    assert not closed.is_open_at(stage.now)
    with pytest.raises(UserError, match="closed"):
        stage.submit()
    with pytest.raises(UserError, match="already"):
        close_board(board=closed, actor=stage.olga, reason="Again.", now=stage.now)


def test_a_board_that_a_track_is_won_on_stays(stage: Stage) -> None:
    spring = make_competition(stage)
    board = add(stage, spring)
    params = {"slug": board.slug, "hardware": board.hardware}
    create_track(competition=spring, actor=stage.ada, settings=TRACK | {"kind": "board", "params": params}, now=NOON)
    with pytest.raises(UserError, match="the track Best is won on it"):
        remove_board(board=board, actor=stage.ada, now=NOON)


TRACK = {
    "name": "Best",
    "description": "",
    "kind": "overall",
    "params": {},
    "divisions": ["human"],
    "eligibility": "",
    "tie_rule": "earlier",
    "position": 0,
}


def test_a_version_changes_while_nothing_was_sent(stage: Stage) -> None:
    bundle = make_problem(description="Clearer.")
    newer = ProblemVersion.objects.create(
        problem=stage.board.problem, digest=bundle.digest, bundle=bundle.to_bundle(), created_at=NOON
    )
    assert edit(stage.board, stage.olga, version=newer).version == newer
    stage.board.refresh_from_db()
    stage.submit()
    with pytest.raises(UserError, match="re-judge"):
        edit(stage.board, stage.olga, version=ProblemVersion.objects.exclude(pk=newer.pk).get())


def test_a_past_deadline_moves_with_a_reason_only(stage: Stage) -> None:
    board = edit(stage.board, stage.olga, deadline=NOON - HOUR, reason="Too late to say so.")
    with pytest.raises(UserError, match="say why"):
        edit(board, stage.olga, deadline=NOON + HOUR)
    edit(board, stage.olga, deadline=NOON + HOUR, reason="The site was down.")
    assert Row.objects.filter(act="edit_board").count() == 2


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.REVIEWER])
def test_nobody_below_an_owner_touches_boards(stage: Stage, role: str | None) -> None:
    if role:
        Role.objects.create(competition=stage.board.competition, user=stage.ben, role=role)
    acts = [
        lambda: add(stage, stage.board.competition, stage.ben),
        lambda: edit(stage.board, stage.ben, tags=["x"]),
        lambda: close_board(board=stage.board, actor=stage.ben, reason="Mine.", now=NOON),
        lambda: remove_board(board=stage.board, actor=stage.ben, now=NOON),
    ]
    for act in acts:
        with pytest.raises(UserError) as caught:
            act()
        assert caught.value.status == 403


def test_two_who_want_a_name_at_once_get_two(live_stage: Stage) -> None:
    """The boards are on different hardware, where no constraint would refuse equal names; neither act fails."""
    spring, summer = make_competition(live_stage, "spring"), make_competition(live_stage, "summer")
    version = make_board("scan").version
    Board.objects.filter(slug="scan").delete()
    waits, made = threading.Event(), []

    def second() -> None:
        waits.set()
        made.append(add(live_stage, summer, version=version, hardware="cpu").slug)
        connection.close()

    thread = threading.Thread(target=second)
    with transaction.atomic():
        made.append(add(live_stage, spring, version=version, hardware="H200").slug)
        thread.start()
        assert waits.wait(20)
        thread.join(0.3)
        assert thread.is_alive(), "the second waits until the first has committed"
    thread.join(20)
    assert made == ["scan", "scan-summer"]
