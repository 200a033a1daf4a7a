"""Sessions of an account, the password asked again before a token, and tokens that expire."""

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone

PASSWORD = "hurdle-Rail-99"
TOKEN = {"name": "laptop", "scopes": ["read"], "days": "30"}


@pytest.fixture(autouse=True)
def _ada_has_a_password(stage) -> None:
    from allauth.account.models import EmailAddress

    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    EmailAddress.objects.create(user=stage.ada, email="ada@example.org", verified=True, primary=True)


def signed_in(browser, agent: str, address: str = "192.0.2.1"):
    client = browser(None)
    sent = {"username": "ada", "password": PASSWORD}
    assert client.post("/sign-in", sent, HTTP_USER_AGENT=agent, REMOTE_ADDR=address).status_code == 302
    return client


def test_sessions_are_listed_and_end_together(stage, browser) -> None:
    here, elsewhere, unlisted = (
        signed_in(browser, "Firefox"),
        signed_in(browser, "w3m", "2001:db8::1"),
        browser(stage.ada),
    )
    page = here.get("/account/sessions").content.decode()
    for shown in ("Firefox", "w3m", "192.0.2.1", "2001:db8::1"):
        assert shown in page
    assert here.post("/account/sessions").headers["Location"] == "/account/sessions"
    assert [client.get("/account").status_code for client in (here, elsewhere, unlisted)] == [200, 302, 302]
    assert b"w3m" not in here.get("/account/sessions").content


def test_addresses_of_ended_sessions_are_cleared_by_the_sweeper(stage, browser) -> None:
    from allauth.usersessions.models import UserSession
    from django.contrib.sessions.models import Session
    from django.core.management import call_command

    ended, _ = signed_in(browser, "Firefox"), signed_in(browser, "w3m")
    Session.objects.filter(session_key=ended.session.session_key).update(expire_date=timezone.now() - timedelta(days=1))
    call_command("sweep")
    assert [session.user_agent for session in UserSession.objects.all()] == ["w3m"]


def test_a_session_over_a_socket_without_an_address_is_listed(stage, browser) -> None:
    assert b"0.0.0.0" in signed_in(browser, "x", "").get("/account/sessions").content


def test_a_token_asks_for_the_password_again_and_then_goes_on(stage, browser) -> None:
    client = browser(stage.ada)
    asked = client.post("/tokens", TOKEN).headers["Location"]
    assert asked == "/account/confirm?next=%2Ftokens"
    assert not stage.ada.tokens.exists()
    made = client.post(asked, {"password": PASSWORD}, follow=True)
    assert re.search(rb'id="new-token">pf_', made.content)
    assert stage.ada.tokens.get().expires_at.date() == (timezone.now() + timedelta(days=30)).date()


def test_a_token_right_after_the_sign_in_is_made_at_once(stage, browser) -> None:
    client = signed_in(browser, "Firefox")
    assert client.post("/tokens", TOKEN).headers["Location"] == "/tokens"


def test_the_password_is_asked_again_after_five_minutes(stage, browser, time_machine_) -> None:
    client = signed_in(browser, "Firefox")
    time_machine_(timedelta(minutes=6))
    assert client.post("/tokens", TOKEN).headers["Location"].startswith("/account/confirm")


@pytest.fixture
def time_machine_():
    import time_machine

    travels = []

    def shift(by: timedelta) -> None:
        travels.append(time_machine.travel(timezone.now() + by, tick=True))
        travels[-1].start()

    yield shift
    for travel in travels:
        travel.stop()


def test_guesses_at_the_password_asked_again_are_limited(stage, browser) -> None:
    client = browser(stage.ada)
    statuses = [client.post("/account/confirm", {"password": "wrong"}).status_code for _ in range(11)]
    assert statuses == [200] * 10 + [429]


def test_a_new_token_is_noticed_by_mail_without_its_text(stage, browser) -> None:
    client = signed_in(browser, "Firefox")
    page = client.post("/tokens", TOKEN, follow=True).content.decode()
    text = re.search(r'id="new-token">(pf_[^<]+)<', page)[1]
    (message,) = mail.outbox
    assert (message.to, message.subject) == (["ada@example.org"], "Photofinish: New token")
    assert "laptop" in message.body
    assert text not in message.body


def test_notices_go_to_no_address_that_is_not_confirmed(stage, browser) -> None:
    from allauth.account.models import EmailAddress

    EmailAddress.objects.update(verified=False)
    signed_in(browser, "Firefox").post("/tokens", TOKEN)
    assert not mail.outbox


def test_an_expired_token_is_refused_and_not_listed(stage, browser) -> None:
    from leaderboard.accounts.tokens import find_token, issue_token

    now = timezone.now()
    _, text = issue_token(owner=stage.ada, name="old", scopes=("read",), now=now, lifetime=timedelta(days=1))
    assert find_token(text, now=now + timedelta(hours=23)) is not None
    assert find_token(text, now=now + timedelta(days=1)) is None
    stage.ada.tokens.update(expires_at=now)
    assert b">old<" not in browser(stage.ada).get("/tokens").content
    answer = browser(None).get("/api/v1/me", headers={"Authorization": f"Bearer {text}"})
    assert (answer.status_code, "expired" in answer.json()["detail"]) == (401, True)
