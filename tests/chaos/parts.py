"""Processes, disks, network hosts and the Docker engine of a chaos run: they can be broken, and are cleared away.

Only processes that were started here are ever signalled, by their pid. The Docker engine is a separate one in a
network namespace of its own: the machine's engine is asked for the sandbox image alone.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import docker
import psutil
import requests

from deploy.embedded import PR_SET_PDEATHSIG

NO_CARD: Final = "02:00:00:00:00:01"
ENGINE_S: Final = 60.0  # until a Docker engine answers
# A child gets SIGKILL when the thread that started it ends: this thread ends with the whole program only.
SPAWNER: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")
_LIBC: Final = ctypes.CDLL(None)


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)


def await_that(true: Callable[[], object], within_s: float, what: str) -> float:
    """Wait for a condition; return the seconds that it took. Raises TimeoutError."""
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > within_s:
            raise TimeoutError(f"{what} did not happen within {within_s:.0f} s")
        time.sleep(0.1)
    return time.monotonic() - began


class Part:
    """A process of the site with the children of its session, as a service manager sees it."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], log: Path) -> None:
        self.name, self._command, self._environment, self._log = name, command, environment, log
        self.is_held = False  # the supervisor leaves it alone
        self.starts = 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = SPAWNER.submit(
                subprocess.Popen,
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=lambda: _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
            ).result()
        self.starts += 1

    @property
    def is_dead(self) -> bool:
        """Return whether the process has ended, without reaping: until then its number cannot be given to another."""
        if self.process is None or self.process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def signal(self, number: signal.Signals) -> None:
        """Signal the whole session."""
        if self.process is not None and self.process.returncode is None:
            os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """Kill the process as the kernel would, and then the rest of its session as a service manager would."""
        if self.process is None or self.process.returncode is not None:
            return
        os.kill(self.process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        self.signal(signal.SIGKILL)
        self.process.wait()

    def descendants(self, word: str) -> list[psutil.Process]:
        """Return the living descendants with this word in their command line."""
        found = []
        with contextlib.suppress(psutil.NoSuchProcess):
            assert self.process is not None
            for child in psutil.Process(self.process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if word in " ".join(child.cmdline()):
                        found.append(child)
        return found


class Disk:
    """A small disk of its own, which can be filled."""

    def __init__(self, folder: Path, size_mb: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", f"size={size_mb}m,mode=0755", "pf-chaos", str(folder))

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        ballast = self.folder / "ballast"
        with ballast.open("wb") as file:
            left = shutil.disk_usage(self.folder).free
            with contextlib.suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, left)
            with contextlib.suppress(OSError):  # the last pages, which may have been freed meanwhile
                while os.write(file.fileno(), bytes(4096)):
                    pass
        try:
            yield
        finally:
            ballast.unlink()


class Host:
    """A host with a network of its own: a namespace, and a cable to ours that can be pulled."""

    def __init__(self, name: str, subnet: str) -> None:
        """`subnet`: three numbers, as in 198.18.7. Its host is .2, and we are .1."""
        self.name, self.gateway, self.address = name, f"{subnet}.1", f"{subnet}.2"
        ours, theirs = f"{name}o", f"{name}h"
        run("ip", "netns", "add", name)
        try:
            run("ip", "link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", name)
            run("ip", "addr", "add", f"{self.gateway}/24", "dev", ours)
            run("ip", "link", "set", ours, "up")
            run("ip", "-n", name, "addr", "add", f"{self.address}/24", "dev", theirs)
            run("ip", "-n", name, "link", "set", theirs, "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
        except BaseException:
            self.remove()
            raise

    def plug(self, is_in: bool) -> None:
        """Pull the cable or put it back. A link that is down would let our packets take another route: instead, both
        ends send to a card that is not there, and all packets are lost in silence."""
        card = () if is_in else ("lladdr", NO_CARD, "nud", "permanent")
        act = "del" if is_in else "replace"
        for place, other, device in (((), self.address, "o"), (("-n", self.name), self.gateway, "h")):
            run("ip", *place, "neigh", act, other, *card, "dev", f"{self.name}{device}")

    def remove(self) -> None:
        run("ip", "netns", "del", self.name)

    def within(self, *command: str) -> list[str]:
        """Return the command as it runs on this host. `ip netns exec` would hide the cgroups."""
        return ["nsenter", f"--net=/run/netns/{self.name}", *command]


class Engine:
    """A Docker engine of its own, whose containers have no network. `store` keeps the image between runs."""

    def __init__(self, folder: Path, store: Path, logs: Path) -> None:
        self.socket = folder / "docker.sock"
        self.url = f"unix://{self.socket}"
        environment = {"PATH": os.environ["PATH"], "HOME": "/root"}
        address = folder / "containerd.sock"
        settings = folder / "containerd.toml"
        settings.write_text('version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n')
        places = ["--root", str(store / "containerd"), "--state", str(folder / "containerd")]
        containerd = ["containerd", "--config", str(settings), "--address", str(address), *places]
        # `--bridge=none` deletes the bridge of its network namespace: never without a namespace of its own.
        engine = ["unshare", "--net", "dockerd", "--bridge=none", "--iptables=false", "--ip-forward=false"]
        engine += ["--host", self.url, "--containerd", str(address), "--pidfile", str(folder / "docker.pid")]
        engine += ["--data-root", str(store / "docker"), "--exec-root", str(folder / "exec"), "--config-file"]
        engine += [str(folder / "daemon.json")]
        (folder / "daemon.json").write_text("{}")
        self._address = address
        self.containerd = Part("containerd", containerd, environment, logs / "containerd.log")
        self.part = Part("dockerd", engine, environment, logs / "dockerd.log")

    def start(self) -> None:
        self.containerd.start()
        await_that(self._address.exists, ENGINE_S, "containerd's answer")
        self.part.start()
        await_that(self.answers, ENGINE_S, "the Docker engine's answer")

    @contextlib.contextmanager
    def client(self) -> Iterator[docker.DockerClient]:
        client = docker.DockerClient(base_url=self.url, timeout=600)
        try:
            yield client
        finally:
            client.close()

    def answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except (docker.errors.DockerException, requests.RequestException, OSError):
            return False

    def take_image(self, name: str) -> None:
        """Copy the image from the machine's own engine, unless it is here already."""
        theirs = docker.from_env(timeout=600)
        try:
            image = theirs.images.get(name)
            with self.client() as client:
                if image.id not in {known.id for known in client.images.list()}:
                    client.api.load_image(image.save(named=name))
                client.images.get(str(image.id)).tag(*name.split(":"))
        finally:
            theirs.close()

    def clear(self) -> None:
        """Remove all containers, with their processes and mounts."""
        with self.client() as client:
            for container in client.containers.list(all=True, sparse=True):
                with contextlib.suppress(docker.errors.APIError):
                    container.remove(force=True)

    def stop(self) -> None:
        with contextlib.suppress(Exception):  # the rest is cleared away in any case
            if not self.answers():
                self.part.kill()
                self.part.start()
                await_that(self.answers, ENGINE_S, "the Docker engine's answer")
            self.clear()
        for part in (self.part, self.containerd):
            part.signal(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await_that(lambda part=part: part.is_dead, 15, f"the end of {part.name}")
            part.kill()


def unmount_below(folder: Path) -> None:
    """Unmount all that is mounted below the folder, the newest first."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in reversed(mounts):
        if Path(mount).is_relative_to(folder):
            subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)
