"""`photofinish login` by a short code, and profiles of several sites."""

import io
import json
import sys

import pytest

from leaderboard.cli import accounts, config
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import TOKEN, FakeSite

PENDING = (400, {"detail": "nobody has confirmed the code yet", "code": "authorization_pending", "errors": []})


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard())
    monkeypatch.setattr(accounts.time, "sleep", lambda seconds: None)


def test_login_shows_address_and_code_and_keeps_the_confirmed_token(site: FakeSite, photofinish: Photofinish) -> None:
    site.logins = [PENDING, (400, {**PENDING[1], "code": "slow_down"}), (200, {"token": TOKEN})]
    ended = photofinish("login", "--url", site.url, "--no-browser")
    assert ended.code == 0
    assert f"{site.url}/device" in ended.err
    assert "BCDF-GHJK" in ended.err
    assert "you are ada" in ended.out
    ((_, sent),) = site.acts
    assert sent["scopes"] == ["read", "submit"]
    assert sent["name"].startswith("photofinish on ")
    assert config.load().token == TOKEN


@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_login_without_a_terminal_shows_a_code(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
    site.logins = [PENDING, (200, {"token": TOKEN})]
    ended = photofinish("login", "--url", site.url, "--no-browser")
    assert ended.code == 0
    assert "BCDF-GHJK" in ended.err
    assert config.load().token == TOKEN


@pytest.mark.parametrize("code", ["access_denied", "expired_code"])
def test_refused_or_old_code_ends_the_login(site: FakeSite, photofinish: Photofinish, code: str) -> None:
    site.logins = [PENDING, (403, {"detail": "the sign-in was refused on the site", "code": code, "errors": []})]
    ended = photofinish("login", "--url", site.url, "--no-browser")
    assert (ended.code, ended.err.splitlines()[-1]) == (4, "error: the sign-in was refused on the site")
    assert not config.config_path().exists()


def test_address_of_another_site_is_not_opened(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(accounts.webbrowser, "open", opened.append)
    site.logins = [(200, {"token": TOKEN})] * 2
    photofinish("login", "--url", site.url)
    photofinish("login", "--url", site.url.replace("127.0.0.1", "localhost"))
    assert opened == [f"{site.url}/device"]


def test_profiles_keep_several_sites_apart(site: FakeSite, photofinish: Photofinish) -> None:
    photofinish("login", "--token", TOKEN, "--url", site.url)
    config.save(config.Account("https://other.example", "pf_other"), "other")
    assert photofinish("profile", "use", "default").code == 0
    assert photofinish("whoami").code == 0
    rows = json.loads(photofinish("profile", "list", "--json").out)
    assert [(row["profile"], row["current"]) for row in rows] == [("default", True), ("other", False)]
    assert config.load("other").token == "pf_other"
    unknown = photofinish("--profile", "third", "whoami")
    assert (unknown.code, "there is default, other" in unknown.err) == (2, True)
    assert photofinish("profile", "rm", "default").code == 0
    assert config.load().url == "https://other.example"


def test_a_file_from_before_profiles_is_read(site: FakeSite, photofinish: Photofinish) -> None:
    path = config.config_path()
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"url": site.url, "token": TOKEN, "insecure": False}))
    assert json.loads(photofinish("whoami", "--json").out)["username"] == "ada"


@pytest.mark.parametrize("name", ["../up", "a b", "x" * 33])
def test_odd_name_of_a_profile_is_refused(site: FakeSite, photofinish: Photofinish, name: str) -> None:
    ended = photofinish("login", "--token", TOKEN, "--url", site.url, "--profile", name)
    assert (ended.code, "cannot be a name" in ended.err) == (2, True)
