"""Helper with root's rights for a judge without them: it makes and ends containers of a fixed policy, and nothing else.

`Helper` is the server, `Client` the judge's end of the Unix socket (SOCK_SEQPACKET). A request is a JSON object of at
most 4 kB, with exactly the fields of REQUESTS; so is the answer, with descriptors beside it:

    {"do": "image"}                                  {"digests": […]}
    {"do": "start", "kind": "tenant", "cores": "1"}  {"id", "pid", "freezer"}, and the descriptors of a Cell
    {"do": "move", "id": "3", "cores": "1"}          {}
    {"do": "kill" | "end" | "remove", "id": "3"}     {}; of `end`: {"running", "code", "oom_killed"}

Freezing is no request: the judge gets the freezer's open files. Always true: image, program, limits, mounts, GPU and
uid come from the helper's own policies; a request names a kind and some of the helper's own cores. A connection reaches
its own containers only, and its end removes them. A request that no judge makes ends its connection.
"""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandbox import container
from sandbox.container import Cell, DockerCell, Freezer, ImageMissing, SandboxError
from sandbox.policy import Policy

log = logging.getLogger("sandbox.helper")

REQUESTS: Final = {
    "image": {"do"},
    "start": {"do", "kind", "cores"},
    "move": {"do", "id", "cores"},
    "kill": {"do", "id"},
    "end": {"do", "id"},
    "remove": {"do", "id"},
}
MAX_REQUEST_BYTES: Final = 4096
MAX_ANSWER_BYTES: Final = 16_384
MOST_DESCRIPTORS: Final = 5  # listener, pidfd, output, and two of the freezer
MOST_CONTAINERS: Final = 48  # of all connections: of eight GPUs
MOST_CONNECTIONS: Final = 12
CORES: Final = re.compile(r"\d{1,5}(,\d{1,5})*")
ANSWER_S: Final = 120.0  # Docker's own limit is below it
SEND_S: Final = 10.0
CLEAR_S: Final = 30.0  # for the containers of a connection that ended
ERROR_CHARS: Final = 1_000


class Refused(Exception):
    """A request that no judge makes."""


@dataclass(frozen=True)
class Rules:
    """What this helper makes, for whom."""

    uid: int  # of the judge; root is served, too, which could do without
    owner: str  # label of the containers
    policies: Mapping[str, Callable[[str, str], Policy]]  # by kind, of an image's id and a cpuset
    digests: Callable[[Any], list[str]]  # of a client of Docker: the image's id first


class Helper:
    """Server on the socket at `path`. `serve` blocks; `close` removes every container of this helper."""

    def __init__(self, path: Path, rules: Rules) -> None:
        self._path, self.rules = path, rules
        self._change = threading.Condition()
        self._containers = 0
        self._connections = 0
        self._clearing = 0
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as knock:
            if not knock.connect_ex(str(path)):
                raise SandboxError("another helper listens there; stop it, or name another path")
        with closing(container.connect()) as client:
            if not str(client.api.base_url).startswith("http+docker://"):
                raise SandboxError(f"DOCKER_HOST: {client.api.base_url}: a helper needs the engine's Unix socket")
            left = container.reap(client, rules.owner)
        log.info("removed %d containers of an earlier helper", left)
        path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        os.chown(path, rules.uid, -1)
        path.chmod(0o600)
        self._listener.listen(MOST_CONNECTIONS)

    def serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if uid not in (0, self.rules.uid) or self._connections >= MOST_CONNECTIONS:
                log.warning("refused a connection of uid %d beside %d others", uid, self._connections)
                connection.close()
                continue
            with self._change:
                self._connections += 1
            threading.Thread(target=self._attend, args=(connection,), daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        self._path.unlink(missing_ok=True)
        with closing(container.connect()) as client:
            container.reap(client, self.rules.owner)

    def _attend(self, connection: socket.socket) -> None:
        """Answer a connection until it ends; then remove its containers."""
        cells: dict[str, DockerCell] = {}
        connection.settimeout(None)
        try:
            with self._change:  # a judge's predecessor is gone before it measures anything
                self._change.wait_for(lambda: not self._clearing, CLEAR_S)
            with closing(container.connect()) as client:
                session = _Session(self, client, cells)
                while data := connection.recv(MAX_REQUEST_BYTES + 1):
                    session.answer(connection, data)
        except Refused as refused:
            log.warning("ended a connection: %s", refused)
        except (OSError, SandboxError) as err:
            log.warning("lost a connection: %s", err)
        finally:
            with self._change:
                self._clearing += 1
            for cell in cells.values():
                self.clear(cell)
            with self._change:
                self._clearing -= 1
                self._connections -= 1
                self._change.notify_all()
            connection.close()  # only now: `Client.close` waits for it

    def make(self, client: Any, kind: str, image: str, cpus: str) -> DockerCell:
        """Return a started cell. Raises SandboxError."""
        cell = DockerCell(client, self.rules.policies[kind](image, cpus), self.rules.owner)
        with self._change:
            is_full = self._containers >= MOST_CONTAINERS
            self._containers += not is_full
        if is_full:
            cell.remove()
            raise SandboxError(f"the helper has {MOST_CONTAINERS} containers already")
        try:
            cell.start()
        except BaseException:
            self.clear(cell)
            raise
        return cell

    def clear(self, cell: DockerCell) -> None:
        """Kill and remove. A container that cannot be removed still counts."""
        try:
            _kill(cell)
            cell.remove()
        except OSError as err:  # Docker's errors are OSErrors
            log.warning("a container: %s", err)
        if not cell.is_removed:
            log.error("the container of pid %d cannot be removed", cell.pid)
        with self._change:
            self._containers -= cell.is_removed
        cell.close()


def _kill(cell: Cell) -> None:
    if cell.pidfd >= 0:
        cell.kill()
    if cell.freezer is not None:
        with suppress(OSError):
            cell.freezer.thaw()


class _Session:
    """Requests of one connection."""

    def __init__(self, helper: Helper, client: Any, cells: dict[str, DockerCell]) -> None:
        self._helper, self._client, self._cells = helper, client, cells
        self._cores = os.sched_getaffinity(0)
        self._image = ""
        self._made = 0

    def answer(self, connection: socket.socket, data: bytes) -> None:
        """Answer a request. Raises Refused, and OSError if the judge does not take the answer."""
        asked = parse(data)
        descriptors: list[int] = []
        with ExitStack() as sent:
            try:
                answer = self._start(asked, descriptors, sent) if asked["do"] == "start" else self._do(asked)
            except (SandboxError, OSError) as err:  # Docker's errors are OSErrors
                answer = {"error": str(err)[:ERROR_CHARS], "missing": isinstance(err, ImageMissing)}
            connection.settimeout(SEND_S)
            socket.send_fds(connection, [json.dumps(answer).encode()], descriptors)
            connection.settimeout(None)

    def _do(self, asked: dict[str, str]) -> dict[str, Any]:
        if asked["do"] == "image":
            digests = self._helper.rules.digests(self._client)
            self._image = self._image or digests[0]
            return {"digests": digests}
        cell = self._cells.get(asked["id"])
        if cell is None:
            raise Refused(f"container {asked['id']!r} is not this connection's")
        if asked["do"] == "kill":
            _kill(cell)
        elif asked["do"] == "move":
            cell.move(self._own_cores(asked["cores"]))
        elif asked["do"] == "end":
            return dict(zip(("running", "code", "oom_killed"), cell.end(), strict=True))
        else:
            self._helper.clear(self._cells.pop(asked["id"]))
        return {}

    def _own_cores(self, asked: str) -> str:
        """Return these cores in order. Raises Refused."""
        if not CORES.fullmatch(asked) or not (cores := {int(core) for core in asked.split(",")}) <= self._cores:
            raise Refused(f"cores {asked!r} are not all among the helper's")
        return ",".join(map(str, sorted(cores)))

    def _start(self, asked: dict[str, str], descriptors: list[int], sent: ExitStack) -> dict[str, Any]:
        kind, cores = asked["kind"], self._own_cores(asked["cores"])
        if kind not in self._helper.rules.policies:
            raise Refused(f"kind {kind!r} is none of {', '.join(sorted(self._helper.rules.policies))}")
        if not self._image:  # one image for all containers of a connection: the name may move
            self._do({"do": "image"})
        cell = self._helper.make(self._client, kind, self._image, cores)
        self._made += 1
        self._cells[str(self._made)] = cell
        if cell.pidfd < 0:
            raise SandboxError("the container ended at once")
        # The judge alone reads the output and accepts the connection, and can write nothing to Docker.
        cell.output.shutdown(socket.SHUT_WR)
        sent.callback(cell.let_go)
        descriptors += [cell.listener.fileno(), cell.pidfd, cell.output.fileno()]
        if cell.freezer is not None:
            descriptors += cell.freezer.descriptors
        return {"id": str(self._made), "pid": cell.pid, "freezer": cell.freezer.version if cell.freezer else 0}


def parse(data: bytes) -> dict[str, str]:
    """Return a request whose fields are known and texts. Raises Refused."""
    if len(data) > MAX_REQUEST_BYTES:
        raise Refused(f"a request has more than {MAX_REQUEST_BYTES} bytes")
    try:
        asked = json.loads(data)
    except (ValueError, RecursionError):
        raise Refused("a request is no JSON") from None
    if not isinstance(asked, dict) or not all(isinstance(value, str) for value in asked.values()):
        raise Refused("a request is no object of texts")
    if asked.get("do") not in REQUESTS or asked.keys() != REQUESTS[asked["do"]]:
        raise Refused(f"no request has the fields {sorted(asked)[:8]!r} with do={asked.get('do', '')[:40]!r}")
    return asked


class Client:
    """The judge's end: a Keeper of cells. Its containers are gone when `close` has returned."""

    def __init__(self, path: Path) -> None:
        self._guard = threading.Lock()  # the thread that drains an output may kill, too
        self._is_lost = False
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.settimeout(ANSWER_S)
            self._socket.connect(str(path))
        except OSError as err:
            self._socket.close()
            remedy = "start `runner helper` with the same RUNNER_HELPER and RUNNER_JUDGE_USER"
            raise SandboxError(f"RUNNER_HELPER: no helper answers at {path} ({err}); {remedy}") from None

    def image_digests(self) -> list[str]:
        return [str(digest) for digest in self.ask({"do": "image"})[0]["digests"]]

    def cell(self, policy: Policy) -> Cell:
        return _HelpedCell(self, policy)

    def ask(self, request: dict[str, str]) -> tuple[dict[str, Any], list[int]]:
        """Return the answer and its descriptors. Raises SandboxError, ImageMissing."""
        with self._guard:
            if self._is_lost:
                raise SandboxError("the helper is lost; see its log")
            self._is_lost = True  # also after a signal: no later request may read this answer
            try:
                self._socket.send(json.dumps(request).encode())
                data, descriptors, _, _ = socket.recv_fds(
                    self._socket, MAX_ANSWER_BYTES, MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
                )
            except OSError as err:
                raise SandboxError(f"the helper does not answer ({err}); see its log") from None
            if not data:
                raise SandboxError("the helper ended the connection; see its log")
            self._is_lost = False
        answer = dict(json.loads(data))
        if "error" in answer:
            raise (ImageMissing if answer["missing"] else SandboxError)(answer["error"])
        return answer, descriptors

    def close(self) -> None:
        """End the connection; returns when the helper has removed its containers."""
        with suppress(OSError), closing(self._socket):
            self._socket.shutdown(socket.SHUT_WR)
            self._socket.settimeout(CLEAR_S)
            while self._socket.recv(MAX_ANSWER_BYTES):
                pass


class _HelpedCell(Cell):
    """Cell in a helper's process."""

    def __init__(self, client: Client, policy: Policy) -> None:
        super().__init__()
        self._client, self._policy, self._id = client, policy, ""

    def start(self) -> None:
        self.listener.close()
        started = {"do": "start", "kind": self._policy.kind, "cores": self._policy.cpus}
        answer, descriptors = self._client.ask(started)
        self._id, self.pid = str(answer["id"]), int(answer["pid"])
        listener, self.pidfd, output, *freezer = descriptors
        self.listener, self.output = socket.socket(fileno=listener), socket.socket(fileno=output)
        self.output.setblocking(True)
        self.freezer = Freezer(freezer[0], freezer[1], int(answer["freezer"])) if freezer else None

    def move(self, cores: str) -> None:
        try:
            self._client.ask({"do": "move", "id": self._id, "cores": cores})
        except SandboxError as err:
            raise OSError(f"the helper does not move a container: {err}") from None

    def kill(self) -> None:
        with suppress(SandboxError):  # the end of a connection kills, too
            self._client.ask({"do": "kill", "id": self._id})

    def end(self) -> tuple[bool, int, bool]:
        answer, _ = self._client.ask({"do": "end", "id": self._id})
        return bool(answer["running"]), int(answer["code"]), bool(answer["oom_killed"])

    def remove(self) -> None:
        if self._id:
            with suppress(SandboxError):
                self._client.ask({"do": "remove", "id": self._id})
            self._id = ""
        super().remove()
