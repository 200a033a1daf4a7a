"""A site that is away, wrong or hostile: one sentence, exit code 2, 3 or 4, and a terminal that stays whole."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.cli.render import clean, line
from leaderboard.client import clients
from tests.cli.conftest import Photofinish, Terminal
from tests.cli.fake_site import PASSED, WRONG, FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

NASTY = "\x1b]0;owned\x07\x1b[2J[red]bold[/red]\u202egnp.exe\x9b31m\r\x00"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "backoff_s", lambda attempt: 0.0)


@pytest.mark.parametrize(
    ("status", "content", "headers", "code", "said"),
    [
        (500, b"<html>", {}, 3, "the site failed (500)"),
        (503, b'{"detail": "Maintenance until 15:00 UTC."}', {}, 3, "Maintenance until 15:00 UTC\n"),
        (503, b"<html>", {}, 3, "the site failed (503)"),
        (302, b"", {"Location": "https://other.example/"}, 3, "https://other.example/"),
        (200, b"<html>", {}, 3, "not JSON"),
        (200, b"[" * 100_000, {}, 3, "not JSON"),
        (200, b'{"a": 1}', {}, 3, "another shape"),
        (200, b"[1]", {}, 3, "another shape"),
        (200, b" " * 9_000_000, {}, 3, "more than"),
        (429, b'{"detail": "too fast"}', {"Retry-After": "30"}, 4, "too fast; try again in 30 s"),
        (429, b'{"detail": "Too fast. Try again in 30 s."}', {"Retry-After": "30"}, 4, "Too fast. Try again in 30 s\n"),
        (403, b'{"detail": "token lacks the scope read"}', {}, 4, "token lacks the scope read"),
        (404, b"nothing", {}, 2, "refused (404)"),
    ],
)
def test_every_answer_becomes_a_sentence(
    site: FakeSite, photofinish: Photofinish, status: int, content: bytes, headers: dict[str, str], code: int, said: str
) -> None:
    site.answer_with = (status, content, headers)
    ended = photofinish("boards")
    assert ended.code == code
    assert said in ended.err
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1


def test_site_that_is_away_is_code_3(photofinish: Photofinish) -> None:
    ended = photofinish("--url", "http://127.0.0.1:1", "boards")
    assert ended.code == 3
    assert "no answer" in ended.err


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ALL_PROXY", "socks5://proxy.example", "SOCKS proxy"),
        ("HTTPS_PROXY", "foo://proxy.example", "Unknown scheme"),
        ("NO_PROXY", "[::1],fe80::/10", "Invalid port"),
        ("SSL_CERT_FILE", "/nonexistent", "No such file"),
    ],
)
@pytest.mark.parametrize("command", ["boards", "doctor"])
def test_proxy_and_certificates_that_cannot_be_used_are_named(
    photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch, command: str, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    ended = photofinish("--url", "https://site.example", command)
    assert ended.code == {"boards": 2, "doctor": 1}[command]
    assert "its proxy or certificates cannot be used" in ended.out + ended.err
    assert said in ended.out + ended.err
    assert name in ended.out + ended.err


def test_name_of_a_host_that_cannot_be_looked_up_is_code_3(photofinish: Photofinish) -> None:
    assert photofinish("--insecure", "--url", f"http://{'a' * 64}.example", "boards").code == 3


def test_reading_is_tried_again(site: FakeSite, photofinish: Photofinish) -> None:
    site.fail_reads = 2
    assert photofinish("boards").code == 0


def test_submit_is_tried_again_with_the_same_key(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    site.fail_reads = 2
    sent = photofinish("submit", str(kernel), "--board", "softmax", "--hardware", "cpu", "--no-wait")
    assert sent.code == 0
    assert len(site.keys) == 3
    assert len(set(site.keys)) == 1
    assert len(site.keys[0]) >= 32


def test_text_of_the_site_cannot_steer_the_terminal(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    site.verdict = {**WRONG, "message": NASTY, "reason": NASTY, "url": NASTY, "logs": {NASTY: NASTY}}
    site.boards[0]["title"] = NASTY
    site.username = NASTY
    answers = [
        photofinish("submit", str(kernel), "--board", "softmax"),
        photofinish("boards"),
        photofinish("whoami"),
        photofinish("list"),
        photofinish("show", "7", "--json"),
    ]
    for ended in answers:
        for character in "\x1b\x07\x9b\r\x00\u202e":
            assert character not in ended.out + ended.err
    assert "[red]bold[/red]" in answers[0].out  # shown as it is: markup is not interpreted


def test_terminal_gets_a_panel_and_keeps_its_title(site: FakeSite, terminal: Terminal, kernel: Path) -> None:
    """On a real terminal there are colours, but none of the site's making."""
    site.verdict = {**PASSED, "flags": [NASTY]}
    code, seen = terminal(100, "submit", str(kernel), "--board", "softmax")
    assert code == 0
    assert "Passed" in seen
    assert "╭" in seen
    assert "\x1b[" in seen
    assert "\x1b]0;" not in seen
    assert "\x1b[2J" not in seen


@given(st.text())
def test_cleaned_text_is_printable_and_a_line_is_one(text: str) -> None:
    assert all(character.isprintable() or character == "\n" or character.isspace() for character in clean(text))
    assert "\x1b" not in clean(text)
    assert len(line(text).splitlines()) <= 1
