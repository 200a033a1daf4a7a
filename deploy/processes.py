"""Processes of one machine and their supervisor: programs, users, and restarts.

Owns `STATE/supervisor` (configuration, socket, logs). Pure functions build the configuration; the rest talks to
supervisord. Always true: no secret is in the configuration (deploy/launch.py hands them over), a process that dies is
started again after 1, 2, 3 … seconds, and a process whose code, image or settings changed is restarted by the next
`make up`.
"""

import hashlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.console import SetupError, captured, is_soon
from deploy.embedded import Server, answers
from deploy.parties import Party, is_root, myself, own_folder, socket_folder

SOCKET: Final = "supervisor.sock"
LOG_BYTES: Final = 20_000_000  # a file; three old files are kept
START_RETRIES: Final = 60  # in a row, each a second later than the last: half an hour
STOP_TIMEOUT_S: Final = 60.0
CLEAN_ENVIRONMENT: Final = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


@dataclass(frozen=True)
class Program:
    """A supervised process. `version` covers its code and settings: a changed version restarts the process."""

    name: str
    command: list[str]
    party: Party
    folder: Path
    priority: int  # started in rising, stopped in falling order
    stop_signal: str = "TERM"
    stop_wait_s: int = 10
    version: str = ""


def service_programs(postgres: Server | None, valkey: Server | None) -> list[Program]:
    """Return programs for the embedded servers that are ours."""
    programs = []
    if postgres:
        programs.append(Program("database", postgres.command, postgres.party, Path("/"), 10, "INT", 30))
    if valkey:
        programs.append(Program("broker", valkey.command, valkey.party, Path("/"), 10))
    return programs


def site_programs(python: Path, code: Path, env_file: Path, site: Party, port: int, version: str) -> list[Program]:
    launch = [str(python), "-m", "deploy.launch", str(env_file), str(python), "-m"]
    server = ["leaderboard.serve", "--host", "127.0.0.1", "--port", str(port)]
    worker = ["dramatiq", "leaderboard.actors", "--queues", "site", "--processes", "1", "--threads", "4"]
    sweeper = ["leaderboard.manage", "sweep", "--forever"]
    return [
        Program("site", [*launch, *server], site, code, 20, version=version, stop_wait_s=30),
        Program("site-worker", [*launch, *worker], site, code, 20, version=version, stop_wait_s=30),
        Program("sweeper", [*launch, *sweeper], site, code, 20, version=version),
    ]


def runner_program(python: Path, code: Path, env_file: Path, who: Party, hardware: str, version: str) -> Program:
    command = [str(python), "-m", "deploy.launch", str(env_file), str(python.parent / "runner"), "work"]
    name = f"runner-{hardware}"
    return Program(name, command, who, code, 30, version=version, stop_wait_s=40)


def supervisor_conf(folder: Path, socket_path: Path, programs: list[Program], *, root: bool) -> str:
    """Return supervisord's configuration. A percent sign is special to it and doubled."""
    sections = [
        "[unix_http_server]",
        f"file={_escape(socket_path)}",
        "chmod=0700",
        "[supervisord]",
        f"logfile={_escape(folder / 'supervisord.log')}",
        f"logfile_maxbytes={LOG_BYTES}",
        f"pidfile={_escape(folder / 'supervisord.pid')}",
        f"directory={_escape(folder)}",
        *(["user=root"] if root else []),
        "[rpcinterface:supervisor]",
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
        "[supervisorctl]",
        f"serverurl=unix://{_escape(socket_path)}",
    ]
    for program in programs:
        sections += [
            f"[program:{program.name}]",
            f"command={_escape(shlex.join(program.command))}",
            f"directory={_escape(program.folder)}",
            *([f"user={program.party.uid}"] if root else []),
            f'environment=HOME="/nonexistent",PHOTOFINISH_VERSION="{_escape(program.version)}"',
            f"priority={program.priority}",
            "autorestart=true",
            "startsecs=3",
            f"startretries={START_RETRIES}",
            f"stopsignal={program.stop_signal}",
            f"stopwaitsecs={program.stop_wait_s}",
            "killasgroup=true",
            "redirect_stderr=true",
            f"stdout_logfile={_escape(folder / f'{program.name}.log')}",
            f"stdout_logfile_maxbytes={LOG_BYTES}",
            "stdout_logfile_backups=3",
        ]
    return "\n".join(sections) + "\n"


def process_version(code: Path, packages: tuple[str, ...], env_file: Path) -> str:
    """Return a digest of every file that a running process may have read: these packages, and its settings.

    No secret of the settings can be found from it: the random key or token among them takes part.
    """
    digest = hashlib.sha256(env_file.read_bytes())
    for package in packages:
        for path in sorted((code / package).rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"{path.relative_to(code)} {path.stat().st_size} ".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Supervisor:
    """The supervisord of a state folder."""

    folder: Path
    python: Path

    @property
    def socket(self) -> Path:
        return socket_folder(self.folder, SOCKET) / SOCKET

    @property
    def configuration(self) -> Path:
        return self.folder / "supervisord.conf"

    def is_running(self) -> bool:
        return answers(self.socket)

    def apply(self, programs: list[Program]) -> None:
        """Run exactly these programs: start new and stopped, restart changed, stop removed programs."""
        own_folder(self.folder, myself())
        self.configuration.write_text(supervisor_conf(self.folder, self.socket, programs, root=is_root()))
        self.configuration.chmod(0o600)
        if not self.is_running():
            command = [str(self.python), "-m", "supervisor.supervisord", "-c", str(self.configuration)]
            done = captured(command, env=CLEAN_ENVIRONMENT, cwd="/")
            if not is_soon(self.is_running, 0 if done.returncode else STOP_TIMEOUT_S):
                raise SetupError(f"the supervisor did not start: {(done.stdout + done.stderr).strip()[-800:]}")
            return
        self.control("update")
        stopped = [line.split()[0] for line in self.status() if line.split()[1] not in ("RUNNING", "STARTING")]
        if stopped:
            self.control("start", *stopped)

    def control(self, *arguments: str) -> str:
        command = [str(self.python), "-m", "supervisor.supervisorctl", "-c", str(self.configuration), *arguments]
        return captured(command, env=CLEAN_ENVIRONMENT).stdout

    def status(self) -> list[str]:
        return self.control("status").splitlines() if self.is_running() else []

    def stop(self) -> None:
        """Stop every process in order, then the supervisor; return when it is gone."""
        if not self.is_running():
            return
        self.control("shutdown")
        pid_file = self.folder / "supervisord.pid"
        if not is_soon(lambda: not self.is_running() and not pid_file.exists(), STOP_TIMEOUT_S):
            raise SetupError(f"the supervisor did not stop within {STOP_TIMEOUT_S:.0f} s; see {self.folder}")

    def pid(self, name: str) -> str:
        """Return the pid of a running process; "" when it does not run."""
        line = next((line for line in self.status() if line.split()[:2] == [name, "RUNNING"]), "")
        return line.partition("pid ")[2].partition(",")[0]

    def log(self, name: str) -> bytes:
        path = self.folder / f"{name}.log"
        return path.read_bytes() if path.exists() else b""

    def log_since(self, name: str, offset: int) -> str:
        return self.log(name)[offset:].decode(errors="replace")


def _escape(value: object) -> str:
    return str(value).replace("%", "%%")
