"""Attacks on the helper by a judge that was taken over, and what it does for an honest judge, with real containers.

The tests speak the protocol by hand: no attacker uses the client.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sandbox import container, helper, policy
from sandbox.container import SandboxError
from sandbox.policy import LABEL

if TYPE_CHECKING:
    import docker

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(os.geteuid() != 0, reason="a helper needs root"),
]

IMAGE = os.environ.get("SANDBOX_IMAGE", "photofinish-sandbox:latest")
JUDGE, STRANGER = 12_345, 12_346
OWNER = f"tests-helper-{os.getpid()}"  # a helper removes what its label has left, in another test process, too
START = {"do": "start", "kind": "tenant", "cores": "0"}
PATIENCE_S = 30


def small(image: str, cpus: str) -> policy.Policy:
    return policy.tenant(image, 399_997, cpus)


@pytest.fixture
def path() -> Iterator[Path]:
    """Socket of a helper in this process, in a folder that every user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="helper-"))
    folder.chmod(0o711)
    rules = helper.Rules(
        uid=JUDGE,
        owner=OWNER,
        policies={"tenant": small},
        digests=lambda client: container.image_digests(client, IMAGE),
    )
    served = helper.Helper(folder / "socket", rules)
    threading.Thread(target=serve, args=(served,), daemon=True).start()
    yield folder / "socket"
    served.close()
    shutil.rmtree(folder)


def serve(served: helper.Helper) -> None:
    try:
        served.serve()
    except OSError:
        pass  # closed


@pytest.fixture
def connect(path: Path) -> Iterator[Callable[[], socket.socket]]:
    made: list[socket.socket] = []

    def connect() -> socket.socket:
        made.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        made[-1].settimeout(PATIENCE_S)
        made[-1].connect(str(path))
        return made[-1]

    yield connect
    for one in made:
        one.close()


def ask(connection: socket.socket, request: object) -> dict[str, Any] | None:
    """Return the answer, and close its descriptors; None if the helper ended the connection."""
    try:
        connection.send(request if isinstance(request, bytes) else json.dumps(request).encode())
        data, descriptors, _, _ = socket.recv_fds(connection, 16_384, 8)
    except (BrokenPipeError, ConnectionResetError):
        return None
    for one in descriptors:
        os.close(one)
    return dict(json.loads(data)) if data else None


def containers(client: docker.DockerClient) -> list[Any]:
    return list(client.containers.list(all=True, ignore_removed=True, filters={"label": f"{LABEL}={OWNER}"}))


def await_none(client: docker.DockerClient) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while containers(client):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def as_user(uid: int, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, user=uid, group=uid, extra_groups=(), capture_output=True, text=True, timeout=PATIENCE_S
    )


KNOCK = """
import socket, sys
it = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
it.connect(sys.argv[1])
try:
    it.send(b'{"do": "image"}')
    print(len(it.recv(9999)))
except OSError:
    print(0)
"""


def test_helper_serves_the_judges_uid_alone(path: Path) -> None:
    assert "PermissionError" in as_user(STRANGER, KNOCK, str(path)).stderr
    path.chmod(0o666)
    assert int(as_user(JUDGE, KNOCK, str(path)).stdout) > 64
    assert as_user(STRANGER, KNOCK, str(path)).stdout.strip() == "0"


@pytest.mark.parametrize(
    "request_",
    [
        {"do": "exec"},
        {"do": "start"},
        {**START, "kind": "oracle"},
        {**START, "image": "debian"},
        {**START, "uid": "0"},
        {**START, "volumes": "/:/host"},
        {**START, "privileged": "1"},
        {**START, "kind": ["tenant"]},
        {**START, "cores": ""},
        {**START, "cores": "0-3"},
        {**START, "cores": "0,99999"},
        {**START, "cores": "0\n"},
        {"do": "move", "id": "1"},
        {"do": "move", "id": "1", "cores": "0"},
        {"do": "image", "name": "debian"},
        {"do": "kill", "id": "1"},
        {"do": "end", "id": "../1"},
        {"do": "remove"},
        {"do": 1},
        [START],
        None,
        b"\xff",
        b"[" * 4_000,
        b'{"do": "image"' + b" " * 4_096 + b"}",
    ],
    ids=lambda one: str(one)[:60],
)
def test_helper_ends_a_connection_at_a_request_that_no_judge_makes(
    connect: Callable[[], socket.socket], docker_client: docker.DockerClient, request_: object
) -> None:
    attacker, honest = connect(), connect()
    assert ask(attacker, request_) is None
    assert containers(docker_client) == []
    assert "digests" in (ask(honest, {"do": "image"}) or {})


def test_helper_starts_its_own_policy(connect: Callable[[], socket.socket], docker_client: docker.DockerClient) -> None:
    judge = connect()
    answer = ask(judge, START)
    assert answer is not None
    assert answer.keys() == {"id", "pid", "freezer"}, answer
    (found,) = containers(docker_client)
    host = found.attrs["HostConfig"]
    assert found.attrs["Image"] == container.image_id(docker_client, IMAGE)
    assert (found.attrs["Config"]["User"], host["CapDrop"], host["CapAdd"]) == ("399997:399997", ["ALL"], None)
    assert (host["NetworkMode"], host["Privileged"], len(host["Binds"])) == ("none", False, 1)


def test_helper_lets_a_connection_reach_its_own_containers_only(
    connect: Callable[[], socket.socket], docker_client: docker.DockerClient
) -> None:
    victim, attacker = connect(), connect()
    name = (ask(victim, START) or {})["id"]
    full = containers(docker_client)[0].id
    assert ask(attacker, {"do": "kill", "id": name}) is None
    assert ask(connect(), {"do": "remove", "id": full}) is None
    assert ask(connect(), {"do": "move", "id": name, "cores": "0"}) is None
    assert (ask(victim, {"do": "end", "id": name}) or {})["running"] is True


def test_helper_moves_a_container_to_cores_of_its_own_alone(connect: Callable[[], socket.socket]) -> None:
    last = str(max(os.sched_getaffinity(0)))
    judge = connect()
    started = ask(judge, START) or {}
    assert ask(judge, {"do": "move", "id": started["id"], "cores": last}) == {}
    assert os.sched_getaffinity(started["pid"]) == {int(last)}
    for cores in ("", "0-3", "0,99999", "0\n"):
        judge = connect()
        name = (ask(judge, START) or {})["id"]
        assert ask(judge, {"do": "move", "id": name, "cores": cores}) is None


def test_helper_refuses_a_container_too_many_and_goes_on(
    connect: Callable[[], socket.socket], docker_client: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert helper.MOST_CONTAINERS == 48
    monkeypatch.setattr(helper, "MOST_CONTAINERS", 2)
    one, another = connect(), connect()
    name = (ask(one, START) or {})["id"]
    assert "id" in (ask(another, START) or {})
    for flooding in (one, another, one):
        assert "2 containers already" in (ask(flooding, START) or {})["error"]
    assert len(containers(docker_client)) == 2
    assert ask(one, {"do": "remove", "id": name}) == {}
    assert "id" in (ask(another, START) or {})


def test_container_that_cannot_be_removed_counts(
    connect: Callable[[], socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    import docker

    def fails(*_: object, **__: object) -> None:
        raise docker.errors.APIError("could not kill")

    monkeypatch.setattr(helper, "MOST_CONTAINERS", 1)
    judge = connect()
    assert "id" in (ask(judge, START) or {})
    with monkeypatch.context() as broken:
        broken.setattr(docker.models.containers.Container, "remove", fails)
        assert ask(judge, {"do": "remove", "id": "1"}) == {}
    assert "1 containers already" in (ask(connect(), START) or {})["error"]


def test_helper_refuses_a_connection_too_many(connect: Callable[[], socket.socket]) -> None:
    held = [connect() for _ in range(helper.MOST_CONNECTIONS)]
    assert all("digests" in (ask(one, {"do": "image"}) or {}) for one in held)
    assert ask(connect(), {"do": "image"}) is None


DIE_FROZEN = """
import os, signal, sys
from pathlib import Path
from sandbox import container, helper, policy
client = helper.Client(Path(sys.argv[1]))
box = container.Container(client, policy.tenant("any", 200_000, "0"), "any")
box.start()
box.freeze()
print(os.geteuid(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_judge_that_dies_frozen_leaves_no_container(path: Path, docker_client: docker.DockerClient) -> None:
    died = as_user(JUDGE, DIE_FROZEN, str(path))
    assert (died.returncode, died.stdout.strip()) == (-9, str(JUDGE)), died.stderr
    await_none(docker_client)


def test_containers_of_a_killed_helper_are_reaped_by_the_next(path: Path, docker_client: docker.DockerClient) -> None:
    left = container.Container(docker_client, small(IMAGE, "0"), OWNER)
    left.start()
    left.freeze()
    folder = Path(tempfile.mkdtemp(prefix="helper-"))
    rules = helper.Rules(JUDGE, OWNER, {}, lambda client: [])
    helper.Helper(folder / "socket", rules).close()
    assert containers(docker_client) == []
    left.close()
    shutil.rmtree(folder)


WRITES_TO_DOCKER = """
import signal, socket, sys
from pathlib import Path
from sandbox import container, helper, policy
client = helper.Client(Path(sys.argv[1]))
box = container.Container(client, policy.tenant("any", 200_000, "0"), "any")
box.start()
for attack in (
    lambda: box._cell.output.send(b"GET /info HTTP/1.1\\r\\nHost: docker\\r\\n\\r\\n"),
    lambda: open(f"/proc/self/fd/{box.freezer.descriptors[1]}", "w"),
    lambda: open(f"/proc/{box.pid}/environ"),
    lambda: socket.socket(socket.AF_UNIX).connect("/var/run/docker.sock"),
    lambda: signal.pidfd_send_signal(box._cell.pidfd, signal.SIGKILL),
):
    try:
        print("no error", attack())
    except OSError as error:
        print(type(error).__name__)
box.close()
client.close()
"""


def test_descriptors_give_the_judge_no_way_to_docker(path: Path) -> None:
    said = as_user(JUDGE, WRITES_TO_DOCKER, str(path))
    assert said.stderr == ""
    assert said.stdout.split() == ["BrokenPipeError", *["PermissionError"] * 4]


def test_client_has_a_container_as_without_a_helper(path: Path, docker_client: docker.DockerClient) -> None:
    client = helper.Client(path)
    box = container.Container(client, policy.tenant("any", 200_000, "0"), "any")
    box.start()
    connection = box.accept(time.monotonic_ns() + PATIENCE_S * 10**9)
    assert box.freezer is not None
    last = str(max(os.sched_getaffinity(0)))
    box.move(last)
    assert f"Cpus_allowed_list:\t{last}\n" in Path(f"/proc/{box.pid}/status").read_text()
    box.freeze()
    assert box.attached()
    box.kill()
    assert box.wait_exit() == container.Exit(code=137, oom_killed=False, flooded=False)
    assert not box.alive()
    box.close()
    connection.close()
    assert containers(docker_client) == []
    client.close()


def test_second_helper_leaves_the_first_alone(path: Path, connect: Callable[[], socket.socket]) -> None:
    judge = connect()
    assert "id" in (ask(judge, START) or {})
    with pytest.raises(SandboxError, match="another helper listens"):
        helper.Helper(path, helper.Rules(JUDGE, OWNER, {}, lambda client: []))
    assert (ask(judge, {"do": "end", "id": "1"}) or {})["running"] is True
    assert "digests" in (ask(connect(), {"do": "image"}) or {})


def test_client_says_how_to_start_a_missing_helper(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="start `runner helper`"):
        helper.Client(tmp_path / "none")
