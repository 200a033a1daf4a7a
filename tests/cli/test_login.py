"""A token is checked, kept for its owner alone, used for its own site, forgotten on request."""

import io
import json
import sys
from importlib import metadata
from pathlib import Path

import pytest

from leaderboard.cli import config
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import TOKEN, FakeSite


class Keyboard(io.StringIO):
    """Stdin of a terminal, as far as the command uses it."""

    def isatty(self) -> bool:
        return True


def pipe(content: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")


def test_login_keeps_a_good_token_in_a_private_file(site: FakeSite, photofinish: Photofinish) -> None:
    ended = photofinish("login", "--token", TOKEN, "--url", site.url)
    assert ended.code == 0
    assert "you are ada" in ended.out
    path = config.config_path()
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["profiles"]["default"]["token"] == TOKEN
    assert photofinish("whoami").out == f"ada at {site.url} (may read, submit)\n"


def test_login_asks_without_echo_for_the_token_dash(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(sys, "stdin", Keyboard())
    monkeypatch.setattr("getpass.getpass", lambda prompt="", *rest, **more: asked.append(prompt) or TOKEN)
    assert photofinish("login", "--token", "-", "--url", site.url).code == 0
    assert len(asked) == 1


def test_refused_token_is_not_kept(site: FakeSite, photofinish: Photofinish) -> None:
    ended = photofinish("login", "--token", "pf_wrong", "--url", site.url)
    assert ended.code == 4
    way_out = f"Create a new token at {site.url}/tokens; run `photofinish login`"
    assert ended.err == f"error: token: This token is unknown or revoked. {way_out}\n"
    assert not config.config_path().exists()


def test_login_again_replaces_the_file(site: FakeSite, photofinish: Photofinish) -> None:
    photofinish("login", "--token", TOKEN, "--url", site.url)
    config.config_path().chmod(0o644)
    photofinish("login", "--token", TOKEN, "--url", site.url)
    assert config.config_path().stat().st_mode & 0o777 == 0o600


def test_environment_wins_over_the_file(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    photofinish("login", "--token", TOKEN, "--url", site.url)
    monkeypatch.setenv("PHOTOFINISH_TOKEN", "pf_from-the-environment")
    assert photofinish("whoami").code == 4
    assert site.tokens[-1] == "Bearer pf_from-the-environment"


def test_kept_token_is_not_sent_to_another_site(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    photofinish("login", "--token", TOKEN, "--url", "http://127.0.0.1:1")
    config.save(config.Account("http://127.0.0.1:1", TOKEN))
    photofinish("--url", site.url, "boards")
    assert site.tokens == [""]


def test_logout_forgets(site: FakeSite, photofinish: Photofinish) -> None:
    photofinish("login", "--token", TOKEN, "--url", site.url)
    assert photofinish("logout").code == 0
    assert not config.config_path().exists()
    assert photofinish("logout").out == "No token was kept.\n"


@pytest.mark.parametrize("command", [("logout",), ("profile", "rm", "default")])
def test_file_that_cannot_be_removed_is_a_clear_error(
    photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    config.save(config.Account("https://site.example", TOKEN))
    with config.config_path().open() as file:
        place = Path(f"/proc/self/fd/{file.fileno()}")  # it can be read and not removed, by root as well
        monkeypatch.setattr(config, "config_path", lambda: place)
        ended = photofinish(*command)
    assert ended.code == 2
    assert "cannot be written (Operation not permitted); fix its rights" in ended.err


@pytest.mark.usefixtures("home")
def test_insecure_flag_of_a_profile_is_for_its_site_alone() -> None:
    config.save(config.Account("http://site.example", TOKEN, insecure=True))
    assert config.resolve(config.Options()).insecure
    with pytest.raises(config.Misuse, match="not https"):
        config.resolve(config.Options("http://other.example", "pf_other", profile="default"))


def test_token_is_not_sent_in_the_clear_to_another_machine(photofinish: Photofinish) -> None:
    ended = photofinish("login", "--token", TOKEN, "--url", "http://site.example")
    assert ended.code == 2
    assert "--insecure" in ended.err


@pytest.mark.parametrize(
    "url",
    [
        "site.example",
        "ftp://site.example",
        "https://",
        "https://a:b@site.example",
        "http://x:y",
        "https://ä..b",
        "https://a\x07b",
        "https://a.example/\udcff",
    ],
)
def test_wrong_address_is_named(photofinish: Photofinish, url: str) -> None:
    ended = photofinish("login", "--token", TOKEN, "--url", url)
    assert ended.code == 2
    assert ended.err.startswith("error: url: ")


@pytest.mark.parametrize("token", ["pf_two words", "pf_\u00e9", "pf_\x1b[0m", "x" * 600])
def test_nonsense_token_is_refused_before_it_is_sent(site: FakeSite, photofinish: Photofinish, token: str) -> None:
    ended = photofinish("login", "--token", token, "--url", site.url)
    assert ended.code == 2
    assert site.tokens == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"url": 1}', b"\xff"])
def test_damaged_file_is_a_clear_error(photofinish: Photofinish, home: Path, content: bytes) -> None:
    path = config.config_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    ended = photofinish("whoami")
    assert ended.code == 2
    assert "photofinish login" in ended.err or "--url" in ended.err


@pytest.mark.parametrize("content", [b"{", b"[" * 50_000, b'{"url": "nowhere", "token": "pf_x"}'])
def test_login_writes_a_damaged_file_anew(site: FakeSite, photofinish: Photofinish, content: bytes) -> None:
    config.config_path().parent.mkdir(parents=True)
    config.config_path().write_bytes(content)
    assert photofinish("login", "--token", TOKEN, "--url", site.url).code == 0
    assert config.load().token == TOKEN


def test_login_leaves_a_file_that_cannot_be_read(site: FakeSite, photofinish: Photofinish) -> None:
    path = config.config_path()
    path.parent.mkdir(parents=True)
    path.symlink_to(path)  # unreadable for root as well
    ended = photofinish("login", "--token", TOKEN, "--url", site.url)
    assert (ended.code, site.tokens) == (2, [])
    assert "cannot be read" in ended.err
    assert path.is_symlink()


def test_whoami_without_a_token_says_how_to_get_one(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = photofinish("--url", site.url, "whoami")
    assert ended.code == 2
    assert ended.err == photofinish("--url", site.url, "list").err
    assert "photofinish login" in ended.err
    assert site.tokens == []


def test_token_comes_from_a_pipe_quietly(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", pipe(f"{TOKEN}\n".encode()))
    ended = photofinish("login", "--url", site.url)
    assert (ended.code, ended.err) == (0, "")
    assert config.load().token == TOKEN


def test_token_dash_with_an_empty_pipe_is_a_clear_error(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", pipe(b" \n"))
    ended = photofinish("login", "--token", "-", "--url", site.url)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"error: token: stdin is empty; pipe a token from {site.url}/tokens, or leave out --token for a code\n"
    )


@pytest.mark.parametrize("content", [b"pf_\xff", b"pf_one\npf_two\n", b"x" * 5_000])
def test_pipe_without_a_token_in_it_is_refused(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(sys, "stdin", pipe(content))
    assert photofinish("login", "--url", site.url).code == 2
    assert site.tokens == []


def test_version_is_that_of_the_package(photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", {"photofinish": "0.1.0"}.__getitem__)
    ended = photofinish("--version")
    assert (ended.code, ended.out) == (0, "photofinish 0.1.0\n")


def test_version_of_a_checkout_says_so(photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_installed(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", nothing_installed)
    ended = photofinish("--version")
    assert (ended.code, ended.out) == (0, "photofinish from a checkout that is not installed\n")
