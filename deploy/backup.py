"""`make backup FILE=…` and `make restore FILE=…`: the database, the only thing that cannot be made again.

Always true: the password reaches pg_dump by its environment; the file has mode 600; a restore is one transaction, so
that a bad file changes nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from deploy.console import note, step
from deploy.embedded import postgres_programs
from deploy.launch import read_environment
from deploy.parties import SetupError
from deploy.places import state_folder
from deploy.processes import CLEAN_ENVIRONMENT, Supervisor

VARIABLES = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}


def main(arguments: list[str]) -> int:
    acts = {"backup": backup, "restore": restore}
    if len(arguments) != 2 or arguments[0] not in acts or not arguments[1]:
        print("usage: make backup FILE=…, make restore FILE=…", file=sys.stderr)
        return 2
    try:
        acts[arguments[0]](Path(arguments[1]))
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def backup(file: Path) -> None:
    with step(f"back up the database to {file}"):
        dump(_database_url(), file)
        note(f"{file.stat().st_size / 1e6:.1f} MB")


def restore(file: Path) -> None:
    if not file.is_file():
        raise SetupError(f"FILE={file} is not there")
    supervisor = Supervisor(state_folder() / "supervisor", Path(sys.executable))
    writers = [line.split()[0] for line in supervisor.status() if line.split()[0] not in ("database", "broker")]
    with step(f"restore the database from {file}"):
        if writers:
            supervisor.control("stop", *writers)
        try:
            load(_database_url(), file)
        finally:
            if writers:
                supervisor.control("start", *writers)


def dump(url: str, file: Path) -> None:
    """The database at `url` into `file`, replaced only by a whole one."""
    part = file.with_name(f"{file.name}.part")
    os.close(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600))
    try:
        _run(["pg_dump", "--format=custom", "--no-owner", f"--file={part}"], url)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def load(url: str, file: Path) -> None:
    """`file` into the database at `url`, in place of what is there; all of it or nothing."""
    database = conninfo_to_dict(url)["dbname"]
    options = ["--clean", "--if-exists", "--no-owner", "--single-transaction", "--exit-on-error"]
    _run(["pg_restore", *options, f"--dbname={database}", str(file)], url)


def connection_environment(url: str) -> dict[str, str]:
    """libpq's variables for an address: so its password stands on no command line."""
    parts = conninfo_to_dict(url)
    return {VARIABLES.get(name, f"PG{name.upper()}"): str(value) for name, value in parts.items()}


def _run(command: list[str], url: str) -> None:
    program = str(postgres_programs() / command[0])
    environment = {**CLEAN_ENVIRONMENT, **connection_environment(url)}
    done = subprocess.run([program, *command[1:]], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError(f"{command[0]} failed: {done.stderr.strip()[-1500:]}")


def _database_url() -> str:
    env_file = state_folder() / "secrets" / "site.env"
    if not env_file.exists():
        raise SetupError("there is no site here yet: make up")
    return read_environment(env_file)["DATABASE_URL"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
