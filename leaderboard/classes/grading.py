"""Grading: begin, score, remark, moderate, release, appeal and answer.

To begin freezes the rubric and ends the hand-ins: the last one of each work is graded. A grader's scores are a draft
until they are submitted. A work that two graders scored has their mean, unless the moderated grade replaces both. All
grades of an assignment are released by a single act.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

from django.db import transaction
from django.db.models import Max, QuerySet

from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.classes.models import Appeal, Assignment, Grade, Remark, Rubric, Work
from leaderboard.classes.permissions import check_teacher, is_grader
from leaderboard.classes.rubrics import check_scores, percent_of, site_rubric
from leaderboard.competitions.checks import check_text
from leaderboard.errors import UserError
from leaderboard.inbox.models import REVIEW
from leaderboard.inbox.tell import tell, tell_organisers
from leaderboard.matches.models import SECTIONS, HandIn, Match
from leaderboard.matches.permissions import authors_of, is_author, takes_part

TEXT_CHARS: Final = 10_000  # of a grade
REMARK_CHARS: Final = 2_000
NUMBER_CHARS: Final = 64
APPEAL_CHARS: Final = 4_000
LEAST_APPEAL_CHARS: Final = 20
MOST_REMARKS: Final = 300  # of a work and grader
MOST_APPEALS: Final = 3  # of a work
APPEAL_WITHIN: Final = timedelta(days=14)  # of the release

NOT_HANDED_IN: Final = "not handed in"
TO_GRADE: Final = "to grade"
TO_MODERATE: Final = "to moderate"
GRADED: Final = "graded"


@dataclass(frozen=True)
class Graded:
    """A work with its grades. Read it with `graded`."""

    work: Work
    hand_in: HandIn | None
    grades: tuple[Grade, ...]

    @property
    def rubric(self) -> Rubric:
        rubric = self.work.assignment.rubric
        assert rubric is not None  # since the grading began
        return rubric

    @property
    def submitted(self) -> list[Grade]:
        """The grades of graders, in their order, without drafts."""
        return [one for one in self.grades if one.submitted_at is not None and not one.moderated]

    @property
    def moderated(self) -> Grade | None:
        return next((one for one in self.grades if one.moderated), None)

    @cached_property
    def difference(self) -> float | None:
        """Points between both graders; None: two have not submitted."""
        points = [percent_of(self.rubric, one.scores) for one in self.submitted]
        return max(points) - min(points) if len(points) > 1 else None

    @property
    def state(self) -> str:
        if self.moderated is not None:
            return GRADED
        if self.hand_in is None:  # an erased account takes its hand-in along: what was graded counts
            return GRADED if self.submitted else NOT_HANDED_IN
        if len(self.submitted) < self.work.assignment.graders_each:
            return TO_GRADE
        limit = self.work.assignment.moderate_from
        return TO_MODERATE if limit is not None and (self.difference or 0.0) >= limit else GRADED

    @property
    def points(self) -> float | None:
        """The points of 100; None: not graded."""
        if self.state != GRADED:
            return None
        counted = [self.moderated] if self.moderated else self.submitted
        return sum(percent_of(self.rubric, one.scores) for one in counted) / len(counted)

    def grade_of(self, user: User) -> Grade | None:
        return next((one for one in self.grades if one.grader_id == user.account.pk and not one.moderated), None)

    def shows_grades_to(self, user: User) -> bool:
        """Return whether a grader reads the grades of others: after the own one, or when all are there."""
        own = self.grade_of(user)
        return bool(own and own.submitted_at) or len(self.submitted) >= self.work.assignment.graders_each


def graded(works: QuerySet[Work]) -> list[Graded]:
    """Return works with their grades and last hand-ins, in a fixed number of queries."""
    found = list(
        works.select_related("assignment__rubric", "assignment__course__competition", "entrant").prefetch_related(
            "grades__grader"
        )
    )
    newest = HandIn.objects.filter(match__in=[one.match_id for one in found]).values("match").annotate(Max("id"))
    handed = HandIn.objects.filter(pk__in=[row["id__max"] for row in newest]).select_related("by").defer("document")
    by_match = {one.match_id: one for one in handed}
    return [Graded(one, by_match.get(one.match_id), tuple(one.grades.all())) for one in found]


@transaction.atomic
def begin(*, assignment: Assignment, actor: User, now: datetime) -> Assignment:
    """Begin to grade: freeze the rubric, and take no hand-in any more. The last due time must have passed."""
    check_teacher(actor, assignment.course, "begin to grade")
    assignment = _locked(assignment)
    if assignment.grading_began_at is not None:
        raise UserError("assignment", assignment.title, "its grading has begun already", status=409)
    until = assignment.extensions.aggregate(last=Max("until"))["last"] or assignment.due_at
    if (until := max(until, assignment.due_at)) > now:
        text = f"the last due time is {until:%Y-%m-%d %H:%M} UTC; wait, or withdraw the extension"
        raise UserError("assignment", assignment.title, text, status=409)
    rubric = Rubric.objects.select_for_update().get(pk=(assignment.rubric or site_rubric(now)).pk)
    if rubric.frozen_at is None:
        rubric.frozen_at = now
        rubric.save(update_fields=["frozen_at"])
    assignment.rubric, assignment.grading_began_at = rubric, now
    assignment.save(update_fields=["rubric", "grading_began_at"])
    matches = Match.objects.filter(work__assignment=assignment).order_by("pk")
    list(matches.select_for_update().values_list("pk"))  # a hand-in under way comes first
    matches.update(graded_from=now)
    record("begin_grading", assignment, actor=actor, now=now, after={"rubric": rubric.pk, "version": rubric.version})
    return assignment


def _locked(assignment: Assignment) -> Assignment:
    rows = Assignment.objects.select_for_update(of=("self",))
    return rows.select_related("course__competition", "rubric").get(pk=assignment.pk)


def _open_work(work: Work, actor: User, act: str) -> Graded:
    """Return a work that this person may grade now; its assignment is locked."""
    assignment = _locked(work.assignment)
    if not is_grader(actor, assignment.course):
        raise UserError("actor", actor.get_username(), f"only graders of {assignment.course} {act}", status=403)
    if takes_part(actor, work.match):
        text = "wrote this worklog or is in its team; another grader grades it"
        raise UserError("actor", actor.get_username(), text, status=403)
    if assignment.grading_began_at is None:
        raise UserError("work", work.pk, "the grading of its assignment has not begun", status=409)
    if assignment.released_at is not None:
        raise UserError("work", work.pk, "its grades are released; answer an appeal to change them", status=409)
    [found] = graded(Work.objects.filter(pk=work.pk))
    if found.hand_in is None:
        raise UserError("work", work.pk, "nothing was handed in, so there is nothing to grade", status=409)
    return found


@transaction.atomic
def score(*, work: Work, scores: Mapping[str, Any], text: str, is_final: bool, actor: User, now: datetime) -> Grade:
    """Save a grader's scores as a draft, or submit them. They may be changed until the moderation or the release."""
    found = _open_work(work, actor, "grade")
    own = found.grade_of(actor)
    if found.moderated is not None:
        raise UserError("work", work.pk, "its grade is moderated already", status=409)
    others = [one for one in found.submitted if own is None or one.pk != own.pk]
    if len(others) >= work.assignment.graders_each:
        names = " and ".join(one.grader.get_username() for one in others)
        raise UserError("work", work.pk, f"has all of its grades already, of {names}", status=409)
    if own is not None and own.submitted_at is not None and not is_final:
        raise UserError("scores", None, "are submitted; submit the changed ones", status=409)
    checked = check_scores(found.rubric, scores, complete=is_final)
    check_text("text", text, most=TEXT_CHARS)
    before = {} if own is None else {"scores": own.scores}
    grade = own or Grade(work=work, grader=actor.account)
    grade.scores, grade.text, grade.saved_at = checked, text.strip(), now
    grade.submitted_at = now if is_final else None
    grade.save()
    if is_final:
        record("grade_work", grade, actor=actor, now=now, before=before, after={"scores": checked})
    return grade


@transaction.atomic
def moderate(*, work: Work, scores: Mapping[str, Any], text: str, actor: User, now: datetime) -> Grade:
    """Settle the grades of a work; the moderated grade replaces them. Teachers do it, before the release."""
    found = _open_work(work, actor, "moderate")
    check_teacher(actor, work.assignment.course, "moderate grades")
    if len(found.submitted) < 2:
        raise UserError("work", work.pk, "has no two grades to moderate", status=409)
    return _replace(found, scores, text, actor, now, "moderate_grade")


def _replace(found: Graded, scores: Mapping[str, Any], text: str, actor: User, now: datetime, act: str) -> Grade:
    checked = check_scores(found.rubric, scores, complete=True)
    check_text("text", text, least=1, most=TEXT_CHARS)
    before = {"scores": found.moderated.scores} if found.moderated else {}
    grade = found.moderated or Grade(work=found.work, moderated=True)
    grade.grader, grade.scores, grade.text = actor.account, checked, text.strip()
    grade.saved_at = grade.submitted_at = now
    grade.save()
    record(act, grade, actor=actor, now=now, before=before, after={"scores": checked})
    return grade


@transaction.atomic
def remark(
    *, work: Work, section: str, text: str, actor: User, now: datetime, line: int | None = None, number: str = ""
) -> Remark:
    """Comment a section of the worklog, a line of its text, or a number in it."""
    found = _open_work(work, actor, "remark")
    if section not in SECTIONS:
        raise UserError("section", section, f"expected one of {', '.join(SECTIONS)}")
    check_text("text", text, least=1, most=REMARK_CHARS)
    check_text("number", number, most=NUMBER_CHARS)
    assert found.hand_in is not None  # checked by _open_work
    written = found.hand_in.document["texts"][section]
    lines = written.split("\n")
    if line is not None and not 1 <= line <= len(lines):
        raise UserError("line", line, f"the section has the lines 1 to {len(lines)}")
    if number and number not in (written if line is None else lines[line - 1]):
        raise UserError("number", number, "does not occur there; give it as the text has it")
    if Remark.objects.filter(work=work, grader=actor.account).count() >= MOST_REMARKS:
        raise UserError("text", None, f"a grader makes at most {MOST_REMARKS} remarks on a work", status=409)
    return Remark.objects.create(
        work=work, grader=actor.account, section=section, line=line, number=number, text=text.strip(), created_at=now
    )


@transaction.atomic
def remove_remark(*, remark: Remark, actor: User, now: datetime) -> None:
    """Remove an own remark before the release."""
    _open_work(remark.work, actor, "remove a remark")
    if remark.grader_id != actor.account.pk:
        raise UserError("remark", remark.pk, f"is of {remark.grader.get_username()}, who may remove it", status=403)
    record("remove_remark", remark, actor=actor, now=now, before={"work": remark.work_id})
    remark.delete()


@transaction.atomic
def release(*, assignment: Assignment, actor: User, now: datetime) -> Assignment:
    """Show all grades of an assignment to its students, at once. Each work that was handed in must be graded."""
    check_teacher(actor, assignment.course, "release grades")
    assignment = _locked(assignment)
    if assignment.grading_began_at is None:
        raise UserError("assignment", assignment.title, "its grading has not begun", status=409)
    if assignment.released_at is not None:
        raise UserError("assignment", assignment.title, "its grades are released already", status=409)
    works = graded(Work.objects.filter(assignment=assignment))
    states = [one.state for one in works]
    waiting = {state: states.count(state) for state in (TO_GRADE, TO_MODERATE) if state in states}
    if waiting:
        text = f"works wait: {', '.join(f'{count} {state}' for state, count in waiting.items())}"
        raise UserError("assignment", assignment.title, text, status=409)
    assignment.released_at = now
    assignment.save(update_fields=["released_at"])
    for one in works:
        if one.state == GRADED:
            _tell_authors(one.work, "your grade is released", now)
    record("release_grades", assignment, actor=actor, now=now, after={"graded": states.count(GRADED)})
    return assignment


def authors(work: Work) -> list[str]:
    """Return the usernames of a work's authors."""
    accounts = authors_of([work.match_id])[work.match_id]
    people = User.objects.in_bulk(accounts)
    return [people[account].get_username() for account in dict.fromkeys(accounts)]


def _tell_authors(work: Work, title: str, now: datetime) -> None:
    """Write to the authors of a work, without the grade: a webhook may lead to a chat that others read."""
    people = authors_of([work.match_id])[work.match_id]
    url = f"/classes/{work.assignment.course.competition.slug}/grades/{work.pk}"
    tell(people, REVIEW, subject=f"grade:{work.pk}", title=f"{work.assignment}: {title}", url=url, now=now)


@transaction.atomic
def appeal(*, work: Work, text: str, actor: User, now: datetime) -> Appeal:
    """Object to a released grade, in the first days after its release."""
    if not is_author(actor, work.match):
        raise UserError("actor", actor.get_username(), "only the authors of a work appeal", status=403)
    assignment = _locked(work.assignment)
    if assignment.released_at is None:
        raise UserError("work", work.pk, "its grade is not released", status=409)
    until = assignment.released_at + APPEAL_WITHIN
    if now >= until:
        raise UserError("text", None, f"could be appealed against until {until:%Y-%m-%d %H:%M} UTC", status=409)
    check_text("text", text, least=LEAST_APPEAL_CHARS, most=APPEAL_CHARS)
    known = list(Appeal.objects.filter(work=work))
    if any(one.answered_at is None for one in known):
        raise UserError("text", None, "an appeal waits for its answer", status=409)
    if len(known) >= MOST_APPEALS:
        raise UserError("text", None, f"a work has at most {MOST_APPEALS} appeals", status=409)
    made = Appeal.objects.create(work=work, author=actor.account, text=text.strip(), created_at=now)
    competition = assignment.course.competition
    title = f"an appeal against a grade of {assignment}"
    url = f"/classes/{competition.slug}/grading/works/{work.pk}"
    tell_organisers(competition, subject=f"appeal:{made.pk}", title=title, url=url, now=now)
    record("appeal_grade", made, actor=actor, now=now, after={"work": work.pk})
    return made


@transaction.atomic
def answer(*, appeal: Appeal, text: str, actor: User, now: datetime, scores: Mapping[str, Any] | None = None) -> Appeal:
    """Answer an appeal. `scores`: the grade that replaces the released one; None: it stays."""
    check_teacher(actor, appeal.work.assignment.course, "answer an appeal")
    if takes_part(actor, appeal.work.match):
        reason = "wrote this worklog or is in its team; another teacher answers"
        raise UserError("actor", actor.get_username(), reason, status=403)
    _locked(appeal.work.assignment)
    appeal = Appeal.objects.select_for_update(of=("self",)).select_related("work").get(pk=appeal.pk)
    if appeal.answered_at is not None:
        raise UserError("appeal", appeal.pk, "is answered already", status=409)
    check_text("answer", text, least=1, most=APPEAL_CHARS)
    if scores is not None:
        [found] = graded(Work.objects.filter(pk=appeal.work_id))
        _replace(found, scores, text, actor, now, "change_grade")
    appeal.answer, appeal.answered_by, appeal.answered_at = text.strip(), actor.account, now
    appeal.save()
    _tell_authors(appeal.work, "your appeal is answered", now)
    record("answer_appeal", appeal, actor=actor, now=now, after={"changed": scores is not None})
    return appeal
