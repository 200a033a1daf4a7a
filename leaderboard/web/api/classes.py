"""Classes over /api/v1: roster, sections, assignments, extensions, grid, start-up check, and the work of a student."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.models import Count, Q
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.classes import assignments, people
from leaderboard.classes.models import (
    MOST_BOARDS,
    MOST_IN_A_GROUP,
    MOST_STUCK_DAYS,
    NAME_CHARS,
    REASON_CHARS,
    TIERS,
    Assignment,
    Course,
    Extension,
    RosterLine,
    Seat,
)
from leaderboard.classes.people import MOST_ROSTER_BYTES, SECTION_CHARS
from leaderboard.classes.permissions import check_teacher, courses_taught_by, is_grader, is_teacher, seat_of, seats_of
from leaderboard.classes.progress import STAGES, grid, students
from leaderboard.classes.work import start_work
from leaderboard.competitions.models import Board, Role
from leaderboard.competitions.permissions import competitions_of
from leaderboard.errors import UserError
from leaderboard.matches.models import MACHINES
from leaderboard.submissions.models import Submission
from leaderboard.web.api.access import CODE_CHARS
from leaderboard.web.api.base import AS_TABLE, SCOPE, Private, ShortList, cut, links, paged, parse
from leaderboard.web.api.matches import MatchDetail, shown
from leaderboard.web.api.organised_boards import BoardName
from leaderboard.web.api.serializers import Keyed, LongPage, optional_text
from leaderboard.web.classes.pages import course_named, rows_of
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.limits import check_code_tries
from leaderboard.web.paging import page_of_list

UNTIL: Final = "A hand-in at this time or later is late."


class NewClass(drf.Serializer[Any]):
    competition = drf.CharField(max_length=64, help_text="Name of a competition that the caller owns.")
    stuck_days = drf.IntegerField(default=3, min_value=1, max_value=MOST_STUCK_DAYS)


class ClassSettings(drf.Serializer[Any]):
    stuck_days = drf.IntegerField(
        min_value=1, max_value=MOST_STUCK_DAYS, help_text="Days without progress after which a student counts as stuck."
    )


class JoinRequest(drf.Serializer[Any]):
    code = drf.CharField(max_length=CODE_CHARS, help_text="An invite code of the class's competition.")


class NewRoster(drf.Serializer[Any]):
    text = drf.CharField(
        max_length=MOST_ROSTER_BYTES,
        trim_whitespace=False,
        help_text="CSV with a line for each student: username or e-mail, name, section.",
    )


class RosterLogin(drf.Serializer[Any]):
    login = drf.CharField(max_length=254)


class SeatSettings(drf.Serializer[Any]):
    name = drf.CharField(max_length=NAME_CHARS, required=False, allow_blank=True)
    section = drf.CharField(max_length=SECTION_CHARS, required=False, allow_blank=True, help_text="Empty: none.")


class SectionName(drf.Serializer[Any]):
    name = drf.CharField(max_length=SECTION_CHARS)


class NewAssignment(drf.Serializer[Any]):
    title = drf.CharField(max_length=assignments.TITLE_CHARS)
    tier = drf.ChoiceField(choices=TIERS, help_text="Level: 1 one operator, 2 a fusion, 3 a block.")
    boards = ShortList(child=BoardName(), min_length=1, max_length=MOST_BOARDS, help_text="A student chooses one.")
    due_at = drf.DateTimeField(help_text=UNTIL)
    group_size = drf.IntegerField(
        required=False, min_value=1, max_value=MOST_IN_A_GROUP, help_text="1: everybody alone; more at level 3 only."
    )
    rubric = drf.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MAX_KEY, help_text="Of this class; null: the site's."
    )
    graders_each = drf.IntegerField(required=False, min_value=1, max_value=2, help_text="Graders of each work.")
    moderate_from = drf.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=100,
        help_text="Points between graders; null: never.",
    )


class AssignmentSettings(NewAssignment):
    """Any of the settings; the others stay."""

    title = drf.CharField(max_length=assignments.TITLE_CHARS, required=False)
    tier = drf.ChoiceField(choices=TIERS, required=False)
    boards = ShortList(child=BoardName(), min_length=1, max_length=MOST_BOARDS, required=False)
    due_at = drf.DateTimeField(required=False, help_text=UNTIL)


class NewExtension(drf.Serializer[Any]):
    student = drf.CharField(max_length=150, help_text="Username.")
    until = drf.DateTimeField(help_text=UNTIL)
    reason = drf.CharField(max_length=REASON_CHARS, help_text="The student reads it, too.")


class NewWork(BoardName):
    model = drf.CharField(max_length=128, help_text="Name of the model that the student plays against.")
    machine = drf.ChoiceField(choices=MACHINES, default="prompts", help_text="How the machine plays.")


class NewPlanted(drf.Serializer[Any]):
    submission = drf.IntegerField(min_value=1, max_value=MAX_KEY)
    must_fail = drf.BooleanField(help_text="True: its outputs are wrong. False: it is right.")


class StudentsQuery(Keyed):
    limit = drf.IntegerField(default=200, min_value=1, max_value=200, help_text="Students; at most 200.")


class GridQuery(StudentsQuery):
    section = optional_text(SECTION_CHARS, "Only students of this section.")


class ClassSummary(drf.Serializer[Any]):
    slug = drf.CharField(source="competition.slug")
    name = drf.CharField(source="competition.name")
    role = drf.SerializerMethodField(help_text="Of the caller: teacher, grader or student.")
    url = drf.SerializerMethodField()

    def get_role(self, course: Course) -> str:
        viewer = self.context["viewer"]
        return "teacher" if is_teacher(viewer, course) else "grader" if is_grader(viewer, course) else "student"

    def get_url(self, course: Course) -> str:
        return f"/classes/{course.competition.slug}"


class AssignmentLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    title = drf.CharField()
    tier = drf.IntegerField(help_text="Level.")
    boards = drf.SerializerMethodField()
    due_at = drf.DateTimeField(help_text="Without extensions.")
    group_size = drf.IntegerField()
    rubric = drf.IntegerField(source="rubric_id", allow_null=True, help_text="Null: the site's.")
    graders_each = drf.IntegerField()
    moderate_from = drf.IntegerField(allow_null=True)
    grading_began_at = drf.DateTimeField(allow_null=True)
    released_at = drf.DateTimeField(allow_null=True, help_text="Time at which the grades were released.")

    @extend_schema_field(BoardName(many=True))
    def get_boards(self, assignment: Assignment) -> list[dict[str, str]]:
        return [{"board": board.slug, "hardware": board.hardware} for board in assignment.boards.all()]


class SectionLine(drf.Serializer[Any]):
    name = drf.CharField()
    students = drf.IntegerField()
    expected = drf.IntegerField(help_text="Roster lines that nobody has joined by.")


class ClassDetail(ClassSummary):
    stuck_days = drf.IntegerField()
    assignments = AssignmentLine(many=True, source="assignments.all")


class RosterRow(drf.Serializer[Any]):
    """A student, or a person who is expected: then without a seat."""

    login = drf.CharField(help_text="As on the roster; of a student who joined by a code: the username.")
    username = drf.CharField(allow_blank=True)
    name = drf.CharField(allow_blank=True)
    section = drf.CharField(allow_blank=True)
    seat = drf.IntegerField(allow_null=True)
    joined_at = drf.DateTimeField(allow_null=True)


class RosterImported(drf.Serializer[Any]):
    added = drf.IntegerField()
    changed = drf.IntegerField()
    unchanged = drf.IntegerField()


class ExtensionLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    assignment = drf.IntegerField(source="assignment_id")
    student = drf.CharField(source="seat.account.username")
    until = drf.DateTimeField()
    reason = drf.CharField(allow_blank=True)
    created_at = drf.DateTimeField()


class GridRow(drf.Serializer[Any]):
    """A student and an assignment, with the stage of the work by hand."""

    student = drf.CharField(allow_blank=True)
    username = drf.CharField()
    section = drf.CharField(allow_blank=True)
    assignment = drf.CharField()
    level = drf.IntegerField()
    stage = drf.ChoiceField(choices=STAGES)
    due_at = drf.DateTimeField(help_text="With extensions.")
    handed_in_at = drf.DateTimeField(allow_null=True)
    late_s = drf.IntegerField(allow_null=True, help_text="Seconds after the due time; null: in time.")
    best_speedup = drf.FloatField(allow_null=True)
    model_speedup = drf.FloatField(allow_null=True)
    last_activity_at = drf.DateTimeField(allow_null=True)
    stuck = drf.CharField(allow_blank=True, help_text="The reason; empty: not stuck.")
    match = drf.IntegerField(allow_null=True)


class PlantedLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="planted.pk")
    submission = drf.IntegerField(source="planted.submission_id")
    must_fail = drf.BooleanField(source="planted.must_fail")
    outcome = drf.CharField(source="status.outcome", allow_blank=True)
    right = drf.BooleanField(source="is_right", allow_null=True, help_text="Null: not judged yet.")


class BoardCheckLine(drf.Serializer[Any]):
    """The start-up check of a board: ready once a wrong kernel failed and a right kernel passed."""

    board = drf.CharField(source="board.slug")
    hardware = drf.CharField(source="board.hardware")
    ready = drf.SerializerMethodField()
    missing = drf.CharField(allow_blank=True, help_text="The next thing to do; empty: the board is ready.")
    planted = PlantedLine(many=True, source="checks")

    def get_ready(self, found: assignments.BoardCheck) -> bool:
        return not found.missing


class Graders(Private):
    """Base of the views of a class's staff: graders read, teachers change. A class does not exist for others."""

    scope = SCOPE
    teachers_change = True  # False: graders change, too

    def course(self, request: Request, slug: str) -> Course:
        course = course_named(slug)
        if not is_grader(self.caller(request), course):
            raise Http404
        if self.teachers_change and request.method not in SAFE_METHODS:
            check_teacher(self.caller(request), course, "change a class")
        return course


class Classes(Private):
    @extend_schema(operation_id="classes", parameters=[Keyed], responses=ClassSummary(many=True))
    def get(self, request: Request) -> Response:
        """List the classes that the caller teaches, grades or attends, newest first."""
        caller, query = self.caller(request), parse(Keyed, request.query_params)
        taught, attended = courses_taught_by(caller).values("pk"), seats_of(caller).values("course")
        found = Course.objects.filter(Q(pk__in=taught) | Q(pk__in=attended)).select_related("competition")
        return paged(request, found, query, ClassSummary, ["-pk"], viewer=caller)


class MakeClass(Private):
    scope = SCOPE

    @extend_schema(operation_id="make_class", request=NewClass, responses={201: ClassDetail})
    def post(self, request: Request) -> Response:
        """Make a competition a class. Its owners teach, its reviewers grade. Owners only."""
        sent = parse(NewClass, request.data)
        slug = sent["competition"]
        owned = competitions_of(self.caller(request), Role.OWNER)
        competition = owned.filter(slug=slug.replace("\0", "?")).first()
        if competition is None:
            raise UserError("competition", slug, "is no competition that you own; `GET /organise` lists yours")
        course = people.make_course(competition=competition, stuck_days=sent["stuck_days"], **self.by(request))
        return Response(_detail(request, course), status=201)


class OneClass(Private):
    @extend_schema(operation_id="class_detail", responses=ClassDetail)
    def get(self, request: Request, slug: str) -> Response:
        """Return a class with its assignments, to its staff and students."""
        course, caller = course_named(slug), self.caller(request)
        if not is_grader(caller, course) and seat_of(caller, course) is None:
            raise Http404
        return Response(_detail(request, course))


class Settings(Graders):
    @extend_schema(operation_id="edit_class", request=ClassSettings, responses=ClassDetail)
    def post(self, request: Request, slug: str) -> Response:
        """Change the settings of a class. Teachers only."""
        course, sent = self.course(request, slug), parse(ClassSettings, request.data)
        people.set_stuck_days(course=course, **sent, **self.by(request))
        return Response(_detail(request, course))


class Join(Private):
    @extend_schema(operation_id="join_class", request=JoinRequest, responses={201: ClassDetail})
    def post(self, request: Request) -> Response:
        """Join the class of an invite code."""
        caller, sent = self.caller(request), parse(JoinRequest, request.data)
        check_code_tries(caller.pk, request)
        seat = people.join_by_code(code=sent["code"], user=caller, now=timezone.now())
        return Response(_detail(request, seat.course), status=201)


class JoinByRoster(Private):
    @extend_schema(operation_id="join_class_by_roster", request=None, responses={201: ClassDetail})
    def post(self, request: Request, slug: str) -> Response:
        """Join a class whose roster has the caller's username or confirmed address."""
        course, caller = course_named(slug), self.caller(request)
        if seat_of(caller, course) is None:
            if not people.lines_for(caller).filter(course=course).exists():
                raise Http404
            people.join_by_roster(course=course, user=caller, now=timezone.now())
        return Response(_detail(request, course), status=201)


class Roster(Graders):
    renderer_classes = AS_TABLE

    @extend_schema(operation_id="class_roster", parameters=[LongPage], responses=RosterRow(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List students and expected people, by name."""
        rows = roster_of(self.course(request, slug))
        return cut(
            request, rows, parse(LongPage, request.query_params), RosterRow, lambda row: (row["seat"], row["login"])
        )

    @extend_schema(operation_id="import_roster", request=NewRoster, responses=RosterImported)
    def post(self, request: Request, slug: str) -> Response:
        """Add students from CSV, or change their names and sections: all lines, or none. Teachers only."""
        course, sent = self.course(request, slug), parse(NewRoster, request.data)
        return Response(RosterImported(people.import_roster(course=course, **sent, **self.by(request))).data)


class RemoveLine(Graders):
    @extend_schema(operation_id="remove_roster_line", request=RosterLogin, responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        """Take a person off the roster who has not joined. Teachers only."""
        course, login = self.course(request, slug), parse(RosterLogin, request.data)["login"]
        line = (
            course.roster.filter(login=login.lower().replace("\0", "?")).select_related("course__competition").first()
        )
        if line is None:
            raise UserError("login", login, "is not on the roster", status=404)
        people.remove_line(line=line, **self.by(request))
        return Response(status=204)


class ChangeSeat(Graders):
    @extend_schema(operation_id="change_seat", request=SeatSettings, responses=RosterRow)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Change a student's name on the list, or the section. Teachers only."""
        seat, sent = seat_in(self.course(request, slug), pk), parse(SeatSettings, request.data)
        people.change_seat(seat=seat, **_named(seat) | sent, **self.by(request))
        return Response(RosterRow(_of_seat(seat)).data)


class EndSeat(Graders):
    @extend_schema(operation_id="end_seat", request=None, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """End a student's seat. The work stays. Teachers only."""
        people.end_seat(seat=seat_in(self.course(request, slug), pk), **self.by(request))
        return Response(status=204)


class Sections(Graders):
    @extend_schema(operation_id="class_sections", parameters=[Keyed], responses=SectionLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the sections of a class. Rosters and seats name them."""
        present, waiting = Q(seats__left_at=None), Q(roster__seat=None)
        counted = self.course(request, slug).sections.annotate(
            students=Count("seats", filter=present, distinct=True),
            expected=Count("roster", filter=waiting, distinct=True),
        )
        return paged(request, counted, parse(Keyed, request.query_params), SectionLine, ["pk"])


class RemoveSection(Graders):
    @extend_schema(operation_id="remove_section", request=SectionName, responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        """Remove a section. Its students stay in the class. Teachers only."""
        course, name = self.course(request, slug), parse(SectionName, request.data)["name"]
        section = course.sections.filter(name__iexact=name.replace("\0", "?")).first()
        if section is None:
            raise UserError("name", name, "is no section of this class", status=404)
        people.remove_section(section=section, **self.by(request))
        return Response(status=204)


class Assignments(Graders):
    @extend_schema(operation_id="assignments", parameters=[Keyed], responses=AssignmentLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the assignments of a class."""
        found = self.course(request, slug).assignments.prefetch_related("boards__problem")
        return paged(request, found, parse(Keyed, request.query_params), AssignmentLine, ["pk"])

    @extend_schema(operation_id="add_assignment", request=NewAssignment, responses={201: AssignmentLine})
    def post(self, request: Request, slug: str) -> Response:
        """Add an assignment. Teachers only."""
        course, sent = self.course(request, slug), parse(NewAssignment, request.data)
        boards = boards_named(course, sent.pop("boards"))
        _name_rubric(course, sent)
        made = assignments.add_assignment(course=course, boards=boards, **sent, **self.by(request))
        return Response(AssignmentLine(made).data, status=201)


class OneAssignment(Graders):
    @extend_schema(operation_id="edit_assignment", request=AssignmentSettings, responses=AssignmentLine)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Change an assignment. Teachers only."""
        course, sent = self.course(request, slug), parse(AssignmentSettings, request.data)
        found = get_object_or_404(course.assignments.select_related("course__competition"), pk=pk)
        named = sent.pop("boards", None)
        _name_rubric(course, sent)
        boards = list(found.boards.all()) if named is None else boards_named(course, named)
        done = assignments.edit_assignment(assignment=found, boards=boards, **sent, **self.by(request))
        return Response(AssignmentLine(done).data)


class Extensions(Graders):
    @extend_schema(operation_id="extensions", parameters=[Keyed], responses=ExtensionLine(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """List the extensions of an assignment."""
        found = get_object_or_404(self.course(request, slug).assignments, pk=pk).extensions
        query = parse(Keyed, request.query_params)
        return paged(request, found.select_related("seat__account"), query, ExtensionLine, ["pk"])

    @extend_schema(operation_id="extend", request=NewExtension, responses=ExtensionLine)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Give a student a later due time, or change it. Teachers only."""
        course, sent = self.course(request, slug), parse(NewExtension, request.data)
        found = get_object_or_404(course.assignments.select_related("course__competition"), pk=pk)
        username = sent.pop("student")
        seat = course.seats.filter(account__username=username.replace("\0", "?"), left_at=None).first()
        if seat is None:
            raise UserError("student", username, "is no student of this class; the roster names them", status=404)
        return Response(ExtensionLine(assignments.extend(assignment=found, seat=seat, **sent, **self.by(request))).data)


class WithdrawExtension(Graders):
    @extend_schema(operation_id="withdraw_extension", request=None, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Withdraw an extension. Teachers only."""
        extensions = Extension.objects.filter(assignment__course=self.course(request, slug))
        found = get_object_or_404(extensions.select_related("assignment__course__competition"), pk=pk)
        assignments.withdraw_extension(extension=found, **self.by(request))
        return Response(status=204)


class StartWork(Private):
    @extend_schema(operation_id="start_work", request=NewWork, responses={201: MatchDetail})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Open the caller's match for an assignment, on one of its boards. Students only."""
        course, caller = course_named(slug), self.caller(request)
        if seat_of(caller, course) is None:
            raise Http404
        sent = parse(NewWork, request.data)
        found = get_object_or_404(course.assignments.select_related("course__competition"), pk=pk)
        [board] = boards_named(course, [{name: sent.pop(name) for name in ("board", "hardware")}])
        work = start_work(assignment=found, board=board, user=caller, now=timezone.now(), **sent)
        return Response(shown(request, work.match_id), status=201)


class Mine(Private):
    @extend_schema(operation_id="own_work", parameters=[StudentsQuery], responses=GridRow(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the assignments of the caller with due time and stage. Students only."""
        course = course_named(slug)
        own = seat_of(self.caller(request), course)
        if own is None:
            raise Http404
        return _rows(request, course, [own])


class Grid(Graders):
    renderer_classes = AS_TABLE

    @extend_schema(operation_id="class_grid", parameters=[GridQuery], responses=GridRow(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the work of every student for every assignment: stage, hand-in, delay, last activity, who is stuck."""
        course = self.course(request, slug)
        name = parse(GridQuery, request.query_params)["section"]
        section = course.sections.filter(name__iexact=name.replace("\0", "?")).first() if name else None
        if name and section is None:
            raise UserError("section", name, "is no section of this class", status=404)
        return _rows(request, course, students(course, section))


class Check(Graders):
    @extend_schema(operation_id="class_check", parameters=[Keyed], responses=BoardCheckLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the boards of the assignments, with the verdicts on their planted submissions."""
        found = assignments.start_up(self.course(request, slug))
        return cut(request, found, parse(Keyed, request.query_params), BoardCheckLine, lambda one: one.board.pk)

    @extend_schema(operation_id="plant", request=NewPlanted, responses={201: PlantedLine})
    def post(self, request: Request, slug: str) -> Response:
        """Register a submission of the class's staff whose verdict is known beforehand. Teachers only."""
        course, sent = self.course(request, slug), parse(NewPlanted, request.data)
        number = sent.pop("submission")
        found = Submission.objects.filter(pk=number, board__competition=course.competition_id).first()
        if found is None:
            raise UserError("submission", number, "is on no board of this class", status=404)
        planted = assignments.plant(course=course, submission=found, **sent, **self.by(request))
        [check] = assignments.checks_of([planted])
        return Response(PlantedLine(check).data, status=201)


class Unplant(Graders):
    @extend_schema(operation_id="unplant", request=None, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Remove a planted submission from the check. Teachers only."""
        planted = self.course(request, slug).planted.select_related("course__competition")
        assignments.unplant(planted=get_object_or_404(planted, pk=pk), **self.by(request))
        return Response(status=204)


def seat_in(course: Course, pk: int) -> Seat:
    return get_object_or_404(course.seats.select_related("course__competition", "account", "section"), pk=pk)


def boards_named(course: Course, named: Sequence[Mapping[str, str]]) -> list[Board]:
    """Return boards of the class by name and hardware. Raise UserError for an unknown board."""
    boards = course.competition.boards.select_related("problem", "competition").defer("version")
    known = {(board.slug, board.hardware): board for board in boards}
    found = []
    for one in named:
        board = known.get((one["board"], one["hardware"]))
        if board is None:
            text = "is no board of this class; `GET /organise/{slug}/boards` lists them"
            raise UserError("boards", f"{one['board']} on {one['hardware']}", text, status=404)
        found.append(board)
    return found


def _name_rubric(course: Course, sent: dict[str, Any]) -> None:
    """Replace the number of a rubric by the rubric. Raise UserError for one of another class."""
    if (number := sent.get("rubric")) is not None:
        sent["rubric"] = course.rubrics.filter(pk=number).first()
        if sent["rubric"] is None:
            raise UserError("rubric", number, "is no rubric of this class; `GET …/rubrics` lists them", status=404)


def roster_of(course: Course) -> list[dict[str, Any]]:
    """Return students and expected people, by name."""
    seats = course.seats.filter(left_at=None).select_related("account", "section", "line")
    rows = [_of_seat(seat) for seat in seats]
    rows += [
        {**_named(line), "login": line.login, "username": "", "seat": None, "joined_at": None}
        for line in course.roster.filter(seat=None).select_related("section")
    ]
    return sorted(rows, key=lambda row: ((row["name"] or row["login"]).lower(), row["login"]))


def _of_seat(seat: Seat) -> dict[str, Any]:
    line: RosterLine | None = getattr(seat, "line", None)
    username = seat.account.get_username()
    login = line.login if line else username
    return {**_named(seat), "login": login, "username": username, "seat": seat.pk, "joined_at": seat.joined_at}


def _named(row: Seat | RosterLine) -> dict[str, str]:
    return {"name": row.name, "section": str(row.section or "")}


def _detail(request: Request, course: Course) -> Any:
    found = Course.objects.select_related("competition").prefetch_related("assignments__boards").get(pk=course.pk)
    return ClassDetail(found, context={"viewer": request.user}).data


def _rows(request: Request, course: Course, seats: Sequence[Seat]) -> Response:
    """Answer with the grid of a page of students."""
    query = parse(StudentsQuery, request.query_params)
    place = {"cursor": query["cursor"], "size": query["limit"]}
    page = page_of_list(seats, key=lambda seat: seat.pk, name=request.path, **place)
    rows = rows_of(grid(course, now=timezone.now(), seats=page.rows))
    return Response(GridRow(rows, many=True).data, headers=links(request, page))


URLS: list[URLPattern] = [
    path("classes", Classes.as_view()),
    path("classes/make", MakeClass.as_view()),
    path("classes/join", Join.as_view()),
    path("classes/<slug:slug>", OneClass.as_view()),
    path("classes/<slug:slug>/settings", Settings.as_view()),
    path("classes/<slug:slug>/join", JoinByRoster.as_view()),
    path("classes/<slug:slug>/mine", Mine.as_view()),
    path("classes/<slug:slug>/roster", Roster.as_view()),
    path("classes/<slug:slug>/roster/remove", RemoveLine.as_view()),
    path("classes/<slug:slug>/seats/<int:pk>", ChangeSeat.as_view()),
    path("classes/<slug:slug>/seats/<int:pk>/end", EndSeat.as_view()),
    path("classes/<slug:slug>/sections", Sections.as_view()),
    path("classes/<slug:slug>/sections/remove", RemoveSection.as_view()),
    path("classes/<slug:slug>/assignments", Assignments.as_view()),
    path("classes/<slug:slug>/assignments/<int:pk>", OneAssignment.as_view()),
    path("classes/<slug:slug>/assignments/<int:pk>/extensions", Extensions.as_view()),
    path("classes/<slug:slug>/assignments/<int:pk>/work", StartWork.as_view()),
    path("classes/<slug:slug>/extensions/<int:pk>/withdraw", WithdrawExtension.as_view()),
    path("classes/<slug:slug>/grid", Grid.as_view()),
    path("classes/<slug:slug>/check", Check.as_view()),
    path("classes/<slug:slug>/planted/<int:pk>/remove", Unplant.as_view()),
]
