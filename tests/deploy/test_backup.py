"""A backup is whole and private, and a restore never touches the present database before the new one is complete."""

import json
import os
import resource
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from deploy import backup
from deploy.backup import Place, connection_environment, dump, kept_databases, load, main, swap
from deploy.console import SetupError
from tests.conftest import migrated_database


@pytest.fixture
def place() -> Iterator[Place]:
    """An empty database on the session's server, for each test."""
    place = place_of(f"backup_{os.getpid()}")
    backup.create(place, place.name)
    yield place
    for database in (place.name, *kept_databases(place)):
        backup.drop(place, database)


@pytest.fixture(scope="module")
def template() -> Iterator[Place]:
    """A migrated database with one account: migrating takes many seconds, copying the result takes none."""
    template = place_of(f"template_{os.getpid()}")
    with psycopg.connect(template.at("postgres"), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {template.name} TEMPLATE {migrated_database()}")
    add_account(template, "ada")
    yield template
    backup.drop(template, template.name)


@pytest.fixture
def migrated(place: Place, template: Place) -> Place:
    backup.drop(place, place.name)
    with psycopg.connect(place.at("postgres"), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {place.name} TEMPLATE {template.name}")
    return place


# A value for a column, by the beginning of its type; an empty text for unknown types.
EMPTY = {"timestamp": "now()", "boolean": "false", "integer": "0", "bigint": "0"}


def place_of(name: str) -> Place:
    site_role = str(conninfo_to_dict(os.environ["PHOTOFINISH_TEST_SITE_DATABASE_URL"])["user"])
    return Place(os.environ["DATABASE_URL"].replace("/photofinish?", f"/{name}?"), site_role, dict(os.environ))


def add_account(place: Place, name: str) -> None:
    with psycopg.connect(place.url) as db:
        columns = {
            column: next((value for start, value in EMPTY.items() if kind.startswith(start)), "''")
            for column, kind in db.execute(
                "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'accounts_user' "
                "AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'"
            ).fetchall()
        }
        columns["username"] = f"'{name}'"
        db.execute(f"INSERT INTO accounts_user ({', '.join(columns)}) VALUES ({', '.join(columns.values())})")


def accounts(place: Place) -> list[str]:
    with psycopg.connect(place.url) as db:
        return [name for (name,) in db.execute("SELECT username FROM accounts_user ORDER BY 1").fetchall()]


def databases(place: Place) -> set[str]:
    """This process's own: another process of the tests has its databases on the same server."""
    with psycopg.connect(place.url) as db:
        named = db.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [f"%\\_{os.getpid()}%"])
        return {name for (name,) in named.fetchall()}


def test_restore_of_an_older_schema_is_migrated_and_the_old_database_is_kept(migrated: Place, tmp_path: Path) -> None:
    older = place_of(f"older_{os.getpid()}")
    with psycopg.connect(older.at("postgres"), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {older.name} TEMPLATE {migrated.name}")
    older.manage(older.url, "migrate", "web", "zero", "--verbosity", "0")  # as before the tables of the last app
    add_account(older, "grace")
    dump(older.url, tmp_path / "dump")
    backup.drop(older, older.name)

    kept = swap(migrated, load(migrated, tmp_path / "dump"))

    assert accounts(migrated) == ["ada", "grace"]
    migrated.manage(migrated.url, "migrate", "--check")
    assert kept_databases(migrated) == [kept]
    swap(migrated, kept)  # and back
    assert accounts(migrated) == ["ada"]


def test_restore_is_not_hindered_by_a_table_that_the_backup_does_not_know(migrated: Place, tmp_path: Path) -> None:
    dump(migrated.url, tmp_path / "dump")
    with psycopg.connect(migrated.url) as db:
        db.execute("CREATE TABLE later (id int, owner bigint REFERENCES accounts_user)")
    add_account(migrated, "grace")
    swap(migrated, load(migrated, tmp_path / "dump"))
    assert accounts(migrated) == ["ada"]


def test_restore_gives_the_site_role_its_privileges(migrated: Place, tmp_path: Path) -> None:
    dump(migrated.url, tmp_path / "dump")
    fresh = load(migrated, tmp_path / "dump")
    with psycopg.connect(migrated.at(fresh)) as db:
        ask = "SELECT has_table_privilege(%s, 'audit_row', 'INSERT'), has_table_privilege(%s, 'audit_row', 'DELETE')"
        assert db.execute(ask, [migrated.site_role] * 2).fetchone() == (True, False)
    backup.drop(migrated, fresh)


def test_restore_refuses_a_backup_of_newer_code_before_it_touches_anything(migrated: Place, tmp_path: Path) -> None:
    with psycopg.connect(migrated.url) as db:
        db.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('judging', '9999_teleport', now())")
    dump(migrated.url, tmp_path / "dump")
    before = databases(migrated)
    with pytest.raises(SetupError, match=r"newer code.*judging\.9999_teleport.*Update this checkout"):
        load(migrated, tmp_path / "dump")
    assert databases(migrated) == before


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied", "no zip", "no manifest"])
def test_restore_of_a_damaged_file_changes_nothing(migrated: Place, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "dump"
    dump(migrated.url, file)
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 3] ^= 0xFF
    if damage == "no manifest":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("database.dump", b"")
    else:
        half = file.read_bytes()[: file.stat().st_size // 2]
        file.write_bytes({"cut": half, "flipped": bytes(whole), "emptied": b"", "no zip": b"PGDMP..."}[damage])
    before = databases(migrated)
    with pytest.raises(SetupError, match=r"damaged|no backup|without a manifest"):
        load(migrated, file)
    assert databases(migrated) == before
    assert accounts(migrated) == ["ada"]


def test_restore_compares_the_rows_with_the_manifest(migrated: Place, tmp_path: Path) -> None:
    dump(migrated.url, tmp_path / "dump")
    with zipfile.ZipFile(tmp_path / "dump") as old:
        manifest = json.loads(old.read("manifest.json"))
        manifest["rows"]["accounts_user"] = 2
        with zipfile.ZipFile(tmp_path / "other", "w") as new:
            new.writestr("database.dump", old.read("database.dump"))
            new.writestr("manifest.json", json.dumps(manifest))
    before = databases(migrated)
    with pytest.raises(SetupError, match="1 rows in accounts_user, the backup's manifest says 2"):
        load(migrated, tmp_path / "other")
    assert databases(migrated) == before


def test_swap_leaves_a_database_in_use_as_it_is(migrated: Place) -> None:
    backup.create(migrated, f"{migrated.name}_fresh_test")
    with psycopg.connect(migrated.url), pytest.raises(SetupError, match="in use"):
        swap(migrated, f"{migrated.name}_fresh_test")
    assert accounts(migrated) == ["ada"]
    backup.drop(migrated, f"{migrated.name}_fresh_test")


def test_backup_carries_version_migrations_and_rows_and_is_private(migrated: Place, tmp_path: Path) -> None:
    dump(migrated.url, tmp_path / "dump")
    assert stat.S_IMODE((tmp_path / "dump").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["dump"]
    with zipfile.ZipFile(tmp_path / "dump") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["version"]
    assert "audit.0001_initial" in manifest["migrations"]
    assert manifest["rows"]["accounts_user"] == 1


def test_backup_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "dump").write_text("yesterday's")
    with pytest.raises(SetupError, match="could not be read"):
        dump(f"postgresql://nobody@/none?host={tmp_path}", tmp_path / "dump")
    assert (tmp_path / "dump").read_text() == "yesterday's"


def test_backup_onto_a_full_disk_is_an_error_that_names_the_file(place: Place, tmp_path: Path) -> None:
    (tmp_path / "dump").write_text("yesterday's")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
    try:
        with pytest.raises(SetupError, match="dump could not be written"):
            dump(place.url, tmp_path / "dump")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "dump").read_text() == "yesterday's"
    assert [path.name for path in tmp_path.iterdir()] == ["dump"]


def test_the_password_travels_in_the_environment() -> None:
    environment = connection_environment("postgresql://ada:secret@/database?host=%2Frun&sslmode=disable")
    assert environment["PGPASSWORD"] == "secret"
    assert environment["PGHOST"] == "/run"
    assert environment["PGSSLMODE"] == "disable"


@pytest.mark.parametrize("arguments", [["backup", ""], ["undo-restore", "a", "b"], ["sell"], []])
def test_a_call_that_does_not_fit_says_how(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "FILE=" in capsys.readouterr().err


def test_make_restore_of_no_site_is_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deploy.backup", "restore", str(tmp_path / "dump")],
        env={**os.environ, "PHOTOFINISH_STATE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "error: there is no site here yet: make up\n")
