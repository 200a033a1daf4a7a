"""A new import of a set updates fields that were not edited on the site, keeps edited fields and reports them."""

from dataclasses import replace
from datetime import timedelta

from leaderboard.competitions.edit import close_board, create_competition, edit_board, edit_competition
from leaderboard.competitions.models import Board, Competition, ProblemVersion
from problems.formats.folders import SetFile
from tests.leaderboard.competitions.test_problems_are_imported import DEADLINE, SOFTMAX, bring_in, line_of, make_set
from tests.leaderboard.stage import NOON, Stage, make_problem

LATER = DEADLINE + timedelta(days=7)


def the_set(**changes: object) -> SetFile:
    file = make_set(replace(SOFTMAX, gpus=("cpu",)))
    assert file.found is not None
    return replace(file, found=replace(file.found, **changes))  # type: ignore[arg-type]


def test_edited_fields_of_a_competition_stay(stage: Stage) -> None:
    bring_in(the_set())
    competition = Competition.objects.get(slug="kernels-101")
    edit_competition(competition=competition, actor=stage.olga, settings={"deadline": LATER}, now=NOON)
    report = bring_in(the_set(description="Two kernels.", deadline=DEADLINE))
    competition.refresh_from_db()
    assert (competition.description, competition.deadline) == ("Two kernels.", LATER)
    assert report.sets[0].status == "updated"
    assert "the deadline of the competition was edited here; it stays" in report.sets[0].warnings


def test_an_import_that_only_differs_in_what_was_edited_changes_nothing(stage: Stage) -> None:
    bring_in(the_set(deadline=DEADLINE))
    competition = Competition.objects.get(slug="kernels-101")
    edit_competition(competition=competition, actor=stage.olga, settings={"deadline": LATER}, now=NOON)
    assert bring_in(the_set(deadline=DEADLINE)).sets[0].status == "unchanged"
    competition.refresh_from_db()
    assert competition.deadline == LATER


def test_a_competition_made_here_is_filled_by_its_set(stage: Stage) -> None:
    made = create_competition(actor=stage.olga, slug="beginners", settings={"name": "Beginners"}, now=NOON)
    edit_competition(competition=made, actor=stage.olga, settings={"name": "Kernels for beginners"}, now=NOON)
    bring_in(the_set(name="Beginners", deadline=DEADLINE))
    made.refresh_from_db()
    assert (made.name, made.description, made.deadline) == ("Kernels for beginners", "Two small kernels", DEADLINE)
    assert made.visibility == "closed"


def test_a_board_that_was_closed_here_is_not_opened_again(stage: Stage) -> None:
    bring_in(the_set())
    board = Board.objects.get(slug="softmax", hardware="cpu")
    close_board(board=board, actor=stage.olga, reason="Its reference is wrong.", now=NOON)
    line = line_of(bring_in(the_set()))
    board.refresh_from_db()
    assert board.deadline == NOON
    assert line.warnings == ("cpu: its deadline was edited here; it stays",)


def test_a_version_that_was_chosen_here_stays(stage: Stage) -> None:
    bring_in(the_set())
    changed = SetFile("k.yaml", found=replace(the_set().found, entries=(_changed(),)))  # type: ignore[type-var]
    bring_in(changed)
    board = Board.objects.get(slug="softmax", hardware="cpu")
    first = ProblemVersion.objects.get(digest=SOFTMAX.problem.digest)
    edit_board(board=board, actor=stage.olga, version=first, deadline=board.deadline, tags=[], now=NOON)
    line = line_of(bring_in(changed))
    board.refresh_from_db()
    assert (board.version, line.change) == (first, "unchanged")
    assert line.warnings == ("cpu: its version was edited here; it stays",)


def _changed() -> object:
    return replace(SOFTMAX, problem=make_problem(description="Clearer."), gpus=("cpu",))
