"""The site's side of set-up: its environment files, its management commands, its health.

Owns `STATE/secrets`. Always true: each file there has mode 600 and belongs to the process that reads it; tokens and
passwords travel in environments and files, never on a command line.
"""

import json
import os
import re
import socket
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from psycopg.conninfo import conninfo_to_dict

from deploy.console import SetupError, captured, note
from deploy.embedded import Databases
from deploy.launch import environment_text, read_environment
from deploy.parties import SITE, Party, kept_secret, myself, others_may_read, own_folder, party, write_private
from deploy.processes import CLEAN_ENVIRONMENT

DEFAULT_PORT: Final = 8000
HEALTH_TIMEOUT_S: Final = 180.0  # a busy machine takes its time
COMMAND_TIMEOUT_S: Final = 300.0
PASSED_TO_RUNNER: Final = ("BROKER_CA_FILE", "DOCKER_HOST", "XDG_RUNTIME_DIR", "RUNNER_LOCKS")
QUICK_REMEASURE_S: Final = "15"  # a laptop's programs come and go: a calmer moment is near, so the wait is short
RUNNER_TOKEN: Final = re.compile(r"\bpfr_[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Site:
    """Folders, Python, user and port of the site."""

    state: Path
    code: Path
    python: Path
    party: Party
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def secrets(self) -> Path:
        return self.state / "secrets"

    @property
    def env_file(self) -> Path:
        return self.secrets / "site.env"

    @property
    def owner_env_file(self) -> Path:
        """The site's environment with the address of the tables' owner. No process of the site can read it."""
        return self.secrets / "owner.env"

    @property
    def runner_env_file(self) -> Path:
        return self.secrets / "runner-cpu.env"

    def manage(self, *arguments: str, as_owner: bool = False) -> str:
        """Run a management command; return its output. Raises SetupError with the command's message.

        `as_owner`: as the owner of the tables under the caller's user, for migrations; otherwise as the site.
        """
        env_file, user = (self.owner_env_file, myself()) if as_owner else (self.env_file, self.party)
        command = [str(self.python), "-m", "deploy.launch", str(env_file), str(self.python)]
        command += ["-m", "leaderboard.manage", *arguments]
        place = {"cwd": self.code, "env": CLEAN_ENVIRONMENT, "timeout": COMMAND_TIMEOUT_S}
        done = captured(command, **place, **user.popen_ids())
        if done.returncode:
            raise SetupError(f"`manage {arguments[0]}` failed: {(done.stderr or done.stdout).strip()[-2500:]}")
        return done.stdout


def choose_party(python: Path) -> Party:
    """Return a user of the site's own if it can run our Python; otherwise the caller, with a note."""
    if others_may_read(python):
        return party(SITE)
    note(f"the site runs as you, not as a user of its own: others may not run {python.resolve()}")
    return myself()


def choose_port(state: Path) -> int:
    """Return PORT, else the port of last time, else 8000."""
    remembered = state / "port"
    text = os.environ.get("PORT") or (remembered.read_text().strip() if remembered.exists() else str(DEFAULT_PORT))
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise SetupError(f"PORT={text!r} is not a port: a number from 1 to 65535 is")
    return int(text)


def remember_port(site: Site) -> None:
    (site.state / "port").write_text(f"{site.port}\n")


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def write_site_environment(site: Site, databases: Databases, broker_url: str) -> None:
    """Write the site's environment, and the environment for migrations."""
    own_folder(site.secrets, myself(), 0o711)
    secret_key = kept_secret(site.secrets / "secret.key", myself())
    static = own_folder(site.state / "static", site.party, 0o755)
    reports = own_folder(site.state / "reports", site.party)
    values = {
        **CLEAN_ENVIRONMENT,
        "HOME": "/nonexistent",
        "REPORT_STORE": f"file://{reports}",
        "SECRET_KEY": secret_key,
        "DATABASE_URL": databases.site_url,
        "BROKER_URL": broker_url,
        "BROKER_CA_FILE": os.environ.get("BROKER_CA_FILE", ""),
        "SITE_URL": site.url,
        "ALLOWED_HOSTS": os.environ.get("ALLOWED_HOSTS", "127.0.0.1,localhost"),
        "STATIC_ROOT": str(static),
        "MAIL_URL": os.environ.get("MAIL_URL") or own_folder(site.state / "mailbox", site.party).as_uri(),
        "WEB_PROCESSES": os.environ.get("WEB_PROCESSES", "1"),
        "WEB_DRAIN_S": os.environ.get("WEB_DRAIN_S", "1"),  # browsers only, no proxy that looks at /readyz
        "DEBUG": "0",
        "LOG_LEVEL": os.environ.get("LOG_LEVEL", "INFO"),
        "REMEASURE_AFTER_S": os.environ.get("REMEASURE_AFTER_S", QUICK_REMEASURE_S),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    write_private(site.env_file, environment_text(values), site.party)
    write_private(site.owner_env_file, environment_text({**values, "DATABASE_URL": databases.owner_url}), myself())


def migrate(site: Site, databases: Databases) -> None:
    """Bring the tables up to date as their owner, then give the site's role its privileges."""
    site.manage("migrate", "--no-input", "--verbosity", "0", as_owner=True)
    if databases.owner_url != databases.site_url:
        site.manage("grant_site_role", str(conninfo_to_dict(databases.site_url)["user"]), as_owner=True)


def write_runner_environment(site: Site, broker_url: str, image: str) -> None:
    """Write the runner's environment file; its token is requested once and kept there."""
    known = read_environment(site.runner_env_file) if site.runner_env_file.exists() else {}
    token = known.get("RUNNER_TOKEN")
    if not token:
        found = RUNNER_TOKEN.search(site.manage("create_runner", "local-cpu", "--hardware", "cpu"))
        if found is None:
            why = "was a runner local-cpu made before? `make reset`"
            raise SetupError(f"`manage create_runner` printed no token; {why}")
        token = found.group()
    values = {
        **CLEAN_ENVIRONMENT,
        "PATH": f"{site.python.parent}:{CLEAN_ENVIRONMENT['PATH']}",
        "HOME": str(Path.home()),
        "PHOTOFINISH_URL": site.url,
        "RUNNER_TOKEN": token,
        "BROKER_URL": broker_url,
        "RUNNER_HARDWARE": "cpu",
        "RUNNER_DRAIN_S": "20",  # within the supervisor's stop_wait_s of processes.runner_program
        "RUNNER_STATE": str(own_folder(site.state / "runner", myself())),
        "SANDBOX_IMAGE": image,
        "LOG_LEVEL": os.environ.get("LOG_LEVEL", "INFO"),
        **{name: os.environ[name] for name in PASSED_TO_RUNNER if name in os.environ},
    }
    write_private(site.runner_env_file, environment_text(values), myself())


def sample_accounts(site: Site) -> dict[str, dict[str, str]]:
    """Return accounts made just now, with password and token; their tokens are kept for the sample submissions."""
    made: dict[str, dict[str, str]] = json.loads(site.manage("sample_accounts") or "{}")
    kept = site.secrets / "sample-tokens.json"
    tokens = json.loads(kept.read_text()) if kept.exists() else {}
    tokens |= {name: account["token"] for name, account in made.items() if account.get("token")}
    write_private(kept, json.dumps(tokens) + "\n", myself())
    return made


def wait_for_health(site: Site) -> None:
    """Wait until the site lists its boards."""
    deadline = time.monotonic() + HEALTH_TIMEOUT_S
    while True:
        try:
            get_json(f"{site.url}/api/v1/boards")
            return
        except (OSError, ValueError) as error:
            if time.monotonic() > deadline:
                limit = f"{HEALTH_TIMEOUT_S:.0f} s"
                raise SetupError(f"the site at {site.url} is not healthy after {limit}: {error}") from None
            time.sleep(0.2)


def get_json(url: str, token: str = "") -> Any:
    """Send a GET request to our own site, past any proxy of the environment."""
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, headers=headers), timeout=10) as answer:  # noqa: S310 - our own site
        return json.load(answer)
