"""Pages of grading: works by state, a work with its rubric, moderation, rubrics, files, a student's grade."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from leaderboard.accounts.models import User
from leaderboard.classes import grading
from leaderboard.classes.checks import checks_of
from leaderboard.classes.grading import Graded, graded
from leaderboard.classes.models import Appeal, Assignment, Course, Grade, Remark, Rubric, Seat, Work
from leaderboard.classes.permissions import is_grader, is_teacher
from leaderboard.classes.progress import Cell, grid
from leaderboard.classes.rubrics import default_criteria, percent_of, save_rubric
from leaderboard.matches.permissions import is_author, takes_part
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.classes.grading_forms import (
    AnswerForm,
    AppealForm,
    CriterionForms,
    RemarkForm,
    RubricForm,
    ScoreForm,
    criteria_of,
    rows_of,
)
from leaderboard.web.classes.pages import course_named, course_page, shell
from leaderboard.web.matches.worklog_pages import Part, parts_of
from leaderboard.web.organise import gate
from leaderboard.wording.spreadsheet import csv_lines, plain

COLUMNS: Final = (
    *("student", "username", "section", "assignment", "state"),
    *("handed_in_at", "late_s", "points", "match", "work"),
)
PREFIX: Final = "level_of_"  # of the column of a criterion


@dataclass(frozen=True)
class Row:
    """A work, or a student without work, in the list of an assignment. A group has several seats."""

    seats: tuple[Seat, ...]
    cell: Cell | None  # None: the seats have ended
    graded: Graded | None  # None: not begun

    @property
    def name(self) -> str:
        names = [seat.name or seat.account.get_username() for seat in self.seats]
        return ", ".join(names) or (self.graded.work.entrant.shown_name if self.graded else "")

    @property
    def state(self) -> str:
        return self.graded.state if self.graded else grading.NOT_HANDED_IN

    @property
    def graders(self) -> list[Grade]:
        return self.graded.submitted if self.graded else []


def rows_by_assignment(course: Course) -> list[tuple[Assignment, list[Row]]]:
    """Return the works of each assignment with their states, in a fixed number of queries."""
    works = {one.work.pk: one for one in graded(Work.objects.filter(assignment__course=course))}
    seats: dict[tuple[int, int], list[Seat]] = defaultdict(list)  # by assignment and work, or minus the seat
    cells: dict[tuple[int, int], Cell] = {}
    for line in grid(course, now=timezone.now()):
        for cell in line.cells:
            place = (cell.assignment.pk, cell.work.pk if cell.work and cell.is_author else -line.seat.pk)
            seats[place].append(line.seat)
            cells[place] = cell
    for one in works.values():
        seats.setdefault((one.work.assignment_id, one.work.pk), [])
    rows: dict[int, list[Row]] = defaultdict(list)
    for place, found in seats.items():
        rows[place[0]].append(Row(tuple(found), cells.get(place), works.get(place[1])))
    return [(assignment, rows[assignment.pk]) for assignment in course.assignments.select_related("rubric")]


@course_page("GET", "HEAD")
def index(request: HttpRequest, course: Course) -> HttpResponse:
    user = user_of(request)
    found = rows_by_assignment(course)
    appeals = Appeal.objects.filter(work__assignment__course=course, answered_at=None).select_related(
        "work__assignment", "work__entrant"
    )
    tables = [
        {
            "assignment": assignment,
            "rows": [(row, row.graded.grade_of(user) if row.graded else None) for row in rows],
            "waiting": sum(row.state in (grading.TO_GRADE, grading.TO_MODERATE) for row in rows),
        }
        for assignment, rows in found
    ]
    return shell(request, course, "grading", {"tables": tables, "appeals": appeals})


@course_page("POST")
def begin(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    act = partial(grading.begin, assignment=_assignment(course, pk))
    done = "Grading has begun: the last hand-in of each work counts."
    return gate.press(request, act, to=_base(course), done=done, refused="Not begun")


@course_page("POST")
def release(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    act = partial(grading.release, assignment=_assignment(course, pk))
    return gate.press(request, act, to=_base(course), done="All grades are released.", refused="Not released")


def _assignment(course: Course, pk: int) -> Assignment:
    return get_object_or_404(course.assignments.select_related("course__competition"), pk=pk)


def _base(course: Course) -> str:
    return f"/classes/{course.competition.slug}/grading"


def _graded(course: Course, pk: int) -> Graded:
    """Return a work of the class whose grading has begun. Raise Http404."""
    works = Work.objects.filter(assignment__course=course, assignment__grading_began_at__isnull=False, pk=pk)
    found = graded(works.select_related("match__board__problem", "match__human"))
    if not found:
        raise Http404
    return found[0]


@course_page("GET", "HEAD", "POST", to_change=is_grader)
def work(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    """A handed-in worklog beside the rubric: a grader's own grade, and remarks."""
    found, user = _graded(course, pk), user_of(request)
    own = found.grade_of(user)
    known = {"scores": own.scores, "text": own.text} if own else {}
    form = ScoreForm(found.rubric, gate.posted(request), **known)
    is_final = request.POST.get("save", "") != "draft"
    act = partial(grading.score, work=found.work, is_final=is_final)
    answer = gate.send(request, form, act, done="Submitted." if is_final else "The draft is saved.")
    return answer or _work_page(request, course, found, form)


def _work_page(
    request: HttpRequest,
    course: Course,
    found: Graded,
    form: ScoreForm | None,
    *,
    remarking: RemarkForm | None = None,
    moderating: ScoreForm | None = None,
    answering: AnswerForm | None = None,
) -> HttpResponse:
    user = user_of(request)
    teaches, all_shown = is_teacher(user, course), found.shows_grades_to(user)
    is_own = takes_part(user, found.work.match)
    is_open = found.work.assignment.released_at is None and not is_own
    waiting = found.work.appeals.filter(answered_at=None).first()
    can_moderate = teaches and is_open and len(found.submitted) > 1
    answers = teaches and waiting and not is_own
    place = {name: request.GET.get(name, "") for name in ("section", "line", "number")}
    own = None if all_shown else user
    context = {
        "found": found,
        "work": found.work,
        "name": " and ".join(grading.authors(found.work)),
        "form": form if is_open and found.hand_in and not found.moderated else None,
        "own": found.grade_of(user),
        "others": grades_shown([one for one in found.grades if all_shown and one.submitted_at], found.rubric),
        "remarking": (remarking or RemarkForm(initial=place)) if is_open and found.hand_in else None,
        "moderating": (moderating or ScoreForm(found.rubric, scores=_agreed(found))) if can_moderate else None,
        "appeals": found.work.appeals.select_related("author", "answered_by"),
        "answering": (answering or AnswerForm(found.rubric, scores=_agreed(found))) if answers else None,
        "waiting": waiting,
        "checks": checks_of(found.hand_in.document) if found.hand_in else [],
        **worklog_context(found, own),
    }
    return shell(request, course, "grading_work", context)


def _agreed(found: Graded) -> dict[str, int]:
    """Return the scores in force on which the graders agree, as the beginning of a moderation or an answer."""
    counted = [found.moderated.scores] if found.moderated else [one.scores for one in found.submitted]
    first = counted[0] if counted else {}  # an appeal against “not handed in” has no grades
    return {key: value for key, value in first.items() if all(one.get(key) == value for one in counted)}


def grades_shown(grades: Iterable[Grade], rubric: Rubric) -> list[dict[str, Any]]:
    return [
        {
            "grade": one,
            "points": percent_of(rubric, one.scores),
            "lines": [
                (part["name"], part["weight"], part["levels"][one.scores[part["key"]]]) for part in rubric.criteria
            ],
        }
        for one in grades
    ]


def worklog_context(found: Graded, only: User | None) -> dict[str, Any]:
    """Return the sections of the hand-in with their numbered lines and remarks. `only`: the remarks of this grader."""
    if found.hand_in is None:
        return {"sections": []}
    document = found.hand_in.document
    remarks = found.work.remarks.select_related("grader").order_by("section", "line", "pk")
    if only is not None:
        remarks = remarks.filter(grader=only.account)
    by_section: dict[str, list[Remark]] = defaultdict(list)
    for one in remarks:
        by_section[one.section].append(one)
    sections: list[tuple[Part, list[tuple[int, str]], list[Remark]]] = [
        (part, list(enumerate(document["texts"][part.name].split("\n"), 1)), by_section[part.name])
        for part in parts_of(document, {})
    ]
    return {"sections": sections}


@course_page("POST", to_change=is_grader)
def remark(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    found = _graded(course, pk)
    remarking = RemarkForm(request.POST)
    to = f"{_base(course)}/works/{pk}#{request.POST.get('section', '')}"
    act = partial(grading.remark, work=found.work)
    answer = gate.send(request, remarking, act, to=to.replace("{", "").replace("}", ""), done="Remarked.")
    own = found.grade_of(user_of(request))
    form = ScoreForm(found.rubric, **({"scores": own.scores, "text": own.text} if own else {}))
    return answer or _work_page(request, course, found, form, remarking=remarking)


@course_page("POST", to_change=is_grader)
def remove_remark(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    found = get_object_or_404(Remark.objects.filter(work__assignment__course=course), pk=pk)
    to = f"{_base(course)}/works/{found.work_id}#{found.section}"
    return gate.press(request, partial(grading.remove_remark, remark=found), to=to, done="Removed.")


@course_page("POST")
def moderate(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    found = _graded(course, pk)
    form = ScoreForm(found.rubric, request.POST)
    to = f"{_base(course)}/works/{pk}"
    answer = gate.send(request, form, partial(grading.moderate, work=found.work), to=to, done="Moderated.")
    return answer or _work_page(request, course, found, None, moderating=form)


@course_page("POST")
def answer(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    """Answer an appeal."""
    waiting = get_object_or_404(Appeal.objects.filter(work__assignment__course=course), pk=pk)
    found = _graded(course, waiting.work_id)
    form = AnswerForm(found.rubric, request.POST, scores=_agreed(found))
    to = f"{_base(course)}/works/{waiting.work_id}"
    sent = gate.send(request, form, partial(grading.answer, appeal=waiting), to=to, done="Answered.")
    return sent or _work_page(request, course, found, None, answering=form)


@course_page("GET", "HEAD")
def rubrics(request: HttpRequest, course: Course) -> HttpResponse:
    return shell(request, course, "rubrics", {"rubrics": course.rubrics.all(), "default": default_criteria()})


@course_page("GET", "HEAD", "POST")
def new_rubric(request: HttpRequest, course: Course) -> HttpResponse:
    """Write a rubric, beginning from the default."""
    return _rubric_page(request, course, None)


@course_page("GET", "HEAD", "POST")
def rubric(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    """A version of a rubric. A change of a frozen version makes the next."""
    return _rubric_page(request, course, get_object_or_404(course.rubrics, pk=pk))


def _rubric_page(request: HttpRequest, course: Course, known: Rubric | None) -> HttpResponse:
    form = RubricForm(gate.posted(request), initial={"name": known.name if known else ""})
    initial = rows_of(known.criteria if known else default_criteria())
    parts = CriterionForms(gate.posted(request), initial=initial)

    def saved(**told: Any) -> Rubric:
        return save_rubric(course=course, criteria=criteria_of(parts.cleaned_data), **told)

    if request.method == "POST" and parts.is_valid():
        names = dict.fromkeys(("criteria", "weight"), "__all__")
        sent = gate.send(request, form, saved, to=f"{_base(course)}/rubrics", done="Saved: {result}.", names=names)
        if sent is not None:
            return sent
    elif request.method == "POST":
        form.add_error(None, "A criterion is wrong; see below.")
    return shell(request, course, "rubric", {"form": form, "parts": parts, "rubric": known})


def grade_rows(course: Course, assignment: Assignment | None = None) -> list[dict[str, Any]]:
    """Return the grades as a flat table with a row for each student; with the levels if it is of an assignment."""
    keys = [one["key"] for one in assignment.rubric.criteria] if assignment and assignment.rubric else []
    return [
        _row(found, row, seat, keys)
        for found, rows in rows_by_assignment(course)
        if assignment is None or found.pk == assignment.pk
        for row in rows
        for seat in row.seats
    ]


def _row(assignment: Assignment, row: Row, seat: Seat, keys: list[str]) -> dict[str, Any]:
    late = row.cell.late_by if row.cell else None
    points = row.graded.points if row.graded and assignment.grading_began_at else None
    counted = [row.graded.moderated] if row.graded and row.graded.moderated else row.graders
    levels = [
        sum(one.scores[key] for one in counted if one) / len(counted) if points is not None and counted else None
        for key in keys
    ]
    values = (
        *(seat.name, seat.account.get_username(), str(seat.section or ""), assignment.title, row.state),
        *(row.cell.handed_in_at if row.cell else None, int(late.total_seconds()) if late is not None else None),
        *(points, *((row.graded.work.match_id, row.graded.work.pk) if row.graded else (None, None)), *levels),
    )
    names = (*COLUMNS, *(PREFIX + key for key in keys))
    return {name: plain(value) for name, value in zip(names, values, strict=True)}


@course_page("GET", "HEAD")
def grades_file(request: HttpRequest, course: Course, pk: int, kind: str) -> HttpResponse:
    """The grades of an assignment as CSV or JSON."""
    if kind not in ("csv", "json"):
        raise Http404
    assignment = get_object_or_404(course.assignments.select_related("rubric"), pk=pk)
    rows = grade_rows(course, assignment)
    headers = {"Content-Disposition": f'attachment; filename="{course.competition.slug}-grades-{pk}.{kind}"'}
    if kind == "json":
        return JsonResponse({"class": course.competition.slug, "assignment": pk, "rows": rows}, headers=headers)
    columns = list(rows[0]) if rows else list(COLUMNS)
    text = csv_lines([columns, *(list(row.values()) for row in rows)])
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def own(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A student's released grade, with remarks and appeals. It exists for the authors of the work alone."""
    course, user = course_named(slug), user_of(request)
    works = Work.objects.filter(assignment__course=course, assignment__released_at__isnull=False, pk=pk)
    found = next(iter(graded(works.select_related("match__board__problem", "match__human"))), None)
    if found is None or not is_author(user, found.work.match):
        raise Http404
    form = AppealForm(gate.posted(request))
    answer = gate.send(request, form, partial(grading.appeal, work=found.work), done="Your appeal is sent.")
    released_at = found.work.assignment.released_at
    assert released_at is not None  # by the filter
    appeals = list(found.work.appeals.select_related("author", "answered_by"))
    until = released_at + grading.APPEAL_WITHIN
    may_appeal = timezone.now() < until and all(one.answered_at for one in appeals)
    counted = [found.moderated] if found.moderated else found.submitted
    context = {
        "course": course,
        "found": found,
        "work": found.work,
        "grades": grades_shown([one for one in counted if one], found.rubric),
        "appeals": appeals,
        "until": until,
        "form": form if may_appeal and len(appeals) < grading.MOST_APPEALS else None,
        **worklog_context(found, None),
    }
    return answer or render(request, "web/classes/grade.html", context, status=form.status)
