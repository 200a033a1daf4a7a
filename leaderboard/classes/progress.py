"""The grid of a class: stage, hand-in and last activity of each student and assignment, and the students who are stuck.

The number of queries is fixed for any number of students. A student is stuck on an assignment that is not handed in and
not yet due: after `stuck_days` without progress, or after the same error three times in a row. Progress is a higher
gate, or a best version that is a fiftieth faster.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.db.models import F, Q, Window
from django.db.models.functions import Coalesce, RowNumber

from leaderboard.accounts.models import User
from leaderboard.classes.assignments import due_for, lateness
from leaderboard.classes.models import Assignment, Course, Extension, Seat, Section, Work
from leaderboard.entrants.models import Membership
from leaderboard.matches.models import MACHINE, HandIn, Match
from leaderboard.matches.permissions import PARTS, authored_by, authors_of, written_by
from leaderboard.matches.read import Report, Side, reports_on
from leaderboard.standings.ranking.overall import Solved, Step, curve
from leaderboard.standings.read.status import statuses_of
from leaderboard.submissions.models import Submission

NOT_BEGUN: Final = "none"
HANDED_IN: Final = "handed in"
STAGES: Final = (NOT_BEGUN, "compiled", "correct", "faster", HANDED_IN)
SAME_ERROR: Final = 3  # in a row
NO_ERROR: Final = ("", "passed", "infra_error")  # outcomes
PROGRESS: Final = 1.02  # a best version so much faster is progress
_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True)
class Cell:
    """A student's work for an assignment. `report` None: not begun."""

    assignment: Assignment
    due_at: datetime  # with extensions
    work: Work | None = None
    report: Report | None = None
    handed_in_at: datetime | None = None
    stuck: str = ""  # the reason; "": not stuck
    is_author: bool = True  # False: joined the team after its last hand-in, and shares the work and not the hand-in

    @property
    def stage(self) -> str:
        if self.handed_in_at is not None:
            return HANDED_IN
        reached = self.report.human.reached if self.report else ""
        return reached if reached in STAGES else NOT_BEGUN

    @property
    def late_by(self) -> timedelta | None:
        return lateness(self.due_at, self.handed_in_at) if self.handed_in_at else None

    @property
    def is_extended(self) -> bool:
        return self.due_at > self.assignment.due_at

    @property
    def last_at(self) -> datetime | None:
        times = (self.handed_in_at, self.report.human.last_at if self.report else None)
        begun = self.work.created_at if self.work else None
        return max((time for time in (*times, begun) if time is not None), default=None)


@dataclass(frozen=True)
class Line:
    """A student with a cell for each assignment."""

    seat: Seat
    cells: tuple[Cell, ...]

    @property
    def last_at(self) -> datetime | None:
        return max((cell.last_at for cell in self.cells if cell.last_at is not None), default=None)

    @property
    def stuck(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.stuck]


def grid(
    course: Course, *, now: datetime, section: Section | None = None, seats: Collection[Seat] | None = None
) -> list[Line]:
    """Return a line for each present student, or for these seats, by name."""
    found = list(seats) if seats is not None else students(course, section)
    assignments = list(course.assignments.prefetch_related("boards__problem"))
    made = Work.objects.filter(assignment__in=assignments).select_related("assignment", "entrant")
    if seats is not None:
        people = {seat.account.account_id for seat in found}
        logins = User.objects.filter(Q(pk__in=people) | Q(linked_to__in=people))
        read = Match.objects.filter(written_by(logins))
        made = made.filter(Q(match__in=authored_by(logins)) | Q(match__in=read))
    works = list(made)
    reports = _reports(works, now)
    handed_in = _handed_in(works)
    repeated = _repeated(works, reports)
    extensions: dict[int, list[Extension]] = defaultdict(list)  # by account
    for extension in Extension.objects.filter(assignment__in=assignments).select_related("seat__account"):
        extensions[extension.seat.account.account_id].append(extension)
    authors = authors_of(work.match_id for work in works)
    by_place: dict[tuple[int, int], Work] = {}  # by assignment and account; of several the last hand-in counts
    for work in sorted(works, key=lambda one: (one.match_id in handed_in, handed_in.get(one.match_id, one.created_at))):
        by_place.update({(work.assignment_id, account): work for account in authors[work.match_id]})
    early: dict[int, list[Work]] = defaultdict(list)  # handed in before grading, by entrant: a later member joins in
    for work in works:
        if work.match_id in handed_in and work.assignment.grading_began_at is None:
            early[work.entrant_id].append(work)
    present = Membership.objects.filter(entrant__in=early, left_at=None)
    for entrant, account in present.values_list("entrant", Coalesce("user__linked_to", "user")):
        for work in early[entrant]:
            by_place.setdefault((work.assignment_id, account), work)

    def cell(seat: Seat, assignment: Assignment) -> Cell:
        account = seat.account.account_id
        work = by_place.get((assignment.pk, account))
        people = {account, *(authors[work.match_id] if work else ())}
        due_at = due_for(assignment, [one for person in people for one in extensions[person]])
        if work is None:
            blank = Cell(assignment, due_at)
            since = max(assignment.created_at, seat.joined_at)
            return Cell(assignment, due_at, stuck=_stuck(course, blank, since, "", now))
        is_author = account in authors[work.match_id]
        handed_in_at = handed_in.get(work.match_id) if is_author else None
        known = Cell(assignment, due_at, work, reports[work.pk], handed_in_at, is_author=is_author)
        since = progress_at(reports[work.pk].human) or work.created_at
        return replace(known, stuck=_stuck(course, known, since, repeated.get(work.pk, ""), now))

    return [Line(seat, _in_turn([cell(seat, assignment) for assignment in assignments], now)) for seat in found]


def _in_turn(cells: Iterable[Cell], now: datetime) -> tuple[Cell, ...]:
    """Return the cells, where an assignment that is not begun waits for earlier ones: nobody is stuck on it yet."""
    found: list[Cell] = []
    for cell in cells:  # by due time
        waits = cell.work is None and any(one.handed_in_at is None and one.due_at > now for one in found)
        found.append(replace(cell, stuck="") if waits else cell)
    return tuple(found)


def students(course: Course, section: Section | None) -> list[Seat]:
    """Return the present seats of a class, or of a section, by name."""
    seats = course.seats.filter(left_at=None).select_related("account", "section")
    if section is not None:
        seats = seats.filter(section=section)
    return sorted(seats, key=lambda seat: ((seat.name or seat.account.get_username()).lower(), seat.pk))


def _reports(works: Sequence[Work], now: datetime) -> dict[int, Report]:
    matches = Match.objects.select_related(*PARTS).in_bulk([work.match_id for work in works])
    found = reports_on([matches[work.match_id] for work in works], now) if works else []
    return {work.pk: report for work, report in zip(works, found, strict=True)}


def _handed_in(works: Sequence[Work]) -> dict[int, datetime]:
    """Map matches to the time of their last hand-in, which counts."""
    rows = HandIn.objects.filter(match__in=[work.match_id for work in works]).order_by("match", "-id")
    return dict(rows.distinct("match").values_list("match", "at"))


def _repeated(works: Sequence[Work], reports: Mapping[int, Report]) -> dict[int, str]:
    """Map works to the error that their last three kernels by hand share."""
    by_place = {(work.entrant_id, reports[work.pk].match.board_id): work.pk for work in works}
    sent = Submission.objects.filter(
        entrant__in={entrant for entrant, _ in by_place}, board__in={board for _, board in by_place}
    )
    by_hand = sent.exclude(version__side=MACHINE).exclude(lineage__model__gt="").exclude(mode="profile")
    newest = Window(RowNumber(), partition_by=[F("entrant"), F("board")], order_by=F("id").desc())
    last = list(by_hand.annotate(place=newest).filter(place__lte=SAME_ERROR).defer("source"))
    statuses = statuses_of(last)
    errors: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    for one in last:
        status = statuses[one.pk]
        if (work := by_place.get((one.entrant_id, one.board_id))) and status.outcome not in (
            "",
            "passed",
            "infra_error",
        ):
            errors[work].append((status.outcome, status.reason, _NUMBER.sub("#", status.message[:200])))
    return {
        work: (found[0][1] or found[0][0]).replace("_", " ")
        for work, found in errors.items()
        if len(found) == SAME_ERROR and len(set(found)) == 1
    }


def progress_at(side: Side) -> datetime | None:
    """Return the time of the last version that passed a higher gate or was clearly faster; None: no version did."""
    order = ("compiled", "correct", "faster")
    gate, best, at = -1, 0.0, None
    for played in side.versions:
        reached = order.index(played.reached) if played.reached in order else -1
        speedup = played.speedup or 0.0
        if reached > gate or (reached >= 1 and speedup > best * PROGRESS):
            at = played.version.created_at
        gate, best = max(gate, reached), max(best, speedup)
    return at


def _stuck(course: Course, cell: Cell, since: datetime, error: str, now: datetime) -> str:
    if cell.handed_in_at is not None or cell.due_at <= now:
        return ""
    if error:
        return f"the same error {SAME_ERROR} times: {error}"
    if now - since >= timedelta(days=course.stuck_days):
        return f"no progress for {(now - since).days} days"
    return ""


def curves(lines: Iterable[Line]) -> dict[str, list[Step]]:
    """Return the class's fast_p over its works: of people, of models, and of the better of both. {}: no work yet."""
    reports = {cell.work.pk: cell.report for line in lines for cell in line.cells if cell.work and cell.report}
    if not reports:
        return {}
    people = [_best(report.human) for report in reports.values()]
    models = [_best(report.machine) for report in reports.values()]
    either = [
        max(known, key=lambda one: one.least_speedup) if (known := [one for one in pair if one]) else None
        for pair in zip(people, models, strict=True)
    ]
    kinds = {"people": people, "models": models, "the better of both": either}
    return {name: curve([one for one in found if one], len(reports)) for name, found in kinds.items()}


def _best(side: Side) -> Solved | None:
    return side.best.solved if side.best else None
