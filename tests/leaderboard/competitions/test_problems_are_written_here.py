"""Drafts of problems: they become the versions that an import would make, and only owners may change a problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from leaderboard import pipeline
from leaderboard.admissions.models import AdmissionTest
from leaderboard.audit.models import Row
from leaderboard.competitions import authoring
from leaderboard.competitions.authoring import TASK, Draft, DraftFile
from leaderboard.competitions.models import Board, Competition, Problem, ProblemVersion, Role
from leaderboard.errors import UserError
from problems.formats.gpumode import load_problem

LIBRARY = Path(__file__).parents[3] / "problems" / "library" / "kernels101"
REFERENCE = "def generate_input(size, seed):\n    return size\n\n\ndef ref_kernel(data):\n    return data\n"
SETTINGS = "tests: [{size: 1, seed: 1}]\nbenchmarks: [{size: 4, seed: 2}]\ngpus: [cpu]\n"
DRAFT = Draft("Sum", "Add them.", SETTINGS, (DraftFile(TASK, "reference.py", REFERENCE),))


@pytest.mark.parametrize("folder", sorted(path.parent for path in LIBRARY.glob("*/task.yml")), ids=lambda one: one.name)
def test_a_draft_of_a_version_becomes_the_same_version(folder: Path) -> None:
    problem = load_problem(folder)
    boards = [
        Board(hardware=name, version=ProblemVersion(bundle=problem.on(name).to_bundle())) for name in problem.gpus
    ]
    again = authoring.specification_of(problem.slug, authoring.draft_of(boards))
    assert [again.on(name).digest for name in problem.gpus] == [problem.on(name).digest for name in problem.gpus]


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"settings": "gpus: [cpu"}, "settings", "YAML"),
        ({"settings": "3"}, "settings", "expected lines"),
        ({"settings": SETTINGS + "title: x\n"}, "settings", "field of its own"),
        ({"settings": SETTINGS.replace("gpus: [cpu]", "")}, "settings", "gpus: is missing"),
        ({"settings": SETTINGS + "ranking_by: luck\n"}, "settings", "ranking_by"),
        ({"files": ()}, "settings", "could not judge it"),
        ({"files": (DraftFile(TASK, "reference.py", "def ("),)}, "settings", "reference.py"),
        ({"files": (DraftFile(TASK, "../../etc/passwd", "x"), *DRAFT.files)}, "settings", "file"),
        ({"files": DRAFT.files * 30}, "files", "at most 24"),
        ({"files": (*DRAFT.files, *DRAFT.files)}, "settings", "twice"),
        ({"files": (*DRAFT.files, DraftFile("magic", "x", "y"))}, "files", "choose one of"),
        ({"title": "x" * 300}, "title", "200"),
    ],
)
def test_a_faulty_draft_is_refused_with_its_field(changes, field: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as refused:
        authoring.specification_of("sum", replace(DRAFT, **changes))
    assert refused.value.field == field


@pytest.fixture
def owner(stage):
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.OWNER)
    return stage.cleo


def test_a_written_problem_has_boards_that_wait_for_their_admission_test(stage, owner) -> None:
    told = {"competition": stage.board.competition, "actor": owner, "now": stage.later(1)}
    [board] = pipeline.write_problem(slug="sum", draft=DRAFT, **told)
    assert (board.slug, board.hardware, board.title) == ("sum", "cpu", "Sum")
    assert AdmissionTest.objects.get(version=board.version).gate
    with pytest.raises(UserError, match="choose another"):
        pipeline.write_problem(slug="sum", draft=DRAFT, **told)


def test_a_revised_problem_gets_a_version_and_an_admission_test(stage, owner) -> None:
    told = {"competition": stage.board.competition, "actor": owner, "now": stage.later(1)}
    [board] = pipeline.write_problem(slug="sum", draft=DRAFT, **told)
    assert pipeline.revise_problem(slug="sum", draft=DRAFT, **told) == []
    [changed] = pipeline.revise_problem(slug="sum", draft=replace(DRAFT, title="Sums"), **told)
    assert changed.version != board.version
    assert Problem.objects.get(slug="sum").title == "Sums"
    assert AdmissionTest.objects.filter(version=changed.version, gate=True).exists()
    assert ProblemVersion.objects.filter(problem__slug="sum").count() == 2


def test_a_new_version_of_a_board_with_submissions_needs_a_reason(stage, owner) -> None:
    stage.submit()
    told = {"competition": stage.board.competition, "actor": owner, "now": stage.later(1), "slug": "softmax"}
    with pytest.raises(UserError) as refused:
        pipeline.revise_problem(draft=DRAFT, **told)
    assert refused.value.field == "reason"
    assert pipeline.revise_problem(draft=DRAFT, reason="a wrong tolerance", **told) == [stage.board]


def test_only_owners_of_its_first_competition_change_a_problem(stage, owner) -> None:
    other = Competition.objects.create(slug="other", name="Other")
    Role.objects.create(competition=other, user=stage.ben, role=Role.OWNER)
    told = {"competition": other, "actor": stage.ben, "now": stage.later(1)}
    added = pipeline.add_board(version=stage.board.version, hardware="cpu", **told)
    told |= {"slug": added.slug, "draft": DRAFT}
    with pytest.raises(UserError, match="comes from another competition") as refused:
        pipeline.revise_problem(**told)
    assert refused.value.status == 403
    told |= {"competition": stage.board.competition, "slug": "softmax"}
    assert pipeline.revise_problem(**told | {"actor": owner}) == [stage.board]
    added.refresh_from_db()
    assert added.version == stage.board.version, "it keeps the version that its competition chose"


def test_only_owners_write_problems(stage) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.REVIEWER)
    for actor in (stage.ada, stage.ben):
        told = {"competition": stage.board.competition, "actor": actor, "now": stage.later(1), "draft": DRAFT}
        for act, slug in ((pipeline.write_problem, "sum"), (pipeline.revise_problem, "softmax")):
            with pytest.raises(UserError) as refused:
                act(slug=slug, **told)
            assert refused.value.status == 403


def test_an_unused_problem_is_deleted_with_its_boards_versions_and_tests(stage, owner) -> None:
    competition = stage.board.competition
    told = {"competition": competition, "actor": owner, "now": stage.now}
    pipeline.write_problem(slug="sum", draft=DRAFT, **told)
    pipeline.revise_problem(slug="sum", draft=replace(DRAFT, title="Sum 2"), **told)
    assert AdmissionTest.objects.filter(version__problem__slug="sum").count() == 2
    wrong = {"name": "sum", "slug": "softmax", "reason": "a trial"} | told
    with pytest.raises(UserError, match="type sum to confirm"):
        authoring.delete_problem(**wrong)
    authoring.delete_problem(**wrong | {"slug": "sum"})
    assert not Problem.objects.filter(slug="sum").exists()
    assert not Board.objects.filter(slug="sum").exists()
    assert not ProblemVersion.objects.filter(bundle__slug="sum").exists()
    row = Row.objects.get(act="delete_problem")
    assert (row.actor, row.reason, row.before["title"], len(row.before["versions"])) == (owner, "a trial", "Sum 2", 2)


def test_a_problem_with_submissions_stays(stage, owner) -> None:
    stage.submit(stage.ada, mode="test")
    told = {"competition": stage.board.competition, "name": "softmax", "slug": "softmax", "reason": "x"}
    with pytest.raises(UserError, match="close the boards of this problem instead") as refused:
        authoring.delete_problem(actor=owner, now=stage.now, **told)
    assert refused.value.status == 409
    assert Problem.objects.filter(slug="softmax").exists()


def test_only_owners_of_all_its_competitions_delete_a_problem(stage, owner) -> None:
    told = {"competition": stage.board.competition, "name": "softmax", "slug": "softmax", "reason": "x"}
    with pytest.raises(UserError, match="delete a problem"):
        authoring.delete_problem(actor=stage.ben, now=stage.now, **told)
    other = Competition.objects.create(slug="other", name="Other")
    Board.objects.create(
        competition=other, problem=stage.board.problem, version=stage.board.version, slug="soft-2", hardware="cpu"
    )
    with pytest.raises(UserError, match="other competitions"):
        authoring.delete_problem(actor=owner, now=stage.now, **told)
    authoring.delete_problem(actor=stage.olga, now=stage.now, **told)
    assert not Board.objects.exists()


def test_a_problem_in_its_admission_test_waits(stage, owner) -> None:
    told = {"competition": stage.board.competition, "actor": owner, "now": stage.now}
    pipeline.write_problem(slug="sum", draft=DRAFT, **told)
    assert pipeline.claim_work(runner=stage.rex, now=stage.later(1)) is not None
    with pytest.raises(UserError, match="a runner tests it at this moment"):
        authoring.delete_problem(name="sum", slug="sum", reason="x", **told)
    assert Board.objects.filter(slug="sum").exists()
