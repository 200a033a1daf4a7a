"""The life of one container: create, attach, watch, freeze, kill, remove, reap. The only user of Docker's SDK here.

Owns the container, its socket folder, the thread that drains its output and the memory that it prints into once it has
a job. Always true: the program inside learns nothing from here but one socket; its output is capped and can never block
or fill the host; what it prints with a job in it costs nobody else anything.
"""

from __future__ import annotations

import contextlib
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
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import docker
import docker.errors
import docker.types

from sandbox import protocol
from sandbox.errors import DockerMissing, ImageMissing, SandboxError
from sandbox.freezer import Freezer, find_freezer
from sandbox.policy import LABEL, Policy, container_options

KEEP_BYTES: Final = 64_000  # of the beginning and of the end of each stream
FLOOD_BYTES: Final = 16_000_000  # over this, all streams together, the container is killed
FOLDER_PREFIX: Final = "photofinish-"
FOLDER: Final = re.compile(r"photofinish-([a-z0-9-]+)-[a-z0-9_]{8}")  # the owner, then tempfile's own letters
FRAME_HEADER: Final = struct.Struct(">BxxxI")  # Docker's attach stream: which stream, how many bytes


@dataclass(frozen=True)
class Exit:
    """How a container ended. `code` is the exit status; 128 + n after signal n."""

    code: int
    oom_killed: bool
    flooded: bool


class Capture:
    """The first and the last KEEP_BYTES of a stream, and how much there was."""

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
        """Decoded for a person to read: control characters gone, the cut marked."""
        left_out = self.total - len(self._head) - len(self._tail)
        head, tail = bytes(self._head), bytes(self._tail)
        if left_out:  # cut where lines end
            head, tail = head[: head.rfind(b"\n") + 1] or head, tail[tail.find(b"\n") + 1 :]
            left_out = self.total - len(head) - len(tail)
        mark = f"\n… {left_out} bytes left out …\n" if left_out else ""
        return protocol.clean_text(head) + mark + protocol.clean_text(tail)


class Paper:
    """A file in memory that a stream goes to. Its pages are charged to the writer, and a write wakes nobody: at a pipe
    of Docker's, shim and engine work (byte by byte 0.7 s in a second, a line every 10 ms 0.03 s), and what is measured
    meanwhile would be void for their load, at the writer's will."""

    def __init__(self) -> None:
        self._fd = os.memfd_create("printed")
        self.fd = os.open(f"/proc/self/fd/{self._fd}", os.O_WRONLY | os.O_APPEND)  # the writer's: its flags are its own
        self._sealed: str | None = None

    @property
    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def seal(self) -> None:
        """What is written from now on is not read any more."""
        self._sealed = self.text()

    def text(self) -> str:
        if self._sealed is not None:
            return self._sealed
        taken = Capture()
        taken.feed(os.pread(self._fd, FLOOD_BYTES, 0))
        return taken.text()

    def close(self) -> None:
        """Safe to call twice."""
        for fd in {self._fd, self.fd} - {-1}:
            os.close(fd)
        self._fd = self.fd = -1


def connect(timeout_s: float = 60) -> docker.DockerClient:
    """A client of the local Docker Engine; raises DockerMissing with what to do."""
    try:
        client = docker.from_env(timeout=int(timeout_s))
        client.ping()
    except (docker.errors.DockerException, OSError, ValueError) as err:  # ValueError: an address that is none
        raise DockerMissing(_no_engine(err)) from None
    return client


def _no_engine(err: Exception) -> str:
    """What to do about it: this user's rights, the engine, or the address that is set."""
    if "Permission denied" in str(err):
        return "this user may not use the Docker Engine: join the group `docker` (usermod -aG), then sign in anew"
    remedy = "install docker.io and start dockerd; where DOCKER_HOST is set, correct that address, or unset it"
    return f"no Docker Engine answers ({err}); {remedy}"


def image_id(client: docker.DockerClient, name: str) -> str:
    """The image that a name stands for now. Raises ImageMissing, SandboxError."""
    try:
        return str(client.images.get(name).id)
    except docker.errors.ImageNotFound:
        raise ImageMissing(f"no image {name!r} on this host; build it with `make image`") from None
    except (docker.errors.DockerException, OSError) as err:
        raise SandboxError(f"Docker does not say what {name!r} is: {err}") from None


def reap(client: docker.DockerClient, owner: str) -> int:
    """Remove every container and folder that an earlier process of this owner left behind; how many containers."""
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
    """Who has containers on this engine, running or not, or folders of containers on this host."""
    every = client.containers.list(all=True, ignore_removed=True, filters={"label": LABEL})
    return {str(one.labels[LABEL]) for one in every} | set(_folders().values())


def _folders() -> dict[Path, str]:
    """This user's folders for the sockets of containers, each with its owner."""
    found = {}
    for path in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        named = FOLDER.fullmatch(path.name)
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            if named and stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                found[path] = named[1]
    return found


def open_process(pid: int, container_id: str) -> int:
    """A descriptor of a container's process; -1 where that is gone, or its number is another program's by now."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return -1
    try:  # asked after the descriptor is open: from then on the number cannot change its process unnoticed
        ours = container_id in Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        ours = False
    if not ours:
        os.close(descriptor)
        return -1
    return descriptor


def _thaw_by_id(attrs: dict[str, Any]) -> None:
    """A frozen process cannot die: thaw what a killed judge left frozen."""
    pid = int(attrs.get("State", {}).get("Pid") or 0)
    descriptor = open_process(pid, attrs["Id"]) if pid else -1
    if descriptor < 0:
        return
    freezer = find_freezer(pid)
    if freezer is not None:
        with contextlib.suppress(OSError), freezer:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            freezer.thaw()
    os.close(descriptor)


class Container:
    """One hardened container, from `start` to `close`, and the one connection that its program makes."""

    def __init__(self, client: docker.DockerClient, policy: Policy, owner: str) -> None:
        self._client = client
        self._owner = owner
        self.policy = policy
        self.freezer: Freezer | None = None
        self.stdout, self.stderr = Capture(), Capture()  # until it has a job
        self._papers = Paper(), Paper()  # from then on
        self._flooded = False
        self.pid = 0  # of the first program inside, as the host sees it
        self._pidfd = -1
        self._handle: Any = None
        self._reader: threading.Thread | None = None
        self._output: Any = None
        self._folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{owner}-"))
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    # -- birth ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Create, attach, start. The program inside is running when this returns; it may not have connected yet."""
        self._open_door()
        options = container_options(self.policy, socket_folder=self._folder, owner=self._owner)
        options["ulimits"] = [docker.types.Ulimit(**limit) for limit in options["ulimits"]]
        options["device_requests"] = [docker.types.DeviceRequest(**one) for one in options.get("device_requests", [])]
        options["log_config"] = docker.types.LogConfig(**options["log_config"])
        try:
            self._handle = self._client.containers.create(**options)
            self._attach()
            self._handle.start()
            self._handle.reload()
        except docker.errors.ImageNotFound:
            raise ImageMissing(f"no image {self.policy.image!r} on this host; build it with `make image`") from None
        except docker.errors.APIError as err:
            raise SandboxError(f"Docker refused the container: {err.explanation or err}") from None
        self.pid = int(self._handle.attrs["State"]["Pid"])
        if self.pid:
            self._pidfd = open_process(self.pid, str(self._handle.id))
            self.freezer = find_freezer(self.pid) if self._pidfd >= 0 else None

    def _open_door(self) -> None:
        path = self._folder / "socket"
        self._listener.bind(str(path))
        if os.geteuid() == 0:
            os.chown(path, self.policy.uid, self.policy.uid)
            os.chmod(path, 0o600)
        else:  # the peer's credentials are checked either way
            os.chmod(path, 0o666)  # noqa: S103
        os.chmod(self._folder, 0o711)  # noqa: S103  traversed by the container's uid, listed by nobody
        self._listener.listen(1)

    def _attach(self) -> None:
        params = {"stdout": 1, "stderr": 1, "stream": 1}
        self._output = self._client.api.attach_socket(self._handle.id, params=params)
        self._reader = threading.Thread(target=self._drain, name="drain", daemon=True)
        self._reader.start()

    def accept(self, deadline_ns: int) -> socket.socket:
        """The one connection of the program inside, its credentials checked; then the door is gone for good."""
        while True:
            ready, _, _ = select.select([self._listener], [], [], 0.05)
            if ready:
                break
            if not self.alive():
                raise SandboxError(f"the container died before it connected: {self.logs()}")
            if time.monotonic_ns() > deadline_ns:
                raise SandboxError("the container did not connect in time")
        connection, _ = self._listener.accept()
        self._close_door()
        _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid != self._host_uid():
            connection.close()
            raise SandboxError(f"a process of uid {uid} knocked at the door of uid {self.policy.uid}")
        return connection

    def _host_uid(self) -> int:
        """The container's uid as the host sees it: another number where Docker remaps users."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("\nUid:")[1].split()[0])

    def _close_door(self) -> None:
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    # -- life ----------------------------------------------------------------------------------------------------

    def alive(self) -> bool:
        """Cheap: a poll of a descriptor and two sizes. A flooded container counts as dead."""
        if self._pidfd < 0:
            return False
        if not self._flooded and sum(paper.size for paper in self._papers) > FLOOD_BYTES:
            self._flood()
        if self._flooded:
            return False
        return not select.select([self._pidfd], [], [], 0)[0]

    def attached(self) -> bool:
        """Alive, and its output still comes through, as long as it has no job: a Docker Engine that ended would cut it
        off."""
        return self.alive() and self._reader is not None and self._reader.is_alive()

    def freeze(self) -> None:
        if self.freezer is not None:
            self.freezer.freeze()

    def thaw(self) -> None:
        if self.freezer is not None:
            self.freezer.thaw()

    def never_freeze(self) -> None:
        """From now on freezing does nothing: as on a host whose control groups this process may not write."""
        if self.freezer is not None:
            self.freezer.close()
            self.freezer = None

    @property
    def printed(self) -> tuple[int, int]:
        """Descriptors of what it prints into once it has a job."""
        return self._papers[0].fd, self._papers[1].fd

    def stop_logs(self) -> None:
        """What is printed from now on is not kept."""
        for paper in self._papers:
            paper.seal()

    def _drain(self) -> None:
        """Read Docker's framed output until it ends; over FLOOD_BYTES kill, and throw away what is still in the pipes.

        Always to the end: the engine cannot finish with a container while somebody attached does not read.
        """
        raw = getattr(self._output, "_sock", self._output)
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
        self._signal_kill()

    def _signal_kill(self) -> None:
        try:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        except PermissionError:  # not root: the engine does it
            with contextlib.suppress(docker.errors.APIError):
                self._handle.kill()
        except OSError:
            pass  # already gone

    def kill(self) -> None:
        """SIGKILL to all of it, then thaw: a frozen process takes the signal only when it runs again."""
        if self._pidfd >= 0:
            self._signal_kill()
        with contextlib.suppress(OSError):
            self.thaw()

    def wait_dead(self, timeout_s: float = 10) -> bool:
        """Until nothing of it runs and its output is read; call only when it is dead or killed. False: it still runs.

        Its first program is the last to go: the kernel ends every other process of the PID namespace before.
        """
        dead = self._pidfd < 0 or bool(select.select([self._pidfd], [], [], timeout_s)[0])
        if self._reader is not None:
            self._reader.join(timeout=2)
        return dead

    def wait_exit(self, timeout_s: float = 10) -> Exit:
        """How it ended, as the engine says it a little later; call only when it is dead or killed."""
        self.wait_dead(timeout_s)
        deadline = time.monotonic() + timeout_s
        while True:
            self._handle.reload()
            state = self._handle.attrs["State"]
            if not state["Running"] or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        return Exit(code=int(state["ExitCode"]), oom_killed=bool(state["OOMKilled"]), flooded=self._flooded)

    def logs(self) -> dict[str, str]:
        return {
            name: before.text() + paper.text()
            for name, before, paper in zip(("stdout", "stderr"), (self.stdout, self.stderr), self._papers, strict=True)
        }

    def close(self) -> None:
        """Kill and remove. Safe to call twice, and on a container that never started."""
        self.kill()
        if self._handle is not None:
            with contextlib.suppress(docker.errors.APIError):
                self._handle.remove(force=True)
            self._handle = None
        if self._output is not None:
            with contextlib.suppress(OSError):
                self._output.close()
        if self._reader is not None:
            self._reader.join(timeout=2)
        if self.freezer is not None:
            self.freezer.close()
            self.freezer = None
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
        for paper in self._papers:
            paper.close()
        self._close_door()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
