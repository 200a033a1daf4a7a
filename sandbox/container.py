"""Life of one container: create, attach, watch, freeze, kill, remove, reap. The only user of Docker's SDK here.

A container has two halves. The Cell needs root's rights: it speaks with Docker, owns the socket folder, and kills. The
Container reads what the program inside writes: it owns the connection, the thread that drains the output, and the
memory that the program prints into once it has a job. Both are in one process, or the Cell is in a helper's
(sandbox/helper.py). Always true: a single socket is all that this module gives the program inside. The program's output
is capped and can never block or fill the host. While it has a job, only the container itself pays for its output.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import select
import shutil
import signal
import socket
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, Self, runtime_checkable

import docker
import docker.errors
import docker.types

from sandbox import protocol
from sandbox.policy import LABEL, Policy, container_options

MOST_DIGESTS: Final = 8  # of an image; more than the registries that it is pulled from
KEEP_BYTES: Final = 64_000  # of the beginning and of the end of each stream
FLOOD_BYTES: Final = 16_000_000  # above this, over all streams together, the container is killed
FOLDER_PREFIX: Final = "photofinish-"
FOLDER: Final = re.compile(r"photofinish-([a-z0-9-]+)-[a-z0-9_]{8}")  # the owner, then tempfile's own letters
FRAME_HEADER: Final = struct.Struct(">BxxxI")  # Docker's attach stream: number of the stream, number of bytes
END_S: Final = 10.0  # for a killed container
FREEZE_S: Final = (2.0, 4.0, 8.0)  # limit of each try to freeze; a loaded host may need a second one
CGROUP_ROOT: Final = Path("/sys/fs/cgroup")

log = logging.getLogger("sandbox.container")


class SandboxError(Exception):
    """The container machinery failed: Docker, the image, a socket. Operators read it, competitors never do."""


class DockerMissing(SandboxError):
    """No Docker Engine answers; the text names what to install or start."""


class ImageMissing(SandboxError):
    """The sandbox image is not on this host; the text explains how to build it."""


@dataclass(frozen=True)
class Exit:
    """End of a container. `code` is the exit status; 128 + n after signal n."""

    code: int
    oom_killed: bool
    flooded: bool

    @property
    def is_kill(self) -> bool:
        """Whether it looks killed from outside. A container's first process cannot kill itself, and the kernel names
        its own kills; only `_exit(137)` looks the same, and a rank that its own code kills."""
        return self.code == 128 + signal.SIGKILL and not self.oom_killed and not self.flooded


class Capture:
    """The first and the last KEEP_BYTES of a stream, and its total size."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = KEEP_BYTES - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail += chunk
            del self._tail[:-KEEP_BYTES]

    def text(self) -> str:
        """Return text for a person to read: control characters gone, the cut marked."""
        left_out = self.total - len(self._head) - len(self._tail)
        head, tail = bytes(self._head), bytes(self._tail)
        if left_out:  # cut where lines end
            head, tail = head[: head.rfind(b"\n") + 1] or head, tail[tail.find(b"\n") + 1 :]
            left_out = self.total - len(head) - len(tail)
        mark = f"\n… {left_out} bytes left out …\n" if left_out else ""
        return protocol.clean_text(head) + mark + protocol.clean_text(tail)


class Paper:
    """A file in memory that a stream is redirected to. The writer pays for its pages, and a write wakes no process.

    With a pipe of Docker's, shim and engine do work (byte by byte 0.7 s in a second, a line every 10 ms 0.03 s). Their
    load would void the concurrent measurement, at the writer's will.
    """

    def __init__(self) -> None:
        self._fd = os.memfd_create("printed")
        self.fd = os.open(f"/proc/self/fd/{self._fd}", os.O_WRONLY | os.O_APPEND)  # for the writer, with its own flags
        self._sealed: str | None = None

    @property
    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def seal(self) -> None:
        """Ignore all later writes."""
        self._sealed = self.text()

    def text(self) -> str:
        if self._sealed is not None:
            return self._sealed
        taken = Capture()
        taken.feed(os.pread(self._fd, FLOOD_BYTES, 0))
        return taken.text()

    def close(self) -> None:
        """Close both descriptors. Safe to call twice."""
        for fd in {self._fd, self.fd} - {-1}:
            os.close(fd)
        self._fd = self.fd = -1


FREEZER_WORDS: Final = {1: ((b"FROZEN", b"THAWED"), b"FROZEN"), 2: ((b"1", b"0"), b"frozen 1")}  # by cgroup version


class Freezer:
    """Two open files of one control group, of this version. Freezing returns when every thread has stopped.

    Root can open the files, and a helper passes them on. Without write access `find_freezer` returns None, and the
    judge reports "not certified".
    """

    def __init__(self, control: int, state: int, version: int) -> None:
        self.descriptors, self.version = (control, state), version
        self._control, self._state = control, state
        (self._freeze_word, self._thaw_word), self._frozen = FREEZER_WORDS[version]

    @classmethod
    def at(cls, control: Path, state: Path, version: int) -> Self:
        writable = os.open(control, os.O_WRONLY | os.O_CLOEXEC)
        try:
            return cls(writable, os.open(state, os.O_RDONLY | os.O_CLOEXEC), version)
        except OSError:
            os.close(writable)
            raise

    def freeze(self) -> None:
        """Freeze, in several tries. Raises TimeoutError after the last one.

        A late success costs its own container alone. Between the tries its code runs on, but the judge waits here, and
        thaws and times no other container until all threads stand still. On the host's clock the wait counts as time
        of the code; a device's clock has stopped before, or begins after it.
        """
        for count, limit_s in enumerate(FREEZE_S, 1):
            if self._freezes_within(limit_s):
                if count > 1:
                    log.warning("a control group froze at try %d only, of %g s", count, limit_s)
                return
            self.thaw()  # so that the next word reaches every thread again
        limits = ", ".join(f"{limit_s:g}" for limit_s in FREEZE_S)
        frozen = self._frozen.decode()
        raise TimeoutError(f"the control group did not become {frozen!r} in {len(FREEZE_S)} tries of {limits} s")

    def _freezes_within(self, limit_s: float) -> bool:
        os.pwrite(self._control, self._freeze_word, 0)
        give_up, is_late = time.monotonic() + limit_s, False
        while self._frozen not in os.pread(self._state, 256, 0):
            if is_late:
                return False
            os.sched_yield()  # to a thread that has yet to stop and may be on this very core, such as the oracle's
            # The state is read once more then: this process may have been stopped for longer than the freezing took.
            is_late = time.monotonic() > give_up
        return True

    def thaw(self) -> None:
        """Begin to thaw; the threads run as the scheduler finds time."""
        os.pwrite(self._control, self._thaw_word, 0)

    def close(self) -> None:
        os.close(self._control)
        os.close(self._state)


def is_ready(descriptor: int | socket.socket, limit_s: float = 0.0) -> bool:
    """Wait until a socket can be read, or the process of a descriptor has ended. Takes numbers above 1023, as
    `select.select` does not. Raises OSError for a closed descriptor."""
    number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
    if number < 0:
        raise OSError(errno.EBADF, "the descriptor is closed")
    watched = select.poll()
    watched.register(number, select.POLLIN)
    return bool(watched.poll(limit_s * 1000))


def find_freezer(pid: int) -> Freezer | None:
    """Return the freezer of `pid`'s control group, or None if this process may not write it."""
    with contextlib.suppress(OSError):
        for folder, version in _control_groups(pid, "freezer"):
            if version == 1:
                return Freezer.at(folder / "freezer.state", folder / "freezer.state", 1)
            if (folder / "cgroup.freeze").exists():
                return Freezer.at(folder / "cgroup.freeze", folder / "cgroup.events", 2)
    return None


def find_cpuset(pid: int) -> Path | None:
    """Return the file with the cores of `pid`'s control group, or None if there is none."""
    with contextlib.suppress(OSError):
        for folder, _ in _control_groups(pid, "cpuset"):
            if (folder / "cpuset.cpus").exists():
                return folder / "cpuset.cpus"
    return None


def _control_groups(pid: int, controller: str) -> Iterator[tuple[Path, int]]:
    """Yield the folders that may be a process's control group of this controller, with their versions; none of them is
    the root. Raises OSError."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    for line in lines:  # version 2, also on hybrid hosts, which mount it beside version 1 under `unified`
        if line.startswith("0::/") and len(line) > len("0::/"):
            yield from ((base / line[len("0::/") :], 2) for base in (CGROUP_ROOT, CGROUP_ROOT / "unified"))
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") and path != "/":
            yield CGROUP_ROOT / controllers / path.lstrip("/"), 1


def connect(timeout_s: float = 60) -> docker.DockerClient:
    """Return a client of the local Docker Engine. Raises DockerMissing with the remedy."""
    try:
        client = docker.from_env(timeout=int(timeout_s))
        client.ping()
    except (docker.errors.DockerException, OSError, ValueError) as err:  # ValueError: a malformed address
        remedy = "install docker.io and start dockerd; where DOCKER_HOST is set, correct that address, or unset it"
        text = f"no Docker Engine answers ({err}); {remedy}"
        if "Permission denied" in str(err):
            text = "this user may not use the Docker Engine: join the group `docker` (usermod -aG), then sign in anew"
        raise DockerMissing(text) from None
    return client


def image_id(client: docker.DockerClient | Keeper, name: str) -> str:
    """Return the image that a name stands for now. Raises ImageMissing, SandboxError."""
    return image_digests(client, name)[0]


def image_digests(client: docker.DockerClient | Keeper, name: str) -> list[str]:
    """Return the id of the image that a name stands for now, then its digests in registries. Raises as image_id."""
    if isinstance(client, Keeper):
        return client.image_digests()
    try:
        image = client.images.get(name)
        known = [digest.rpartition("@")[2] for digest in image.attrs.get("RepoDigests") or ()]
        return list(dict.fromkeys([str(image.id), *known]))[:MOST_DIGESTS]
    except docker.errors.ImageNotFound:
        raise ImageMissing(f"no image {name!r} on this host; build it with `make image`") from None
    except (docker.errors.DockerException, OSError) as err:
        raise SandboxError(f"Docker does not say what {name!r} is: {err}") from None


def reap(client: docker.DockerClient, owner: str) -> int:
    """Remove containers and folders that an earlier process of this owner left behind; return the container count."""
    left = client.containers.list(all=True, ignore_removed=True, filters={"label": f"{LABEL}={owner}"})
    for container in left:
        with contextlib.suppress(docker.errors.APIError):
            _thaw_by_id(container.attrs)
            container.remove(force=True)
    for folder, whose in _folders().items():
        if whose == owner:
            shutil.rmtree(folder, ignore_errors=True)
    return len(left)


def owners(client: docker.DockerClient) -> set[str]:
    """Return the owners of containers on this engine, running or not, and of container folders on this host."""
    every = client.containers.list(all=True, ignore_removed=True, filters={"label": LABEL})
    return {str(one.labels[LABEL]) for one in every} | set(_folders().values())


def _folders() -> dict[Path, str]:
    """Return this user's folders for the sockets of containers, each with its owner."""
    found = {}
    for path in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        named = FOLDER.fullmatch(path.name)
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            if named and stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                found[path] = named[1]
    return found


def open_process(pid: int, container_id: str) -> int:
    """Return a descriptor of a container's process, or -1 if it is gone or another program has its number by now."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return -1
    try:  # the check follows the open: from then on the number cannot change its process unnoticed
        ours = container_id in Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        ours = False
    if not ours:
        os.close(descriptor)
        return -1
    return descriptor


def _thaw_by_id(attrs: dict[str, Any]) -> None:
    """Kill and thaw a container that a killed judge left frozen: a frozen process cannot die."""
    pid = int(attrs.get("State", {}).get("Pid") or 0)
    descriptor = open_process(pid, attrs["Id"]) if pid else -1
    if descriptor < 0:
        return
    freezer = find_freezer(pid)
    if freezer is not None:
        with contextlib.suppress(OSError), contextlib.closing(freezer):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            freezer.thaw()
    os.close(descriptor)


class Cell:
    """Privileged half of a container. After `start` its fields are what the other half needs."""

    def __init__(self) -> None:
        self.pid = 0  # of the first program inside, as the host sees it
        self.pidfd = -1
        self.freezer: Freezer | None = None
        self.output: Any = None  # socket with Docker's framed output
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def start(self) -> None:
        """Create, attach, start."""
        raise NotImplementedError

    def move(self, cores: str) -> None:
        """Let the container run on these cores alone. Raises OSError if this process may not."""
        raise NotImplementedError

    def kill(self) -> None:
        """Send SIGKILL to the whole container."""
        raise NotImplementedError

    def end(self) -> tuple[bool, int, bool]:
        """Return whether it still runs, its exit status, and whether its memory ran out, as the engine knows it."""
        raise NotImplementedError

    def close_door(self) -> None:
        """Accept no further connection."""
        self.listener.close()

    def remove(self) -> None:
        """Remove the container. Safe to call twice."""
        self.close_door()

    def close(self) -> None:
        """Close the descriptors. Safe to call twice."""
        if self.output is not None:
            with contextlib.suppress(OSError):
                self.output.close()
        if self.freezer is not None:
            self.freezer.close()
            self.freezer = None
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1


@runtime_checkable
class Keeper(Protocol):
    """Maker of cells in another process, in place of a client of Docker."""

    def cell(self, policy: Policy) -> Cell:
        """Return a cell that is not started yet."""

    def image_digests(self) -> list[str]:
        """Return the id of the image of all cells, then its digests in registries."""


class DockerCell(Cell):
    """Cell of a process that may use Docker."""

    def __init__(self, client: docker.DockerClient, policy: Policy, owner: str) -> None:
        super().__init__()
        self._client = client
        self._policy = policy
        self._owner = owner
        self._handle: Any = None
        self._attached: Any = None
        self._folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{owner}-"))
        self._cpuset: Path | None = None

    def start(self) -> None:
        self._open_door()
        options = container_options(self._policy, socket_folder=self._folder, owner=self._owner)
        options["ulimits"] = [docker.types.Ulimit(**limit) for limit in options["ulimits"]]
        options["device_requests"] = [docker.types.DeviceRequest(**one) for one in options.get("device_requests", [])]
        options["log_config"] = docker.types.LogConfig(**options["log_config"])
        try:
            self._handle = self._created(options)
            params = {"stdout": 1, "stderr": 1, "stream": 1}
            self._attached = self._client.api.attach_socket(self._handle.id, params=params)
            self.output = getattr(self._attached, "_sock", self._attached)
            self._handle.start()
            self._handle.reload()
        except docker.errors.ImageNotFound:
            raise ImageMissing(f"no image {self._policy.image!r} on this host; build it with `make image`") from None
        except docker.errors.APIError as err:
            raise SandboxError(f"Docker refused the container: {err.explanation or err}") from None
        self.pid = int(self._handle.attrs["State"]["Pid"])
        if self.pid:
            self.pidfd = open_process(self.pid, str(self._handle.id))
            self.freezer = find_freezer(self.pid) if self.pidfd >= 0 else None
            self._cpuset = find_cpuset(self.pid) if self.pidfd >= 0 else None

    def _created(self, options: dict[str, Any]) -> Any:
        """Return a new container. A signal breaks off a request, but not the engine's work: then it waits for the
        container, and removes it."""
        with ThreadPoolExecutor(1) as thread:  # the thread exists before the request
            thread.submit(int).result()
            made = thread.submit(self._client.containers.create, **options)
            try:
                return made.result()
            except BaseException:
                wait([made])
                if made.exception() is None:
                    made.result().remove(force=True)
                raise

    def _open_door(self) -> None:
        path = self._folder / "socket"
        self.listener.bind(str(path))
        if os.geteuid() == 0:
            os.chown(path, self._policy.uid, self._policy.uid)
            os.chmod(path, 0o600)
        else:  # the peer's credentials are checked either way
            os.chmod(path, 0o666)  # noqa: S103
        os.chmod(self._folder, 0o711)  # noqa: S103  the container's uid may traverse it; no user may list it
        self.listener.listen(1)

    def close_door(self) -> None:
        super().close_door()
        shutil.rmtree(self._folder, ignore_errors=True)

    def move(self, cores: str) -> None:
        # Not by the engine's `update`: its runtime then takes devices away that a toolkit gave.
        if self._cpuset is None:
            raise FileNotFoundError(errno.ENOENT, "no control group decides on the container's cores")
        self._cpuset.write_text(cores)

    def kill(self) -> None:
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        except PermissionError:  # not root: let the engine kill it
            with contextlib.suppress(docker.errors.APIError):
                self._handle.kill()
        except OSError:
            pass  # already gone

    def end(self) -> tuple[bool, int, bool]:
        self._handle.reload()
        state = self._handle.attrs["State"]
        return bool(state["Running"]), int(state["ExitCode"]), bool(state["OOMKilled"])

    def remove(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(docker.errors.APIError):
                with contextlib.suppress(docker.errors.NotFound):
                    self._handle.remove(force=True)
                self._handle = None
        super().remove()

    @property
    def is_removed(self) -> bool:
        """Whether no container is left, or none was made."""
        return self._handle is None

    def let_go(self) -> None:
        """Close door and output here: their descriptors are another process's by now."""
        self.listener.close()
        for one in (self._attached, self.output):
            with contextlib.suppress(OSError):
                one.close()

    def close(self) -> None:
        if self._attached is not None:
            with contextlib.suppress(OSError):
                self._attached.close()
        super().close()


class Container:
    """One hardened container, from `start` to `close`, and the one connection that its program makes."""

    def __init__(self, client: docker.DockerClient | Keeper, policy: Policy, owner: str) -> None:
        self.policy = policy
        self.stdout, self.stderr = Capture(), Capture()  # until the container has a job
        self._papers = Paper(), Paper()  # after that
        self._flooded = False
        self._cell = client.cell(policy) if isinstance(client, Keeper) else DockerCell(client, policy, owner)
        self._reader: threading.Thread | None = None

    @property
    def pid(self) -> int:
        """Number of the first program inside, as the host sees it."""
        return self._cell.pid

    @property
    def freezer(self) -> Freezer | None:
        return self._cell.freezer

    # -- birth ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Create, attach, start. When this returns, the program inside runs but may not have connected yet."""
        self._cell.start()
        self._reader = threading.Thread(target=self._drain, name="drain", daemon=True)
        self._reader.start()

    def accept(self, deadline_ns: int) -> socket.socket:
        """Return the one connection of the program inside, its credentials checked, and remove the socket for good."""
        if self._cell.listener.fileno() < 0:
            raise SandboxError("the container's only connection was taken before, or it is closed: start another one")
        while not is_ready(self._cell.listener, 0.05):
            if not self.alive():
                raise SandboxError(f"the container died before it connected: {self.logs()}")
            if time.monotonic_ns() > deadline_ns:
                raise SandboxError("the container did not connect in time")
        connection, _ = self._cell.listener.accept()
        self._cell.close_door()
        _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        status = Path(f"/proc/{self.pid}/status").read_text()  # as the host sees it: Docker may remap users
        if uid != int(status.split("\nUid:")[1].split()[0]):
            connection.close()
            raise SandboxError(f"a process of uid {uid} knocked at the door of uid {self.policy.uid}")
        return connection

    # -- life ----------------------------------------------------------------------------------------------------

    def alive(self) -> bool:
        """Return whether it runs, by a poll and two sizes, which is cheap. A flooded container counts as dead."""
        if self._cell.pidfd < 0:
            return False
        if not self._flooded and sum(paper.size for paper in self._papers) > FLOOD_BYTES:
            self._flood()
        if self._flooded:
            return False
        return not is_ready(self._cell.pidfd)

    def attached(self) -> bool:
        """Return whether it is alive and its output still comes through, for a container without a job.

        A Docker Engine that ended would cut the output off.
        """
        return self.alive() and self._reader is not None and self._reader.is_alive()

    def freeze(self) -> None:
        """Freeze it, if this process may. Raises TimeoutError, which names the kind of container."""
        if self._cell.freezer is not None:
            try:
                self._cell.freezer.freeze()
            except TimeoutError as err:
                raise TimeoutError(f"the container of kind {self.policy.kind}: {err}") from None

    def thaw(self) -> None:
        if self._cell.freezer is not None:
            self._cell.freezer.thaw()

    def move(self, cores: str) -> None:
        """Let it run on these cores alone. Raises OSError if it has ended, or the host does not move it."""
        self._cell.move(cores)
        if not self.runs_on(cores):  # cgroup v2 takes cores that a group above does not have
            raise OSError(errno.EPERM, f"the kernel does not let a container run on the cores {cores} alone")

    def runs_on(self, cores: str) -> bool:
        """Return whether these are the cores that its first program may use. Raises OSError if it has ended."""
        return os.sched_getaffinity(self.pid) == {int(core) for core in cores.split(",")}

    def never_freeze(self) -> None:
        """Turn freezing off, as on a host whose control groups this process may not write."""
        if self._cell.freezer is not None:
            self._cell.freezer.close()
            self._cell.freezer = None

    @property
    def printed(self) -> tuple[int, int]:
        """Descriptors of the files that the container prints into once it has a job."""
        return self._papers[0].fd, self._papers[1].fd

    def stop_logs(self) -> None:
        """Discard all later output."""
        for paper in self._papers:
            paper.seal()

    def _drain(self) -> None:
        """Read Docker's framed output until it ends. Above FLOOD_BYTES kill, and discard the rest in the pipes.

        Always read to the end: the engine cannot finish with a container while an attached client does not read.
        """
        raw = self._cell.output
        buffer, stream, missing = bytearray(), 0, 0
        with contextlib.suppress(OSError, ValueError):
            while chunk := raw.recv(1 << 16):
                buffer += chunk
                while buffer:
                    if not missing:
                        if len(buffer) < FRAME_HEADER.size:
                            break
                        stream, missing = FRAME_HEADER.unpack(buffer[: FRAME_HEADER.size])
                        del buffer[: FRAME_HEADER.size]
                    piece = bytes(buffer[:missing])
                    del buffer[: len(piece)]
                    missing -= len(piece)
                    if not self._flooded:
                        (self.stderr if stream == 2 else self.stdout).feed(piece)
                if self.stdout.total + self.stderr.total > FLOOD_BYTES and not self._flooded:
                    self._flood()

    # -- death ---------------------------------------------------------------------------------------------------

    def _flood(self) -> None:
        self._flooded = True
        self._cell.kill()

    def kill(self) -> None:
        """Send SIGKILL to the whole container, then thaw: a frozen process takes the signal only when it runs again."""
        if self._cell.pidfd >= 0:
            self._cell.kill()
        with contextlib.suppress(OSError):
            self.thaw()

    def wait_dead(self) -> bool:
        """Wait until the container is dead and its output is read; return False if it still runs.

        Call this only when it is dead or killed. Its first program ends last: before that the kernel ends every other
        process of the PID namespace.
        """
        dead = self._cell.pidfd < 0 or is_ready(self._cell.pidfd, END_S)
        if self._reader is not None:
            self._reader.join(timeout=2)
        return dead

    def wait_exit(self) -> Exit:
        """Return the exit status that the engine reports a little later. Call only when it is dead or killed."""
        self.wait_dead()
        deadline = time.monotonic() + END_S
        while True:
            is_running, code, oom_killed = self._cell.end()
            if not is_running or time.monotonic() > deadline:
                return Exit(code, oom_killed, self._flooded)
            time.sleep(0.02)

    def logs(self) -> dict[str, str]:
        return {
            name: before.text() + paper.text()
            for name, before, paper in zip(("stdout", "stderr"), (self.stdout, self.stderr), self._papers, strict=True)
        }

    def close(self) -> None:
        """Kill and remove. Safe to call twice, and on a container that never started."""
        self.kill()
        self._cell.remove()
        if self._reader is not None:
            self._reader.join(timeout=2)
        self._cell.close()
        for paper in self._papers:
            paper.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
