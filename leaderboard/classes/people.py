"""Courses and their people: make a class, its sections, its roster, and the ways to join.

A roster line names a person by username or e-mail address before they have joined. It admits the account with this
username or this confirmed address. An invite code of the competition admits anybody. Joining enters the competition
alone; its rules are accepted on its page before the first submission.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.classes.models import (
    MOST_IN_A_GROUP,
    MOST_SEATS,
    MOST_SECTIONS,
    MOST_STUCK_DAYS,
    NAME_CHARS,
    Course,
    RosterLine,
    Seat,
    Section,
)
from leaderboard.classes.permissions import check_teacher, is_grader
from leaderboard.competitions.access import competition_of, redeem_code
from leaderboard.competitions.edit import add_board, create_competition
from leaderboard.competitions.models import Board, Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.entrants.enter import enter_alone
from leaderboard.entrants.names import clean_text
from leaderboard.entrants.permissions import check_not_over
from leaderboard.errors import UserError

MOST_ROSTER_BYTES: Final = 500_000
MOST_FAULTS: Final = 20  # lines that a refusal names
MOST_NEW_BOARDS: Final = 200  # of a class that is made from nothing
SECTION_CHARS: Final = 64
COLUMNS: Final = {  # names of a header, in lower case
    **dict.fromkeys(("login", "username", "user", "email", "e-mail", "mail"), "login"),
    **dict.fromkeys(("name", "student", "full name"), "name"),
    **dict.fromkeys(("section", "group", "tutorial"), "section"),
}
USUAL: Final = ("login", "name", "section")  # columns without a header
_USERNAME: Final = re.compile(r"[\w.+-]{1,150}")


@transaction.atomic
def make_course(*, competition: Competition, actor: User, now: datetime, stuck_days: int = 3) -> Course:
    """Make a competition a class. Its owners teach, its reviewers grade, its entrants so far are no students."""
    check_role(actor, competition, Role.OWNER, "make it a class")
    _check_stuck_days(stuck_days)
    try:
        with transaction.atomic():
            course = Course.objects.create(competition=competition, stuck_days=stuck_days, created_at=now)
    except IntegrityError:
        raise UserError("competition", competition.slug, "it is a class already", status=409) from None
    record("make_class", competition, actor=actor, now=now, after={"stuck_days": stuck_days})
    return course


@transaction.atomic
def make_class(
    *, slug: str, name: str, boards: Collection[Board], actor: User, now: datetime, stuck_days: int = 3
) -> Course:
    """Make a closed competition with the problems of these boards, and a class of it."""
    if len(boards) > MOST_NEW_BOARDS:
        raise UserError("boards", len(boards), f"choose at most {MOST_NEW_BOARDS} boards; add more afterwards")
    settings = {"name": name, "max_team_size": MOST_IN_A_GROUP}
    competition = create_competition(actor=actor, slug=slug, settings=settings, now=now)
    for board in boards:
        place: dict[str, Any] = {"hardware": board.hardware, "tags": board.tags}
        add_board(competition=competition, actor=actor, version=board.version, now=now, **place)
    return make_course(competition=competition, actor=actor, now=now, stuck_days=stuck_days)


@transaction.atomic
def set_stuck_days(*, course: Course, stuck_days: int, actor: User, now: datetime) -> None:
    """Set the days without progress after which a student counts as stuck."""
    check_teacher(actor, course, "change the class")
    _check_stuck_days(stuck_days)
    before, course.stuck_days = course.stuck_days, stuck_days
    course.save(update_fields=["stuck_days"])
    after = {"stuck_days": stuck_days}
    record("set_stuck_days", course, actor=actor, now=now, before={"stuck_days": before}, after=after)


def _check_stuck_days(stuck_days: int) -> None:
    if not 1 <= stuck_days <= MOST_STUCK_DAYS:
        raise UserError("stuck_days", stuck_days, f"give 1 to {MOST_STUCK_DAYS} days")


@transaction.atomic
def remove_section(*, section: Section, actor: User, now: datetime) -> None:
    """Remove a section. Its students stay in the class, in no section."""
    check_teacher(actor, section.course, "remove a section")
    section.seats.update(section=None)
    section.roster.update(section=None)
    record("remove_section", section, actor=actor, now=now, before={"name": section.name})
    section.delete()


@dataclass(frozen=True)
class Student:
    """A line of a roster as it was sent. `number`: of the line, from 1."""

    number: int
    login: str
    name: str
    section: str


def read_roster(text: str) -> tuple[list[Student], list[str]]:
    """Return the students of a CSV text, and a sentence for each bad line.

    Columns are separated by commas, semicolons or tabs. Without a header they are login, name, section.
    """
    if len(text.encode()) > MOST_ROSTER_BYTES:
        raise UserError("roster", None, f"over {MOST_ROSTER_BYTES:,} bytes; send it in parts", status=413)
    text = text.removeprefix("\ufeff")
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    students, faults, columns = [], list[str](), None
    seen: dict[str, int] = {}
    try:
        for cells in _filled(reader):
            try:
                if columns is None and (columns := _header(cells)):
                    continue
                columns = columns or USUAL
                student = _student(reader.line_num, dict(zip(columns, cells, strict=False)), len(cells) - len(columns))
                if known := seen.get(student.login):
                    raise UserError("login", student.login, f"is in line {known} already")
            except UserError as error:
                faults.append(f"line {reader.line_num}: {error.field} “{error.value}” {error.message}")
                continue
            seen[student.login] = student.number
            students.append(student)
    except csv.Error as error:
        faults.append(f"line {reader.line_num}: not CSV ({error}); put a cell with a quote in quotes")
    return students, faults


def _filled(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield stripped cells of rows that have a filled cell."""
    for row in rows:
        cells = [cell.strip() for cell in row]
        if any(cells):
            yield cells


def _header(cells: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns that a first line names; None: it is no header. Raise UserError for an unknown column."""
    names = tuple(COLUMNS.get(cell.lower(), "") for cell in cells)
    if "login" not in names:
        return None
    if "" in names:
        unknown = cells[names.index("")]
        raise UserError("column", unknown, "is unknown; name them login (or username, email), name, section")
    if len(set(names)) < len(names):
        twice = next(index for index, name in enumerate(names) if name in names[:index])
        first = cells[names.index(names[twice])]
        raise UserError("column", cells[twice], f"gives the {names[twice]} again, after “{first}”; keep one of them")
    return names


def _student(number: int, cells: dict[str, str], more: int) -> Student:
    login = cells.get("login", "").lower()
    if more > 0:
        raise UserError("line", login, f"has {more} cells too many; put a name with a comma in quotes")
    if "@" in login:
        try:
            validate_email(login)
        except ValidationError:
            raise UserError("login", login, "is no e-mail address") from None
    elif not _USERNAME.fullmatch(login):
        raise UserError("login", login, "is neither a username nor an e-mail address")
    name = clean_text("name", cells.get("name", ""), most=NAME_CHARS)
    section = clean_text("section", cells.get("section", ""), most=SECTION_CHARS)
    return Student(number, login, name, section)


@dataclass(frozen=True)
class Imported:
    """Counts of the students of a roster; a student with two lines counts once."""

    added: int
    changed: int
    unchanged: int


@transaction.atomic
def import_roster(*, course: Course, text: str, actor: User, now: datetime) -> Imported:
    """Add the students of a CSV text to the roster, or change their names and sections. All lines, or none."""
    check_teacher(actor, course, "change the roster")
    students, faults = read_roster(text)
    if faults:
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        raise UserError("roster", None, "; ".join(faults[:MOST_FAULTS]) + more + ". Nothing was imported")
    if not students:
        raise UserError("roster", "", "no student; give a line for each: username or e-mail, name, section")
    course = _lock(course)
    known = {line.login: line for line in course.roster.select_related("section")}
    seats = _seats_by_login(course, known.values())
    new = [student for student in students if student.login not in known and student.login not in seats]
    _check_places(course, len(new))
    sections = sections_named(course, {student.section for student in students})
    RosterLine.objects.bulk_create(
        RosterLine(
            course=course,
            login=student.login,
            name=student.name,
            section=sections.get(student.section.lower()),
            created_at=now,
        )
        for student in new
    )
    given: dict[Seat | RosterLine, list[tuple[str, Section | None]]] = {}
    for student in students:
        line, seat = known.get(student.login), seats.get(student.login)
        place = seat or line
        if place is None:
            continue
        values = given.setdefault(place, [(place.name, place.section)])
        values.append((student.name, sections.get(student.section.lower())))
        if line is not None and line.seat_id is None and seat is not None:
            values.insert(0, (line.name, line.section))  # for gaps of the seat: a teacher may have changed the rest
            _bind([line], seat)
    changed = sum(_fill(place, values) for place, values in given.items())
    found = Imported(len(new), changed, len(given) - changed)
    record("import_roster", course, actor=actor, now=now, after={"added": found.added, "changed": changed})
    return found


def _seats_by_login(course: Course, lines: Iterable[RosterLine]) -> dict[str, Seat]:
    """Map logins of lines, usernames and confirmed addresses, in lower case, to the present seats of their people."""
    present = course.seats.filter(left_at=None).select_related("account", "section")
    seats = {seat.account.account_id: seat for seat in present}
    logins = User.objects.filter(Q(pk__in=seats) | Q(linked_to__in=seats))
    addresses = EmailAddress.objects.filter(user__in=logins, verified=True).select_related("user")
    named = [(login.username, login) for login in logins] + [(one.email, one.user) for one in addresses]
    by_key = {seat.pk: seat for seat in seats.values()}
    joined_by = {line.login: by_key[line.seat_id] for line in lines if line.seat_id in by_key}
    return {name.lower(): seats[login.account_id] for name, login in named} | joined_by


def _fill(place: Seat | RosterLine, given: Iterable[tuple[str, Section | None]]) -> bool:
    """Give a seat or a line these names and sections, later ones before earlier; return whether either changes."""
    before = place.name, place.section
    for name, section in given:
        place.name, place.section = name or place.name, section or place.section
    if (place.name, place.section) == before:
        return False
    place.save(update_fields=["name", "section"])
    return True


def _bind(lines: Iterable[RosterLine], seat: Seat) -> None:
    """End the waiting of a person's lines: one stays with the seat, so that an import knows the student by it."""
    for line in lines:
        if RosterLine.objects.filter(seat=seat).exists():
            line.delete()
        else:
            line.seat = seat
            line.save(update_fields=["seat"])


def sections_named(course: Course, names: Collection[str]) -> dict[str, Section]:
    """Return the sections by name in lower case; new names make new sections. The caller has locked the course."""
    found = {section.name.lower(): section for section in course.sections.all()}
    for name in sorted(filter(None, names)):
        if name.lower() not in found:
            if len(found) >= MOST_SECTIONS:
                raise UserError("section", name, f"a class has at most {MOST_SECTIONS} sections", status=409)
            found[name.lower()] = Section.objects.create(course=course, name=name)
    return found


@transaction.atomic
def remove_line(*, line: RosterLine, actor: User, now: datetime) -> None:
    """Remove a line that nobody has joined by."""
    check_teacher(actor, line.course, "change the roster")
    if line.seat_id is not None:
        raise UserError("login", line.login, "has joined; end the seat instead", status=409)
    record("remove_roster_line", line.course, actor=actor, now=now)  # without the login: the audit keeps it for good
    line.delete()


@transaction.atomic
def change_seat(*, seat: Seat, name: str, section: str, actor: User, now: datetime) -> None:
    """Change a student's name on the teacher's list, and their section ("": none)."""
    check_teacher(actor, seat.course, "change a seat")
    name = clean_text("name", name, most=NAME_CHARS)
    section = clean_text("section", section, most=SECTION_CHARS)
    seat.name = name
    seat.section = sections_named(_lock(seat.course), {section}).get(section.lower())
    seat.save(update_fields=["name", "section"])
    record("change_seat", seat, actor=actor, now=now, after={"section": section})


@transaction.atomic
def end_seat(*, seat: Seat, actor: User, now: datetime) -> bool:
    """End a student's seat; return whether this call did. Their work stays, and joining again gives it back."""
    check_teacher(actor, seat.course, "end a seat")
    if not Seat.objects.filter(pk=seat.pk, left_at=None).update(left_at=now):
        return False
    RosterLine.objects.filter(seat=seat).delete()  # it would admit the account again, as would an open line
    lines_for(seat.account).filter(course=seat.course).delete()
    record("end_seat", seat, actor=actor, now=now)
    return True


def lines_for(user: User) -> QuerySet[RosterLine]:
    """Return the roster lines that expect this person: by username, or by a confirmed address."""
    logins = logins_of(user)
    names = User.objects.filter(pk__in=logins).annotate(low=Lower("username")).values("low")
    addresses = EmailAddress.objects.filter(user__in=logins, verified=True).annotate(low=Lower("email")).values("low")
    expected = RosterLine.objects.filter(Q(login__in=names) | Q(login__in=addresses), seat=None)
    return expected.select_related("course__competition", "section").order_by("pk")


@transaction.atomic
def join_by_code(*, code: str, user: User, now: datetime) -> Seat:
    """Join the class of an invite code's competition."""
    competition = competition_of(code)
    course = Course.objects.filter(competition=competition).first() if competition else None
    if competition is not None and course is None:
        text = "it opens a competition that is no class; use it at /invite-code"
        raise UserError("code", "", text, status=409)
    if course is not None:
        _check_may_sit(course, user)
    used = redeem_code(text=code, user=user, now=now, opens_nothing_new=True)
    assert course is not None  # redeem_code refuses an unknown code
    ended = course.seats.filter(account__in=logins_of(user), left_at__isnull=False)
    if used.used_at != now and ended.exists():
        text = "you have joined by it before, and a teacher has ended your seat; ask for another code"
        raise UserError("code", "", text, status=409)
    return _sit(course, user, now)


@transaction.atomic
def join_by_roster(*, course: Course, user: User, now: datetime) -> Seat:
    """Join a class whose roster names this person."""
    _check_may_sit(course, user)
    if not lines_for(user).filter(course=course).exists():
        text = "its roster has neither your username nor a confirmed address of yours; ask for an invite code"
        raise UserError("course", course.competition.slug, text, status=403)
    return _sit(course, user, now)


def _check_may_sit(course: Course, user: User) -> None:
    if is_grader(user, course):
        raise UserError("actor", user.get_username(), "you teach or grade this class", status=409)
    if user.account.agent_of_id is not None:
        raise UserError("actor", user.get_username(), "an agent is no student; its owner joins", status=403)


def _sit(course: Course, user: User, now: datetime) -> Seat:
    """Give the person a seat and an entrant; take over names and sections of their roster lines."""
    check_not_over(course.competition, now)
    enter_alone(user=user, competition=course.competition, now=now)  # locks person and names, in this order
    course = _lock(course)
    known = Seat.objects.filter(course=course, account__in=logins_of(user)).first()
    lines = list(lines_for(user).filter(course=course))
    seat = known or Seat(course=course, account=user.account, joined_at=now)
    if known is None or known.left_at is not None:
        if not lines:
            _check_places(course, 1)
        seat.left_at = None
        seat.save()
        record("join_class", seat, actor=user, now=now)
    _fill(seat, [(line.name, line.section) for line in lines])
    _bind(lines, seat)
    return seat


def _lock(course: Course) -> Course:
    """Return the course, locked, so that places, sections and roster lines are counted by a single act at a time."""
    return Course.objects.select_for_update(of=("self",)).select_related("competition").get(pk=course.pk)


def _check_places(course: Course, wanted: int) -> None:
    taken = course.seats.filter(left_at=None).count() + course.roster.filter(seat=None).count()
    if taken + wanted > MOST_SEATS:
        raise UserError("roster", taken + wanted, f"a class has at most {MOST_SEATS:,} students", status=409)
