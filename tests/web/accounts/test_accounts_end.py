"""Closing an account, erasing a person, and the export of a person's data."""

import io
import json
import zipfile

import pytest

PASSWORD = "hurdle-Rail-99"


@pytest.fixture
def client(stage, browser):
    from allauth.account.models import EmailAddress

    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    EmailAddress.objects.create(user=stage.ada, email="ada@example.org", verified=True, primary=True)
    client = browser(None)
    client.post("/sign-in", {"username": "ada", "password": PASSWORD})
    return client


def end(client, how: str, username: str = "ada"):
    return client.post("/account/close", {"how": how, "username": username}, follow=True)


def test_a_closed_account_opens_to_nobody_and_keeps_its_name(stage, browser, tool, client, mailoutbox) -> None:
    stage.judge(stage.submit(stage.ada))
    api, other = tool(stage.ada), browser(stage.ada)
    assert b"Your account is closed." in end(client, "close").content
    assert [one.get("/account").status_code for one in (client, other)] == [302, 302]
    assert api.get("/api/v1/me").status_code == 401
    assert browser(None).post("/sign-in", {"username": "ada", "password": PASSWORD}).status_code == 200
    assert b"ada" in browser(None).get("/boards/softmax/cpu").content
    assert mailoutbox[-1].to == ["ada@example.org"]


def test_an_erased_person_stays_on_boards_by_a_pseudonym(stage, browser, tool, client) -> None:
    from django.apps import apps

    from leaderboard.accounts.models import User

    stage.ben.linked_to = stage.ada
    stage.ben.save()
    stage.judge(stage.submit(stage.ada))
    entrant = stage.ada.memberships.get().entrant
    tool(stage.ada)
    assert b"Your account is erased." in end(client, "erase").content
    board = browser(None).get("/boards/softmax/cpu").content.decode()
    assert f"deleted-{entrant.pk}" in board
    assert ">ada<" not in board
    for login in User.objects.filter(pk__in=(stage.ada.pk, stage.ben.pk)):
        assert (login.get_username(), login.is_active) == (f"deleted-{login.pk}", False)
    for model in ("account.EmailAddress", "usersessions.UserSession", "accounts.ApiToken", "mfa.Authenticator"):
        assert not apps.get_model(model).objects.exists(), model


def test_an_account_that_others_depend_on_is_not_closed(stage, browser, client) -> None:
    from leaderboard.competitions.models import Role
    from leaderboard.entrants.models import Entrant, Membership

    competition = stage.board.competition
    role = Role.objects.create(competition=competition, user=stage.ada, role="owner")
    assert b"takes the role back first" in end(client, "close").content
    role.delete()
    team = Entrant.objects.create(competition=competition, name="Fast", is_team=True, created_at=stage.now)
    for user, part in ((stage.ada, Membership.CAPTAIN), (stage.ben, Membership.MEMBER)):
        Membership.objects.create(entrant=team, competition=competition, user=user, role=part, joined_at=stage.now)
    assert b"make another member captain first" in end(client, "erase").content
    assert b"closed by another administrator" in end(browser(stage.olga), "close", "olga").content
    stage.ada.refresh_from_db()
    assert stage.ada.is_active


def test_closing_wants_the_name_and_the_password_again(stage, browser, client) -> None:
    assert b"Type the name of your account" in end(client, "close", "ben").content
    assert client.post("/account/close", {"username": "ada"}).status_code == 400
    asked = browser(stage.ada).post("/account/close", {"how": "close", "username": "ada"})
    assert asked.headers["Location"].startswith("/account/confirm")
    stage.ada.refresh_from_db()
    assert stage.ada.is_active


def test_the_export_has_ones_own_data_and_no_secret(stage, browser, tool, client) -> None:
    submission, foreign = stage.submit(stage.ada), stage.submit(stage.cleo)
    tool(stage.ada)
    answer = client.post("/account/export")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="photofinish-ada.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        names = packed.namelist()
        told = json.loads(packed.read("account.json"))
        assert packed.read(f"submissions/{submission.pk}/{submission.filename}").decode() == submission.source
    assert [name for name in names if f"/{foreign.pk}/" in name] == []
    assert [row["id"] for row in told["submissions"]] == [submission.pk]
    assert told["addresses"] == [{"email": "ada@example.org", "verified": True}]
    assert "sign_in_done" in [row["act"] for row in told["acts"]]
    text = json.dumps(told)
    assert not [secret for secret in ("digest", "password", "pbkdf2") if secret in text]
    assert told["sources_left_out"] == 0


def test_exports_are_limited(client) -> None:
    statuses = [client.post("/account/export").status_code for _ in range(6)]
    assert statuses == [200] * 5 + [429]


def test_a_ranked_submission_can_need_a_confirmed_address(stage, browser, settings) -> None:
    from allauth.account.models import EmailAddress

    from leaderboard.errors import UserError

    settings.RANKED_NEEDS_EMAIL = True
    stage.submit(stage.cleo, mode="test")
    with pytest.raises(UserError, match="confirmed e-mail address; add one at /account/email"):
        stage.submit(stage.cleo)
    address = EmailAddress.objects.create(user=stage.cleo, email="cleo@example.org", primary=True)
    with pytest.raises(UserError, match="confirmed"):
        stage.submit(stage.cleo)
    address.verified = True
    address.save()
    assert stage.submit(stage.cleo).mode == "ranked"
