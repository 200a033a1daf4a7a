"""Grading: frozen rubrics, pinned hand-ins, two graders with moderation, release as a single act, appeals."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from leaderboard.classes import assignments, grading, people, rubrics
from leaderboard.classes.grading import Graded
from leaderboard.classes.models import Appeal, Assignment, Course, Grade, Remark, Rubric, Work
from leaderboard.classes.work import start_work
from leaderboard.competitions.models import Role
from leaderboard.entrants.closing import close
from leaderboard.errors import UserError
from leaderboard.inbox.models import Message
from leaderboard.matches.acts import predict
from leaderboard.matches.models import HandIn
from leaderboard.matches.worklog import hand_in, save_section
from tests.leaderboard.stage import NOON, Stage

DAY = timedelta(days=1)
DUE = NOON + 7 * DAY
BEGUN = DUE + DAY
THREE = {"discipline": 3, "depth": 3, "head_to_head": 3, "honesty": 3}
ZERO = dict.fromkeys(THREE, 0)
OBJECTION = "My head-to-head names the mechanism."


@pytest.fixture
def course(stage: Stage) -> Course:
    course = people.make_course(competition=stage.board.competition, actor=stage.olga, now=NOON)
    for user in (stage.ben, stage.cleo):
        Role.objects.create(competition=course.competition, user=user, role=Role.REVIEWER)
    people.import_roster(course=course, text="ada,Ada", actor=stage.olga, now=NOON)
    people.join_by_roster(course=course, user=stage.ada, now=NOON)
    return course


@pytest.fixture
def work(stage: Stage, course: Course) -> Work:
    return work_of(stage, course)


def work_of(stage: Stage, course: Course, **settings: Any) -> Work:
    """Return a work of ada that is handed in."""
    usual: dict[str, Any] = {"title": "Softmax", "tier": 1, "due_at": DUE, "boards": [stage.board]}
    assignment = assignments.add_assignment(course=course, actor=stage.olga, now=NOON, **usual | settings)
    made = start_work(assignment=assignment, board=stage.board, user=stage.ada, model="a/b", machine="pasted", now=NOON)
    predict(match=made.match, author=stage.ada, bound="memory", speedup=2.0, why="Each row is read once.", now=NOON)
    save_section(match=made.match, section="plan", text="First\nthen 2×", revision=0, author=stage.ada, now=NOON)
    hand_in(match=made.match, author=stage.ada, now=NOON)
    return made


def begin(stage: Stage, work: Work) -> Assignment:
    return grading.begin(assignment=work.assignment, actor=stage.olga, now=BEGUN)


def score(stage: Stage, work: Work, **told: Any) -> Grade:
    usual: dict[str, Any] = {"scores": THREE, "text": "", "is_final": True, "actor": stage.ben, "now": BEGUN}
    return grading.score(work=work, **usual | told)


def read(work: Work) -> Graded:
    [found] = grading.graded(Work.objects.filter(pk=work.pk))
    return found


def refused_by_the_database() -> Any:
    return pytest.raises(DatabaseError, match=r"begun|released")


def test_default_rubric_is_a_valid_one() -> None:
    criteria = rubrics.check_criteria(rubrics.default_criteria())
    assert [one["weight"] for one in criteria] == [30, 30, 30, 10]
    assert rubrics.percent_of(Rubric(criteria=criteria), THREE) == 75.0


def test_wrong_rubrics_are_refused() -> None:
    def changed(**more: Any) -> list[dict[str, Any]]:
        return [{**rubrics.default_criteria()[0], **more}, *rubrics.default_criteria()[1:]]

    for criteria, said in (
        ([], "1 to 12 criteria"),
        (changed(weight=31), "make it 100 %"),
        (changed(weight=0), "no weight of criterion 1"),
        (changed(key="Two words"), "no key of criterion 1"),
        (changed(key="depth"), "key of two criteria"),
        (changed(name=" "), "name criterion 1"),
        (changed(levels=[]), "needs the levels 0 to 4"),
    ):
        with pytest.raises(UserError, match=said):
            rubrics.check_criteria(criteria)


def test_a_frozen_rubric_gets_a_next_version(stage: Stage, course: Course) -> None:
    def saved(weight: int) -> Rubric:
        criteria = rubrics.default_criteria()
        criteria[0]["weight"], criteria[1]["weight"] = weight, 60 - weight
        return rubrics.save_rubric(course=course, name="Ours", criteria=criteria, actor=stage.olga, now=NOON)

    first = saved(20)
    assert (saved(25).pk, saved(25).version) == (first.pk, 1)
    begin(stage, work_of(stage, course, rubric=first))
    second = saved(40)
    assert (second.version, second.frozen_at) == (2, None)
    first.refresh_from_db()
    assert (first.frozen_at, first.criteria[0]["weight"]) == (BEGUN, 25)
    with refused_by_the_database(), transaction.atomic():
        Rubric.objects.filter(pk=first.pk).update(name="Else")
    with pytest.raises(UserError, match="only a owner"):
        rubrics.save_rubric(course=course, name="x", criteria=first.criteria, actor=stage.ben, now=NOON)


def test_begin_waits_for_the_last_due_time_and_ends_the_hand_ins(stage: Stage, course: Course, work: Work) -> None:
    told: dict[str, Any] = {"assignment": work.assignment, "actor": stage.olga}
    with pytest.raises(UserError, match="last due time"):
        grading.begin(**told, now=NOON)
    extension = assignments.extend(until=DUE + 3 * DAY, reason="Ill", seat=course.seats.get(), now=NOON, **told)
    with pytest.raises(UserError, match="withdraw the extension"):
        grading.begin(**told, now=BEGUN)
    assignments.withdraw_extension(extension=extension, actor=stage.olga, now=BEGUN)
    found = grading.begin(**told, now=BEGUN)
    assert found.rubric is not None
    assert (found.rubric.course, found.rubric.version, found.rubric.frozen_at) == (None, 1, BEGUN)
    with pytest.raises(UserError, match="begun already"):
        grading.begin(**told, now=BEGUN)
    with pytest.raises(UserError, match="takes no hand-in"):
        hand_in(match=work.match, author=stage.ada, now=BEGUN)
    kept = HandIn.objects.get()
    with refused_by_the_database(), transaction.atomic():
        HandIn.objects.create(match=work.match, by=stage.ada, at=BEGUN, document={}, digest=kept.digest)
    with refused_by_the_database(), transaction.atomic():
        Assignment.objects.update(graders_each=2)
    assert read(work).hand_in == kept


def test_a_grade_is_a_draft_until_it_is_submitted(stage: Stage, work: Work) -> None:
    with pytest.raises(UserError, match="has not begun"):
        score(stage, work)
    begin(stage, work)
    with pytest.raises(UserError, match="only graders"):
        score(stage, work, actor=stage.ada)
    score(stage, work, scores={"depth": 2}, is_final=False)
    assert (read(work).state, read(work).points) == (grading.TO_GRADE, None)
    with pytest.raises(UserError, match="choose a level of: Correctness"):
        score(stage, work, scores={"depth": 2})
    with pytest.raises(UserError, match="0 to 4"):
        score(stage, work, scores=THREE | {"depth": 5})
    with pytest.raises(UserError, match="no criterion"):
        score(stage, work, scores=THREE | {"speed": 4})
    score(stage, work)
    assert (read(work).state, read(work).points) == (grading.GRADED, 75.0)
    with pytest.raises(UserError, match="of ben"):
        score(stage, work, actor=stage.cleo)
    assert Grade.objects.count() == 1


def test_graders_do_not_grade_their_own_work(stage: Stage, course: Course, work: Work) -> None:
    begin(stage, work)
    Role.objects.create(competition=course.competition, user=stage.ada, role=Role.REVIEWER)
    with pytest.raises(UserError, match="another grader"):
        score(stage, work, actor=stage.ada)


def test_a_difference_of_two_graders_is_moderated(stage: Stage, course: Course) -> None:
    work = work_of(stage, course, graders_each=2, moderate_from=10)
    begin(stage, work)
    score(stage, work)
    assert read(work).state == grading.TO_GRADE
    assert not read(work).shows_grades_to(stage.cleo)
    score(stage, work, actor=stage.cleo, scores=ZERO)
    assert read(work).shows_grades_to(stage.cleo)
    assert (read(work).state, read(work).difference) == (grading.TO_MODERATE, 75.0)
    told: dict[str, Any] = {"work": work, "scores": THREE | {"depth": 1}, "text": "Between both.", "now": BEGUN}
    with pytest.raises(UserError, match="1 to moderate"):
        grading.release(assignment=work.assignment, actor=stage.olga, now=BEGUN)
    with pytest.raises(UserError, match="only a owner"):
        grading.moderate(actor=stage.ben, **told)
    grading.moderate(actor=stage.olga, **told)
    assert (read(work).state, read(work).points) == (grading.GRADED, 60.0)
    with pytest.raises(UserError, match="moderated already"):
        score(stage, work)


def test_two_graders_who_agree_have_their_mean(stage: Stage, course: Course) -> None:
    work = work_of(stage, course, graders_each=2, moderate_from=10)
    begin(stage, work)
    score(stage, work)
    score(stage, work, actor=stage.cleo, scores=THREE | {"honesty": 4})
    assert (read(work).state, read(work).points) == (grading.GRADED, 76.25)


def test_remarks_stand_at_a_line_or_a_number(stage: Stage, work: Work) -> None:
    begin(stage, work)
    told: dict[str, Any] = {"work": work, "section": "plan", "text": "Why?", "actor": stage.ben, "now": BEGUN}
    made = grading.remark(line=2, number="2×", **told)
    for wrong, said in (
        ({"section": "end"}, "expected one of"),
        ({"line": 3}, "lines 1 to 2"),
        ({"line": 1, "number": "2×"}, "does not occur"),
        ({"text": " "}, "1 to 2,000"),
    ):
        with pytest.raises(UserError, match=said):
            grading.remark(**told | wrong)
    with pytest.raises(UserError, match="is of ben"):
        grading.remove_remark(remark=made, actor=stage.cleo, now=BEGUN)
    grading.remove_remark(remark=made, actor=stage.ben, now=BEGUN)
    assert not Remark.objects.exists()


def released(stage: Stage, work: Work) -> None:
    begin(stage, work)
    with pytest.raises(UserError, match="1 to grade"):
        grading.release(assignment=work.assignment, actor=stage.olga, now=BEGUN)
    score(stage, work)
    grading.release(assignment=work.assignment, actor=stage.olga, now=BEGUN)


def test_a_released_grade_stays(stage: Stage, work: Work) -> None:
    released(stage, work)
    with pytest.raises(UserError, match="are released"):
        score(stage, work, scores=ZERO)
    with refused_by_the_database(), transaction.atomic():
        Grade.objects.update(scores=ZERO)
    with refused_by_the_database(), transaction.atomic():
        Assignment.objects.update(released_at=None)


def test_an_appeal_may_change_a_released_grade(stage: Stage, work: Work) -> None:
    told: dict[str, Any] = {"work": work, "text": OBJECTION, "actor": stage.ada}
    with pytest.raises(UserError, match="not released"):
        grading.appeal(now=BEGUN, **told)
    released(stage, work)
    with pytest.raises(UserError, match="only the authors"):
        grading.appeal(now=BEGUN, **told | {"actor": stage.ben})
    with pytest.raises(UserError, match="until"):
        grading.appeal(now=BEGUN + 14 * DAY, **told)
    for number in range(grading.MOST_APPEALS):
        made = grading.appeal(now=BEGUN, **told)
        with pytest.raises(UserError, match="waits for its answer"):
            grading.appeal(now=BEGUN, **told)
        scores = THREE | {"depth": number}
        grading.answer(appeal=made, text="You are right.", scores=scores, actor=stage.olga, now=BEGUN)
    with pytest.raises(UserError, match="at most 3 appeals"):
        grading.appeal(now=BEGUN, **told)
    with pytest.raises(UserError, match="answered already"):
        grading.answer(appeal=made, text="Again.", actor=stage.olga, now=BEGUN)
    assert read(work).points == 67.5
    assert Appeal.objects.filter(answered_by=stage.olga).count() == grading.MOST_APPEALS


def test_authors_are_told_of_the_release_and_teachers_of_an_appeal(stage: Stage, work: Work) -> None:
    released(stage, work)
    [told] = Message.objects.filter(user=stage.ada)
    assert (told.title, told.text) == ("Softmax: your grade is released", ""), "a webhook may lead to a chat"
    assert (told.url, told.mail_due) == (f"/classes/kernels-101/grades/{work.pk}", True)
    made = grading.appeal(work=work, text=OBJECTION, actor=stage.ada, now=BEGUN)
    assert {one.user for one in Message.objects.filter(subject=f"appeal:{made.pk}")} == {stage.ben, stage.cleo}
    grading.answer(appeal=made, text="It stays.", actor=stage.olga, now=BEGUN)
    told.refresh_from_db()
    assert (told.title, told.count) == ("Softmax: your appeal is answered", 2)


def test_erasing_an_account_keeps_scores_and_no_words(stage: Stage, work: Work) -> None:
    released(stage, work)
    grading.appeal(work=work, text=OBJECTION, actor=stage.ada, now=BEGUN)
    close(account=stage.ada, erase=True, now=BEGUN)
    assert (Grade.objects.get().scores, Appeal.objects.get().text) == (THREE, "")
    assert (read(work).state, read(work).points) == (grading.GRADED, 75.0)
