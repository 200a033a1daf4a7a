"""The page of a person's own entrant: permitted acts, and visibility of a team's submissions."""

import re

import pytest

from leaderboard.competitions.models import Track
from leaderboard.web import limits
from tests.web.test_pages_are_strict import check

ADDRESS = "/competitions/kernels-101/team"


@pytest.fixture
def stage(stage):
    competition = stage.board.competition
    competition.max_team_size = 3
    competition.save()
    return stage


def post(client, act: str, **sent: object):
    return client.post(f"{ADDRESS}/{act}", sent, follow=True)


@pytest.fixture
def team(stage, browser):
    """Create Ada's team with ben as a member."""
    post(browser(stage.ada), "create", name="Fast")
    post(browser(stage.ada), "invite", username="ben")
    post(browser(stage.ben), "accept", invite=stage.ben.team_invites.get().pk)
    return stage.ada.memberships.get(left_at=None).entrant


def test_from_nothing_to_a_team(stage, browser) -> None:
    ada, ben = browser(stage.ada), browser(stage.ben)
    first = ada.get(ADDRESS)
    check(first)
    assert b"You are not in this competition yet" in first.content
    made = post(ada, "create", name="Fast", division="human")
    check(made)
    assert b"You made the team Fast and are its captain." in made.content
    assert b"ben will see the invite" in post(ada, "invite", username="Ben").content
    home = ben.get("/")
    check(home)
    assert b"invites you into the team <strong>Fast</strong>" in home.content
    joined = post(ben, "accept", invite=stage.ben.team_invites.get().pk)
    assert b"You are in Fast now" in joined.content
    assert b"Invite somebody" not in joined.content, "that is for the captain"
    assert b"invites you" not in ben.get("/").content


def test_what_the_captain_says_is_kept(stage, browser, team) -> None:
    ada = browser(stage.ada)
    post(ada, "division", division="mixed", model_name="GPT-9")
    assert b"$12.50" not in ada.get("/competitions/kernels-101/team").content
    assert b'value="12.50"' in post(ada, "cost", cost_usd="12.5").content
    post(ada, "affiliation", affiliation="ETH")
    post(ada, "pseudonym", pseudonym="Night Owl")
    post(ada, "rename", name="Faster")
    team.refresh_from_db()
    told = (team.division, team.model_name, team.affiliation, team.shown_name, team.name)
    assert told == ("mixed", "GPT-9", "ETH", "Night Owl", "Faster")
    page = post(ada, "reveal").content
    assert b"Faster (was Night Owl)" in page


def test_a_declaration_is_of_the_text_that_the_page_showed(stage, browser, team) -> None:
    """Regression: a page from before a change of the text declared the new text, unread."""
    ada, told = browser(stage.ada), {"slug": "students", "name": "S", "kind": "overall", "eligibility": "A student."}
    Track.objects.create(competition=stage.board.competition, **told)
    page = ada.get(ADDRESS)
    Track.objects.update(eligibility="A student in France.")
    for status, declared in ((409, []), (200, ["students"])):
        (shown,) = re.findall('name="shown" value="(.+?)"', page.content.decode())
        page = post(ada, "declare", declared="students", shown=shown)
        check(page)
        team.refresh_from_db()
        assert (page.status_code, team.declared) == (status, declared)
        assert b"A student in France." in page.content
        assert (b"An organiser has changed the texts meanwhile" in page.content) == (status == 409)


@pytest.mark.parametrize(
    ("act", "sent", "status", "said"),
    [
        ("invite", {"username": "nobody"}, 404, "Nobody has this user name."),
        ("rename", {"name": "cleo"}, 400, "somebody&#x27;s user name"),
        ("division", {"division": "robot"}, 400, "No such division here"),
        ("division", {"division": "agent"}, 400, "Name the model that writes the code."),
        ("cost", {"cost_usd": "5"}, 400, "Only the divisions agent and mixed"),
        ("declare", {"declared": "nope"}, 400, "No such track asks for it."),
        ("withdraw", {"invite": "x"}, 404, "There is no such invite."),
        ("leave", {}, 409, "make another member captain first"),
    ],
)
def test_what_cannot_be_done_says_why(stage, browser, team, act, sent, status, said) -> None:
    answer = post(browser(stage.ada), act, **sent)
    assert answer.status_code == status
    check(answer)
    assert said in answer.content.decode()


def test_no_act_without_a_place_to_do_it(stage, browser, team) -> None:
    cleo = browser(stage.cleo)
    for act in ("invite", "rename", "remove", "hand-over", "division", "leave", "withdraw"):
        assert post(cleo, act, username="ada").status_code == 409, act
    assert post(cleo, "accept", invite=stage.ben.team_invites.get().pk).status_code == 404
    assert cleo.post(f"{ADDRESS}/nope").status_code == 404
    assert cleo.get(f"{ADDRESS}/rename").status_code == 405
    assert cleo.get("/competitions/nope/team").status_code == 404
    assert browser(None).get(ADDRESS).status_code == 302


def test_nobody_enters_what_is_over(stage, browser) -> None:
    from django.utils import timezone

    stage.board.competition.deadline = timezone.now()
    stage.board.competition.save()
    for act in ("enter", "create"):
        assert post(browser(stage.cleo), act, name="Late", division="human").status_code == 409
    assert not stage.cleo.memberships.exists()


def addresses(pk: int) -> list[str]:
    return [f"/submissions/{pk}", f"/api/v1/submissions/{pk}"]


def codes(client, pk: int) -> set[int]:
    return {client.get(address).status_code for address in addresses(pk)}


def test_team_mates_see_each_other_s_submissions_and_nobody_else_does(stage, browser, team) -> None:
    alone = stage.submit(stage.cleo)
    sent = stage.submit(stage.ben)
    assert sent.entrant == team
    ada, ben, cleo = browser(stage.ada), browser(stage.ben), browser(stage.cleo)
    assert codes(ada, sent.pk) == {200}
    assert codes(cleo, sent.pk) == codes(ada, alone.pk) == {404}
    assert f"/submissions/{sent.pk}".encode() in ada.get(ADDRESS).content
    assert b">Cancel<" not in ada.get(f"/submissions/{sent.pk}").content
    assert b">Cancel<" in ben.get(f"/submissions/{sent.pk}").content
    assert ada.post(f"/api/v1/submissions/{sent.pk}/cancel").status_code == 403
    assert ada.get("/api/v1/submissions").json() == [], "the list is one's own"


def test_who_left_sees_their_own_and_is_not_seen_any_more(stage, browser, team) -> None:
    ada, ben = browser(stage.ada), browser(stage.ben)
    by_ada, by_ben = stage.submit(stage.ada), stage.submit(stage.ben)
    post(ben, "leave")
    later = stage.submit(stage.ben)
    assert codes(ben, by_ben.pk) == codes(ben, later.pk) == {200}
    assert codes(ben, by_ada.pk) == {404}
    assert codes(ada, by_ben.pk) == {200}, "what was sent for the team stays with it"
    assert codes(ada, later.pk) == {404}


def test_a_stream_ends_for_who_left(stage, browser, team, monkeypatch) -> None:
    from leaderboard.submissions.models import Submission
    from leaderboard.web import stream

    monkeypatch.setattr(stream.connection, "close_if_unusable_or_obsolete", lambda: None)  # keeps the test's connection
    sent = stage.submit(stage.ada)
    assert stream._read(sent.pk, stage.ben, 0, vars).events
    post(browser(stage.ben), "leave")
    with pytest.raises(Submission.DoesNotExist):
        stream._read(sent.pk, stage.ben, 0, vars)


def test_a_stream_ends_with_the_account_and_with_staff(stage, monkeypatch) -> None:
    from leaderboard.submissions.models import Submission
    from leaderboard.web import stream

    monkeypatch.setattr(stream.connection, "close_if_unusable_or_obsolete", lambda: None)  # keeps the test's connection
    sent = stage.submit(stage.ada)
    for user, closed in ((stage.olga, {"is_staff": False, "is_superuser": False}), (stage.ada, {"is_active": False})):
        assert stream._read(sent.pk, user, 0, vars).events
        type(user).objects.filter(pk=user.pk).update(**closed)
        with pytest.raises(Submission.DoesNotExist):
            stream._read(sent.pk, user, 0, vars)


def test_a_name_that_nobody_can_have_is_nobody_s(stage, browser, team) -> None:
    for act in ("invite", "remove", "hand-over"):
        assert post(browser(stage.ada), act, username="ben\x00").status_code == 404, act


def test_the_page_asks_as_often_for_many_as_for_few(stage, browser, team, django_assert_num_queries) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from leaderboard.accounts.models import User

    client = browser(stage.ada)
    stage.judge(stage.submit(stage.ada))
    client.get(ADDRESS)
    with CaptureQueriesContext(connection) as asked:
        client.get(ADDRESS)
    few = len(asked)
    for number in range(3):
        stage.judge(stage.submit(stage.ben))
        User.objects.create_user(f"guest{number}")
        post(client, "invite", username=f"guest{number}")
    client.get(ADDRESS)
    with django_assert_num_queries(few):
        client.get(ADDRESS)


def test_who_has_a_role_sees_what_was_sent_to_the_competition(stage, browser) -> None:
    from leaderboard.competitions.models import Competition, Role

    sent = stage.submit(stage.ada)
    other = Competition.objects.create(slug="other", name="Other")
    Role.objects.create(competition=other, user=stage.cleo, role="owner")
    assert codes(browser(stage.cleo), sent.pk) == {404}
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role="viewer")
    assert codes(browser(stage.cleo), sent.pk) == {200}


def test_nobody_signs_up_under_the_name_of_a_team(stage, browser, team) -> None:
    sent = {"username": "fast", "password1": "a-long-Passw0rd", "password2": "a-long-Passw0rd"}
    answer = browser(None).post("/sign-up", sent)
    assert b"This name is taken" in answer.content


def test_a_pseudonym_hides_the_username_on_boards(stage, browser) -> None:
    stage.judge(stage.submit(stage.cleo))
    post(browser(stage.cleo), "pseudonym", pseudonym="Night Owl")
    for address in ("/", "/boards", "/boards/softmax", "/boards/softmax/cpu", "/api/v1/boards/softmax/cpu/entries"):
        page = browser(None).get(address).content
        assert b"cleo" not in page, address
    assert b"Night Owl" in page


def test_who_changes_too_much_waits(stage, browser, monkeypatch) -> None:
    """The limit applies per user: ben can still act."""
    monkeypatch.setattr(limits, "TEAM_USER", limits.Limit("team user", 2, 3600))
    ada = browser(stage.ada)
    assert post(ada, "create", name="Fast").status_code == 200
    assert post(ada, "invite", username="nobody").status_code == 404, "what is refused counts, too"
    late = post(ada, "rename", name="Faster")
    assert late.status_code == 429
    assert 0 < int(late["Retry-After"]) <= 3600
    assert b"You changed your entries more than 2 times in an hour; wait" in late.content
    check(late)
    assert stage.ada.memberships.get(left_at=None).entrant.name == "Fast"
    assert post(browser(stage.ben), "create", name="Other").status_code == 200
