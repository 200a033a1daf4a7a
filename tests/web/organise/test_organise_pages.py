"""An organiser creates, edits and clones a competition on its pages; errors appear beside their fields."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.competitions.models import Board, Competition, Role, Track
from leaderboard.judging.models import Runner
from tests.leaderboard.competitions.test_problems_are_imported import BARE, SOFTMAX, bring_in, make_set
from tests.leaderboard.stage import make_board
from tests.web.test_pages_are_strict import check

SETTINGS = {
    "name": "Spring",
    "slug": "spring",
    "visibility": "closed",
    "divisions": ["human", "agent", "mixed"],
    "agents_rank": "shared",
    "max_team_size": "1",
    "scoring": "geometric_mean",
    "default_licence": "MIT",
    "stays_open": "on",
}
TRACK = {"name": "Best of all", "kind": "overall", "divisions": ["human"], "tie_rule": "earlier", "position": "0"}
PAGES = (
    *("", "/settings", "/history", "/clone", "/roles", "/boards", "/tracks", "/codes", "/announcements"),
    *("/state", "/exports", "/confirmations"),
)


@pytest.fixture
def owner(stage, browser):
    """Return the browser of ada, who owns the stage's competition and is not staff."""
    Role.objects.create(competition=stage.board.competition, user=stage.ada, role=Role.OWNER)
    return browser(stage.ada)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_answers_every_role(stage, browser, page) -> None:
    for role, person in ((Role.VIEWER, stage.ada), (Role.OWNER, stage.ben)):
        Role.objects.create(competition=stage.board.competition, user=person, role=role)
        answer = browser(person).get(f"/organise/kernels-101{page}")
        assert answer.status_code == 200
        check(answer)
    assert browser(stage.cleo).get(f"/organise/kernels-101{page}").status_code == 404


def test_the_first_competition_of_an_empty_site(db, stage, browser) -> None:
    client = browser(stage.olga)
    page = client.get("/organise/new")
    check(page)
    made = client.post("/organise/new", SETTINGS | {"deadline": "2027-03-01T12:00", "contest_at": "2027-02-01T12:00"})
    assert made["Location"] == "/organise/spring/boards"
    spring = Competition.objects.get(slug="spring")
    assert (spring.deadline, spring.visibility) == (datetime(2027, 3, 1, 12, tzinfo=UTC), "closed")
    assert "Spring" in client.get("/organise").content.decode()


def test_only_staff_finds_the_form_for_a_new_one(stage, owner) -> None:
    assert owner.get("/organise/new").status_code == 404
    assert b"New competition" not in owner.get("/organise").content


def test_errors_stand_at_their_fields_and_what_was_typed_stays(stage, browser) -> None:
    wrong = SETTINGS | {"contest_at": "2027-03-02T12:00", "deadline": "2027-03-01T12:00", "rules": "Be fair."}
    answer = browser(stage.olga).post("/organise/new", wrong)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert 'id="id_deadline_error">The deadline (2027-03-01 12:00 UTC) cannot come before the contest' in page
    assert 'aria-describedby="id_deadline_helptext id_deadline_error"' in page
    assert "Be fair." in page
    assert not Competition.objects.filter(slug="spring").exists()
    page = browser(stage.olga).post("/organise/new", wrong | {"slug": "My Spring"}).content.decode()
    assert "cannot come before the contest" in page
    assert "Use small letters, digits and single dashes" in page, "all errors stand in one answer"
    assert page.index('name="name"') < page.index('name="slug"')


def test_only_what_was_changed_is_saved(stage, owner) -> None:
    competition = stage.board.competition
    competition.deadline = datetime(2027, 3, 1, 12, 0, 30, tzinfo=UTC)  # the form shows minutes
    competition.save()
    told = SETTINGS | {"name": "Kernels 101", "deadline": "2027-03-01T12:00", "rules": "Be fair."}
    told |= {"default_licence": "Apache-2.0"}
    assert owner.post("/organise/kernels-101/settings", told).status_code == 302
    competition.refresh_from_db()
    assert (competition.rules, competition.visibility, competition.deadline.second) == ("Be fair.", "closed", 30)
    assert competition.default_licence == "Apache-2.0"
    history = owner.get("/organise/kernels-101/history").content.decode()
    assert "edit competition" in history
    assert "Be fair." in history
    assert "deadline" not in history


def test_an_import_is_told_in_words(stage, owner) -> None:
    bring_in(make_set(SOFTMAX, BARE, replace(SOFTMAX, slug="rows")))
    digest = SOFTMAX.problem.digest[7:15]
    for page in ("", "/history"):
        said = owner.get(f"/organise/kernels-101{page}").content.decode()
        assert f"updated: cpu: new deadline; H200: created, version {digest}" in said
        assert "refused: gpus: no hardware is named for this problem; add `gpus: [cpu]`" in said
        assert "&#x27;" not in said.split("Before → after")[1], "no Python in it"
    assert f"created on cpu, H200, version {digest}" in said


def test_a_time_that_is_past_asks_for_a_reason(stage, owner) -> None:
    told = SETTINGS | {"name": "Kernels 101", "deadline": "2025-03-01T12:00"}
    answer = owner.post("/organise/kernels-101/settings", told)
    assert 'id="id_reason_error">Say why' in answer.content.decode()
    owner.post("/organise/kernels-101/settings", told | {"reason": "It was over long ago."})
    stage.board.competition.refresh_from_db()
    assert stage.board.competition.deadline == datetime(2025, 3, 1, 12, tzinfo=UTC)


def test_boards_are_added_edited_closed_and_removed(stage, owner) -> None:
    version = stage.board.version.pk
    added = owner.post("/organise/kernels-101/boards", {"version": version, "hardware": "H200", "tags": "memory, fast"})
    assert added.status_code == 302
    board = Board.objects.get(hardware="H200")
    assert (board.slug, board.tags) == ("softmax", ["memory", "fast"])
    again = owner.post("/organise/kernels-101/boards", {"version": version, "hardware": "H200"})
    assert 'id="id_hardware_error">There is a board softmax on H200 already' in again.content.decode()
    address = f"/organise/kernels-101/boards/{board.pk}"
    check(owner.get(address))
    owner.post(address, {"version": version, "tags": "slow", "deadline": "2027-01-01T00:00"})
    board.refresh_from_db()
    assert (board.tags, board.deadline) == (["slow"], datetime(2027, 1, 1, tzinfo=UTC))
    assert owner.post(f"{address}/remove").status_code == 302
    assert not Board.objects.filter(pk=board.pk).exists()
    stage.submit()
    own = f"/organise/kernels-101/boards/{stage.board.pk}"
    assert b"Close this board" in owner.get(own).content
    assert b"Enter a reason." in owner.post(f"{own}/close", {"reason": " "}).content
    assert b"close it instead" in owner.post(f"{own}/remove", follow=True).content
    owner.post(f"{own}/close", {"reason": "Its reference is wrong."})
    stage.board.refresh_from_db()
    assert stage.board.deadline is not None


def test_a_board_on_hardware_without_a_runner_is_warned_of(stage, owner, browser) -> None:
    version = stage.board.version.pk
    page = owner.get("/organise/kernels-101/boards").content.decode()
    assert "Known here: cpu" in page
    assert 'href="/sets"' not in page, "only an administrator imports"
    slip = owner.post("/organise/kernels-101/boards", {"version": version, "hardware": "CPU"})
    assert "This site spells it cpu; use this spelling." in slip.content.decode()
    added = owner.post("/organise/kernels-101/boards", {"version": version, "hardware": "H100"}, follow=True)
    assert added.content.decode().count("No runner with H100 has ever connected to this site") == 2, "said twice"
    for address in ("/boards/softmax", "/boards/softmax/submit"):
        shown = browser(stage.ada).get(address).content.decode()
        assert "no machine with H100 has joined this site yet" in shown
        assert "no runner with cpu has ever connected to this site" in shown
    Runner.objects.create(name="h", hardware="H100", token_digest="x", created_at=stage.now, last_seen_at=stage.now)
    assert "No runner with H100" not in owner.get("/organise/kernels-101/boards").content.decode()


def test_the_boards_page_leads_an_administrator_to_the_import(stage, browser) -> None:
    page = browser(stage.olga).get("/organise/kernels-101/boards").content.decode()
    assert '<a href="/sets">import it as a zip file</a>' in page


def test_an_owner_chooses_among_problems_that_they_may_see(stage, owner) -> None:
    secret = Competition.objects.create(slug="secret", name="Secret", visibility="closed")
    hidden = make_board("matmul")
    Board.objects.filter(pk=hidden.pk).update(competition=secret)
    page = owner.get("/organise/kernels-101/boards").content
    assert b"matmul" not in page
    assert re.search(rb"<option[^>]*>Row softmax \(softmax\) \S+ version [^<]*, in use on cpu</option>", page)
    answer = owner.post("/organise/kernels-101/boards", {"version": hidden.version.pk, "hardware": "cpu"})
    assert b"Choose a problem from the list" in answer.content


def test_tracks_and_prizes_are_made_changed_and_removed(stage, owner) -> None:
    params = {"kind": "first_to_beat", "board": "softmax cpu", "speedup": "2"}
    made = owner.post("/organise/kernels-101/tracks", TRACK | params)
    track = Track.objects.get()
    assert made["Location"] == f"/organise/kernels-101/tracks/{track.pk}"
    assert track.params == {"slug": "softmax", "hardware": "cpu", "ratio": 0.5}
    address = made["Location"]
    page = owner.get(address)
    check(page)
    assert "the first kernel 2.00× as fast as the baseline of softmax on cpu" in page.content.decode()
    owner.post(f"{address}/prizes", {"place": "1", "amount": "1000", "currency": "eur", "text": "a GPU"})
    assert "EUR\u202f1,000 and a GPU" in owner.get("/organise/kernels-101/tracks").content.decode()
    assert b"Give the three letters" in owner.post(f"{address}/prizes", {"place": "2", "amount": "5"}).content
    assert b'value="1000.00"' in owner.get(f"{address}?place=1").content
    said = owner.post(address, TRACK | {"eligibility": "Students."}, follow=True).content.decode()
    assert "Saved. Entrants must now declare their eligibility anew." in said
    owner.post(address, TRACK)
    track.refresh_from_db()
    assert (track.kind, track.params) == ("overall", {})
    owner.post(f"{address}/prizes/{track.prizes.get().pk}/remove")
    assert not track.prizes.exists()
    owner.post(f"{address}/remove")
    assert not Track.objects.exists()


def test_a_track_says_what_its_kind_needs(stage, owner) -> None:
    answer = owner.post("/organise/kernels-101/tracks", TRACK | {"kind": "tag"})
    assert 'id="id_tag_error">Choose one of those that its boards have' in answer.content.decode()
    answer = owner.post("/organise/kernels-101/tracks", TRACK | {"kind": "first_to_beat", "board": "softmax cpu"})
    assert 'id="id_speedup_error">Say how many times' in answer.content.decode()


def test_roles_are_given_and_taken(stage, owner) -> None:
    owner.post("/organise/kernels-101/roles", {"username": "ben", "role": "viewer"})
    role = Role.objects.get(user=stage.ben)
    assert b"sign up first" in owner.post("/organise/kernels-101/roles", {"username": "x", "role": "viewer"}).content
    owner.post(f"/organise/kernels-101/roles/{role.pk}/revoke")
    assert not Role.objects.filter(user=stage.ben).exists()
    own = Role.objects.get(user=stage.ada)
    assert b"the last owner stays" in owner.post(f"/organise/kernels-101/roles/{own.pk}/revoke", follow=True).content


def test_a_viewer_reads_and_sends_nothing(stage, browser) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.VIEWER)
    client = browser(stage.ben)
    assert (
        b"<button" not in client.get("/organise/kernels-101/settings").content.split(b'<div class="organise-main">')[1]
    )
    assert client.post("/organise/kernels-101/settings", SETTINGS).status_code == 403
    assert client.post("/organise/kernels-101/roles", {"username": "ben", "role": "owner"}).status_code == 403


def test_a_competition_is_cloned_on_its_page(stage, owner) -> None:
    answer = owner.post(
        "/organise/kernels-101/clone", {"name": "Kernels 102", "slug": "kernels-102", "times": "clear"}, follow=True
    )
    check(answer)
    assert b"Kernels 102" in answer.content
    assert b"softmax-kernels-102" in owner.get("/organise/kernels-102/boards").content
    taken = owner.post("/organise/kernels-101/clone", {"name": "x", "slug": "kernels-102", "times": "clear"})
    assert b"choose another" in taken.content


@pytest.mark.parametrize("page", ["", "/boards", "/tracks", "/state", "/history"])
def test_queries_are_constant_in_what_there_is(stage, owner, page) -> None:
    def count() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert owner.get(f"/organise/kernels-101{page}").status_code == 200
        return len(captured)

    owner.post("/organise/kernels-101/tracks", TRACK)
    stage.submit()
    few = count()
    for number in range(3):
        make_board(f"problem-{number}")
        owner.post("/organise/kernels-101/tracks", TRACK | {"name": f"Track {number}"})
        stage.submit(stage.ben)
    assert count() <= few
