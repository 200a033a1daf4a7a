"""New times of a competition or a board move lines between stages: streams and notices hear of it by a new revision."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from leaderboard.competitions.edit import close_board, edit_board, edit_competition
from leaderboard.competitions.importing import Import, import_sets
from leaderboard.competitions.models import Competition
from leaderboard.standings.freeze import freeze
from leaderboard.standings.models import Revision
from problems.formats.folders import SetFile
from problems.formats.gpumode import ProblemSet, SetEntry
from problems.spec import Problem
from tests.leaderboard.stage import NOON, Stage, make_board

LATER = NOON + timedelta(days=40)


def told(stage: Stage) -> dict[str, Any]:
    return {"actor": stage.olga, "reason": "as announced", "now": stage.now}


def edited(**settings: Any) -> Callable[[Stage], object]:
    return lambda stage: edit_competition(competition=stage.board.competition, settings=settings, **told(stage))


def board_edited(stage: Stage) -> None:
    edit_board(board=stage.board, version=stage.board.version, tags=(), deadline=LATER, **told(stage))


def imported(stage: Stage, **times: Any) -> None:
    """Import the stage's board again, with these times of the set."""
    board = stage.board
    entry = SetEntry(Problem.from_bundle(board.version.bundle), board.slug, times.get("of_board"), ("cpu",))
    name = board.competition.name
    found = ProblemSet(name, "", times.get("of_set"), (entry,), (), ())
    report = import_sets([SetFile("set.yaml", found=found)], Import(None, "a test", stage.now), dry_run=False)
    assert report.counts == ({"updated": 1} if "of_board" in times else {"unchanged": 1})


ACTS: dict[str, Callable[[Stage], object]] = {
    **{name: edited(**{name: LATER}) for name in ("deadline", "freeze_at")},
    "contest_at": edited(contest_at=NOON - timedelta(days=1)),
    "freeze": lambda stage: freeze(competition=stage.board.competition, **told(stage)),
    "edit_board": board_edited,
    "close_board": lambda stage: close_board(board=stage.board, **told(stage)),
    "import of a set": lambda stage: imported(stage, of_set=LATER),
    "import of a board": lambda stage: imported(stage, of_board=LATER),
}


@pytest.fixture
def renewed(stage: Stage) -> Callable[[Callable[[Stage], object]], list[bool]]:
    """Return a function that does an act, and says for each board whether its revision is new."""
    other = Competition.objects.create(slug="other", name="Other")
    boards = [stage.board, make_board("vectoradd"), make_board("gemm", competition=other)]
    Revision.objects.bulk_create(Revision(board=board) for board in boards)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as at commit

    def did(act: Callable[[Stage], object]) -> list[bool]:
        before = dict(Revision.objects.values_list("board", "token"))
        act(stage)
        after = dict(Revision.objects.values_list("board", "token"))
        return [before[board.pk] != after[board.pk] for board in boards]

    return did


@pytest.mark.parametrize("name", ACTS)
def test_an_act_that_moves_times_renews_the_revisions_of_its_boards(renewed: Any, name: str) -> None:
    """Regression: streams and webhooks heard of moved times only with the next change of a line."""
    assert renewed(ACTS[name]) == [True, "board" not in name, False]


def test_an_edit_that_moves_no_times_renews_no_revision(renewed: Any) -> None:
    assert renewed(edited(rules="Be fair.")) == [False, False, False]
