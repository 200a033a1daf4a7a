"""When the problem's own code ends its container, the organiser learns how and where it ended, and a remedy."""

from __future__ import annotations

import fcntl
import resource
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.judge.data import faults
from runner.judge.data.faults import OracleFailed, TooLarge
from sandbox.container import Exit, SandboxError
from tests.runner.judge.oracle_here import oracle_of

ENDING = """
import os, signal, torch
def generate_input(*, how, seed):
    if how == "exit":
        os._exit(3)
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return torch.ones(1 << 20)
def ref_kernel(x):
    return x + 1
"""


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("exit", "it ended its own process with exit status 3 at case how=exit."),
        ("crash", "it died of SIGSEGV at case how=crash."),
    ],
)
def test_an_end_without_an_answer_is_told_with_its_case(tmp_path: Path, how: str, said: str) -> None:
    with oracle_of(ENDING, tmp_path) as oracle, pytest.raises(OracleFailed) as failed:
        oracle.make({"how": how}, 1)
    assert str(failed.value) == said


def test_a_container_that_the_host_kills_is_no_fault_of_the_problem(tmp_path: Path) -> None:
    """In a container, the problem's code cannot send this signal to itself: it is the first process there."""
    with oracle_of(ENDING, tmp_path) as oracle, pytest.raises(SandboxError, match="killed from outside at case how"):
        oracle.make({"how": "killed"}, 1)


SLOW = """
import time, torch
def generate_input(*, seed):
    time.sleep(1)
    return torch.ones(4)
def ref_kernel(x):
    return x + 1
"""


class Reading:
    """A meter that an oracle reads when an answer is late."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def read(self) -> Reading:
        self._act()
        return self


def test_a_closed_oracle_is_an_error_of_the_sandbox(tmp_path: Path) -> None:
    with oracle_of(ENDING, tmp_path) as oracle:
        oracle.close()
        with pytest.raises(SandboxError, match="no connection to this judge"):
            oracle.make({"how": "stay"}, 1)


def test_a_connection_closed_during_a_request_is_an_error_of_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.judge.sides.oracle.WATCHED_S", 0.01)
    monkeypatch.setattr("runner.judge.sides.oracle.Share.between", lambda before, after: None)
    with oracle_of(SLOW, tmp_path) as oracle:
        oracle.meter = Reading(oracle._connection.close)  # type: ignore[assignment, union-attr]
        with pytest.raises(SandboxError, match="was closed during a request"):
            oracle.make({}, 1)


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2_048), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_an_oracle_answers_over_a_descriptor_above_1023(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.judge.sides.oracle.WATCHED_S", 0.01)
    read: list[str] = []
    with oracle_of(SLOW, tmp_path) as oracle:
        assert oracle._connection is not None
        high = fcntl.fcntl(oracle._connection.fileno(), fcntl.F_DUPFD_CLOEXEC, 1_024)
        oracle._connection.close()
        oracle._connection = socket.socket(fileno=high)
        oracle.meter = Reading(lambda: read.append("late"))  # type: ignore[assignment]
        assert oracle.make({}, 1).layout.input_bytes > 0
    assert read


def test_too_little_memory_is_named_with_the_limit_and_a_way_out() -> None:
    said = faults.end_of_problem(Exit(137, oom_killed=True, flooded=False), 4 << 30, " at case n: 9")
    assert said.startswith("used more than its 4096 MiB of memory at case n: 9; choose smaller sizes")


def test_sizes_beyond_the_judges_are_named_in_units_of_people(tmp_path: Path) -> None:
    with oracle_of(ENDING, tmp_path, region_bytes=1 << 20) as oracle, pytest.raises(TooLarge) as failed:
        oracle.make({"how": "stay"}, 1)
    said = "its inputs take 4 MiB, and this hardware's judge has room for 1 MiB of them; choose smaller sizes"
    assert str(failed.value) == f"case {{'how': 'stay'}}: {said}"


def test_a_baseline_that_was_killed_is_the_hosts_fault() -> None:
    """SIGKILL comes from outside; every other end of the baseline is the problem's fault."""
    killed = faults.from_exit(Exit(137, oom_killed=False, flooded=False), 4 << 30, "in a call")
    assert isinstance(faults.of_baseline(killed, "the baseline failed"), SandboxError)
    for end in (Exit(139, oom_killed=False, flooded=False), Exit(137, oom_killed=True, flooded=False)):
        error = faults.of_baseline(faults.from_exit(end, 4 << 30, "in a call"), "the baseline failed")
        assert isinstance(error, faults.OracleFailed)
        assert str(error).startswith("the baseline failed: ")


GARBAGE = """
import os, protocol, torch

def send(connection, message, *descriptors):
    connection.sendall({raw!r})
    os._exit(0)

def generate_input(*, n, seed):
    protocol.send = send
    return torch.ones(n)

def ref_kernel(x):
    return x + 1
"""


@pytest.mark.parametrize(
    "raw", [b"\xff" * 9, b"\x02\0\0\0[]", b'\x0d\0\0\0{"made": [7]}'], ids=["long", "list", "made"]
)
def test_problem_that_sends_garbage_and_ends_is_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes
) -> None:
    with oracle_of(GARBAGE.format(raw=raw), tmp_path) as oracle:
        container: Any = oracle.container
        freeze = container.freeze
        monkeypatch.setattr(container, "freeze", lambda: (container.wait_exit(), freeze()))
        with pytest.raises(OracleFailed):
            oracle.make({"n": 4}, 1)


def test_problem_whose_container_ends_after_an_answer_is_at_fault_at_its_next_case(tmp_path: Path) -> None:
    with oracle_of(ENDING, tmp_path) as oracle:
        oracle.make({"how": "stay"}, 1)
        container: Any = oracle.container
        container._program.kill()
        container.wait_exit()
        with pytest.raises(SandboxError, match="killed from outside at case how"):
            oracle.make({"how": "again"}, 1)
