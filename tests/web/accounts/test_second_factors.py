"""Authenticator apps, recovery codes and passkeys; staff that must have one."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from django.test import override_settings

from tests.e2e.browser import chromium
from tests.web.live_site import LiveSite, live_site

if TYPE_CHECKING:
    from playwright.sync_api import Page

PASSWORD = "hurdle-Rail-99"
SIGN_IN = {"username": "ada", "password": PASSWORD}
FACTORS = "/account/second-factor"


def code_of(secret: str) -> str:
    """RFC 6238: the six digits of this half minute."""
    digest = hmac.digest(base64.b32decode(secret), struct.pack(">Q", int(time.time()) // 30), hashlib.sha1)
    place = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[place : place + 4])[0] & 0x7FFFFFFF) % 10**6:06}"


@pytest.fixture
def ada(db, stage, settings):
    settings.MFA_TOTP_TOLERANCE = 1  # a half minute may end between the making of a code and the site's look at it
    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    return stage.ada


def with_app(browser, name: str = "ada") -> tuple[str, list[str]]:
    """Set up an authenticator app; its secret and the recovery codes."""
    client = browser(None)
    client.post("/sign-in", SIGN_IN | {"username": name})
    secret = client.get(f"{FACTORS}/app").context["form"].secret
    with override_settings(MFA_TOTP_TOLERANCE=1):  # as above, without the fixture
        shown = client.post(f"{FACTORS}/app", {"code": code_of(secret)}, follow=True)
    return secret, shown.context["unused_codes"]


@pytest.fixture(autouse=True)
def _codes_are_fresh() -> None:
    from django.core.cache import cache

    cache.clear()


def who(client) -> str:
    return client.get("/api/v1/me").json().get("username", "")


def test_sign_in_asks_for_the_code_of_the_app(ada, browser) -> None:
    from django.core.cache import cache

    secret, _ = with_app(browser)
    cache.clear()  # another half minute
    client = browser(None)
    assert client.post("/sign-in", SIGN_IN | {"next": "/submissions"}).headers["Location"].startswith("/sign-in/code")
    assert who(client) == ""
    assert client.post("/sign-in/code", {"code": "000000"}).status_code == 200
    code = code_of(secret)
    assert client.post("/sign-in/code", {"code": code}).headers["Location"] == "/submissions"
    assert who(client) == "ada"
    again = browser(None)
    again.post("/sign-in", SIGN_IN)
    assert again.post("/sign-in/code", {"code": code}).status_code == 200, "a code works once"


def test_a_recovery_code_works_once(ada, browser) -> None:
    _, codes = with_app(browser)
    for found in ("ada", ""):
        client = browser(None)
        client.post("/sign-in", SIGN_IN)
        client.post("/sign-in/code", {"code": codes[0]})
        assert who(client) == found


def kept_secrets() -> list[str]:
    from allauth.mfa.models import Authenticator

    return [one.data.get("secret") or one.data["seed"] for one in Authenticator.objects.order_by("pk")]


def let_in(browser, code: str) -> bool:
    from django.core.cache import cache

    cache.clear()  # another half minute
    client = browser(None)
    client.post("/sign-in", SIGN_IN)
    client.post("/sign-in/code", {"code": code})
    return who(client) == "ada"


def test_secrets_of_factors_are_sealed_and_survive_a_new_key(ada, browser, settings) -> None:
    from django.core.management import call_command

    secret, codes = with_app(browser)
    (app, seed) = kept_secrets()
    assert app.startswith("sealed:")
    assert seed.startswith("sealed:")
    assert secret not in app
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "a-new-key-" * 5
    assert let_in(browser, code_of(secret))
    assert let_in(browser, codes[0])
    call_command("seal_secrets")
    settings.SECRET_KEY_FALLBACKS = []
    assert let_in(browser, code_of(secret))
    assert let_in(browser, codes[1])
    assert not let_in(browser, codes[0]), "a used code stays used"
    assert set(kept_secrets()).isdisjoint({app, seed})


def test_secrets_from_before_they_were_sealed_go_on_working(ada, browser) -> None:
    from allauth.mfa.models import Authenticator
    from django.core.management import call_command

    from leaderboard.accounts.tokens import unseal

    secret, codes = with_app(browser)
    for factor in Authenticator.objects.all():
        factor.data = {key: unseal(kept) if isinstance(kept, str) else kept for key, kept in factor.data.items()}
        factor.save()
    assert secret in kept_secrets()
    assert let_in(browser, code_of(secret))
    assert let_in(browser, codes[0])
    call_command("seal_secrets")
    assert secret not in kept_secrets()
    assert let_in(browser, code_of(secret))
    assert let_in(browser, codes[1])


def test_a_factor_sealed_under_a_lost_key_lets_nobody_in(ada, browser, settings) -> None:
    secret, _ = with_app(browser)
    settings.SECRET_KEY = "a-new-key-" * 5
    client = browser(None)
    client.post("/sign-in", SIGN_IN)
    with pytest.raises(ValueError, match="SECRET_KEY_FALLBACKS"):
        client.post("/sign-in/code", {"code": code_of(secret)})
    assert who(client) == ""


def test_guesses_at_codes_lock_no_known_device_out(ada, browser) -> None:
    from django.core.cache import cache

    secret, _ = with_app(browser)
    cache.clear()
    device = browser(None)
    device.post("/sign-in", SIGN_IN)
    device.post("/sign-in/code", {"code": code_of(secret)})
    device.post("/sign-out")
    statuses = []
    for number in range(25):
        thief = browser(None)
        thief.post("/sign-in", SIGN_IN, REMOTE_ADDR=f"192.0.2.{number}")
        statuses.append(thief.post("/sign-in/code", {"code": "000000"}).status_code)
    assert statuses == [200] * 20 + [429] * 5, "from however many addresses"
    cache.clear()
    device.post("/sign-in", SIGN_IN)
    device.post("/sign-in/code", {"code": code_of(secret)})
    assert who(device) == "ada"


def test_a_login_with_a_second_factor_is_not_linked_by_its_password(ada, stage, browser) -> None:
    from leaderboard.accounts.models import User

    User.objects.filter(pk=stage.ben.pk).update(password=ada.password)
    with_app(browser)
    thief = browser(None)
    thief.post("/sign-in", SIGN_IN | {"username": "ben"})
    sent = {"username": "ada", "password": PASSWORD, "own_password": PASSWORD}
    answer = thief.post("/account/link", sent)
    assert (answer.status_code, b"second factor" in answer.content) == (409, True)


def test_setting_up_a_factor_asks_for_the_password_again(ada, browser) -> None:
    for page in ("app", "keys/add"):
        assert browser(ada).get(f"{FACTORS}/{page}").headers["Location"].startswith("/account/confirm")


def test_staff_without_a_factor_can_only_set_one_up(stage, browser, tool, settings) -> None:
    settings.STAFF_SECOND_FACTOR = True
    stage.olga.set_password(PASSWORD)
    stage.olga.save()
    client, api = browser(stage.olga), tool(stage.olga)
    for path in ("/", "/organise", "/tokens", "/account"):
        assert client.get(path).headers["Location"] == FACTORS, path
    assert client.get(FACTORS).status_code == 200
    for answer in (client.get("/api/v1/me"), api.get("/api/v1/me"), client.post("/api/v1/review/hold")):
        assert answer.status_code == 403
        assert FACTORS in answer.json()["detail"]
    with_app(browser, "olga")
    assert client.get("/organise").status_code == 200
    assert api.get("/api/v1/me").status_code == 200
    assert browser(stage.ada).get("/tokens").status_code == 200, "competitors need none"


@pytest.fixture
def site(transactional_db) -> Iterator[LiveSite]:
    from allauth.account.models import EmailAddress

    from leaderboard.accounts.models import User

    ada = User.objects.create_user("ada", password=PASSWORD)
    EmailAddress.objects.create(user=ada, email="ada@example.org", verified=True, primary=True)
    with live_site() as running:
        yield running


def with_authenticator(page: Page) -> None:
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    devtools.send(
        "WebAuthn.addVirtualAuthenticator",
        {"options": options | {"isUserVerified": True, "automaticPresenceSimulation": True}},
    )


@pytest.mark.browser
def test_a_passkey_is_added_and_signs_in_under_the_content_policy(site) -> None:
    from leaderboard.web.accounts.mailbox import newest_mails

    with chromium() as browser:
        page = browser.new_context(base_url=f"http://localhost:{site.port}").new_page()
        page.set_default_timeout(10_000)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        with_authenticator(page)
        page.goto("/sign-in")
        page.get_by_label("Username").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile("/$"))
        page.goto(f"{FACTORS}/keys/add")
        page.get_by_label("Sign in with it alone").check()
        page.get_by_role("button", name="Add").click()
        page.wait_for_url(re.compile("/codes$"))
        page.get_by_role("button", name="Sign out").click()
        page.goto("/sign-in?next=/account")
        page.get_by_role("button", name="Use a passkey").click()
        page.wait_for_url(re.compile(r"\d/account$"))
        assert page.get_by_role("heading", name="ada").is_visible()
        assert not complaints
    mail = newest_mails(Path(unquote(urlsplit(os.environ["MAIL_URL"]).path)))[0]
    assert (mail.to, "security key was added" in mail.text) == ("ada@example.org", True)
