"""A process of the site does not start with settings that are unsafe together; each error names variable and remedy."""

import asyncio
import os
import secrets
import subprocess
import sys
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg.conninfo import conninfo_to_dict

from leaderboard import env, safety

PASSWORD = secrets.token_hex(24)
PUBLIC = {
    "SITE_URL": "https://photofinish.example",
    "ALLOWED_HOSTS": "photofinish.example,127.0.0.1",
    "TRUSTED_PROXIES": "127.0.0.1",
    "SECRET_KEY": secrets.token_urlsafe(48),
    "DATABASE_URL": f"postgresql://site:{PASSWORD}@127.0.0.1:1/photofinish",
    "BROKER_URL": f"redis://site:{PASSWORD}@valkey:6379/0",
    "DEBUG": "0",
}


def run(*command: str, **changes: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **PUBLIC, **changes}
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=60)


def test_check_deploy_is_clean_with_settings_of_a_public_site() -> None:
    done = run("-m", "leaderboard.manage", "check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


ENTRIES = ("leaderboard.manage", "leaderboard.asgi", "leaderboard.actors")


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_process_refuses_unsafe_settings_with_a_sentence(entry: str) -> None:
    command = ("-m", entry, "check") if entry.endswith("manage") else ("-c", f"import {entry}")
    done = run(*command, DEBUG="1", TRUSTED_PROXIES="", BROKER_URL="redis://site:short@valkey:6379/0")
    assert done.returncode == 1
    for words in ("DEBUG=1 with SITE_URL", "TRUSTED_PROXIES is not set", "BROKER_URL: its password has only 5"):
        assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "short" not in done.stderr


def refused(settings, **changes) -> list[str]:
    """The sentences for a safe public site with these settings changed."""
    safe = {
        "SITE_URL": PUBLIC["SITE_URL"],
        "ALLOWED_HOSTS": ["photofinish.example"],
        "TRUSTED_PROXIES": ["127.0.0.1/32"],
        "SITE_INSECURE": False,
        "DEBUG": False,
        "DATABASE_URL": PUBLIC["DATABASE_URL"],
        "BROKER_URL": PUBLIC["BROKER_URL"],
        "MAIL_URL": "smtps://site:password@mail.example",  # pragma: allowlist secret
    }
    for name, value in (safe | changes).items():
        setattr(settings, name, value)
    return list(safety.unsafe_settings())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ALLOWED_HOSTS": ["*"]}, "ALLOWED_HOSTS='*'"),
        ({"ALLOWED_HOSTS": ["other.example"]}, "lacks 'photofinish.example'"),
        ({"DEBUG": True}, "set DEBUG=0"),
        ({"MAIL_URL": "file:///var/mail"}, "MAIL_URL names a folder"),
        ({"SITE_URL": "http://photofinish.example"}, "SITE_INSECURE=1"),
        ({"TRUSTED_PROXIES": None}, "name the proxy's address, or 'none'"),
        ({"BROKER_URL": "redis://valkey:6379/0"}, "BROKER_URL has no password"),
        ({"DATABASE_URL": "postgresql://site:postgres@127.0.0.1/photofinish"}, "DATABASE_URL: its password has only 8"),
    ],
)
def test_unsafe_settings_of_a_public_site(settings, changes, words: str) -> None:
    (sentence,) = refused(settings, **changes)
    assert words in sentence


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"TRUSTED_PROXIES": []},
        {"SITE_URL": "http://photofinish.example", "SITE_INSECURE": True, "TRUSTED_PROXIES": None},
        {"SITE_URL": "http://127.0.0.1:8000", "DEBUG": True, "TRUSTED_PROXIES": None, "BROKER_URL": "redis://h/0"},
        {"SITE_URL": "http://[::1]:8000", "BROKER_URL": "unix:///run/valkey.sock"},
    ],
)
def test_safe_settings(settings, changes) -> None:
    assert refused(settings, **changes) == []


def test_uvicorns_own_list_of_proxies_is_refused(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    (sentence,) = refused(settings)
    assert "FORWARDED_ALLOW_IPS is set" in sentence


@pytest.mark.parametrize(
    ("value", "expected"), [("", None), ("none", []), ("127.0.0.1, 10.1.0.0/16", ["127.0.0.1/32", "10.1.0.0/16"])]
)
def test_networks_of_proxies_are_read(monkeypatch: pytest.MonkeyPatch, value: str, expected: list[str] | None) -> None:
    monkeypatch.setenv("X", value)
    assert env.networks("X") == expected


@pytest.mark.parametrize(
    "value", ["*", "proxy.example", "10.0.0.1/8", "0.0.0.0/0", "::/0", "128.0.0.0/1", "none 1.1.1.1"]
)
def test_networks_refuses_everyone_and_names(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(env.ConfigError, match="X="):
        env.networks("X")


@pytest.mark.parametrize("value", ["x" * 64, "ab" * 32])
def test_a_secret_of_few_characters_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(env.ConfigError, match="can be guessed"):
        env.secret("X")


@pytest.mark.parametrize(
    ("peer", "expected"),
    [("10.1.2.3", "192.0.2.7 https"), ("10.2.0.1", "10.2.0.1 http"), ("192.0.2.9", "192.0.2.9 http")],
)
def test_forwarded_address_counts_only_from_trusted_proxies(peer: str, expected: str) -> None:
    """A client's own X-Forwarded-For stands left of the address that the proxy adds, and is ignored."""
    program = f"""
import asyncio
from leaderboard import asgi
async def shown(self, scope, receive, send):
    print(scope["client"][0], scope["scheme"])
asgi.Alive.__call__ = shown
headers = [(b"x-forwarded-for", b"203.0.113.5, 192.0.2.7"), (b"x-forwarded-proto", b"https")]
scope = {{"type": "http", "client": ({peer!r}, 1), "scheme": "http", "headers": headers}}
asyncio.run(asgi.application(scope, None, None))
"""
    done = run("-c", program, TRUSTED_PROXIES="10.1.0.0/16")
    assert done.stdout.strip() == expected, done.stderr


@pytest.mark.django_db(transaction=True)
def test_unsafe_role_owns_the_tables(settings) -> None:
    settings.SITE_URL = PUBLIC["SITE_URL"]
    assert "'photofinish_owner' owns" in safety.unsafe_role()
    with connection.cursor() as cursor:
        site = str(conninfo_to_dict(os.environ["PHOTOFINISH_TEST_SITE_DATABASE_URL"])["user"])
        cursor.execute(safety.OWNED_TABLES.replace("pg_has_role(", "pg_has_role(%s, "), [site])
        assert cursor.fetchone()[1] == 0, "the site's role owns no table"
    settings.SITE_URL = "http://127.0.0.1:8000"
    assert safety.unsafe_role() == ""


def test_web_process_does_not_start_with_a_refused_role() -> None:
    from leaderboard.web.service import WithHeartbeat

    async def never(*args: object) -> None:
        raise AssertionError("no request comes")

    async def start() -> list[dict[str, str]]:
        sent: list[dict[str, str]] = []

        async def receive() -> dict[str, str]:
            return {"type": "lifespan.startup"}

        async def send(message: dict[str, str]) -> None:
            sent.append(message)

        await WithHeartbeat(never, refusal=lambda: "the role owns tables")({"type": "lifespan"}, receive, send)
        return sent

    assert asyncio.run(start()) == [{"type": "lifespan.startup.failed", "message": "the role owns tables"}]


@pytest.mark.django_db
def test_sample_accounts_are_refused_on_a_public_site(settings) -> None:
    settings.SITE_URL = PUBLIC["SITE_URL"]
    with pytest.raises(CommandError, match="gets sample accounts"):
        call_command("sample_accounts", stdout=StringIO())
