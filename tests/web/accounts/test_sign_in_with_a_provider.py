"""Sign-in with GitHub, Discord and Google, against a provider that runs on loopback."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.web.accounts.oauth_server import CLIENT, SECRET, Provider, running

NAMES = ("github", "discord", "google")
PASSWORD = "hurdle-Rail-99"


@pytest.fixture
def provider(stage, settings, monkeypatch) -> Iterator[Provider]:
    from allauth.socialaccount.providers.discord.views import DiscordOAuth2Adapter
    from allauth.socialaccount.providers.github.views import GitHubOAuth2Adapter
    from allauth.socialaccount.providers.google import views as google

    app = {"APPS": [{"client_id": CLIENT, "secret": SECRET}], "OAUTH_PKCE_ENABLED": True}
    settings.SOCIALACCOUNT_PROVIDERS = dict.fromkeys(NAMES, app)
    with running() as found:
        for adapter in (GitHubOAuth2Adapter, DiscordOAuth2Adapter, google.GoogleOAuth2Adapter):
            monkeypatch.setattr(adapter, "authorize_url", f"{found.address}/authorize")
            monkeypatch.setattr(adapter, "access_token_url", f"{found.address}/token")
        monkeypatch.setattr(GitHubOAuth2Adapter, "profile_url", f"{found.address}/user")
        monkeypatch.setattr(GitHubOAuth2Adapter, "emails_url", f"{found.address}/user/emails")
        monkeypatch.setattr(DiscordOAuth2Adapter, "profile_url", f"{found.address}/discord")
        monkeypatch.setattr(google, "ID_TOKEN_ISSUER", found.address)
        yield found


def come_back(client, name: str, query: str = "?process=login"):
    """Press the button, visit the provider, and return to the site; the site's answer there."""
    left = client.post(f"/sign-in/{name}{query}")
    assert left.status_code == 302, left.content
    back = urlsplit(httpx.get(left.headers["Location"]).headers["Location"])
    return client.get(f"{back.path}?{back.query}")


def join(client, name: str = "github", username: str = "finn", **sent: str):
    assert come_back(client, name).headers["Location"] == "/sign-up/finish"
    return client.post("/sign-up/finish", {"username": username, "email": "octo@example.org"} | sent)


def who(client) -> str:
    return client.get("/api/v1/me").json().get("username", "")


@pytest.mark.parametrize("name", NAMES)
def test_a_newcomer_chooses_a_name_and_comes_back_with_the_provider(provider, browser, name) -> None:
    from allauth.account.models import EmailAddress
    from allauth.socialaccount.models import SocialToken

    client = browser(None)
    assert join(client, name).headers["Location"] == "/welcome"
    assert who(client) == "finn"
    assert EmailAddress.objects.get(user__username="finn").verified, "the provider has confirmed it"
    assert not SocialToken.objects.exists(), "the provider's token is not kept"
    again = browser(None)
    assert come_back(again, name, "?process=login&next=/submissions").headers["Location"] == "/submissions"
    assert who(again) == "finn"


def test_a_name_from_a_provider_obeys_the_sites_rules(provider, browser) -> None:
    client = browser(None)
    for name in ("0lga", "admin", "a b", "x" * 33):
        assert b'id="id_username_error"' in join(client, username=name).content, name
    assert join(client).status_code == 302


def test_an_address_of_another_account_opens_it_not(provider, stage, browser) -> None:
    """Who controls the address at the provider gets an account of their own, without the address confirmed."""
    from allauth.account.models import EmailAddress

    EmailAddress.objects.create(user=stage.ada, email="octo@example.org", verified=True, primary=True)
    client = browser(None)
    assert join(client).status_code == 302
    assert who(client) == "finn"
    assert EmailAddress.objects.get(verified=True).user == stage.ada


def test_a_signed_in_person_connects_and_disconnects(provider, stage, browser, mailoutbox) -> None:
    from allauth.account.models import EmailAddress

    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    EmailAddress.objects.create(user=stage.ada, email="ada@example.org", verified=True, primary=True)
    client = browser(stage.ada)
    asked = come_back(client, "github", "?process=connect").headers["Location"]
    assert asked == "/account/confirm", "the password is asked again"
    client.post(asked, {"password": PASSWORD})
    account = stage.ada.socialaccount_set.get()
    assert mailoutbox[-1].to == ["ada@example.org"]
    assert b"octo" in client.get("/account/connections").content
    assert who_signs_in(browser) == "ada"
    client.post("/account/connections", {"account": account.pk})
    assert not stage.ada.socialaccount_set.exists()


def who_signs_in(browser) -> str:
    client = browser(None)
    come_back(client, "github")
    return who(client)


def test_a_provider_of_another_account_is_not_connected(provider, stage, browser) -> None:
    join(browser(None))
    client = browser(stage.ada)
    come_back(client, "github", "?process=connect")
    assert not stage.ada.socialaccount_set.exists()


def test_the_last_way_in_is_kept(provider, stage, browser) -> None:
    client = browser(None)
    join(client)
    account = client.get("/account/connections").context["form"].accounts.get()
    assert client.post("/account/connections", {"account": account.pk}).status_code == 200
    assert who_signs_in(browser) == "finn"


def test_a_linked_login_brings_its_provider_along(provider, stage, browser) -> None:
    from leaderboard.accounts.logins import link
    from leaderboard.accounts.models import User

    join(browser(None))
    link(one=stage.ada, other=User.objects.get(username="finn"), keep="ada", now=stage.now)
    assert who_signs_in(browser) == "ada"


def test_a_right_password_without_the_second_factor_makes_no_device_known(provider, stage, browser) -> None:
    """The thief of a password ends that sign-in with an account of their own."""
    from allauth.mfa.models import Authenticator
    from django.test import RequestFactory

    from leaderboard.accounts.models import User
    from leaderboard.web import limits

    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    Authenticator.objects.create(user=stage.ada, type=Authenticator.Type.TOTP, data={"secret": "A" * 32})
    thief = browser(None)
    join(thief)
    thief.post("/sign-out")
    assert thief.post("/sign-in", {"username": "ada", "password": PASSWORD}).headers["Location"] == "/sign-in/code"
    come_back(thief, "github")
    assert who(thief) == "finn"
    request = RequestFactory().get("/")
    request.COOKIES[limits.DEVICE_COOKIE] = thief.cookies[limits.DEVICE_COOKIE].value
    assert [pk for pk, *_ in limits._devices(request)] == [User.objects.get(username="finn").pk]


def test_refusals_of_person_and_provider_get_a_page(provider, browser) -> None:
    client = browser(None)
    provider.denies = True
    assert come_back(client, "github").headers["Location"] == "/sign-in/cancelled"
    provider.denies = False
    left = client.post("/sign-in/github").headers["Location"]
    back = urlsplit(httpx.get(left).headers["Location"])
    provider.codes.clear()
    failed = client.get(f"{back.path}?{back.query}")
    assert (failed.status_code, b"Traceback" in failed.content) == (401, False)
    forged = client.get("/sign-in/github/callback?code=x&state=forged")
    assert forged.status_code == 401


def test_buttons_exist_for_configured_providers_and_their_forms_may_lead_there(provider, browser, settings) -> None:
    page = browser(None).get("/sign-in")
    assert page.content.decode().count("Continue with ") == 3
    assert f"form-action 'self' {provider.address};" in page.headers["Content-Security-Policy"]
    settings.SOCIALACCOUNT_PROVIDERS = {}
    page = browser(None).get("/sign-in")
    assert b"Continue with" not in page.content
    assert "form-action 'self';" in page.headers["Content-Security-Policy"]
    assert browser(None).post("/sign-in/github").status_code == 404


def test_returns_from_providers_are_limited(provider, browser) -> None:
    from leaderboard.web import limits

    client = browser(None)
    for _ in range(limits.PROVIDER_IP.most):
        limits.take(limits.PROVIDER_IP, "127.0.0.1")
    assert client.get("/sign-in/github/callback?code=x&state=x").status_code == 429
