"""`make up`: every part of one machine, in order, each step safe to repeat.

The address is printed as soon as the site answers, the logins once its runner works; then the sample submissions are
judged while the operator watches.

Runs in the virtual environment (deploy/bootstrap.py made it). DATABASE_URL and BROKER_URL in the environment take the
place of the embedded servers. DATABASE_OWNER_URL (the role that owns the tables) and RUNNER_BROKER_URL (the runner's
account) keep the site's rights and the runner's apart there, too.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Final

from deploy.console import SetupError, exit_status, is_soon, note, say, step
from deploy.docker_engine import ensure_docker
from deploy.embedded import Databases, open_database, prepare_postgres, prepare_valkey, valkey_urls, wait_until
from deploy.embedded import answers as socket_answers
from deploy.image import ensure_image
from deploy.launch import read_environment
from deploy.parties import CHECKOUT, code_folder, is_private, is_root, myself, own_folder, state_folder
from deploy.processes import Program, Supervisor, process_version, runner_program, service_programs, site_programs
from deploy.samples import LIBRARY, Sample, plan, send_missing, submit_all
from deploy.site import (
    Site,
    choose_party,
    choose_port,
    migrate,
    port_is_free,
    remember_port,
    sample_accounts,
    wait_for_health,
    write_runner_environment,
    write_site_environment,
)

RUNNER: Final = "runner-cpu"
RUNNER_TIMEOUT_S: Final = 200.0  # a judge is prepared first: torch is imported in three containers
RUNNER_HINT: Final = (
    "Where another copy's runner holds the device: `make down` there, or give this one locks of its own with "
    "RUNNER_LOCKS=/some/folder (both then disturb each other's timings)."
)
PACKAGES: Final = ("leaderboard", "runner", "sandbox", "problems", "deploy")
NEXT: Final = """
     Next: look at a board      {url}/
           send a kernel        photofinish login --token … (a token: the site's token page), then
                                photofinish submit kernel.py --board softmax --hardware cpu --mode ranked
           (the program lies in {programs}; PHOTOFINISH_URL={url})
           what runs, its logs  make status, make logs
           stop, data stays     make down
           forget everything    make reset"""
SAMPLE_SET: Final = LIBRARY.with_suffix(".yaml")


def main() -> int:
    try:
        return exit_status(bring_up)
    except KeyboardInterrupt:
        print("\nstopped half-way: `make up` goes on from here, `make down` stops what runs", file=sys.stderr)
        return 130


def bring_up() -> None:
    began = time.monotonic()
    with step("Docker engine"):
        ensure_docker()
    with step("sandbox image"):
        image = ensure_image()
    site = _place()
    supervisor = Supervisor(site.state / "supervisor", site.python)
    known = read_environment(site.env_file) if site.env_file.exists() else {}
    ours = known.get("SITE_URL") == site.url and supervisor.pid("site") != ""
    if not ours and not port_is_free(site.port):
        raise SetupError(f"port {site.port} is taken by another program: choose another one, make up PORT=8001")
    with step("PostgreSQL and Valkey"):
        services, databases, broker_url, runner_broker_url = _services(site, supervisor)
    write_site_environment(site, databases, broker_url)
    with step("database tables and static files"):
        migrate(site, databases)
        site.manage("collectstatic", "--no-input", "--verbosity", "0")
    with step("sample competition and accounts"):
        site.manage("import_problems", str(SAMPLE_SET), "--hardware", "cpu", "--admission", "open", "--publish")
        accounts = sample_accounts(site)
    try:
        with step("site, site worker, sweeper, runner"):
            _start(site, supervisor, services, runner_broker_url, image)
        say(f"\nPhotofinish runs at {site.url}  ({time.monotonic() - began:.0f} s)\n")
    finally:
        for name, account in accounts.items():  # also when a later step fails: they cannot be shown again
            role = "organiser, may do everything" if name == "olga" else "competitor"
            say(f"     sign in as {name:5} password {account['password']}   ({role}; shown only this once)")
        if not accounts:
            say("     passwords of the sample accounts were shown by the first `make up`")
    say(NEXT.format(url=site.url, programs=site.python.parent))
    watch_samples(site)


def watch_samples(site: Site) -> None:
    """Send the sample submissions and show their verdicts. Ctrl-C ends only this."""
    try:
        with step("sample submissions"):
            submit_all(site, *_samples(site))
    except KeyboardInterrupt:
        say(f"\n     the site stays up at {site.url}, and what was sent is judged there; `make down` stops it")


def _samples(site: Site) -> tuple[list[Sample], dict[str, str]]:
    """Return the sample submissions, and the tokens of the accounts that send them."""
    return plan(site.code / LIBRARY), json.loads((site.secrets / "sample-tokens.json").read_text())


def _start(site: Site, supervisor: Supervisor, services: list[Program], broker_url: str, image: str) -> None:
    """Start the programs; return as soon as the site answers and its runner hears doorbells.

    The sample submissions are sent while the runner prepares its first judge: attempts go before admission tests, so
    that no attempt waits for an admission test.
    """
    write_runner_environment(site, broker_url, image)
    version, judge_version = (
        process_version(site.code, PACKAGES, env_file) for env_file in (site.env_file, site.runner_env_file)
    )
    programs = site_programs(site.python, site.code, site.env_file, site.party, site.port, version)
    runner = runner_program(site.python, site.code, site.runner_env_file, myself(), "cpu", judge_version)
    if is_root():
        note("the runner runs as root: it needs the Docker engine and the freezer cgroup (SECURITY.md)")
    seen = len(supervisor.log(RUNNER))
    ran = supervisor.pid(RUNNER)
    supervisor.apply([*services, *programs, runner])
    try:
        wait_for_health(site)
    except SetupError as error:
        raise SetupError(f"{error}\n{supervisor.log_since('site', 0)[-1500:].strip() or '(no log yet)'}") from None
    remember_port(site)
    note(f"the site answers at {site.url}")
    send_missing(site, *_samples(site))
    if supervisor.pid(RUNNER) != ran or not ran:
        if not is_soon(lambda: '"listening"' in supervisor.log_since(RUNNER, seen), RUNNER_TIMEOUT_S):
            said = supervisor.log_since(RUNNER, seen).strip()[-800:] or "(it said nothing)"
            raise SetupError(f"the runner does not work: {said}\n{RUNNER_HINT}")
        if '"epoch_not_current"' in supervisor.log_since(RUNNER, seen):
            changed = "cores, software or the judge changed since boards were ranked here"
            note(f"{changed}: only tests are judged until olga decides at {site.url}/organise")


def _place() -> Site:
    """Return the site; its code is a copy where our parties cannot read the checkout."""
    state, code = state_folder(), code_folder()
    own_folder(state, myself(), 0o711 if is_root() else 0o700)
    if is_private():
        for package in (*PACKAGES, "docs"):
            shutil.rmtree(code / package, ignore_errors=True)
            shutil.copytree(CHECKOUT / package, code / package, ignore=shutil.ignore_patterns("__pycache__"))
        for path in (code, *code.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        note(f"this checkout is closed to other users: state and a copy of the code lie in {state}")
    python = Path(sys.executable)
    return Site(state, code, python, choose_party(python), choose_port(state))


def _services(site: Site, supervisor: Supervisor) -> tuple[list[Program], Databases, str, str]:
    """Start the embedded servers, unless the operator has their own; return programs and the three addresses."""
    database_url, broker_url = os.environ.get("DATABASE_URL", ""), os.environ.get("BROKER_URL", "")
    postgres = None if database_url else prepare_postgres(site.state, durable=True)
    valkey = None if broker_url else prepare_valkey(site.state)
    services = service_programs(postgres, valkey)
    names = [program.name for program in services]
    if not {line.split()[0] for line in supervisor.status()}.issuperset(names):
        supervisor.apply(services)  # a running site used servers of the operator's: it ends, and `_start` starts it
    elif names:
        supervisor.control("start", *names)
    runner_broker_url = os.environ.get("RUNNER_BROKER_URL", broker_url)
    if valkey:
        wait_until(lambda: socket_answers(valkey.socket), valkey, None)
        broker_url, runner_broker_url = valkey_urls(site.state, valkey)
    if postgres:
        databases = open_database(site.state, postgres)
    else:
        databases = Databases(os.environ.get("DATABASE_OWNER_URL", database_url), database_url)
    return services, databases, broker_url, runner_broker_url


if __name__ == "__main__":
    sys.exit(main())
