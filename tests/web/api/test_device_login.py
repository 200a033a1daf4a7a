"""Sign-in of a command line by a short code: the device's calls, and the page on which a person confirms."""

from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone

PASSWORD = "hurdle-Rail-99"


def begin(browser, **sent):
    answer = browser(None).post(
        "/api/v1/login/device", {"name": "photofinish on laptop", **sent}, content_type="application/json"
    )
    assert answer.status_code == 201, answer.content
    return answer.json()


def ask(browser, asked):
    sent = {"device_code": asked["device_code"]}
    answer = browser(None).post("/api/v1/login/device/token", sent, content_type="application/json")
    from leaderboard.accounts.models import DeviceLogin

    DeviceLogin.objects.update(asked_at=None)  # the device waits between its questions
    return answer


def confirmed(browser, user):
    """Return a browser that has typed the password a moment ago."""
    from allauth.account.models import EmailAddress

    user.set_password(PASSWORD)
    user.save()
    EmailAddress.objects.get_or_create(user=user, email="ada@example.org", verified=True, primary=True)
    client = browser(None)
    assert client.post("/sign-in", {"username": user.username, "password": PASSWORD}).status_code == 302
    return client


def test_a_confirmed_code_becomes_a_token_once(stage, browser) -> None:
    from django.test import Client

    asked = begin(browser)
    assert asked["verification_uri_complete"].endswith(f"/device?code={asked['user_code']}")
    waiting = ask(browser, asked)
    assert (waiting.status_code, waiting.json()["code"]) == (400, "authorization_pending")
    client = confirmed(browser, stage.ada)
    page = client.post("/device", {"code": asked["user_code"].lower().replace("-", " ")}).content.decode()
    assert "photofinish on laptop" in page
    assert client.post("/device", {"code": asked["user_code"], "act": "allow"}).status_code == 200
    made = ask(browser, asked).json()
    assert (made["username"], made["scopes"]) == ("ada", ["read", "submit"])
    tool = Client(headers={"Authorization": f"Bearer {made['token']}"})
    assert tool.get("/api/v1/me").json()["token"]["name"] == "photofinish on laptop"
    assert stage.ada.tokens.get().expires_at < timezone.now() + timedelta(days=91)
    assert "photofinish on laptop" in mail.outbox[-1].body
    again = ask(browser, asked)
    assert (again.status_code, again.json()["code"]) == (400, "expired_code")


def test_waiting_for_a_confirmation_warns_of_nothing(stage, browser, caplog) -> None:
    asked = begin(browser)
    caplog.clear()
    assert ask(browser, asked).json()["code"] == "authorization_pending"
    assert caplog.records == []
    browser(None).post("/api/v1/login/device/token", {"device_code": "pfd_no"}, content_type="application/json")
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_refused_code_gives_no_token(stage, browser) -> None:
    asked = begin(browser)
    browser(stage.ada).post("/device", {"code": asked["user_code"], "act": "refuse"})
    answer = ask(browser, asked)
    assert (answer.status_code, answer.json()["code"]) == (403, "access_denied")
    assert not stage.ada.tokens.exists()


def test_confirming_a_code_asks_for_the_password_again(stage, browser) -> None:
    asked = begin(browser)
    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    answer = browser(stage.ada).post("/device", {"code": asked["user_code"], "act": "allow"})
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/account/confirm")
    assert ask(browser, asked).json()["code"] == "authorization_pending"


def test_an_old_code_is_refused_on_page_and_device(stage, browser) -> None:
    from leaderboard.accounts.models import DeviceLogin

    asked = begin(browser)
    DeviceLogin.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    page = browser(stage.ada).post("/device", {"code": asked["user_code"]})
    assert page.status_code == 400
    assert "unknown, used or too old" in page.content.decode()
    assert ask(browser, asked).json()["code"] == "expired_code"


def test_a_device_that_asks_too_often_must_slow_down(stage, browser) -> None:
    asked = begin(browser)
    sent = {"device_code": asked["device_code"]}
    codes = [
        browser(None).post("/api/v1/login/device/token", sent, content_type="application/json").json()["code"]
        for _ in range(2)
    ]
    assert codes == ["authorization_pending", "slow_down"]


def test_guesses_at_codes_are_counted(stage, browser, monkeypatch) -> None:
    from leaderboard.web import limits

    monkeypatch.setattr(limits, "DEVICE_USER", limits.Limit("device code user", 2, 3600))
    client = browser(stage.ada)
    assert [client.post("/device", {"code": "BBBB-BBBB"}).status_code for _ in range(3)] == [400, 400, 429]


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"scopes": ["root"]}, "scopes.0"),
        ({"scopes": []}, "scopes"),
    ],
)
def test_a_wrong_request_for_a_code_is_named(browser, db, sent, field) -> None:
    answer = browser(None).post("/api/v1/login/device", {"name": "x", **sent}, content_type="application/json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)


@pytest.mark.parametrize("code", ["", "pf_x", "pfd_", "pfd_\x00", "pfd_é", "x" * 128])
def test_an_odd_device_code_is_unknown(browser, db, code) -> None:
    sent = {"device_code": code}
    answer = browser(None).post("/api/v1/login/device/token", sent, content_type="application/json")
    assert answer.status_code == 400


def test_ended_sign_ins_are_deleted(stage, browser) -> None:
    from leaderboard.accounts.models import DeviceLogin
    from leaderboard.operations.chores import delete_old

    begin(browser)
    delete_old(now=timezone.now() + timedelta(hours=2))
    assert not DeviceLogin.objects.exists()
