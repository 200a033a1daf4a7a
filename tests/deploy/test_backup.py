"""A backup is whole, private, and comes back in one piece or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from deploy.backup import connection_environment, dump, load, main
from deploy.parties import SetupError


@pytest.fixture
def url() -> Iterator[str]:
    """An empty database of this test's own on the session's server."""
    server = os.environ["DATABASE_URL"]
    name = f"backup_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
        yield server.replace("/photofinish?", f"/{name}?")
        db.execute(f"DROP DATABASE {name} WITH (FORCE)")


def rows(url: str) -> list[tuple[int]]:
    with psycopg.connect(url) as db:
        return db.execute("SELECT n FROM kept ORDER BY n").fetchall()


def test_a_backup_brings_the_data_back(url: str, tmp_path: Path) -> None:
    with psycopg.connect(url) as db:
        db.execute("CREATE TABLE kept AS SELECT generate_series(1, 3) AS n")
    dump(url, tmp_path / "dump")
    with psycopg.connect(url) as db:
        db.execute("DELETE FROM kept WHERE n = 2")
        db.execute("INSERT INTO kept VALUES (9)")

    load(url, tmp_path / "dump")

    assert rows(url) == [(1,), (2,), (3,)]


def test_a_backup_is_private(url: str, tmp_path: Path) -> None:
    dump(url, tmp_path / "dump")
    assert stat.S_IMODE((tmp_path / "dump").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["dump"]


def test_a_broken_file_changes_nothing(url: str, tmp_path: Path) -> None:
    with psycopg.connect(url) as db:
        db.execute("CREATE TABLE kept AS SELECT 7 AS n")
    dump(url, tmp_path / "dump")
    whole = (tmp_path / "dump").read_bytes()
    (tmp_path / "dump").write_bytes(whole[: len(whole) // 2])

    with pytest.raises(SetupError, match="pg_restore failed"):
        load(url, tmp_path / "dump")

    assert rows(url) == [(7,)]


def test_a_failed_backup_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "dump").write_text("yesterday's")
    with pytest.raises(SetupError, match="pg_dump failed"):
        dump(f"postgresql://nobody@/none?host={tmp_path}", tmp_path / "dump")
    assert (tmp_path / "dump").read_text() == "yesterday's"


def test_the_password_travels_in_the_environment() -> None:
    environment = connection_environment("postgresql://ada:secret@/database?host=%2Frun&sslmode=disable")
    assert environment["PGPASSWORD"] == "secret"
    assert environment["PGHOST"] == "/run"
    assert environment["PGSSLMODE"] == "disable"


def test_a_call_without_a_file_says_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backup", ""]) == 2
    assert "FILE=" in capsys.readouterr().err
