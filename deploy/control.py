"""`make down`, `status`, `logs`, `reset` and `manage`: for the site that `make up` started from this state folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from deploy.console import SetupError, exit_status, note, say, step
from deploy.embedded import POSTGRES_SOCKET, VALKEY_SOCKET
from deploy.launch import read_environment
from deploy.parties import CHECKOUT, socket_folder, state_folder
from deploy.processes import SOCKET, Supervisor

OF_THE_OWNER: Final = ("migrate", "grant_site_role")  # commands that change tables, which the site's role may not
# Data that `make up` writes, without caches (image/ and venv/): only these folders are ever deleted.
DATA: Final = ("postgres", "valkey", "secrets", "static", "reports", "mailbox", "runner", "supervisor", "code")


def main(arguments: list[str]) -> int:
    acts = {"down": down, "status": status, "logs": logs, "reset": reset}
    if arguments[:1] != ["manage"] and (len(arguments) != 1 or arguments[0] not in acts):
        print(f"usage: python -m deploy.control {'|'.join(acts)}|manage COMMAND …", file=sys.stderr)
        return 2
    try:
        return exit_status(lambda: manage(arguments[1:]) if arguments[0] == "manage" else acts[arguments[0]]())
    except KeyboardInterrupt:
        return 130


def down() -> None:
    supervisor = _supervisor()
    if not supervisor.is_running():
        note("nothing runs")
        return
    with step("stop everything (data stays)"):
        supervisor.stop()


def status() -> None:
    lines = _supervisor().status()
    say("\n".join(lines) if lines else "nothing runs: make up")


def logs() -> None:
    files = sorted((state_folder() / "supervisor").glob("*.log"))
    if not files:
        raise SetupError("there are no logs yet: make up")
    subprocess.run(["tail", "-n", "20", "-F", *map(str, files)], check=False)


def manage(arguments: list[str]) -> int:
    """Run a management command with the site's settings, as the caller, so that it reads the caller's files."""
    whose = "owner.env" if arguments[:1] and arguments[0] in OF_THE_OWNER else "site.env"
    environment_file = state_folder() / "secrets" / whose
    try:
        environment = read_environment(environment_file)
    except FileNotFoundError:
        raise SetupError("this site was never set up here: make up") from None
    except PermissionError:
        how = "run this as the user of `make up`, or with sudo"
        raise SetupError(f"you may not read {environment_file}: {how}") from None
    command = [sys.executable, "-m", "leaderboard.manage", *(arguments or ["help"])]
    environment |= {"PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(command, env=environment, check=False).returncode


def reset() -> None:
    state = state_folder()
    if os.environ.get("FORCE") != "1":
        if not sys.stdin.isatty():
            raise SetupError("reset deletes the database: without a terminal to ask, say so with FORCE=1")
        if input(f"Delete the database and all accounts in {state}? [yes/no] ").strip().lower() != "yes":
            say("nothing was changed")
            return
    down()
    with step(f"delete database, accounts and secrets in {state}"):
        sockets = {"postgres/run": POSTGRES_SOCKET, "valkey/run": VALKEY_SOCKET, "supervisor": SOCKET}
        for folder, name in sockets.items():
            shutil.rmtree(socket_folder(state / folder, name), ignore_errors=True)  # of a deep state folder: elsewhere
        for name in DATA:
            shutil.rmtree(state / name, ignore_errors=True)
        (state / "port").unlink(missing_ok=True)


def _supervisor() -> Supervisor:
    return Supervisor(state_folder() / "supervisor", Path(sys.executable))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
