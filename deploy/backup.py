"""Backup and restore of the database and the reports, the only data that cannot be made again.

    make backup FILE=…         write a backup of the database
    make nightly-backup        write an encrypted backup of the database and of new reports into BACKUP_FOLDER
    make try-restore FILE=…    restore the backup into a fresh database, check it and the copies of reports, and drop it
    make restore FILE=…        put the backup in the place of the present database, which is kept under another name
    make undo-restore          swap back to the database that the last restore kept
    make forget-old-database   drop every database that a restore kept

On a host of deploy/production, `python -m deploy.backup restore FILE` and so on, with site.env, owner.env and
backup.env in the environment.

A backup is one zip file (mode 600): `database.dump` from pg_dump, and `manifest.json` with the version, the migrations
and the number of rows of each table. A restore fills a fresh database, migrates and checks it there, and then swaps the
names of the two databases in one transaction. Until then the site goes on with the old database, and any failure leaves
it untouched. Passwords reach programs by their environment. A file that ends in .age is encrypted (sealing.py).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from deploy import sealing
from deploy.console import SetupError, captured, exit_status, note, say, step
from deploy.embedded import postgres_programs
from deploy.launch import read_environment
from deploy.parties import CHECKOUT, state_folder
from deploy.processes import CLEAN_ENVIRONMENT, Supervisor
from runner import __version__

FORMAT: Final = 1  # of the manifest
DUMP, MANIFEST = "database.dump", "manifest.json"
REPORTS: Final = "reports"  # folder of their copies, beside the backups of the database
MOST_MANIFEST_BYTES: Final = 4_000_000
DROP_TRIES: Final = 20
DROP_PAUSE_S: Final = 0.5
VARIABLES = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
KEPT: Final = "_before_"  # between a database's name and the time at which a restore renamed it
SERVICES: Final = ("database", "broker")  # programs that run on through a restore
UNCHECKED: Final = "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE NOT convalidated"


@dataclass(frozen=True)
class Place:
    """The database of one site: `url` is the address of the tables' owner, `site_role` the role of the site."""

    url: str
    site_role: str
    environment: dict[str, str]  # of management commands

    @property
    def name(self) -> str:
        return str(conninfo_to_dict(self.url)["dbname"])

    @property
    def report_folder(self) -> Path | None:
        """The folder of REPORT_STORE; None if reports lie elsewhere."""
        parts = urlsplit(self.environment.get("REPORT_STORE", ""))
        return Path(unquote(parts.path)) if parts.scheme == "file" else None

    def at(self, database: str) -> str:
        """Return the address of a different database on the same server."""
        return make_conninfo(self.url, dbname=database)

    def manage(self, url: str, *arguments: str) -> str:
        """Run a management command on the database at `url`; return its standard output. Raises SetupError."""
        command = [sys.executable, "-m", "leaderboard.manage", *arguments]
        done = captured(command, cwd=CHECKOUT, env={**self.environment, "DATABASE_URL": url})
        if done.returncode:
            raise SetupError(f"`manage {arguments[0]}` failed: {(done.stderr or done.stdout).strip()[-1500:]}")
        return done.stdout


def main(arguments: list[str]) -> int:
    with_file = {"backup": backup, "restore": restore, "try-restore": try_restore}
    without = {"undo-restore": undo, "forget-old-database": forget, "nightly-backup": nightly}
    match arguments:
        case [str(act), str(file)] if act in with_file and file:
            return exit_status(lambda: with_file[act](Path(file)))
        case [str(act), *rest] if act in without and not any(rest):
            return exit_status(without[act])
    usage = "make backup FILE=…, make try-restore FILE=…, make restore FILE=…, and without FILE: " + ", ".join(without)
    print(f"usage: {usage}", file=sys.stderr)
    return 2


def backup(file: Path) -> None:
    with step(f"back up the database to {file}"):
        place = _place()
        manifest = dump(place.url, file)
        note(f"{file.stat().st_size / 1e6:.1f} MB, {sum(manifest['rows'].values())} rows")
        place.manage(place.url, "note_backup")


def nightly() -> None:
    """Back up the database, then the reports: every report of the database's rows was in the store before them."""
    place = _place()
    given = place.environment
    folder, recipient = Path(given.get("BACKUP_FOLDER", "")), sealing.recipient_of(given.get("BACKUP_RECIPIENT", ""))
    if not folder.is_absolute() or not folder.is_dir():
        raise SetupError(f"BACKUP_FOLDER={str(folder)!r} is no folder: make one on another disk, and mount it here")
    keep_days = _days(given.get("BACKUP_DAYS", "30"))
    file = folder / f"photofinish-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip{sealing.SUFFIX}"
    with step(f"back up the database to {file}"):
        manifest = dump(place.url, file, recipient)
        note(f"{file.stat().st_size / 1e6:.1f} MB, {sum(manifest['rows'].values())} rows")
    store = place.report_folder
    if store is None:
        note("no folder of reports: they lie in the database, or in a bucket whose versions its provider keeps")
    else:
        with step(f"back up the reports of {store}"):
            told = {"keep_days": keep_days, "expected": _living_reports(place.url)}
            new, total = sealing.copy_reports(store, folder / REPORTS, recipient, **told)
            note(f"{new} new of {total}")
    oldest = datetime.now(UTC).timestamp() - keep_days * sealing.DAY_S
    for old in folder.glob(f"photofinish-*.zip{sealing.SUFFIX}"):
        if old.stat().st_mtime < oldest:
            old.unlink()
    place.manage(place.url, "note_backup")


def try_restore(file: Path) -> None:
    """Restore and check a backup, and keep nothing of it: a drill."""
    place = _place()
    with step(f"restore {file} into a fresh database, and drop it"):
        drop(place, load(place, file))
    _restore_reports(place, file, is_drill=True)


def restore(file: Path) -> None:
    place = _place()
    with step(f"restore {file} into a fresh database"):
        fresh = load(place, file)
    try:
        _restore_reports(place, file)
    except BaseException:
        drop(place, fresh)
        raise
    with _stopped_site():
        kept = swap(place, fresh)
    say(f"     the database of before is kept as {kept}: `make undo-restore` goes back to it,")
    say("     `make forget-old-database` drops it")


def _restore_reports(place: Place, file: Path, *, is_drill: bool = False) -> None:
    """Put the reports beside an encrypted backup back into the store, where the store lacks them.

    `is_drill`: only check that they are whole.
    """
    copies, store = file.parent / REPORTS, place.report_folder
    if file.suffix != sealing.SUFFIX or store is None or not copies.is_dir():
        return
    with step(f"check the copies of reports in {copies}" if is_drill else f"put reports back into {store}"):
        identity = sealing.identity_of(place.environment.get("BACKUP_IDENTITY", ""))
        restored, damaged = sealing.restore_reports(copies, store, identity, is_drill=is_drill)
        names = "".join(f"\n     damaged copy: {name}" for name in damaged)
        note(f"{restored} {'are whole' if is_drill else 'put back'}{names}")
        if is_drill and damaged:
            raise SetupError(
                f"{len(damaged)} copies of reports are damaged: remove them, and the next backup makes them anew"
            )


def undo() -> None:
    place = _place()
    kept = kept_databases(place)
    if not kept:
        raise SetupError("no restore kept an old database: there is nothing to go back to")
    with step(f"bring {kept[-1]} up to date"):
        bring_up_to_date(place, kept[-1])
    with _stopped_site():
        restored = swap(place, kept[-1])
    say(f"     {kept[-1]} is the site's database again; the restored one is kept as {restored}")


def forget() -> None:
    place = _place()
    kept = kept_databases(place)
    for name in kept:
        with step(f"drop {name}"):
            drop(place, name)
    if not kept:
        note("no restore kept an old database")


def dump(url: str, file: Path, recipient: Any = None) -> dict[str, Any]:
    """Back up the database at `url` into `file` and return the manifest. Only a whole backup replaces the file.

    `recipient`: the public key that it is encrypted for.
    """
    part = file.with_name(f"{file.name}.part")
    try:
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w+b") as raw, psycopg.connect(url, autocommit=True) as db:
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            (snapshot,) = db.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
            sealed = sealing.sealed(raw, recipient) if recipient else nullcontext(raw)
            with sealed as target_file, zipfile.ZipFile(target_file, "w") as archive:
                command = ["pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}"]
                with archive.open(DUMP, "w", force_zip64=True) as target, _postgres(command, url) as run:
                    assert run.stdout is not None
                    shutil.copyfileobj(run.stdout, target, 1 << 20)
                manifest = _manifest(db)
                archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
        part.replace(file)
    except psycopg.Error as error:
        raise SetupError(f"the database could not be read: {error}") from None
    except OSError as error:
        raise SetupError(f"{file} could not be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
    return manifest


def load(place: Place, file: Path) -> str:
    """Fill a fresh database from a backup, migrate and check it; return its name. The present database is unchanged."""
    with opened(file, place.environment) as archive:
        manifest = read_manifest(archive, file)
        refuse_newer(place, manifest)
        fresh = f"{place.name}_fresh_{_stamp()}"
        create(place, fresh)
        try:
            with archive.open(DUMP) as source:
                _restore_from(source, place.at(fresh))
            with psycopg.connect(place.at(fresh)) as db:
                found, said = _manifest(db)["rows"], manifest["rows"]
            for table in sorted(found.keys() | said):
                if (rows := found.get(table)) != (saved := said.get(table)):
                    differs = f"the restored database has {rows} rows in {table}, the backup's manifest says {saved}"
                    raise SetupError(f"{differs}: nothing was changed")
            bring_up_to_date(place, fresh)
        except BaseException:
            drop(place, fresh)
            raise
    return fresh


def bring_up_to_date(place: Place, name: str) -> None:
    """Migrate a database, give the site's role its privileges there, and check it."""
    url = place.at(name)
    place.manage(url, "migrate", "--no-input", "--verbosity", "0")
    if place.site_role != conninfo_to_dict(url)["user"]:
        place.manage(url, "grant_site_role", place.site_role)
    place.manage(url, "check", "--database", "default")
    with psycopg.connect(url) as db:
        unchecked = db.execute(UNCHECKED).fetchall()
    if unchecked:
        raise SetupError(f"the constraint {unchecked[0][1]} of {unchecked[0][0]} does not hold: nothing was changed")


def swap(place: Place, other: str) -> str:
    """Give `other` the name of the site's database; return the site database's new name, which contains the time."""
    kept = f"{place.name}{KEPT}{_stamp()}"
    rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    with _maintenance(place) as db, db.transaction():
        db.execute(rename.format(sql.Identifier(place.name), sql.Identifier(kept)))
        db.execute(rename.format(sql.Identifier(other), sql.Identifier(place.name)))
    return kept


def kept_databases(place: Place) -> list[str]:
    """Return the databases that restores kept, the latest last."""
    with _maintenance(place) as db:
        named = db.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [place.name + KEPT])
        return sorted(name for (name,) in named.fetchall())


def create(place: Place, name: str) -> None:
    with _maintenance(place) as db:
        db.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))


def drop(place: Place, name: str) -> None:
    statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    with _maintenance(place) as db:
        for left in reversed(range(DROP_TRIES)):
            try:
                db.execute(statement)
                return
            except psycopg.errors.InsufficientPrivilege:  # the server's own autovacuum is at work in it, for moments
                if not left:
                    raise
                time.sleep(DROP_PAUSE_S)


def read_manifest(archive: zipfile.ZipFile, file: Path) -> dict[str, Any]:
    try:
        with archive.open(MANIFEST) as member:
            manifest = json.loads(member.read(MOST_MANIFEST_BYTES))
        form, migrations, rows = manifest["format"], manifest["migrations"], manifest["rows"]
        archive.getinfo(DUMP)
        fits = isinstance(migrations, list) and isinstance(rows, dict)
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise SetupError(f"{file} is no backup made by `make backup`: {error}") from None
    if form != FORMAT or not fits:
        raise SetupError(f"{file} has a manifest of format {form}; this code reads format {FORMAT}")
    return dict(manifest)


def refuse_newer(place: Place, manifest: dict[str, Any]) -> None:
    """Raise SetupError for a backup with migrations that this code lacks."""
    known = set(json.loads(place.manage(place.url, "known_migrations")))
    unknown = sorted(set(manifest["migrations"]) - known)
    if unknown:
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        raise SetupError(
            f"the backup was made by newer code (version {manifest.get('version')}, "
            f"{manifest.get('made_at')}): it has the migrations {', '.join(unknown[:3])}{more}, unknown here. "
            "Update this checkout, then restore again. Nothing was changed."
        )


def connection_environment(url: str) -> dict[str, str]:
    """Return libpq's variables for an address, which keeps its password off the command line."""
    parts = conninfo_to_dict(url)
    return {VARIABLES.get(name, f"PG{name.upper()}"): str(value) for name, value in parts.items()}


def _living_reports(url: str) -> int:
    """Return the number of reports that the database expects in the store."""
    tables = ("judging_resultarchived", "confirmations_foundarchived")
    digests = " UNION ".join(f"SELECT digest FROM {table} WHERE expired_at IS NULL" for table in tables)  # noqa: S608
    with psycopg.connect(url) as db:
        counted = db.execute(f"SELECT count(*) FROM ({digests}) AS living").fetchone() or (0,)  # noqa: S608
    return int(counted[0])


def _manifest(db: psycopg.Connection[Any]) -> dict[str, Any]:
    tables = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename").fetchall()
    rows = {}
    for (table,) in tables:
        counted = db.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone() or (0,)
        rows[table] = int(counted[0])
    applied = "SELECT app || '.' || name FROM django_migrations ORDER BY 1" if "django_migrations" in rows else ""
    return {
        "format": FORMAT,
        "version": __version__,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "postgresql": db.info.server_version,
        "migrations": [name for (name,) in db.execute(applied).fetchall()] if applied else [],
        "rows": rows,
    }


def _restore_from(source: IO[bytes], url: str) -> None:
    options = ["--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
    with _postgres(["pg_restore", *options, f"--dbname={conninfo_to_dict(url)['dbname']}"], url) as run:
        assert run.stdin is not None
        with suppress(BrokenPipeError), run.stdin as pipe:  # if the program ends early, its message has the reason
            shutil.copyfileobj(source, pipe, 1 << 20)
        while source.read(1 << 20):  # to the end: zipfile compares the check sum only there
            pass


@contextmanager
def _postgres(command: list[str], url: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a PostgreSQL program for the duration of the context. Raises SetupError with its message where it fails."""
    program = str(postgres_programs() / command[0])
    environment = {**CLEAN_ENVIRONMENT, **connection_environment(url)}
    pipe = subprocess.PIPE
    with tempfile.TemporaryFile() as messages:
        started = [program, *command[1:]]
        with subprocess.Popen(started, env=environment, stdin=pipe, stdout=pipe, stderr=messages) as run:
            try:
                yield run
            except BaseException:
                run.kill()
                raise
        if run.returncode:
            messages.seek(0)
            text = messages.read()[-1500:].decode(errors="replace").strip()
            raise SetupError(f"{command[0]} failed, nothing was changed: {text}")


@contextmanager
def opened(file: Path, environment: Mapping[str, str]) -> Iterator[zipfile.ZipFile]:
    """Open a backup, encrypted or not. Raises SetupError for a file that is none."""
    if not file.is_file():
        raise SetupError(f"FILE={file} is not there")
    content: AbstractContextManager[IO[bytes]] = (
        sealing.unsealed(file, sealing.identity_of(environment.get("BACKUP_IDENTITY", "")))
        if file.suffix == sealing.SUFFIX
        else file.open("rb")
    )
    with content as raw:
        if raw.read(5) == b"PGDMP":
            raise SetupError(f"{file} is a dump without a manifest: restore it with the code that made it")
        try:
            with zipfile.ZipFile(raw) as archive:
                yield archive
        except zipfile.BadZipFile as error:
            raise SetupError(f"{file} is damaged or no backup ({error}): nothing was changed") from None


@contextmanager
def _maintenance(place: Place) -> Iterator[psycopg.Connection[Any]]:
    """Connect beside the site's database; errors become messages for the person at the keyboard."""
    try:
        with psycopg.connect(place.at("postgres"), autocommit=True) as db:
            yield db
    except psycopg.errors.ObjectInUse as error:
        how = f"close other programs' connections ({error})"
        raise SetupError(f"the database is in use, nothing was changed: {how}") from None
    except psycopg.Error as error:
        raise SetupError(f"the database server refused, nothing was changed: {error}") from None


@contextmanager
def _stopped_site() -> Iterator[None]:
    """Stop the programs that write, and start them again at the end. Elsewhere than with `make up`, a person does."""
    supervisor = Supervisor(state_folder() / "supervisor", Path(sys.executable))
    writers = [line.split()[0] for line in supervisor.status() if line.split()[0] not in SERVICES]
    with step("swap the databases (the site is away meanwhile)"):
        if writers:
            supervisor.control("stop", *writers)
        try:
            yield
        finally:
            if writers:
                supervisor.control("start", *writers)


def _stamp() -> str:
    return f"{datetime.now(UTC):%Y%m%d_%H%M%S_%f}"


def _days(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 3650:
        raise SetupError(f"BACKUP_DAYS={text!r} is not a number of days: 1 to 3650")
    return int(text)


def _place() -> Place:
    """Return the site of `make up`, or of deploy/production where OWNER_URL is in the environment."""
    if owner_url := os.environ.get("OWNER_URL"):
        if not os.environ.get("DATABASE_URL"):
            raise SetupError("DATABASE_URL is needed beside OWNER_URL; `setup files` writes it to site.env")
        return Place(owner_url, str(conninfo_to_dict(os.environ["DATABASE_URL"])["user"]), dict(os.environ))
    secrets = state_folder() / "secrets"
    if not (secrets / "owner.env").exists():
        raise SetupError("there is no site here yet: make up")
    chosen = {name: value for name, value in os.environ.items() if name.startswith("BACKUP_")}
    environment = read_environment(secrets / "owner.env") | chosen
    site_url = read_environment(secrets / "site.env")["DATABASE_URL"]
    return Place(environment["DATABASE_URL"], str(conninfo_to_dict(site_url)["user"]), environment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
