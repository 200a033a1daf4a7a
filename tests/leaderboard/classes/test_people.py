"""A class is made of a competition; its roster is taken as a whole or not at all; students join by line or by code."""

import pytest
from allauth.account.models import EmailAddress

from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.classes import people
from leaderboard.classes.models import Course, RosterLine, Seat, Section
from leaderboard.classes.permissions import courses_taught_by, is_grader, is_teacher, seat_of
from leaderboard.competitions.access import grant_role, issue_codes
from leaderboard.competitions.models import CLOSED, Board, Competition, Role
from leaderboard.competitions.permissions import may_see
from leaderboard.entrants.closing import close
from leaderboard.entrants.enter import create_agent, entrant_of
from leaderboard.errors import UserError
from tests.leaderboard.stage import NOON, Stage

ROSTER = "username,name,section\nada,Ada Lovelace,Monday\nBen@Example.org,Ben Okri,tuesday\n"


@pytest.fixture
def course(stage: Stage) -> Course:
    Competition.objects.update(visibility=CLOSED)
    return people.make_course(competition=stage.board.competition, actor=stage.olga, now=NOON)


def imported(course: Course, stage: Stage, text: str = ROSTER) -> people.Imported:
    return people.import_roster(course=course, text=text, actor=stage.olga, now=NOON)


def test_make_class_copies_boards_into_a_closed_competition(stage: Stage) -> None:
    made = people.make_class(
        slug="kernels-for-all", name="Kernels for all", boards=[stage.board], actor=stage.olga, now=NOON, stuck_days=5
    )
    assert made.competition.visibility == CLOSED
    assert made.stuck_days == 5
    board = Board.objects.get(competition=made.competition)
    assert (board.problem, board.version, board.hardware) == (stage.board.problem, stage.board.version, "cpu")
    assert is_teacher(stage.olga, made)
    assert list(courses_taught_by(stage.olga)) == [made]
    with pytest.raises(UserError, match="create a competition"):
        people.make_class(slug="mine", name="Mine", boards=[], actor=stage.ada, now=NOON)


def test_make_course_needs_an_owner_and_happens_once(stage: Stage, course: Course) -> None:
    with pytest.raises(UserError, match="class already"):
        people.make_course(competition=course.competition, actor=stage.olga, now=NOON)
    with pytest.raises(UserError, match="only a owner"):
        people.make_course(competition=course.competition, actor=stage.ada, now=NOON)
    with pytest.raises(UserError, match="1 to 60 days"):
        people.set_stuck_days(course=course, stuck_days=0, actor=stage.olga, now=NOON)


def test_reviewers_grade_and_viewers_see_nothing(stage: Stage, course: Course) -> None:
    for user, role in ((stage.ada, Role.REVIEWER), (stage.ben, Role.VIEWER)):
        grant_role(competition=course.competition, actor=stage.olga, username=user.get_username(), role=role, now=NOON)
    assert is_grader(stage.ada, course)
    assert not is_teacher(stage.ada, course)
    assert not is_grader(stage.ben, course)
    assert not courses_taught_by(stage.ben).exists()


def test_import_roster_adds_lines_and_sections(stage: Stage, course: Course) -> None:
    assert imported(course, stage) == people.Imported(added=2, changed=0, unchanged=0)
    lines = RosterLine.objects.order_by("pk").values_list("login", "name", "section__name")
    assert list(lines) == [("ada", "Ada Lovelace", "Monday"), ("ben@example.org", "Ben Okri", "tuesday")]
    assert imported(course, stage) == people.Imported(added=0, changed=0, unchanged=2)
    again = "ada\tAda King\tTUESDAY\n"
    assert imported(course, stage, again) == people.Imported(added=0, changed=1, unchanged=0)
    assert Section.objects.count() == 2
    assert Row.objects.filter(act="import_roster").count() == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ada\nb n,Ben\ncleo@nowhere\nada\n", "line 2.*neither.*line 3.*no e-mail.*line 4.*in line 1 already"),
        ("ada,Lovelace, Ada,Monday\n", "line 1.*1 cells too many"),
        ("login,nmae\nada,Ada\n", "line 1: column “nmae” is unknown"),
        ("Username,name,E-mail\nada,Ada,ada@example.org\n", "line 1: column “E-mail” gives the login again, after “U"),
        ('ada,"Ada\n', "not CSV"),
        (f"ada,{'x' * 200}\n", "line 1: name"),
        ("\n,,\n", "no student"),
        ("a" * 600_000, "over 500,000 bytes"),
    ],
)
def test_a_roster_with_a_bad_line_changes_nothing(stage: Stage, course: Course, text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        imported(course, stage, text)
    assert not RosterLine.objects.exists()
    assert not Section.objects.exists()


def test_a_student_joins_by_username_or_confirmed_address(stage: Stage, course: Course) -> None:
    imported(course, stage)
    assert not may_see(stage.ada, course.competition)
    seat = people.join_by_roster(course=course, user=stage.ada, now=NOON)
    assert (seat.name, str(seat.section)) == ("Ada Lovelace", "Monday")
    assert may_see(stage.ada, course.competition)
    assert entrant_of(stage.ada, course.competition) is not None
    address = EmailAddress.objects.create(user=stage.ben, email="ben@EXAMPLE.org", verified=False)
    with pytest.raises(UserError, match="neither your username nor a confirmed address"):
        people.join_by_roster(course=course, user=stage.ben, now=NOON)
    address.verified = True
    address.save()
    assert people.join_by_roster(course=course, user=stage.ben, now=NOON).name == "Ben Okri"
    assert not RosterLine.objects.filter(seat=None).exists()


def test_a_student_joins_by_code_and_a_code_works_once(stage: Stage, course: Course) -> None:
    [issued] = issue_codes(competition=course.competition, count=1, actor=stage.olga, now=NOON)
    seat = people.join_by_code(code=issued.text, user=stage.cleo, now=NOON)
    assert seat_of(stage.cleo, course) == seat
    assert people.join_by_code(code=issued.text, user=stage.cleo, now=NOON) == seat
    for text in (issued.text, "pfi_nonsense"):
        with pytest.raises(UserError, match="not known, already used"):
            people.join_by_code(code=text, user=stage.ben, now=NOON)


def test_a_code_admits_to_a_class_that_everybody_sees(stage: Stage, course: Course) -> None:
    Competition.objects.update(visibility="public")
    [issued] = issue_codes(competition=course.competition, count=1, actor=stage.olga, now=NOON)
    assert people.join_by_code(code=issued.text, user=stage.cleo, now=NOON).course == course


def test_teachers_and_agents_take_no_seat(stage: Stage, course: Course) -> None:
    [issued] = issue_codes(competition=course.competition, count=1, actor=stage.olga, now=NOON)
    with pytest.raises(UserError, match="you teach or grade"):
        people.join_by_code(code=issued.text, user=stage.olga, now=NOON)
    agent = create_agent(owner=stage.ada, name="ada-bot", now=NOON)
    with pytest.raises(UserError, match="agent is no student"):
        people.join_by_code(code=issued.text, user=agent, now=NOON)
    Course.objects.all().delete()
    with pytest.raises(UserError, match="no class"):
        people.join_by_code(code=issued.text, user=stage.ada, now=NOON)


def test_an_ended_seat_comes_back_by_joining_again(stage: Stage, course: Course) -> None:
    imported(course, stage)
    seat = people.join_by_roster(course=course, user=stage.ada, now=NOON)
    assert people.end_seat(seat=seat, actor=stage.olga, now=NOON)
    assert not people.end_seat(seat=seat, actor=stage.olga, now=NOON)
    assert seat_of(stage.ada, course) is None
    with pytest.raises(UserError, match="neither your username"):
        people.join_by_roster(course=course, user=stage.ada, now=NOON)
    imported(course, stage)
    assert people.join_by_roster(course=course, user=stage.ada, now=NOON) == seat


def test_import_roster_finds_a_student_who_joined_by_a_code(stage: Stage, course: Course) -> None:
    [issued] = issue_codes(competition=course.competition, count=1, actor=stage.olga, now=NOON)
    imported(course, stage, "ada@example.org,Ada Byron,Monday")
    people.join_by_code(code=issued.text, user=stage.ada, now=NOON)
    EmailAddress.objects.create(user=stage.ada, email="Ada@example.org", verified=True)
    for text, name, section in (
        ("ada@example.org", "Ada Byron", "Monday"),
        ("ada,Ada King", "Ada King", "Monday"),
        ("ada,Countess,\nada@example.org,,Friday", "Countess", "Friday"),
    ):
        assert imported(course, stage, text).changed
        seat = course.seats.get()
        assert (seat.name, str(seat.section)) == (name, section)
        assert imported(course, stage, text) == people.Imported(added=0, changed=0, unchanged=1)
    assert RosterLine.objects.get().seat == seat


def test_import_roster_fills_gaps_of_a_seat_from_its_waiting_line(stage: Stage, course: Course) -> None:
    [issued] = issue_codes(competition=course.competition, count=1, actor=stage.olga, now=NOON)
    imported(course, stage, "ada@example.org,Ada Byron,Monday")
    seat = people.join_by_code(code=issued.text, user=stage.ada, now=NOON)
    people.change_seat(seat=seat, name="A. L.", section="", actor=stage.olga, now=NOON)
    EmailAddress.objects.create(user=stage.ada, email="ada@example.org", verified=True)
    assert imported(course, stage, "ada@example.org,,") == people.Imported(added=0, changed=1, unchanged=0)
    seat.refresh_from_db()
    assert (seat.name, str(seat.section)) == ("A. L.", "Monday")


def test_import_roster_counts_a_student_with_two_lines_once(stage: Stage, course: Course) -> None:
    imported(course, stage)
    people.join_by_roster(course=course, user=stage.ada, now=NOON)
    EmailAddress.objects.create(user=stage.ada, email="ada@example.org", verified=True)
    text = "ada,Countess,Friday\nada@example.org,Ada King,Monday"
    assert imported(course, stage, text) == people.Imported(added=0, changed=1, unchanged=0)
    assert imported(course, stage, text) == people.Imported(added=0, changed=0, unchanged=1)
    assert course.seats.get().name == "Ada King"


def test_import_roster_compares_with_the_seat_of_a_student(stage: Stage, course: Course) -> None:
    imported(course, stage)
    seat = people.join_by_roster(course=course, user=stage.ada, now=NOON)
    people.change_seat(seat=seat, name="A. L.", section="Friday", actor=stage.olga, now=NOON)
    assert imported(course, stage, "ada,,") == people.Imported(added=0, changed=0, unchanged=1)
    assert imported(course, stage) == people.Imported(added=0, changed=1, unchanged=1)
    seat.refresh_from_db()
    assert (seat.name, str(seat.section)) == ("Ada Lovelace", "Monday")


def test_a_person_with_two_lines_takes_one_seat_and_both_lines(stage: Stage, course: Course) -> None:
    imported(course, stage, "ada,Ada,Monday\nada@example.org,Ada Byron,")
    EmailAddress.objects.create(user=stage.ada, email="ada@example.org", verified=True)
    seat = people.join_by_roster(course=course, user=stage.ada, now=NOON)
    assert (seat.name, str(seat.section)) == ("Ada Byron", "Monday")
    assert RosterLine.objects.get().seat == seat


def test_no_line_of_a_person_outlives_their_seat(stage: Stage, course: Course) -> None:
    imported(course, stage, "ada,Ada\nada@example.org,Ada")
    seat = people.join_by_roster(course=course, user=stage.ada, now=NOON)
    EmailAddress.objects.create(user=stage.ada, email="ada@example.org", verified=True)  # after joining
    people.end_seat(seat=seat, actor=stage.olga, now=NOON)
    with pytest.raises(UserError, match="neither your username"):
        people.join_by_roster(course=course, user=stage.ada, now=NOON)


def test_sections_and_lines_are_removed(stage: Stage, course: Course) -> None:
    imported(course, stage)
    seat = people.join_by_roster(course=course, user=stage.ada, now=NOON)
    people.change_seat(seat=seat, name="A. L.", section="Friday", actor=stage.olga, now=NOON)
    assert str(Seat.objects.get().section) == "Friday"
    people.remove_section(section=Section.objects.get(name="Friday"), actor=stage.olga, now=NOON)
    assert Seat.objects.get().section is None
    joined, expected = RosterLine.objects.get(login="ada"), RosterLine.objects.get(login="ben@example.org")
    with pytest.raises(UserError, match="has joined"):
        people.remove_line(line=joined, actor=stage.olga, now=NOON)
    people.remove_line(line=expected, actor=stage.olga, now=NOON)
    for act in (
        lambda: imported(course, stage, "cleo"),
        lambda: people.end_seat(seat=seat, actor=stage.ada, now=NOON),
    ):
        stage.olga = stage.ada
        with pytest.raises(UserError, match="only a owner"):
            act()


def test_the_number_of_students_is_limited(stage: Stage, course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "MOST_SEATS", 2)
    with pytest.raises(UserError, match="at most 2 students"):
        imported(course, stage, "ada\nben\ncleo\n")
    monkeypatch.setattr(people, "MOST_SECTIONS", 1)
    with pytest.raises(UserError, match="at most 1 sections"):
        imported(course, stage, "ada,,a\nben,,b\n")


def test_an_erased_account_leaves_no_name_in_a_class(stage: Stage, course: Course) -> None:
    imported(course, stage)
    people.join_by_roster(course=course, user=stage.ada, now=NOON)
    close(account=User.objects.get(pk=stage.ada.pk), erase=True, now=NOON)
    assert Seat.objects.get().name == ""
    assert list(RosterLine.objects.values_list("login", flat=True)) == ["ben@example.org"]
