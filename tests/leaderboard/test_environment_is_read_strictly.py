"""Settings from the environment are parsed by type; errors name the variable and never repeat a secret."""

import os
import subprocess
import sys

import pytest

from leaderboard import env


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("YES", True), ("off", False), ("", False)])
def test_booleans(monkeypatch: pytest.MonkeyPatch, value: str, expected: bool) -> None:
    monkeypatch.setenv("X", value)
    assert env.boolean("X", default=not expected) is expected


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("X", raising=False)
    assert env.boolean("X", default=True)
    assert env.text("X", "a") == "a"
    assert env.whole("X", 3, least=1, most=5) == 3
    assert env.seconds("X", 1.5, least=1, most=5) == 1.5
    assert env.words("X", ("a", "b")) == ["a", "b"]
    with pytest.raises(env.ConfigError, match="X is not set"):
        env.text("X")


def test_words_and_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "a, b c,d")
    assert env.words("X", ()) == ["a", "b", "c", "d"]
    with pytest.raises(env.ConfigError, match="is not one of"):
        env.one_of("X", "a", ("a", "b"))


@pytest.mark.parametrize("value", ["maybe", "2"])
def test_a_wrong_boolean(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(env.ConfigError, match=f"X='{value}' is neither"):
        env.boolean("X", default=False)


@pytest.mark.parametrize("value", ["many", "1.5", "0", "6", "nan"])
def test_a_wrong_number(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(env.ConfigError, match="X="):
        env.whole("X", 3, least=1, most=5)


@pytest.mark.parametrize("value", ["soon", "nan", "inf", "0.5"])
def test_wrong_seconds(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(env.ConfigError, match="X="):
        env.seconds("X", 3, least=1, most=5)


def test_a_weak_secret_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "hunter2")
    with pytest.raises(env.ConfigError, match="7 characters") as caught:
        env.secret("X")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"SECRET_KEY": ""}, "SECRET_KEY is not set"),
        ({"DATABASE_URL": ""}, "DATABASE_URL is not set"),
        ({"DATABASE_URL": "postgresql://host"}, "names no database"),
        ({"SITE_URL": "example.org"}, "is not an address"),
        ({"LEASE_S": "10", "RENEW_S": "6"}, "at most half"),
        ({"BROKER_URL": "kafka://queue"}, "BROKER_URL: expected redis://"),
        ({"BROKER_CA_FILE": "/etc/ca.pem"}, "BROKER_CA_FILE: unix:// uses no TLS"),
    ],
)
def test_the_site_does_not_start_on_a_mistake(changes: dict[str, str], words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import leaderboard.settings"],
        env=os.environ | changes,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert words in done.stderr


@pytest.mark.parametrize(
    ("entry", "changes", "shown"),
    [
        ("leaderboard.asgi", {}, ["10s", "5s", "30s"]),
        ("leaderboard.manage", {}, ["1h", "1min", "10min"]),
        ("leaderboard.asgi", {"STATEMENT_TIMEOUT_S": "2.5", "LOCK_TIMEOUT_S": "0"}, ["2500ms", "0", "30s"]),
    ],
)
def test_database_timeouts_are_short_in_a_web_process_and_longer_elsewhere(
    entry: str, changes: dict[str, str], shown: list[str]
) -> None:
    asked = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    program = f"""
import django, importlib
if "{entry}" == "leaderboard.asgi":
    importlib.import_module("{entry}")
else:
    from leaderboard import env
    env.choose_settings("leaderboard.settings")
    django.setup()
from django.db import connection
with connection.cursor() as cursor:
    print([cursor.execute("SHOW " + name).fetchone()[0] for name in {asked!r}])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **changes}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == repr(shown)


def test_claim_timeout_leaves_the_runner_time_to_hear_the_answer() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import leaderboard.settings"],
        env={**os.environ, "CLAIM_TIMEOUT_S": "15"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "CLAIM_TIMEOUT_S=15.0 is outside 0.1 … 14.0 seconds" in done.stderr
