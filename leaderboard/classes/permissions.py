"""Permissions of a class: teachers, graders, students.

Owners of its competition teach: they change everything. Reviewers grade: they read the class, its work and its grades.
A role of viewer opens nothing here, because grades and worklogs are private. Students read their own. Staff of the site
may do everything.
"""

from django.db.models import QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.classes.models import Course, Seat
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import Viewer, check_role, competitions_of, has_role


def is_teacher(viewer: Viewer, course: Course) -> bool:
    return has_role(viewer, course.competition, Role.OWNER)


def is_grader(viewer: Viewer, course: Course) -> bool:
    """Return whether the viewer reads the class's work; teachers do, too."""
    return has_role(viewer, course.competition, Role.REVIEWER)


def check_teacher(user: User, course: Course, act: str) -> None:
    """Raise UserError (403) unless the user teaches the class. `act` completes "may …"."""
    check_role(user, course.competition, Role.OWNER, act)


def courses_taught_by(viewer: Viewer) -> QuerySet[Course]:
    """Return the classes whose work the viewer reads, newest first."""
    taught = Course.objects.filter(competition__in=competitions_of(viewer, Role.REVIEWER))
    return taught.select_related("competition").order_by("-created_at", "-pk")


def seats_of(viewer: Viewer) -> QuerySet[Seat]:
    """Return the viewer's present seats, through any of their logins, newest first."""
    mine = Seat.objects.filter(account__in=logins_of(viewer), left_at=None)
    return mine.select_related("course__competition", "section").order_by("-joined_at", "-pk")


def seat_of(viewer: Viewer, course: Course) -> Seat | None:
    return seats_of(viewer).filter(course=course).first()
