"""The account page links further logins; signing in with any of them signs in to the account."""

import pytest

from tests.web.test_pages_are_strict import check

SENT = {"username": "ada2", "password": "second-Secret", "own_password": "first-Secret"}


@pytest.fixture
def ada2(stage):
    from leaderboard.accounts.models import User

    stage.ada.set_password("first-Secret")
    stage.ada.save()
    return User.objects.create_user("ada2", password="second-Secret")


def who(client) -> str:
    return client.get("/api/v1/me").json().get("username", "")


def test_linking_and_signing_in_with_either(stage, browser, ada2) -> None:
    ada, old_session = browser(stage.ada), browser(ada2)
    page = ada.get("/account")
    check(page)
    assert b"Link another login of yours" in page.content
    linked = ada.post("/account/link", SENT, follow=True)
    check(linked)
    assert b"Both logins now belong to the account ada" in linked.content
    assert who(ada) == "ada"
    assert who(old_session) == "", "a session from before signs in again"
    for name, password in (("ada", "first-Secret"), ("ada2", "second-Secret")):
        client = browser(None)
        client.post("/sign-in", {"username": name, "password": password})
        assert who(client) == "ada"


def test_the_session_follows_the_account_that_stays(stage, browser, ada2) -> None:
    client = browser(ada2)
    sent = {"username": "ada", "password": "first-Secret", "own_password": "second-Secret", "keep": ""}
    assert b"belong to the account ada" in client.post("/account/link", sent, follow=True).content
    assert who(client) == "ada"


def test_submissions_and_tokens_of_both_are_shown(stage, browser, tool, ada2) -> None:
    sent = stage.submit(ada2)
    client = tool(ada2)
    browser(stage.ada).post("/account/link", SENT)
    ada = browser(stage.ada)
    assert who(client) == "ada"
    assert [row["id"] for row in client.get("/api/v1/submissions").json()] == [sent.pk]
    assert ada.get(f"/submissions/{sent.pk}").status_code == 200
    assert ada.post(f"/api/v1/submissions/{sent.pk}/cancel").json()["status"] == "cancelled"
    assert b'href="/competitions/kernels-101/team">Kernels 101' in ada.get("/account").content
    ada.post(f"/tokens/{ada2.tokens.get().pk}/revoke")
    assert who(client) == ""


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"password": "wrong"}, 400, "Name and password do not belong together"),
        ({"own_password": "wrong"}, 400, "This is not your password."),
        ({"username": "nobody"}, 400, "Name and password do not belong together"),
        ({"username": ""}, 400, "This field is required."),
        ({"username": "ada", "password": "first-Secret"}, 409, "Is your account already."),
    ],
)
def test_what_is_not_proved_is_not_linked(stage, browser, ada2, changes, status, said) -> None:
    answer = browser(stage.ada).post("/account/link", SENT | changes)
    assert answer.status_code == status
    assert said in answer.content.decode()
    assert b"second-Secret" not in answer.content
    ada2.refresh_from_db()
    assert ada2.linked_to is None


def test_guessing_is_limited(stage, browser, ada2) -> None:
    client = browser(stage.ada)
    for number in range(10):
        assert client.post("/account/link", SENT | {"username": f"x{number}"}).status_code == 400
    late = client.post("/account/link", SENT)
    assert late.status_code == 429
    assert int(late.headers["Retry-After"]) > 0


def test_a_link_needs_csrf_and_somebody(stage, ada2) -> None:
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(stage.ada)
    assert client.post("/account/link", SENT).status_code == 403
    assert Client().post("/account/link", SENT).headers["Location"].startswith("/sign-in")
