"""The life of a real container: output, limits, death, and leftovers of a crashed owner."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import container, policy
from sandbox.container import ImageMissing, SandboxError

pytestmark = pytest.mark.docker

IMAGE = os.environ.get("SANDBOX_IMAGE", "photofinish-sandbox:latest")
Start = Callable[..., container.Container]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a container that runs one line of Python instead of the harness."""
    client = container.connect()
    made: list[container.Container] = []

    def start(code: str, owner: str = "tests") -> container.Container:
        tenant = policy.tenant(IMAGE, uid=399_999, cpus="0")
        new = container.Container(client, replace(tenant, command=(policy.INTERPRETER, "-c", code)), owner)
        made.append(new)
        new.start()
        return new

    yield start
    for one in made:
        one.close()
    client.close()


def wait_for_death(box: container.Container, limit_s: float = 20) -> None:
    deadline = time.monotonic() + limit_s
    while box.alive():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_it_keeps_both_streams_apart(start: Start) -> None:
    box = start("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    wait_for_death(box)
    assert box.wait_exit() == container.Exit(code=3, oom_killed=False, flooded=False)
    assert box.logs() == {"stdout": "out\n", "stderr": "err\n"}


def test_it_keeps_the_first_and_the_last_of_a_long_output(start: Start) -> None:
    box = start("print('first'); print('x' * 300_000); print('last')")
    wait_for_death(box)
    box.wait_exit()
    text = box.logs()["stdout"]
    assert text.startswith("first\n")
    assert text.endswith("last\n")
    assert "bytes left out" in text
    assert len(text) < 130_000


def test_a_flood_ends_it(start: Start) -> None:
    box = start("while True: print('x' * 100_000)")
    wait_for_death(box)
    assert box.wait_exit().flooded


JOB = (
    "import os, socket; s = socket.socket(1); s.connect('/run/judge/socket'); print('before', flush=True)\n"
    "for n, fd in enumerate(socket.recv_fds(s, 1, 2)[1], 1): os.dup2(fd, n); os.close(fd)\n"
)


def with_a_job(box: container.Container) -> None:
    connection = box.accept(time.monotonic_ns() + 20_000_000_000)
    socket.send_fds(connection, [b"!"], box.printed)
    connection.close()


def test_what_it_prints_with_a_job_never_reaches_the_engine(start: Start) -> None:
    box = start(JOB + "import sys; print('out' * 9); print('err', file=sys.stderr)")
    with_a_job(box)
    wait_for_death(box)
    box.wait_exit()
    assert box.logs() == {"stdout": "before\n" + "out" * 9 + "\n", "stderr": "err\n"}
    assert (box.stdout.total, box.stderr.total) == (len("before\n"), 0)


def test_what_it_prints_after_logs_stopped_is_not_kept(start: Start) -> None:
    box = start(JOB + "import time\nfor n in range(10**6): print(n, flush=True); time.sleep(0.01)")
    with_a_job(box)
    deadline = time.monotonic() + 20
    while "0\n" not in box.logs()["stdout"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    box.stop_logs()
    kept = box.logs()
    time.sleep(0.2)
    box.stop_logs()
    assert box.logs() == kept


def test_a_flood_with_a_job_ends_it(start: Start) -> None:
    box = start(JOB + "while True: print('x' * 100_000)")
    with_a_job(box)
    wait_for_death(box)
    assert box.wait_exit().flooded
    assert len(box.logs()["stdout"]) < 130_000


def test_a_frozen_one_dies_when_killed(start: Start) -> None:
    box = start("import time; time.sleep(60)")
    assert box.freezer is not None, "these tests need root: freezing is what certifies a run"
    box.freeze()
    box.kill()
    wait_for_death(box)
    assert box.wait_exit().code == 137


def test_frozen_means_that_nothing_runs(start: Start) -> None:
    box = start("import time\nwhile True: print('tick', flush=True); time.sleep(0.005)")
    deadline = time.monotonic() + 10
    while not box.stdout.total:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    box.freeze()
    time.sleep(0.1)  # time for the bytes in the pipe
    before = box.stdout.total
    time.sleep(0.2)
    assert box.stdout.total == before
    box.thaw()
    time.sleep(0.2)
    assert box.stdout.total > before


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone may write a control group")
def test_it_moves_to_other_cores_with_all_its_threads(start: Start) -> None:
    box = start("import threading, time; threading.Thread(target=time.sleep, args=[60]).start(); print(1, flush=True)")
    deadline = time.monotonic() + 20
    while not box.stdout.total:
        assert time.monotonic() < deadline
        time.sleep(0.01)

    def allowed() -> set[str]:
        texts = [one.read_text() for one in Path(f"/proc/{box.pid}/task").glob("*/status")]
        assert len(texts) == 2
        return {text.split("Cpus_allowed_list:")[1].split()[0] for text in texts}

    last = str(max(os.sched_getaffinity(0)))
    assert (box.runs_on("0"), allowed()) == (True, {"0"})
    box.move(last)
    assert (box.runs_on(last), allowed()) == (True, {last})
    with pytest.raises(OSError):
        box.move("99999")
    assert box.runs_on(last)
    box.kill()
    wait_for_death(box)
    box.wait_exit()
    with pytest.raises(OSError):
        box.move("0")


def test_a_move_that_the_kernel_does_not_make_is_an_error(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    box = start("import time; time.sleep(60)")
    monkeypatch.setattr(box._cell, "move", lambda cores: None)
    with pytest.raises(OSError, match="the cores 0,7 alone"):
        box.move("0,7")


def test_one_that_never_connects_is_an_error_of_the_sandbox(start: Start) -> None:
    box = start("import time; time.sleep(60)")
    with pytest.raises(SandboxError, match="did not connect"):
        box.accept(time.monotonic_ns() + 200_000_000)


def test_the_door_is_gone_after_one_connection(start: Start) -> None:
    knock = "import socket; s=socket.socket(1); s.connect('/run/judge/socket'); s.recv(1)\n"
    again = "import os; print(os.listdir('/run/judge') if os.access('/run/judge', os.R_OK) else 'closed', flush=True)"
    box = start(knock + again)
    box.accept(time.monotonic_ns() + 10_000_000_000).close()
    with pytest.raises(SandboxError, match="only connection was taken before"):
        box.accept(time.monotonic_ns() + 10_000_000_000)
    wait_for_death(box)
    box.wait_exit()
    assert "socket" not in box.logs()["stdout"]


def test_an_unknown_image_says_how_to_build_it() -> None:
    client = container.connect()
    with (
        container.Container(client, policy.tenant("no-such-image:0", 399_999, "0"), "tests") as box,
        pytest.raises(ImageMissing, match="make image"),
    ):
        box.start()
    client.close()


def test_what_a_killed_owner_left_frozen_is_reaped(start: Start) -> None:
    box = start("import time; time.sleep(60)", owner="tests-reaped")
    box.freeze()
    client = container.connect()
    assert container.reap(client, "tests-reaped") == 1
    assert container.reap(client, "tests-reaped") == 0
    assert not box.alive()
    client.close()


@pytest.mark.parametrize("after_ms", [1, 3, 10, 30, 60])
def test_a_signal_while_the_engine_makes_a_container_leaves_none(after_ms: int) -> None:
    client = container.connect()
    box = container.Container(client, policy.tenant(IMAGE, uid=399_999, cpus="0"), f"tests-told{after_ms}")

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, after_ms / 1000)
    try:
        box.start()
        time.sleep(1)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGALRM, before)
        box.close()
    container.reap(client, f"tests-told{after_ms}")
    time.sleep(1)  # in which a request that was broken off would have made its container
    assert container.reap(client, f"tests-told{after_ms}") == 0
    client.close()


def test_reap_removes_the_folders_of_its_owner_and_no_others() -> None:
    client = container.connect()
    killed, alive = (
        container.Container(client, policy.tenant(IMAGE, uid=399_999, cpus="0"), owner)
        for owner in ("tests-killed", "tests-killed-not")
    )
    assert {"tests-killed", "tests-killed-not"} <= container.owners(client)
    container.reap(client, "tests-killed")
    assert not killed._cell._folder.exists()
    assert alive._cell._folder.exists()
    for one in (killed, alive):
        one.close()
    client.close()


def test_open_process_refuses_a_process_of_no_such_container(start: Start) -> None:
    box = start("import time; time.sleep(60)")
    descriptor = container.open_process(box.pid, box._cell._handle.id)
    assert descriptor >= 0
    os.close(descriptor)
    assert container.open_process(box.pid, "f" * 64) == -1
    assert container.open_process(os.getpid(), box._cell._handle.id) == -1  # as if the number had been reused


def test_it_counts_as_cut_off_once_its_output_comes_through_no_more(start: Start) -> None:
    box = start("import time; time.sleep(600)")
    assert box.attached()
    box._cell.output.shutdown(socket.SHUT_RDWR)  # as if the Docker Engine ended and the container went on
    deadline = time.monotonic() + 5
    while box.attached():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert box.alive()


def test_dead_means_that_its_output_is_read(start: Start) -> None:
    box = start("print('the last word', flush=True); import time; time.sleep(600)")
    time.sleep(0.5)
    box.kill()
    box.wait_dead()
    assert not box.alive()
    assert box.logs()["stdout"] == "the last word\n"
