"""Pages of classes: the list, a teacher's page with the grid, rosters, assignments, and a student's page."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Exists, OuterRef, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.classes import assignments, people
from leaderboard.classes.models import Assignment, Course, Extension, Seat
from leaderboard.classes.permissions import courses_taught_by, is_grader, is_teacher, seat_of, seats_of
from leaderboard.classes.progress import STAGES, Cell, Line, curves, grid
from leaderboard.classes.work import start_work
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import boards_seen_by, competitions_of
from leaderboard.errors import UserError
from leaderboard.standings.ranking.overall import Step
from leaderboard.submissions.models import Submission
from leaderboard.web import limits
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.boards.curves import share_at, share_plot
from leaderboard.web.classes.forms import (
    ADVICE,
    TIERS,
    AssignmentForm,
    ClassForm,
    ExtensionForm,
    JoinForm,
    PlantForm,
    RosterForm,
    SeatForm,
    SettingsForm,
    StartForm,
)
from leaderboard.web.forms import ActForm, add_refusal, sentence
from leaderboard.web.middleware import with_wait
from leaderboard.web.organise import gate
from leaderboard.wording.spreadsheet import csv_lines

PS: Final = (0.0, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)  # rows of the table of fast_p
COLUMNS: Final = ("student", "username", "section", "assignment", "level", "stage", "due_at", "handed_in_at")
MORE_COLUMNS: Final = ("late_s", "best_speedup", "model_speedup", "last_activity_at", "stuck", "match")

View = Callable[..., HttpResponseBase]


def course_page(*methods: str, to_change: Callable[[Any, Course], bool] = is_teacher) -> Callable[[View], View]:
    """Decorate a view of one class for its staff, which then takes the class. It does not exist for anybody else.

    Graders read; a form needs the right `to_change`.
    """

    def decorate(view: View) -> View:
        @login_required
        @require_http_methods(list(methods))
        @wraps(view)
        def checked(request: HttpRequest, slug: str, **path: Any) -> HttpResponseBase:
            course = course_named(slug)
            allowed = is_grader if request.method in gate.READING else to_change
            if not allowed(request.user, course):
                raise Http404
            return view(request, course, **path)

        return checked

    return decorate


def course_named(slug: str) -> Course:
    return get_object_or_404(Course.objects.select_related("competition"), competition__slug=slug)


@login_required
@require_http_methods(["GET", "HEAD"])
def index(request: HttpRequest) -> HttpResponse:
    return _index(request, JoinForm())


def _index(request: HttpRequest, form: JoinForm) -> HttpResponse:
    user = user_of(request)
    seats = list(seats_of(user))
    joined = {seat.course_id for seat in seats}
    owned = competitions_of(user, Role.OWNER)
    context = {
        "seats": seats,
        "expected": [line for line in people.lines_for(user) if line.course_id not in joined],
        "taught": courses_taught_by(user),
        "candidates": owned.filter(~Exists(Course.objects.filter(competition=OuterRef("pk")))).order_by("name"),
        "form": form,
    }
    return render(request, "web/classes/index.html", context, status=form.status)


@login_required
@sensitive_post_parameters()
@require_POST
def join(request: HttpRequest) -> HttpResponse:
    """Join a class by an invite code."""
    form = JoinForm(request.POST)
    if form.is_valid():
        try:
            limits.check_code_tries(user_of(request).pk, request)
            seat = people.join_by_code(user=user_of(request), now=timezone.now(), **form.cleaned_data)
        except UserError as error:
            add_refusal(form, error)
            form.refused = error.status
            return with_wait(_index(request, form), error)
        return _welcome(request, seat)
    return _index(request, form)


@login_required
@require_POST
def join_by_roster(request: HttpRequest, slug: str) -> HttpResponse:
    course, user = course_named(slug), user_of(request)
    if (known := seat_of(user, course)) is not None:
        return _welcome(request, known)
    if not people.lines_for(user).filter(course=course).exists():
        raise Http404
    try:
        seat = people.join_by_roster(course=course, user=user, now=timezone.now())
    except UserError as error:
        messages.warning(request, f"Not joined. {sentence(error.message)}")
        return redirect("/classes")
    return _welcome(request, seat)


def _welcome(request: HttpRequest, seat: Seat) -> HttpResponse:
    messages.success(request, f"Welcome to {seat.course}.")
    return redirect(f"/classes/{seat.course.competition.slug}/mine")


@gate.restricted_page("GET", "HEAD", "POST")
def new(request: HttpRequest) -> HttpResponse:
    """Make a class from nothing: staff of the site, who make competitions."""
    level = request.GET.get("level", "")
    boards = boards_seen_by(request.user, listed=True).with_parts().judged()
    shown = boards.filter(version__bundle__level=int(level)) if level in ("1", "2", "3") else boards
    form = ClassForm(boards if request.method == "POST" else shown, gate.posted(request))
    done = "The class is there. Now its students and assignments."
    answer = gate.send(request, form, people.make_class, to="/classes/{result.competition.slug}", done=done)
    context = {"form": form, "level": level, "levels": [(str(key), TIERS[key], ADVICE[key]) for key in TIERS]}
    return answer or render(request, "web/classes/new.html", context, status=form.status)


@login_required
@require_POST
def make(request: HttpRequest) -> HttpResponse:
    """Make a competition of the user a class."""
    owned = competitions_of(user_of(request), Role.OWNER)
    competition: Competition = get_object_or_404(owned, slug=request.POST.get("competition", ""))
    act = partial(people.make_course, competition=competition)
    to, done = f"/classes/{competition.slug}", "It is a class now."
    return gate.press(request, act, to=to, back="/classes", done=done, refused="Not made a class")


def shell(request: HttpRequest, course: Course, template: str, context: dict[str, Any]) -> HttpResponse:
    """Render a page for the staff of a class, with the status of a refused form."""
    slug = course.competition.slug
    frame = {"course": course, "base": f"/classes/{slug}", "may_edit": is_teacher(request.user, course)}
    refused = [value.status for value in context.values() if isinstance(value, ActForm) and value.errors]
    return render(request, f"web/classes/{template}.html", frame | context, status=max(refused, default=200))


@login_required
@require_http_methods(["GET", "HEAD"])
def detail(request: HttpRequest, slug: str) -> HttpResponse:
    """The grid for the staff of a class; a student is led to their own page."""
    course = course_named(slug)
    if not is_grader(request.user, course):
        if seat_of(request.user, course) is None:
            raise Http404
        return redirect(f"/classes/{slug}/mine")
    return _course(request, course)


def _course(request: HttpRequest, course: Course, planting: PlantForm | None = None) -> HttpResponse:
    named = request.GET.get("section", "")
    section = next((one for one in course.sections.all() if str(one.pk) == named), None)
    lines = grid(course, now=timezone.now(), section=section)
    context = {
        "lines": lines,
        "stuck": [line for line in lines if line.stuck],
        "assignments": course.assignments.all(),
        "sections": course.sections.all(),
        "section": section,
        "counts": _counts(lines),
        "curves": _curves(curves(lines)),
        "checks": assignments.start_up(course),
        "expected": course.roster.filter(seat=None).count(),
        "planting": planting or PlantForm(),
    }
    return shell(request, course, "course", context)


def _counts(lines: list[Line]) -> list[tuple[str, int]]:
    """Count the works by stage."""
    stages = [cell.stage for line in lines for cell in line.cells]
    return [(stage, stages.count(stage)) for stage in STAGES]


def _curves(found: dict[str, list[Step]]) -> dict[str, Any] | None:
    """Return the drawing of fast_p, its steps for the slider, and its table."""
    if not found:
        return None
    points = sorted({step.p for steps in found.values() for step in steps})
    return {
        "plot": share_plot(found),
        "names": list(found),
        "steps": [[p, *(round(share_at(steps, p), 4) for steps in found.values())] for p in points],
        "rows": [(f"{p:g}", [(name, share_at(steps, p)) for name, steps in found.items()]) for p in PS],
    }


def rows_of(lines: list[Line]) -> list[dict[str, Any]]:
    """Return the grid as a flat table."""
    return [_row(line, cell) for line in lines for cell in line.cells]


def _row(line: Line, cell: Cell) -> dict[str, Any]:
    human, machine = (cell.report.human.best, cell.report.machine.best) if cell.report else (None, None)
    values = (
        *(line.seat.name, line.seat.account.get_username(), str(line.seat.section or "")),
        *(cell.assignment.title, cell.assignment.tier, cell.stage, cell.due_at, cell.handed_in_at),
        *(int(cell.late_by.total_seconds()) if cell.late_by is not None else None,),
        *(human.speedup if human else None, machine.speedup if machine else None),
        *(cell.last_at, cell.stuck, cell.work.match_id if cell.work else None),
    )
    return dict(zip((*COLUMNS, *MORE_COLUMNS), values, strict=True))


@course_page("GET", "HEAD")
def grid_file(request: HttpRequest, course: Course, kind: str) -> HttpResponse:
    """The grid as CSV or JSON."""
    if kind not in ("csv", "json"):
        raise Http404
    rows = rows_of(grid(course, now=timezone.now()))
    headers = {"Content-Disposition": f'attachment; filename="{course.competition.slug}-grid.{kind}"'}
    if kind == "json":
        return JsonResponse({"class": course.competition.slug, "rows": rows}, headers=headers)
    text = csv_lines([(*COLUMNS, *MORE_COLUMNS), *(list(row.values()) for row in rows)])
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


@course_page("GET", "HEAD", "POST")
def settings(request: HttpRequest, course: Course) -> HttpResponse:
    """The settings of a class, and its sections."""
    form = SettingsForm(gate.posted(request), initial={"stuck_days": course.stuck_days})
    answer = gate.send(request, form, partial(people.set_stuck_days, course=course), done="Changed.")
    present = Count("seats", filter=Q(seats__left_at=None))
    context = {"form": form, "sections": course.sections.annotate(students=present).order_by("name", "pk")}
    return answer or shell(request, course, "settings", context)


@course_page("POST")
def remove_section(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    act = partial(people.remove_section, section=get_object_or_404(course.sections, pk=pk))
    done = "The section is removed. Its students stay in the class."
    return gate.press(request, act, to=f"/classes/{course.competition.slug}/settings", done=done)


@course_page("GET", "HEAD", "POST")
def roster(request: HttpRequest, course: Course) -> HttpResponse:
    form = RosterForm(gate.posted(request), request.FILES or None)
    act = partial(people.import_roster, course=course)
    done = "Roster: {result.added} added, {result.changed} changed, {result.unchanged} as before."
    answer = gate.send(request, form, act, done=done, names={"roster": "text"})
    seats = course.seats.filter(left_at=None).select_related("account", "section").order_by("name", "pk")
    lines = course.roster.filter(seat=None).select_related("section")
    context = {"form": form, "seats": seats, "lines": lines, "sections": course.sections.all()}
    return answer or shell(request, course, "roster", context)


@course_page("POST")
def remove_line(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    act = partial(people.remove_line, line=get_object_or_404(course.roster, pk=pk))
    return gate.press(request, act, to=f"/classes/{course.competition.slug}/roster", done="Taken off the roster.")


@course_page("POST")
def end_seat(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    act = partial(people.end_seat, seat=get_object_or_404(course.seats, pk=pk))
    done = "The seat has ended. The student's work stays."
    return gate.press(request, act, to=f"/classes/{course.competition.slug}/roster", done=done)


@course_page("GET", "HEAD", "POST")
def seat(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    """A student: all of their work, and the form of name and section."""
    found = get_object_or_404(course.seats.select_related("account", "section"), pk=pk)
    initial = {"name": found.name, "section": found.section or ""}
    form = SeatForm(gate.posted(request), initial=initial)
    to = f"/classes/{course.competition.slug}/roster"
    answer = gate.send(request, form, partial(people.change_seat, seat=found), to=to, done="Changed.")
    [line] = grid(course, now=timezone.now(), seats=[found])
    return answer or shell(request, course, "seat", {"form": form, "line": line, "seat": found})


@course_page("GET", "HEAD", "POST")
def new_assignment(request: HttpRequest, course: Course) -> HttpResponse:
    form = AssignmentForm(course, gate.posted(request))
    act, to = partial(assignments.add_assignment, course=course), f"/classes/{course.competition.slug}"
    answer = gate.send(request, form, act, to=to, done="Assigned: {result}.")
    return answer or shell(request, course, "assignment", {"form": form, "advice": _advice()})


@course_page("GET", "HEAD", "POST")
def assignment(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    found = get_object_or_404(course.assignments, pk=pk)
    form = AssignmentForm(course, gate.posted(request), found)
    answer = gate.send(request, form, partial(assignments.edit_assignment, assignment=found), done="Changed.")
    return answer or _assignment(request, course, found, form, ExtensionForm(course))


def _assignment(
    request: HttpRequest, course: Course, found: Assignment, form: AssignmentForm, extending: ExtensionForm
) -> HttpResponse:
    extensions = found.extensions.select_related("seat__account", "by").order_by("until")
    context = {"form": form, "assignment": found, "extending": extending, "extensions": extensions}
    return shell(request, course, "assignment", context | {"advice": _advice()})


def _advice() -> list[tuple[str, str]]:
    return [(TIERS[tier], ADVICE[tier]) for tier in TIERS]


@course_page("POST")
def extend(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    found = get_object_or_404(course.assignments.select_related("course__competition"), pk=pk)
    extending, to = ExtensionForm(course, request.POST), f"/classes/{course.competition.slug}/assignments/{pk}"
    act = partial(assignments.extend, assignment=found)
    answer = gate.send(request, extending, act, to=to, done="Extended.")
    return answer or _assignment(request, course, found, AssignmentForm(course, assignment=found), extending)


@course_page("POST")
def withdraw_extension(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    extension = get_object_or_404(Extension.objects.filter(assignment__course=course), pk=pk)
    act = partial(assignments.withdraw_extension, extension=extension)
    to = f"/classes/{course.competition.slug}/assignments/{extension.assignment_id}"
    return gate.press(request, act, to=to, done="The extension is withdrawn.")


@course_page("POST")
def plant(request: HttpRequest, course: Course) -> HttpResponse:
    form = PlantForm(request.POST)

    def planted(*, submission: int, must_fail: bool, **by: Any) -> Any:
        found = Submission.objects.filter(pk=submission, board__competition=course.competition_id).first()
        if found is None:
            raise UserError("submission", submission, "is on no board of this class", status=404)
        return assignments.plant(course=course, submission=found, must_fail=must_fail, **by)

    answer = gate.send(request, form, planted, to=f"/classes/{course.competition.slug}#start-up", done="Planted.")
    return answer or _course(request, course, form)


@course_page("POST")
def unplant(request: HttpRequest, course: Course, pk: int) -> HttpResponse:
    act = partial(assignments.unplant, planted=get_object_or_404(course.planted, pk=pk))
    return gate.press(request, act, to=f"/classes/{course.competition.slug}#start-up", done="Removed.")


@login_required
@require_http_methods(["GET", "HEAD"])
def mine(request: HttpRequest, slug: str) -> HttpResponse:
    """A student's page: assignments with due times, the own match, and the next step."""
    course, own = _own_seat(request, slug)
    now = timezone.now()
    [line] = grid(course, now=now, seats=[own])
    extensions = {one.assignment_id: one for one in own.extensions.all()}
    cells = [
        {"cell": cell, "next": next_step(cell), "extension": extensions.get(cell.assignment.pk)} for cell in line.cells
    ]
    context = {"course": course, "seat": own, "cells": cells, "now": now, "tiers": TIERS}
    return render(request, "web/classes/mine.html", context)


def _own_seat(request: HttpRequest, slug: str) -> tuple[Course, Seat]:
    """Return the class and the student's seat in it. Raise Http404 for everybody else."""
    course = course_named(slug)
    own = seat_of(request.user, course)
    if own is None:
        raise Http404
    return course, own


def next_step(cell: Cell) -> str:
    """Return the next thing that a student does for an assignment."""
    if cell.assignment.released_at is not None:
        return "Read your grade." if cell.work else "Nothing: its grades are released."
    if cell.assignment.grading_began_at is not None:
        return "Wait for the grades; grading has begun, and no hand-in is taken any more."
    if cell.report is None:
        return "Choose a problem and start."
    if cell.handed_in_at is not None:
        return "Handed in. You may hand in again until grading begins; the last one counts."
    if cell.report.prediction is None:
        return "Commit your prediction, before the first version."
    if not cell.report.human.versions:
        return "Send your first version."
    if cell.stage in ("none", "compiled"):
        return "Get a version through the gate “correct”."
    if not cell.report.machine.versions:
        return "Have the model play the same reference."
    return "Complete the worklog and hand it in."


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Start the work of an assignment: choose a problem and a model."""
    course, _ = _own_seat(request, slug)
    found = get_object_or_404(course.assignments.select_related("course__competition"), pk=pk)
    form = StartForm(found, gate.posted(request))

    def started(*, actor: Any, **sent: Any) -> Any:
        return start_work(assignment=found, user=actor, **sent)

    answer = gate.send(request, form, started, to="/matches/{result.match_id}", done="Started. Predict first.")
    context = {"course": course, "assignment": found, "form": form, "advice": ADVICE[found.tier]}
    return answer or render(request, "web/classes/start.html", context, status=form.status)
