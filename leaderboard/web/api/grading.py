"""Grading over /api/v1: grades, a work with its checks and remarks, moderation, release, appeals, rubrics."""

from collections.abc import Sequence
from typing import Any, Final

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.classes import grading
from leaderboard.classes.checks import checks_of
from leaderboard.classes.grading import APPEAL_CHARS, NUMBER_CHARS, REMARK_CHARS, TEXT_CHARS, Graded, graded
from leaderboard.classes.models import Appeal, Assignment, Course, Grade, Remark, Work
from leaderboard.classes.rubrics import (
    DESCRIPTION_CHARS,
    MOST_CRITERIA,
    NAME_CHARS,
    TOP,
    criterion,
    percent_of,
    save_rubric,
)
from leaderboard.matches.models import SECTIONS
from leaderboard.matches.permissions import authored_by
from leaderboard.web.api.base import AS_TABLE, Private, ShortList, cut, paged, parse
from leaderboard.web.api.classes import AssignmentLine, Graders
from leaderboard.web.api.serializers import Keyed, LongPage
from leaderboard.web.classes.grading_pages import PREFIX, grade_rows
from leaderboard.web.classes.pages import course_named
from leaderboard.web.forms import MAX_KEY

STATES: Final = (grading.NOT_HANDED_IN, grading.TO_GRADE, grading.TO_MODERATE, grading.GRADED)
LEVELS: Final = f"Level of each criterion by its key, 0 to {TOP}."


class GradesQuery(LongPage):
    assignment = drf.IntegerField(
        required=False, min_value=1, max_value=MAX_KEY, help_text="Only of this assignment, with levels."
    )


class NewGrade(drf.Serializer[Any]):
    scores = drf.DictField(child=drf.IntegerField(min_value=0, max_value=TOP), help_text=LEVELS)
    text = drf.CharField(max_length=TEXT_CHARS, required=False, allow_blank=True, default="")


class OwnScores(NewGrade):
    final = drf.BooleanField(default=True, help_text="False: a draft, which may lack criteria.")


class NewRemark(drf.Serializer[Any]):
    section = drf.ChoiceField(choices=SECTIONS)
    text = drf.CharField(max_length=REMARK_CHARS)
    line = drf.IntegerField(required=False, allow_null=True, default=None, help_text="Of the section's text, from 1.")
    number = drf.CharField(
        max_length=NUMBER_CHARS, required=False, allow_blank=True, default="", help_text="As the text has it."
    )


class NewAppeal(drf.Serializer[Any]):
    text = drf.CharField(max_length=APPEAL_CHARS, help_text="Names the criterion and the place in the worklog.")


class AppealAnswer(drf.Serializer[Any]):
    text = drf.CharField(max_length=APPEAL_CHARS)
    scores = drf.DictField(
        child=drf.IntegerField(min_value=0, max_value=TOP),
        required=False,
        allow_null=True,
        default=None,
        help_text="The grade that replaces the released grade; null: it stays.",
    )


class Criterion(drf.Serializer[Any]):
    key = drf.CharField(max_length=32)
    name = drf.CharField(max_length=NAME_CHARS)
    weight = drf.IntegerField(min_value=1, max_value=100, help_text="Per cent; all of a rubric are 100.")
    levels = ShortList(
        child=drf.CharField(max_length=DESCRIPTION_CHARS),
        min_length=TOP + 1,
        max_length=TOP + 1,
        help_text="Descriptions, from 0 points up.",
    )

    def to_representation(self, instance: Any) -> dict[str, Any]:
        return {**instance, "levels": [level["description"] for level in instance["levels"]]}


class NewRubric(drf.Serializer[Any]):
    name = drf.CharField(max_length=NAME_CHARS)
    criteria = ShortList(child=Criterion(), min_length=1, max_length=MOST_CRITERIA)


class RubricLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    name = drf.CharField()
    version = drf.IntegerField()
    frozen_at = drf.DateTimeField(allow_null=True, help_text="Time since which it grades, and does not change.")
    criteria = Criterion(many=True)


class GradeRow(drf.Serializer[Any]):
    """A student and an assignment, with the grade."""

    student = drf.CharField(allow_blank=True)
    username = drf.CharField()
    section = drf.CharField(allow_blank=True)
    assignment = drf.CharField()
    state = drf.ChoiceField(choices=STATES)
    handed_in_at = drf.DateTimeField(allow_null=True)
    late_s = drf.IntegerField(allow_null=True, help_text="Seconds after the due time; null: in time.")
    points = drf.FloatField(allow_null=True, help_text="Of 100; null: not graded.")
    match = drf.IntegerField(allow_null=True)
    work = drf.IntegerField(allow_null=True, help_text="Null: not begun.")
    levels = drf.SerializerMethodField(help_text="Mean level of each criterion; empty for several assignments.")

    @extend_schema_field(drf.DictField(child=drf.FloatField(allow_null=True)))
    def get_levels(self, row: dict[str, Any]) -> dict[str, float | None]:
        return {name.removeprefix(PREFIX): value for name, value in row.items() if name.startswith(PREFIX)}


class GradeLine(drf.Serializer[Any]):
    grader = drf.CharField(source="grader.username")
    scores = drf.DictField(child=drf.IntegerField(), help_text=LEVELS)
    text = drf.CharField(allow_blank=True)
    moderated = drf.BooleanField(help_text="True: it replaces the grades of the graders.")
    points = drf.SerializerMethodField(help_text="Of 100; null for a draft.")
    submitted_at = drf.DateTimeField(allow_null=True, help_text="Null: a draft.")

    def get_points(self, grade: Grade) -> float | None:
        return percent_of(self.context["rubric"], grade.scores) if grade.submitted_at else None


class RemarkLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    grader = drf.CharField(source="grader.username")
    section = drf.CharField()
    line = drf.IntegerField(allow_null=True)
    number = drf.CharField(allow_blank=True)
    text = drf.CharField()
    created_at = drf.DateTimeField()


class AppealLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    author = drf.CharField(source="author.username")
    text = drf.CharField()
    created_at = drf.DateTimeField()
    answer = drf.CharField(allow_blank=True)
    answered_by = drf.CharField(source="answered_by.username", default=None, allow_null=True)
    answered_at = drf.DateTimeField(allow_null=True)


class CheckLine(drf.Serializer[Any]):
    """A fact that the site checked in the worklog."""

    text = drf.CharField()
    good = drf.BooleanField(source="is_good", allow_null=True, help_text="Null: it cannot be said.")
    section = drf.CharField(allow_blank=True, help_text="Empty: about all of it.")
    line = drf.IntegerField(allow_null=True)
    number = drf.CharField(allow_blank=True)


class OwnGrade(drf.Serializer[Any]):
    """The released grade of a work, for its authors."""

    work = drf.IntegerField(source="work.pk")
    match = drf.IntegerField(source="work.match_id")
    state = drf.ChoiceField(choices=STATES)
    points = drf.FloatField(allow_null=True, help_text="Of 100; null: nothing was handed in.")
    rubric = RubricLine()
    grades = drf.SerializerMethodField()
    remarks = drf.SerializerMethodField()
    appeals = AppealLine(many=True, source="work.appeals.all")

    @extend_schema_field(GradeLine(many=True))
    def get_grades(self, found: Graded) -> Any:
        return GradeLine(self.shown(found), many=True, context={"rubric": found.rubric}).data

    def shown(self, found: Graded) -> Sequence[Grade]:
        return [found.moderated] if found.moderated else found.submitted

    @extend_schema_field(RemarkLine(many=True))
    def get_remarks(self, found: Graded) -> Any:
        return RemarkLine(self.remarked(found), many=True).data

    def remarked(self, found: Graded) -> Sequence[Remark]:
        return list(found.work.remarks.select_related("grader").order_by("section", "line", "pk"))


class WorkDetail(OwnGrade):
    """A work for its graders. A grader reads the grades and remarks of others after the own grade."""

    assignment = drf.IntegerField(source="work.assignment_id")
    authors = drf.SerializerMethodField(help_text="Usernames.")
    handed_in_at = drf.DateTimeField(source="hand_in.at", default=None, allow_null=True)
    texts = drf.SerializerMethodField(help_text="Text of each section of the worklog.")
    checks = drf.SerializerMethodField()

    def get_authors(self, found: Graded) -> list[str]:
        return grading.authors(found.work)

    @extend_schema_field(drf.DictField(child=drf.CharField()))
    def get_texts(self, found: Graded) -> dict[str, str]:
        return dict(found.hand_in.document["texts"]) if found.hand_in else {}

    @extend_schema_field(CheckLine(many=True))
    def get_checks(self, found: Graded) -> Any:
        return CheckLine(checks_of(found.hand_in.document) if found.hand_in else (), many=True).data

    def shown(self, found: Graded) -> Sequence[Grade]:
        viewer: User = self.context["viewer"]
        own, is_all = found.grade_of(viewer), found.shows_grades_to(viewer)
        return [one for one in found.grades if one == own or (is_all and one.submitted_at)]

    def remarked(self, found: Graded) -> Sequence[Remark]:
        viewer: User = self.context["viewer"]
        is_all = found.shows_grades_to(viewer)
        return [one for one in super().remarked(found) if is_all or one.grader_id == viewer.account.pk]


class Works(Graders):
    """Base of the views of a work: graders change, too."""

    teachers_change = False

    def work(self, request: Request, slug: str, pk: int) -> Work:
        found = Work.objects.filter(assignment__course=self.course(request, slug))
        return get_object_or_404(found.select_related("assignment__course__competition", "match__human"), pk=pk)

    def answer(self, request: Request, work: Work) -> Response:
        return Response(WorkDetail(_graded(work), context={"viewer": self.caller(request)}).data)


class Grades(Graders):
    renderer_classes = AS_TABLE

    @extend_schema(operation_id="class_grades", parameters=[GradesQuery], responses=GradeRow(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the grades of a class, a row for each student and assignment."""
        course, query = self.course(request, slug), parse(GradesQuery, request.query_params)
        pk = query.get("assignment")
        assignment = get_object_or_404(course.assignments.select_related("rubric"), pk=pk) if pk else None
        rows = grade_rows(course, assignment)
        return cut(request, rows, query, GradeRow, lambda row: (row["assignment"], row["username"], row["match"]))


class BeginGrading(Graders):
    @extend_schema(operation_id="begin_grading", request=None, responses=AssignmentLine)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Freeze the rubric, and take no hand-in any more. Teachers only."""
        assignment = _assignment(self.course(request, slug), pk)
        return Response(AssignmentLine(grading.begin(assignment=assignment, **self.by(request))).data)


class Release(Graders):
    @extend_schema(operation_id="release_grades", request=None, responses=AssignmentLine)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Show all grades of an assignment to its students. Teachers only."""
        assignment = _assignment(self.course(request, slug), pk)
        return Response(AssignmentLine(grading.release(assignment=assignment, **self.by(request))).data)


class OneWork(Works):
    @extend_schema(operation_id="class_work", responses=WorkDetail)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return a handed-in work with its checks, grades and remarks, once grading has begun."""
        return self.answer(request, self.work(request, slug, pk))


class Score(Works):
    @extend_schema(operation_id="grade_work", request=OwnScores, responses=WorkDetail)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Save the caller's grade of a work as a draft, or submit it. Graders only."""
        work, sent = self.work(request, slug, pk), parse(OwnScores, request.data)
        grading.score(work=work, is_final=sent.pop("final"), **sent, **self.by(request))
        return self.answer(request, work)


class Remarks(Works):
    @extend_schema(operation_id="remark_work", request=NewRemark, responses={201: RemarkLine})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Comment a section of the worklog, a line of it, or a number in it. Graders only."""
        work, sent = self.work(request, slug, pk), parse(NewRemark, request.data)
        return Response(RemarkLine(grading.remark(work=work, **sent, **self.by(request))).data, status=201)


class RemoveRemark(Works):
    @extend_schema(operation_id="remove_remark", request=None, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Remove an own remark before the release. Graders only."""
        found = Remark.objects.filter(work__assignment__course=self.course(request, slug))
        grading.remove_remark(remark=get_object_or_404(found, pk=pk), **self.by(request))
        return Response(status=204)


class Moderate(Works):
    teachers_change = True

    @extend_schema(operation_id="moderate_work", request=NewGrade, responses=WorkDetail)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Settle the grades of two graders by a grade that replaces both. Teachers only."""
        work, sent = self.work(request, slug, pk), parse(NewGrade, request.data)
        grading.moderate(work=work, **sent, **self.by(request))
        return self.answer(request, work)


class AnswerAppeal(Graders):
    @extend_schema(operation_id="answer_grade_appeal", request=AppealAnswer, responses=AppealLine)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Answer an appeal against a grade, and replace the grade where it was wrong. Teachers only."""
        appeals = Appeal.objects.filter(work__assignment__course=self.course(request, slug))
        found = get_object_or_404(appeals.select_related("work__assignment__course__competition"), pk=pk)
        sent = parse(AppealAnswer, request.data)
        return Response(AppealLine(grading.answer(appeal=found, **sent, **self.by(request))).data)


class Rubrics(Graders):
    @extend_schema(operation_id="rubrics", parameters=[Keyed], responses=RubricLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the rubrics of a class, every version. An assignment without a rubric has the site's."""
        found = self.course(request, slug).rubrics.all()
        return paged(request, found, parse(Keyed, request.query_params), RubricLine, ["pk"])

    @extend_schema(operation_id="save_rubric", request=NewRubric, responses={201: RubricLine})
    def post(self, request: Request, slug: str) -> Response:
        """Add a rubric, or change the newest version of this name. A frozen version gets a successor. Teachers only."""
        course, sent = self.course(request, slug), parse(NewRubric, request.data)
        criteria = [criterion(descriptions=one.pop("levels"), **one) for one in sent["criteria"]]
        made = save_rubric(course=course, name=sent["name"], criteria=criteria, **self.by(request))
        return Response(RubricLine(made).data, status=201)


class Own(Private):
    @extend_schema(operation_id="own_grade", responses=OwnGrade)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return the caller's released grade of an assignment, with remarks and appeals. Authors only."""
        return Response(OwnGrade(_own(self.caller(request), course_named(slug), pk)).data)


class MakeAppeal(Private):
    @extend_schema(operation_id="appeal_grade", request=NewAppeal, responses={201: AppealLine})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Object to the released grade of an assignment. Authors only, in the first 14 days."""
        found, sent = _own(self.caller(request), course_named(slug), pk), parse(NewAppeal, request.data)
        return Response(AppealLine(grading.appeal(work=found.work, **sent, **self.by(request))).data, status=201)


def _assignment(course: Course, pk: int) -> Assignment:
    return get_object_or_404(course.assignments.select_related("course__competition"), pk=pk)


def _graded(work: Work) -> Graded:
    """Return a work with its grades as they are now. Raise Http404 before its grading began."""
    return _read(Work.objects.filter(pk=work.pk, assignment__grading_began_at__isnull=False))


def _read(works: QuerySet[Work]) -> Graded:
    """Return the work, of several that which was handed in last. Raise Http404."""
    found = graded(works.select_related("match__board__problem", "match__human"))
    if not found:
        raise Http404
    return max(found, key=lambda one: one.hand_in.pk if one.hand_in else 0)


def _own(user: User, course: Course, pk: int) -> Graded:
    """Return the user's work of an assignment whose grades are released. Raise Http404."""
    works = Work.objects.filter(assignment__course=course, assignment=pk, assignment__released_at__isnull=False)
    return _read(works.filter(match__in=authored_by(logins_of(user))))


URLS: list[URLPattern] = [
    path("classes/<slug:slug>/grades", Grades.as_view()),
    path("classes/<slug:slug>/assignments/<int:pk>/begin-grading", BeginGrading.as_view()),
    path("classes/<slug:slug>/assignments/<int:pk>/release", Release.as_view()),
    path("classes/<slug:slug>/assignments/<int:pk>/grade", Own.as_view()),
    path("classes/<slug:slug>/assignments/<int:pk>/appeal", MakeAppeal.as_view()),
    path("classes/<slug:slug>/works/<int:pk>", OneWork.as_view()),
    path("classes/<slug:slug>/works/<int:pk>/grade", Score.as_view()),
    path("classes/<slug:slug>/works/<int:pk>/moderate", Moderate.as_view()),
    path("classes/<slug:slug>/works/<int:pk>/remarks", Remarks.as_view()),
    path("classes/<slug:slug>/remarks/<int:pk>/remove", RemoveRemark.as_view()),
    path("classes/<slug:slug>/appeals/<int:pk>/answer", AnswerAppeal.as_view()),
    path("classes/<slug:slug>/rubrics", Rubrics.as_view()),
]
