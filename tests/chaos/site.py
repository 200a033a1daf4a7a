"""A whole site for a chaos run: two web hosts, two runner hosts, and the parts that they share.

    client ─ proxy ─┬─ web host 1 (two processes) ─┬─ PostgreSQL on a small disk
    runner 1 ─ proxy┤                              ├─ Valkey
    runner 2 ─ proxy┴─ web host 2 (two processes) ─┴─ site worker, sweeper

Web and runner hosts are network namespaces, and each runner has a small disk for its state. All runners use one
Docker engine, which runs for this site alone. Odd runners hear the broker's doorbell, even runners wait over HTTP.
Clocks of web host 2 and of even runners can be moved. The runners share out the machine's cores, at least two each. A
supervisor restarts every process that ends, as a service manager would.
"""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg

from deploy.embedded import Postgres, Running, Valkey, answers, postgres_programs, prepare_postgres
from deploy.parties import state_folder
from tests.chaos.parts import SPAWNER, Disk, Engine, Host, Part, await_that, unmount_below
from tests.chaos.proxy import Proxy, running

LEASE_S: Final = 6.0
START_S: Final = 180.0
RESTART_S: Final = 0.5
PORT: Final = 8000
SET: Final = str(Path(__file__).with_name("tiny.yaml"))
BOARD: Final = "tiny"
WEBS: Final = ("web-1", "web-2")
CLOCK: Final = str(Path(__file__).with_name("clock"))  # a folder for PYTHONPATH
CORES_OF_A_RUNNER: Final = 2  # at least: the judge's core and a submission's
DATABASE_MB, SPOOL_MB = 512, 32
SMALL_LOGS: Final = "max_wal_size = '96MB'\nmin_wal_size = '32MB'\nwal_keep_size = 0\n"
MAKE_PEOPLE: Final = """
import json
from django.utils import timezone
from leaderboard.accounts.models import SCOPES, User
from leaderboard.accounts.tokens import issue_token
from leaderboard.competitions.models import Competition
Competition.objects.update(quotas={"test": %d})
users = User.objects.bulk_create(User(username=f"chaos-{number}", password="!") for number in range(%d))
print(json.dumps([issue_token(owner=user, name="chaos", scopes=SCOPES, now=timezone.now())[1] for user in users]))
"""


class Server:
    """An embedded server as a part: PostgreSQL or the broker."""

    def __init__(self, name: str, kind: type[Running], *arguments: Any, **named: Any) -> None:
        self.name, self._kind, self._arguments, self._named = name, kind, arguments, named
        self.is_held = False
        self.starts = 0
        self.running: Any = None

    def start(self) -> None:
        if self.running is not None and self.running.process.poll() is None:
            self.running.process.kill()
            self.running.process.wait()
        if self.running is not None:  # its children end by themselves when they miss it
            with contextlib.suppress(TimeoutError):
                await_that(lambda: not answers(self.running.server.socket), 10, "the end of the old server")
        self.running = SPAWNER.submit(self._kind, *self._arguments, **self._named).result()
        self.starts += 1

    @property
    def is_dead(self) -> bool:
        return self.running is None or self.running.process.poll() is not None

    def kill(self) -> None:
        self.running.process.kill()
        self.running.process.wait()


class Site:
    """The site, from when every part works; `close` removes all of it."""

    def __init__(self, image: str, people: int, test_quota: int, seed: int, runners: int) -> None:
        self._stack = ExitStack()
        self.runners = tuple(f"runner-{number}" for number in range(1, runners + 1))
        self.ended = threading.Event()
        self.restarts: list[str] = []
        try:
            self._build(image, people, test_quota, seed)
        except BaseException:
            self.close()
            raise

    def _build(self, image: str, people: int, test_quota: int, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pf-chaos-"))
        self._stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self._stack.callback(unmount_below, self.folder)
        self.folder.chmod(0o711)
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        self._engine()
        with ThreadPoolExecutor() as pool:
            taken = pool.submit(self.engine.take_image, image)  # takes longest on a new machine
            self._network(seed)
            self._servers()
            self._environment()
            self.manage("migrate", "--verbosity", "0")
            self.manage("import_problems", SET, "--hardware", "cpu", "--admission", "none", "--publish")
            taken.result()
        self.image = image
        self.tokens: list[str] = json.loads(self.manage("shell", "-v", "0", "-c", MAKE_PEOPLE % (test_quota, people)))
        self._parts()
        watcher = threading.Thread(target=self._supervise, name="supervisor")
        self._stack.callback(watcher.join)
        self._stack.callback(self.ended.set)
        watcher.start()
        for name in WEBS:
            await_that(lambda name=name: self.is_up(name), START_S, f"{name}'s readiness")
        for name in self.runners:
            await_that(lambda name=name: self.greeted(name), START_S, f"the greeting of {name}")

    def close(self) -> None:
        """Remove all of it, also if the person at the terminal is impatient."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._stack.close()
        finally:
            signal.signal(signal.SIGINT, before)

    def _engine(self) -> None:
        store = state_folder() / "chaos-engine"
        store.mkdir(parents=True, exist_ok=True)
        lock = self._stack.enter_context((store / "lock").open("w"))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a single run at a time has the engine's store
        self.engine = Engine(self.folder, store, self.logs)
        self._stack.callback(unmount_below, store)
        self._stack.callback(self.engine.stop)
        self.engine.start()
        self.engine.clear()

    def _network(self, seed: int) -> None:
        number = os.getpid() % 240 + 8
        self.hosts: dict[str, Host] = {}
        for index, name in enumerate((*WEBS, *self.runners)):
            place = (number + index * 61) % 512  # far from those of a run with the next number
            host = Host(f"pfc{number}h{index}", f"198.{18 + place // 256}.{place % 256}")
            self._stack.callback(host.remove)
            self.hosts[name] = host
        webs = [(self.hosts[name].address, PORT) for name in WEBS]
        self.proxies = {
            name: Proxy((self.hosts[name].gateway, PORT), webs, seed + index) for index, name in enumerate(self.runners)
        }
        self.proxies["client"] = Proxy((self.hosts["web-1"].gateway, PORT), webs, seed + len(self.runners))
        self._stack.enter_context(running(list(self.proxies.values())))
        self.url = "http://{}:{}".format(*self.proxies["client"].address)

    def _servers(self) -> None:
        self.disks = {"PostgreSQL": Disk(self.folder / "data" / "postgres", DATABASE_MB)}
        data = self.folder / "data"
        (data / "postgres").chmod(0o711)
        data.chmod(0o711)
        prepare_postgres(data, durable=True)
        automatic = data / "postgres" / "data" / "postgresql.auto.conf"
        automatic.write_text(automatic.read_text() + SMALL_LOGS)
        self.parts: dict[str, Part | Server] = {
            "PostgreSQL": Server("PostgreSQL", Postgres, data, durable=True),
            "broker": Server("broker", Valkey, data),
        }
        for server in self.parts.values():
            self._stack.callback(lambda server=server: server.running and server.running.process.kill())
            server.start()

    def _environment(self) -> None:
        postgres, broker = (self.parts[name].running for name in ("PostgreSQL", "broker"))
        self.database = postgres.url
        self._runner_broker = broker.runner_url
        known = ("PATH", "HOME", "LANG", "VIRTUAL_ENV")
        self.environment = {name: os.environ[name] for name in known if name in os.environ} | {
            "DATABASE_URL": postgres.url,
            "BROKER_URL": broker.url,
            "SECRET_KEY": secrets.token_urlsafe(48),
            "SITE_URL": f"http://127.0.0.1:{PORT}",
            "ALLOWED_HOSTS": " ".join(["127.0.0.1", *(host.gateway for host in self.hosts.values())])
            + " "
            + " ".join(host.address for host in self.hosts.values()),
            "LEASE_S": str(LEASE_S),
            "RENEW_S": "1",
            "SWEEP_EVERY_S": "1",
            "REMEASURE_AFTER_S": "1",
            "SUBMISSIONS_PER_HOUR": "100000",
            "UNFINISHED_AT_ONCE": "10000",
            "WEB_PROCESSES": "2",
            "WEB_DRAIN_S": "0",
            "LOG_LEVEL": "INFO",
        }

    def _parts(self) -> None:
        python = [sys.executable, "-m"]
        worker = ["dramatiq", "leaderboard.actors", "--queues", "site", "--processes", "1", "--threads", "2"]
        self._add("worker", [*python, *worker])
        self._add("sweeper", [*python, "leaderboard.manage", "sweep", "--forever"])
        for name in WEBS:
            host = self.hosts[name]
            command = [*python, "leaderboard.serve", "--host", host.address, "--port", str(PORT)]
            self._add(name, host.within(*command), self._clock(name) if name == "web-2" else {})
        with ThreadPoolExecutor() as pool:
            tokens = list(pool.map(lambda name: self.manage("create_runner", name, "--hardware", "cpu"), self.runners))
        cores = sorted(os.sched_getaffinity(0))
        share = max(CORES_OF_A_RUNNER, len(cores) // len(self.runners))
        for index, name in enumerate(self.runners):
            host, state = self.hosts[name], self.folder / name
            self.disks[name] = Disk(state, SPOOL_MB)
            told = {
                "PHOTOFINISH_URL": f"http://{host.gateway}:{PORT}",
                "RUNNER_TOKEN": tokens[index].strip(),
                "RUNNER_INSECURE": "1",
                "RUNNER_STATE": str(state),
                "RUNNER_LOCKS": str(self.folder / f"locks-{name}"),
                "RUNNER_POLL_S": "2",
                "RUNNER_SPOOL_BYTES": "17000000",
                "BROKER_URL": "" if index % 2 else self._runner_broker,
                "DOCKER_HOST": self.engine.url,
                "SANDBOX_IMAGE": self.image,
                **(self._clock(name) if index % 2 else {}),
            }
            own = {cores[(index * share + one) % len(cores)] for one in range(share)}
            pinned = ["taskset", "--cpu-list", ",".join(map(str, own)), *python]
            self._add(name, host.within(*pinned, "runner.daemon.worker"), told)
        self.parts["dockerd"] = self.engine.part

    def _add(self, name: str, command: list[str], changes: dict[str, str] | None = None) -> None:
        part = Part(name, command, self.environment | (changes or {}), self.logs / f"{name}.log")
        self._stack.callback(part.kill)
        part.start()
        self.parts[name] = part

    def _clock(self, name: str) -> dict[str, str]:
        """Return the variables that let `move_clock` move a host's clock."""
        self.move_clock(name, 0)
        return {"PYTHONPATH": CLOCK, "CHAOS_CLOCK": str(self.folder / f"clock-{name}")}

    def move_clock(self, name: str, seconds: int) -> None:
        scrap = self.folder / f"clock-{name}.tmp"
        scrap.write_text(str(seconds))
        scrap.replace(self.folder / f"clock-{name}")

    def _supervise(self) -> None:
        while not self.ended.wait(RESTART_S):
            for part in list(self.parts.values()):
                if not part.is_held and part.is_dead:
                    part.kill()
                    self.restarts.append(part.name)
                    with contextlib.suppress(Exception):  # the next round tries again: its disk may be full
                        part.start()

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "leaderboard.manage", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise RuntimeError(f"{arguments[0]}: {done.stderr}")
        return done.stdout

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows; none while the database does not answer."""
        try:
            with psycopg.connect(self.database, connect_timeout=3, options="-c statement_timeout=5000") as connection:
                return connection.execute(query).fetchall()  # type: ignore[call-overload,no-any-return]
        except psycopg.Error:
            return []

    def runner_of(self, label: str) -> str:
        """Return the runner whose containers bear this label; "" for none: a label is its id, perhaps with a slot."""
        ids = {name: self.folder / name / "id" for name in self.runners}
        return next((name for name, file in ids.items() if file.exists() and label.startswith(file.read_text())), "")

    def greeted(self, runner: str) -> Any:
        """Return when this runner's process last greeted the site; None: never, or the database does not answer."""
        return next((at for (at,) in self.rows(f"SELECT greeted_at FROM judging_runner WHERE name = '{runner}'")), None)

    def is_up(self, name: str) -> bool:
        """Return whether this part does its work now."""
        part = self.parts[name]
        if part.is_held or part.is_dead:
            return False
        if name == "PostgreSQL":
            return self.rows("SELECT 1") == [(1,)]
        if name == "broker":
            return answers(part.running.server.socket)
        if name == "dockerd":
            return self.engine.answers()
        if name.startswith("web"):
            try:
                address = f"http://{self.hosts[name].address}:{PORT}/readyz"
                return httpx.get(address, timeout=3, trust_env=False).status_code == 200
            except httpx.HTTPError:
                return False
        return True

    def boards(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Return each web host's view of the board."""
        for name in WEBS:
            address = f"http://{self.hosts[name].address}:{PORT}/api/v1/boards/{BOARD}/cpu/entries"
            answer = httpx.get(address, params={"limit": 1000}, timeout=30, trust_env=False)
            answer.raise_for_status()
            yield name, {BOARD: answer.json()}

    def keep_logs(self, folder: Path) -> None:
        shutil.copytree(self.logs, folder / "logs", dirs_exist_ok=True)

    def keep_database(self, folder: Path) -> None:
        """Dump the database, to look into a finding."""
        dump = [str(postgres_programs() / "pg_dump"), "-Fc", "-f", str(folder / "database.dump"), self.database]
        subprocess.run(dump, check=False, stdin=subprocess.DEVNULL, timeout=300)
