"""Tables of classes: the course, its people, its assignments with the work of students, and grades.

A course belongs to a competition, whose owners teach and whose reviewers grade. A seat is a student's place. A roster
line admits a person before they have joined. Work is a match that a student or a group opened for an assignment.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, F, Q, UniqueConstraint
from django.db.models.functions import Lower
from django.utils import timezone

from leaderboard.competitions.models import Board, Competition
from leaderboard.entrants.models import Entrant
from leaderboard.matches.models import Match
from leaderboard.submissions.models import Submission

NAME_CHARS: Final = 150
MOST_SECTIONS: Final = 50  # of a course
MOST_SEATS: Final = 1_000  # of a course, roster lines included
MOST_ASSIGNMENTS: Final = 100  # of a course
MOST_BOARDS: Final = 50  # of an assignment
MOST_PLANTED: Final = 50  # of a course
REASON_CHARS: Final = 600
ONE_OPERATOR: Final = 1
FUSION: Final = 2
BLOCK: Final = 3
TIERS: Final = (ONE_OPERATOR, FUSION, BLOCK)
MOST_IN_A_GROUP: Final = 6
MOST_STUCK_DAYS: Final = 60


class Course(models.Model):
    competition = models.OneToOneField(Competition, on_delete=models.PROTECT, related_name="course")
    stuck_days = models.PositiveSmallIntegerField(default=3)  # without progress a student counts as stuck
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            CheckConstraint(
                condition=Q(stuck_days__gte=1, stuck_days__lte=MOST_STUCK_DAYS), name="course_stuck_days_in_limits"
            )
        ]

    def __str__(self) -> str:
        return str(self.competition)


class Section(models.Model):
    course = models.ForeignKey(Course, on_delete=models.PROTECT, related_name="sections", db_index=False)
    name = models.CharField(max_length=64)

    class Meta:
        ordering = ["name", "id"]
        constraints = [UniqueConstraint("course", Lower("name"), name="section_name_is_unique_in_any_case")]

    def __str__(self) -> str:
        return self.name


class Seat(models.Model):
    """A student's place in a course. After the student leaves, row and work stay."""

    course = models.ForeignKey(Course, on_delete=models.PROTECT, related_name="seats", db_index=False)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="seats")
    section = models.ForeignKey(Section, on_delete=models.PROTECT, null=True, related_name="seats")
    name = models.CharField(max_length=NAME_CHARS, blank=True)  # the teacher's list has it; "": the username
    joined_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [UniqueConstraint(fields=["course", "account"], name="one_seat_a_course_and_account")]

    def __str__(self) -> str:
        return f"seat of {self.account_id} in course {self.course_id}"


class RosterLine(models.Model):
    """A person whom the teacher expects, by username or e-mail address. The seat is theirs once they join."""

    course = models.ForeignKey(Course, on_delete=models.PROTECT, related_name="roster", db_index=False)
    login = models.CharField(max_length=254)  # a username, or an address with "@", in lower case
    name = models.CharField(max_length=NAME_CHARS, blank=True)
    section = models.ForeignKey(Section, on_delete=models.PROTECT, null=True, related_name="roster")
    seat = models.OneToOneField(Seat, on_delete=models.PROTECT, null=True, related_name="line")  # null: not joined
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            UniqueConstraint(fields=["course", "login"], name="one_roster_line_a_course_and_login"),
            CheckConstraint(condition=Q(login=Lower(F("login"))) & ~Q(login=""), name="roster_login_in_lower_case"),
        ]
        indexes = [models.Index(fields=["login"], condition=Q(seat=None), name="roster_by_login")]

    def __str__(self) -> str:
        return f"{self.login} of course {self.course_id}"


class Rubric(models.Model):
    """Criteria of a grade. A frozen rubric never changes: an edit makes the next version."""

    course = models.ForeignKey(Course, on_delete=models.PROTECT, null=True, related_name="rubrics")  # null: the site's
    name = models.CharField(max_length=128)
    version = models.PositiveIntegerField(default=1)
    criteria = models.JSONField()  # [{key, name, weight (%), levels: [{points: 0 to 4, description}]}]
    created_at = models.DateTimeField(default=timezone.now)
    frozen_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name", "version"]
        constraints = [
            UniqueConstraint(
                fields=["course", "name", "version"], nulls_distinct=False, name="one_rubric_a_course_name_and_version"
            ),
            CheckConstraint(condition=Q(version__gte=1), name="rubric_version_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.name}, version {self.version}"


class Assignment(models.Model):
    course = models.ForeignKey(Course, on_delete=models.PROTECT, related_name="assignments")
    title = models.CharField(max_length=128)
    tier = models.PositiveSmallIntegerField()
    boards = models.ManyToManyField(Board, related_name="+")  # for a student to choose from
    due_at = models.DateTimeField()
    group_size = models.PositiveSmallIntegerField(default=1)  # 1: everybody alone
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, null=True, related_name="+")  # null: the site's
    graders_each = models.PositiveSmallIntegerField(default=1)
    moderate_from = models.PositiveSmallIntegerField(null=True)  # points between graders; null: never moderated
    created_at = models.DateTimeField()
    grading_began_at = models.DateTimeField(null=True)
    released_at = models.DateTimeField(null=True)  # all grades at once

    class Meta:
        ordering = ["due_at", "id"]
        constraints = [
            UniqueConstraint("course", Lower("title"), name="assignment_title_is_unique_in_any_case"),
            CheckConstraint(condition=Q(tier__in=TIERS), name="assignment_tier_is_known"),
            CheckConstraint(
                condition=Q(group_size=1) | Q(tier=BLOCK, group_size__gte=2, group_size__lte=MOST_IN_A_GROUP),
                name="assignment_groups_at_level_3",
            ),
            CheckConstraint(condition=Q(graders_each__in=(1, 2)), name="assignment_has_one_or_two_graders"),
            CheckConstraint(
                condition=Q(moderate_from=None) | Q(moderate_from__gte=1, moderate_from__lte=100),
                name="assignment_moderation_in_points",
            ),
            CheckConstraint(
                condition=Q(moderate_from=None) | Q(graders_each=2), name="assignment_moderates_two_graders"
            ),
            CheckConstraint(
                condition=Q(released_at=None) | Q(grading_began_at__isnull=False),
                name="assignment_is_graded_before_release",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class Extension(models.Model):
    """A student's own due time of an assignment. In a group, the latest extension of a member counts for all."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="extensions", db_index=False)
    seat = models.ForeignKey(Seat, on_delete=models.PROTECT, related_name="extensions")
    until = models.DateTimeField()
    reason = models.CharField(max_length=REASON_CHARS)  # the course's staff reads it, and the student
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [UniqueConstraint(fields=["assignment", "seat"], name="one_extension_an_assignment_and_seat")]

    def __str__(self) -> str:
        return f"extension of seat {self.seat_id} for {self.assignment_id}"


class Planted(models.Model):
    """A submission of the course's staff whose verdict is known beforehand: the check before students start."""

    course = models.ForeignKey(Course, on_delete=models.PROTECT, related_name="planted")
    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="+")
    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="planted")
    must_fail = models.BooleanField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"submission {self.submission_id} must {'fail' if self.must_fail else 'pass'}"


class Work(models.Model):
    """The match that an entrant opened for an assignment: handed in and graded."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="works", db_index=False)
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="+")  # the match's human side
    match = models.OneToOneField(Match, on_delete=models.PROTECT, related_name="work")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [UniqueConstraint(fields=["assignment", "entrant"], name="one_work_an_assignment_and_entrant")]

    def __str__(self) -> str:
        return f"work of entrant {self.entrant_id} for {self.assignment_id}"


class Grade(models.Model):
    """A grader's scores of a work: a draft until it is submitted. A moderated grade replaces all others of the work.

    A trigger keeps the scores after the release; an appeal that is open lets a moderated grade be made or changed.
    """

    work = models.ForeignKey(Work, on_delete=models.PROTECT, related_name="grades", db_index=False)
    grader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    scores = models.JSONField(default=dict)  # points by key of a criterion
    text = models.TextField(blank=True)
    moderated = models.BooleanField(default=False)
    saved_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            UniqueConstraint(fields=["work", "grader", "moderated"], name="one_grade_a_work_and_grader"),
            UniqueConstraint(fields=["work"], condition=Q(moderated=True), name="one_moderated_grade_a_work"),
        ]

    def __str__(self) -> str:
        return f"grade of work {self.work_id} by {self.grader_id}"


class Remark(models.Model):
    """A grader's comment at a line or a number of the handed-in worklog, or at a whole section."""

    work = models.ForeignKey(Work, on_delete=models.PROTECT, related_name="remarks")
    grader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    section = models.CharField(max_length=16)  # of the worklog
    line = models.PositiveIntegerField(null=True)  # of the section's text, from 1
    number = models.CharField(max_length=64, blank=True)  # as the text writes it
    text = models.CharField(max_length=2_000)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"remark {self.pk} on work {self.work_id}"


class Appeal(models.Model):
    """A student's objection to a released grade, with the answer of the course's staff."""

    work = models.ForeignKey(Work, on_delete=models.PROTECT, related_name="appeals")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    text = models.CharField(max_length=4_000)
    created_at = models.DateTimeField()
    answer = models.CharField(max_length=4_000, blank=True)
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    answered_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            UniqueConstraint(fields=["work"], condition=Q(answered_at=None), name="one_open_appeal_a_work"),
            CheckConstraint(
                condition=Q(answer="", answered_at=None, answered_by=None)
                | Q(answered_at__isnull=False, answered_by__isnull=False) & ~Q(answer=""),
                name="appeal_answer_is_complete",
            ),
        ]

    def __str__(self) -> str:
        return f"appeal {self.pk} on work {self.work_id}"
