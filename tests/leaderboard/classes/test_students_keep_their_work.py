"""What students keep: the class after a team, a grade after a team or a linked login, the release after an erasure."""

import io
import json
import zipfile
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from leaderboard.accounts.logins import link
from leaderboard.accounts.models import User
from leaderboard.classes import assignments, grading, people
from leaderboard.classes.models import Assignment, Course, Work
from leaderboard.classes.progress import grid
from leaderboard.classes.work import hand_in, start_work
from leaderboard.competitions.access import issue_codes
from leaderboard.competitions.models import CLOSED, Competition, Role
from leaderboard.competitions.permissions import boards_seen_by, may_see
from leaderboard.entrants import teams
from leaderboard.entrants.closing import close
from leaderboard.entrants.enter import enter_alone
from leaderboard.entrants.models import Entrant
from leaderboard.errors import UserError
from leaderboard.inbox.models import Message
from leaderboard.matches.models import HandIn
from leaderboard.matches.permissions import matches_of, matches_seen_by
from leaderboard.matches.worklog import save_section
from leaderboard.web.accounts.export import export_of
from leaderboard.web.classes.grading_pages import grade_rows
from tests.leaderboard.classes.test_grading import (
    BEGUN,
    DUE,
    OBJECTION,
    THREE,
    ZERO,
    begin,
    read,
    score,
    work_of,
)
from tests.leaderboard.stage import NOON, Stage


@pytest.fixture
def course(stage: Stage) -> Course:
    course = people.make_course(competition=stage.board.competition, actor=stage.olga, now=NOON)
    for user in (stage.ben, stage.cleo):
        Role.objects.create(competition=course.competition, user=user, role=Role.REVIEWER)
    people.import_roster(course=course, text="ada,Ada", actor=stage.olga, now=NOON)
    people.join_by_roster(course=course, user=stage.ada, now=NOON)
    Competition.objects.update(max_team_size=6)
    return course


def competition_of(course: Course) -> Competition:
    return Competition.objects.get(pk=course.competition_id)


def released(stage: Stage, work: Work) -> None:
    grading.release(assignment=Work.objects.get(pk=work.pk).assignment, actor=stage.olga, now=BEGUN)


def test_a_student_who_leaves_a_team_still_sees_the_closed_class(stage: Stage, course: Course) -> None:
    Competition.objects.update(visibility=CLOSED)
    competition = competition_of(course)
    teams.create_team(user=stage.ada, competition=competition, name="Warp Drive", now=NOON)
    teams.leave(user=stage.ada, competition=competition, now=NOON)
    assert may_see(stage.ada, competition)
    assert boards_seen_by(stage.ada).exists()
    assert stage.submit(stage.ada).entrant is not None
    people.end_seat(seat=course.seats.get(), actor=stage.olga, now=NOON)
    teams.create_team(user=stage.ada, competition=competition, name="Two", now=NOON)
    teams.leave(user=stage.ada, competition=competition, now=NOON)
    assert not may_see(stage.ada, competition)


@pytest.mark.parametrize("moderate_from", [None, 10])
def test_an_erased_account_does_not_hold_up_the_release(
    stage: Stage, course: Course, moderate_from: int | None
) -> None:
    work = work_of(stage, course, graders_each=2, moderate_from=moderate_from)
    begin(stage, work)
    score(stage, work)
    if moderate_from:
        score(stage, work, actor=stage.cleo, scores=ZERO)
    close(account=stage.ada, erase=True, now=BEGUN)
    assert (read(work).state, read(work).points) == ("graded", 37.5 if moderate_from else 75.0)
    released(stage, work)


def test_a_grade_on_appeal_counts_although_nothing_was_handed_in(stage: Stage, course: Course) -> None:
    told = {"course": course, "actor": stage.olga, "now": NOON, "title": "Late", "tier": 1, "due_at": DUE}
    assignment = assignments.add_assignment(**told, boards=[stage.board])
    work = start_work(assignment=assignment, board=stage.board, user=stage.ada, model="a/b", machine="pasted", now=NOON)
    begin(stage, work)
    released(stage, work)
    assert read(work).state == "not handed in"
    appeal = grading.appeal(work=work, text=OBJECTION, actor=stage.ada, now=BEGUN)
    grading.answer(appeal=appeal, text="You were ill.", scores=THREE, actor=stage.olga, now=BEGUN)
    assert (read(work).state, read(work).points) == ("graded", 75.0)


def test_linked_logins_keep_work_and_grade_in_the_grid(stage: Stage, course: Course) -> None:
    work = work_of(stage, course)
    begin(stage, work)
    score(stage, work)
    released(stage, work)
    dan = User.objects.create_user("dan")
    assert link(one=User.objects.get(pk=stage.ada.pk), other=dan, keep="dan", now=BEGUN) == dan
    assert [(row["state"], row["points"]) for row in grade_rows(course)] == [("graded", 75.0)]
    [line] = grid(course, now=BEGUN, seats=list(course.seats.all()))
    assert [cell.work for cell in line.cells] == [work]


def test_who_joined_a_team_reads_and_appeals_the_grade_of_earlier_work(stage: Stage, course: Course) -> None:
    work = work_of(stage, course)
    teams.create_team(user=stage.ada, competition=competition_of(course), name="Warp Drive", now=NOON)
    begin(stage, work)
    score(stage, work)
    before = Message.objects.filter(user=stage.ada).count()
    released(stage, work)
    assert Message.objects.filter(user=stage.ada).count() == before + 1
    client = signed_in(stage.ada)
    page = client.get(f"/classes/{competition_of(course).slug}/grades/{work.pk}")
    assert page.status_code == 200
    assert client.get(f"/matches/{work.match_id}").status_code == 200
    grading.appeal(work=work, text=OBJECTION, actor=stage.ada, now=BEGUN)


def test_nobody_answers_their_own_appeal(stage: Stage, course: Course) -> None:
    work = work_of(stage, course)
    begin(stage, work)
    score(stage, work, scores=ZERO)
    released(stage, work)
    appeal = grading.appeal(work=work, text=OBJECTION, actor=stage.ada, now=BEGUN)
    Role.objects.create(competition=course.competition, user=stage.ada, role=Role.OWNER)
    with pytest.raises(UserError, match="another teacher answers"):
        grading.answer(appeal=appeal, text="I agree", scores=THREE, actor=stage.ada, now=BEGUN)
    assert read(work).points == 0


def test_the_code_of_an_ended_seat_admits_nobody_again(stage: Stage, course: Course) -> None:
    dan = User.objects.create_user("dan")
    old, new = issue_codes(competition=course.competition, count=2, actor=stage.olga, now=NOON)
    seat = people.join_by_code(code=old.text, user=dan, now=NOON)
    assert people.join_by_code(code=old.text, user=dan, now=NOON + timedelta(hours=1)) == seat
    people.end_seat(seat=seat, actor=stage.olga, now=NOON + timedelta(hours=1))
    with pytest.raises(UserError, match="a teacher has ended your seat; ask for another code"):
        people.join_by_code(code=old.text, user=dan, now=NOON + timedelta(hours=2))
    assert people.join_by_code(code=new.text, user=dan, now=NOON + timedelta(hours=3)).left_at is None


def student(stage: Stage, course: Course, name: str) -> User:
    """Return a student of the class whose name is the username."""
    user = User.objects.create_user(name)
    people.import_roster(course=course, text=name, actor=stage.olga, now=NOON)
    people.join_by_roster(course=course, user=user, now=NOON)
    return user


def warp_drive(stage: Stage, course: Course) -> Entrant:
    """Return a team of ada."""
    return teams.create_team(user=stage.ada, competition=competition_of(course), name="Warp Drive", now=NOON)


def join(stage: Stage, team: Entrant, user: User, now: datetime = NOON) -> None:
    invite = teams.invite(entrant=team, username=user.get_username(), actor=stage.ada, now=now)
    teams.accept_invite(invite_id=invite.pk, user=user, now=now)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="leaderboard.accounts.backend.AccountBackend")
    return client


def test_a_group_shares_the_grade_as_it_was_at_its_last_hand_in(stage: Stage, course: Course) -> None:
    competition = competition_of(course)
    dan, eve = (student(stage, course, name) for name in ("dan", "eve"))
    team = warp_drive(stage, course)
    join(stage, team, dan)
    work = work_of(stage, course, tier=3, group_size=2)
    later = NOON + timedelta(hours=1)
    join(stage, team, eve, later)
    with pytest.raises(UserError, match="at most 2 members, and Warp Drive has more"):
        hand_in(match=work.match, author=stage.ada, now=later)
    teams.leave(user=dan, competition=competition, now=later)
    begin(stage, work)
    score(stage, work)
    assert grading.authors(work) == ["ada", "dan"]
    released(stage, work)
    assert {(row["username"], row["state"], row["points"]) for row in grade_rows(course)} == {
        ("ada", "graded", 75.0),
        ("dan", "graded", 75.0),
        ("eve", "not handed in", None),
    }
    [line] = grid(course, now=BEGUN, seats=list(course.seats.filter(account=dan)))
    assert [cell.work for cell in line.cells] == [work]
    assert Message.objects.filter(user=dan).exists()
    assert not Message.objects.filter(user=eve).exists()
    grading.appeal(work=work, text=OBJECTION, actor=dan, now=BEGUN)
    for user, read_by in ((dan, 200), (eve, 404)):
        client = signed_in(user)
        assert client.get(f"/classes/{competition.slug}/grades/{work.pk}").status_code == read_by
        assert client.get(f"/matches/{work.match_id}/worklog").status_code == 200
    for user, count in ((dan, 1), (eve, 0)):
        with zipfile.ZipFile(io.BytesIO(export_of(user))) as packed:
            assert len(json.loads(packed.read("account.json"))["grades"]) == count


def test_a_former_member_reads_the_last_hand_in_and_no_later_work(stage: Stage, course: Course) -> None:
    dan, team = student(stage, course, "dan"), warp_drive(stage, course)
    join(stage, team, dan)
    work = work_of(stage, course, tier=3, group_size=2)
    save_section(match=work.match, section="plan", text="Second", revision=1, author=stage.ada, now=NOON)
    handed = hand_in(match=work.match, author=stage.ada, now=NOON)
    teams.leave(user=dan, competition=competition_of(course), now=NOON + timedelta(hours=1))
    save_section(match=work.match, section="plan", text="A later idea", revision=2, author=stage.ada, now=NOON)
    assert not matches_seen_by(dan).exists()
    assert not matches_of(dan).exists()
    client, address = signed_in(dan), f"/matches/{work.match_id}/worklog"
    for path in (address, f"{address}?hand_in={handed.pk}", f"{address}/print", f"{address}.md", f"{address}.json"):
        shown = client.get(path).content.decode()
        assert "Second" in shown, path
        assert "A later idea" not in shown, path
    first = HandIn.objects.order_by("pk")[0]
    assert f"hand_in={first.pk}" not in client.get(address).content.decode()
    for path in (f"{address}?hand_in={first.pk}", f"{address}/plan", f"/matches/{work.match_id}/human/1"):
        assert client.get(path).status_code == 404, path
    assert client.get(f"/matches/{work.match_id}").headers["Location"] == address
    called = client.get(f"/api/v1{address}").json()
    assert (called["texts"]["plan"], called["hand_in"]["id"], called["revisions"]) == ("Second", handed.pk, {})
    for path in ("plan", "hand-ins"):
        assert client.get(f"/api/v1{address}/{path}").status_code == 404, path
    with zipfile.ZipFile(io.BytesIO(export_of(dan))) as packed:
        assert json.loads(packed.read("account.json"))["worklogs"] == []
        files = [name for name in packed.namelist() if name.startswith("worklogs/")]
    assert files == [f"worklogs/{work.match_id}-{handed.pk}.json"]


def test_an_unchanged_worklog_is_handed_in_anew_for_changed_members(stage: Stage, course: Course) -> None:
    dan, team = student(stage, course, "dan"), warp_drive(stage, course)
    work = work_of(stage, course, tier=3, group_size=2)
    first, [h1, h2, h3] = HandIn.objects.get(), [NOON + timedelta(hours=hours) for hours in (1, 2, 3)]
    assert hand_in(match=work.match, author=stage.ada, now=h1) == first
    join(stage, team, dan, h1)
    second = hand_in(match=work.match, author=dan, now=h2)
    assert (second.at, second.digest, grading.authors(work)) == (h2, first.digest, ["ada", "dan"])
    assert hand_in(match=work.match, author=stage.ada, now=h3) == second
    teams.leave(user=dan, competition=competition_of(course), now=h3)
    assert hand_in(match=work.match, author=stage.ada, now=h3 + timedelta(hours=1)) != second
    assert grading.authors(work) == ["ada"]


def test_work_done_alone_is_handed_in_once_whichever_team_its_student_leaves(stage: Stage, course: Course) -> None:
    work = work_of(stage, course)
    competition, later = competition_of(course), NOON + timedelta(hours=1)
    warp_drive(stage, course)
    teams.leave(user=stage.ada, competition=competition, now=later)
    enter_alone(user=stage.ada, competition=competition, now=later)
    assert hand_in(match=work.match, author=stage.ada, now=NOON + timedelta(days=1)) == HandIn.objects.get()


def test_a_member_who_joins_after_a_hand_in_finds_the_work_and_no_hand_in(stage: Stage, course: Course) -> None:
    competition, dan, team = competition_of(course), student(stage, course, "dan"), warp_drive(stage, course)
    work, seat = work_of(stage, course, tier=3, group_size=2), course.seats.get(account=dan)
    join(stage, team, dan, NOON + timedelta(hours=1))
    for seats in ([seat], None):
        [cell] = next(line for line in grid(course, now=BEGUN, seats=seats) if line.seat == seat).cells
        assert (cell.work, cell.handed_in_at) == (work, None)
    page = signed_in(dan).get(f"/classes/{competition.slug}/mine").content.decode()
    assert f"/matches/{work.match_id}" in page
    assert f"/assignments/{work.assignment_id}/start" not in page
    rows = {row["username"]: (row["state"], row["work"]) for row in grade_rows(course)}
    assert rows == {"ada": ("to grade", work.pk), "dan": ("not handed in", None)}
    begin(stage, work)
    [line] = grid(course, now=BEGUN, seats=[seat])
    assert line.cells[0].work is None


def test_graders_do_not_grade_the_team_that_they_are_in(stage: Stage, course: Course) -> None:
    work, team = work_of(stage, course, tier=1), warp_drive(stage, course)
    group = work_of(stage, course, title="A block", tier=3, group_size=2)
    join(stage, team, stage.ben, NOON + timedelta(hours=1))  # after the hand-in
    for one in (work, group):
        begin(stage, one)
    score(stage, work)
    with pytest.raises(UserError, match="in its team; another grader"):
        score(stage, group)
    address = f"/classes/{competition_of(course).slug}/grading/works/"
    for one, is_shown in ((work, True), (group, False)):
        page = signed_in(stage.ben).get(f"{address}{one.pk}").content.decode()
        assert ('value="submit"' in page) is is_shown
    score(stage, group, actor=stage.cleo)
    released(stage, group)
    appeal = grading.appeal(work=group, text=OBJECTION, actor=stage.ada, now=BEGUN)
    Role.objects.filter(user=stage.ben).update(role=Role.OWNER)
    with pytest.raises(UserError, match="in its team; another teacher answers"):
        grading.answer(appeal=appeal, text="I agree", scores=THREE, actor=stage.ben, now=BEGUN)


def test_a_team_that_outgrew_its_group_may_still_hand_in(stage: Stage, course: Course) -> None:
    dan, team = student(stage, course, "dan"), warp_drive(stage, course)
    work = work_of(stage, course, tier=3, group_size=4)
    join(stage, team, dan)
    common: dict[str, Any] = {"assignment": work.assignment, "boards": [stage.board], "actor": stage.olga, "now": NOON}
    assignments.edit_assignment(group_size=2, **common)
    join(stage, team, student(stage, course, "eve"))
    assignments.edit_assignment(group_size=2, title="A block", **common)
    assignments.edit_assignment(group_size=5, **common)
    with pytest.raises(UserError, match="a team of 3 works on it"):
        assignments.edit_assignment(group_size=2, **common)
    Assignment.objects.update(group_size=2)
    Competition.objects.update(merge_deadline=NOON)
    work.match.refresh_from_db()
    with pytest.raises(UserError, match="a teacher may raise the size"):
        hand_in(match=work.match, author=stage.ada, now=NOON)
    assignments.edit_assignment(group_size=3, **common)
    hand_in(match=work.match, author=stage.ada, now=NOON)
