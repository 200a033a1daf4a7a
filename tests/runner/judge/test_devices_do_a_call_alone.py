"""Devices do a call by themselves: here a memory that plays the judge's, and threads of the harness the tenant's."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from problems.spec import MODEL
from runner.judge.arena import PLACES
from runner.judge.call import Call, Input
from runner.judge.faults import Fault
from runner.judge.layout import Layout
from runner.judge.memory import HostMemory, Words
from runner.judge.oracle import Oracle
from runner.judge.tenant import Tenant
from sandbox import protocol
from tests.runner.judge.oracle_here import oracle_of
from tests.runner.judge.tenant_here import LIMIT_S, agrees, tenant_of

REFERENCE = """
import torch

def generate_input(*, n, seed):
    return torch.arange(float(n)) + seed, torch.empty(n)

def ref_kernel(data):
    return torch.add(data[0], 1, out=data[1])
"""
GOOD = "import torch\ndef custom_kernel(data):\n    return torch.add(data[0], 1, out=data[1])\n"
WAITS = "SYNCHRONISES = True\n" + GOOD
LATE = "import time\n" + GOOD.replace("    return", "    time.sleep(0.3)\n    return")

# The harness with a device made of a thread: it gets the work, waits for the gate, works, echoes.
PROGRAM = """
import struct, sys, threading, time
import harness, protocol

class ThreadTimer(harness.HostTimer):
    def use(self, answers):
        self.answers = answers

    def begin(self, work, nonce, *, behind_gate):
        submission = sys.modules.get("submission")
        echoes = getattr(submission, "ECHOES", True)
        def opened():
            return struct.unpack_from("<Q", self.answers, protocol.GATE_OFFSET)[0] == nonce
        def run():
            while behind_gate and not opened():
                time.sleep(0.0005)
            start = time.perf_counter_ns()
            try:
                work()
            except BaseException as err:
                self.failed = err
            self.took = time.perf_counter_ns() - start
            if echoes:
                protocol.write_echo(self.answers, nonce)
        self.failed = None
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        while behind_gate and hasattr(submission, "SYNCHRONISES") and not opened():
            time.sleep(0.001)

    def told(self):
        self.thread.join()
        if self.failed is not None:
            raise self.failed
        return self.took

harness.HostTimer = ThreadTimer
harness.SOCKET, harness.WORK = sys.argv[1:]
harness.main()
"""


class Shot:
    """What the judge's device does by itself happens as soon as somebody looks whether the word has its value."""

    def __init__(self, page: mmap.mmap, value: int, take: Callable[[], None]) -> None:
        self._asked = (page, value, take)
        self._began = time.perf_counter_ns()
        self.took_ns = 0

    def is_put(self) -> bool:
        return True

    def is_done(self) -> bool:
        page, value, take = self._asked
        if not self.took_ns and protocol.read_echo(page) == value:
            take()
            self.took_ns = time.perf_counter_ns() - self._began
        return self.took_ns > 0

    def times_ns(self) -> tuple[int, int, int]:
        return self.took_ns, 0, 0


class TwoDevices(HostMemory):
    """Host memory that works on while its tenant is frozen."""

    frozen_stands_still = False
    moves = True

    def __init__(self) -> None:
        self.shots: list[Shot] = []
        self.gates: list[bool] = []
        self.pages = 0  # that the device may write

    def host_page(self, page: mmap.mmap) -> int:
        self._page = page
        self.pages += 1
        return 1 << 20

    def forget_page(self, page: mmap.mmap) -> None:
        assert page is self._page
        self.pages -= 1

    def shoot(self, put: Callable[[], None], take: Callable[[], None], words: Words, nonce: int) -> Any:
        assert words.echo == (1 << 20) + protocol.ECHO_OFFSET
        assert words.gate in (0, (1 << 20) + protocol.GATE_OFFSET)
        put()
        if words.gate:
            protocol.write_gate(self._page, nonce)
        self.gates.append(words.gate > 0)
        self.shots.append(Shot(self._page, nonce, take))
        return self.shots[-1]


@pytest.fixture
def memory() -> TwoDevices:
    return TwoDevices()


@pytest.fixture
def tenant(tmp_path: Path, memory: TwoDevices) -> Iterator[Tenant]:
    with tenant_of(tmp_path / "tenant", 8 << 20, memory, PROGRAM) as tenant:
        yield tenant


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(REFERENCE, tmp_path_factory.mktemp("oracle"), 1 << 20) as oracle:
        yield oracle


@pytest.fixture
def given(oracle: Oracle) -> Input:
    return oracle.make({"n": 64}, 7)


def call(tenant: Tenant, source: str, given: Input, *, queue: bool = True, limit_s: float = LIMIT_S) -> Call:
    """One call of that code; its output is right, unless it raises."""
    tenant.load({"submission.py": source}, "submission.py", "custom_kernel", "function", LIMIT_S)
    tenant.lay_out(given.layout, LIMIT_S)
    into = np.empty(given.layout.output_bytes, np.uint8)
    made = tenant.call(given, into, limit_s, queue=queue)
    assert agrees(given, into)
    assert made.inputs_kept
    assert not made.late
    return made


def test_a_call_is_queued_and_the_gate_lets_it_go(tenant: Tenant, memory: TwoDevices, given: Input) -> None:
    made = call(tenant, GOOD, given)
    assert made.queued
    assert memory.gates == [True]
    assert 0 < made.inner_ns < made.wall_ns


def test_where_it_is_not_asked_for_an_order_lets_it_go(tenant: Tenant, memory: TwoDevices, given: Input) -> None:
    made = call(tenant, GOOD, given, queue=False)
    assert not made.queued
    assert memory.gates == [False]


@pytest.mark.parametrize("source", [WAITS, LATE], ids=["waits for its device", "takes long"])
def test_what_cannot_be_queued_runs_all_the_same(tenant: Tenant, memory: TwoDevices, given: Input, source: str) -> None:
    assert not call(tenant, source, given).queued
    assert memory.gates == [True]


@pytest.mark.parametrize("queue", [True, False], ids=["queued", "ordered"])
def test_without_an_echo_the_answer_lets_the_judge_read(tenant: Tenant, given: Input, queue: bool) -> None:
    assert not call(tenant, "ECHOES = False\n" + GOOD, given, queue=queue).queued


@pytest.mark.parametrize("queue", [True, False], ids=["queued", "ordered"])
@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("def custom_kernel(data):\n    raise ValueError('no')\n", "runtime_error"),
        ("import os\ndef custom_kernel(data):\n    os._exit(3)\n", "runtime_error"),
        ("import time\ndef custom_kernel(data):\n    time.sleep(600)\n", "timeout"),
    ],
    ids=["raises", "dies", "hangs"],
)
def test_whatever_a_call_comes_to_no_device_is_left_waiting(
    tenant: Tenant, memory: TwoDevices, given: Input, source: str, outcome: str, queue: bool
) -> None:
    with pytest.raises(Fault) as fault:
        call(tenant, source, given, queue=queue, limit_s=1.0)
    assert fault.value.outcome == outcome
    assert memory.shots
    assert all(shot.took_ns for shot in memory.shots)


def test_before_there_is_a_submission_the_harness_has_a_kernel_of_its_own(
    tenant: Tenant, memory: TwoDevices, given: Input
) -> None:
    for count in (3, 2):
        made = tenant.own_calls(count)
        assert len(made) == count
        assert all(one.queued and not one.late and 0 < one.inner_ns < one.wall_ns for one in made)
    assert memory.gates == [True] * 5
    assert call(tenant, GOOD, given).queued, "and then it takes the job"


def test_the_harnesss_own_kernel_adds_two_vectors_wherever_they_lie(tenant: Tenant) -> None:
    for _ in range(4):
        tenant.own_calls(1)
        length, arena = protocol.OWN_BYTES, tenant._arena
        first, second = protocol.places_of(arena.number)
        left, right = (arena.inputs.bytes[first + at :][:length].view(np.float32) for at in (0, length))
        out = arena.outputs.bytes[second:][:length].view(np.float32)
        assert np.array_equal(out, left + right, equal_nan=True)


def places(tenant: Tenant, given: Input, *, queue: bool, interface: str = "function") -> list[list[tuple[int, int]]]:
    """Where the data began in the two regions, by block and call; every output is right."""
    tenant.load({"submission.py": GOOD}, "submission.py", "custom_kernel", "function", LIMIT_S)
    tenant._moves = interface != MODEL
    into = np.empty(given.layout.output_bytes, np.uint8)
    found: list[list[tuple[int, int]]] = []
    for _ in range(8):
        found.append([])
        tenant.move()
        for _ in range(2):
            tenant.lay_out(given.layout, LIMIT_S)
            assert tenant.call(given, into, LIMIT_S, queue=queue).inputs_kept
            assert agrees(given, into)
            found[-1].append(protocol.places_of(tenant._arena.number))
    return found


def test_every_queued_call_has_its_data_elsewhere(tenant: Tenant, given: Input) -> None:
    found = [place for block in places(tenant, given, queue=True) for place in block]
    assert len(found) == PLACES
    for side in zip(*found, strict=True):
        assert len(set(side)) > PLACES // 2, "each had its turn"
        assert all(at % protocol.PLACE_BYTES == 0 and 0 <= at <= (8 << 20) - protocol.PLACE_BYTES for at in side)


def test_where_an_order_lets_it_go_a_block_has_one_place(tenant: Tenant, given: Input) -> None:
    """What a host does in such a call is in the clock."""
    found = places(tenant, given, queue=False)
    assert all(len(set(block)) == 1 for block in found)
    assert 2 < len({block[0] for block in found}) <= PLACES


@pytest.mark.parametrize("queue", [True, False], ids=["queued", "ordered"])
def test_a_model_stays_where_it_was_made(tenant: Tenant, given: Input, queue: bool) -> None:
    found = places(tenant, given, queue=queue, interface=MODEL)
    assert len({place for block in found for place in block}) == 1


def test_where_only_one_place_is_left_it_is_that(tenant: Tenant, oracle: Oracle) -> None:
    """A layout may need all of its region."""
    arena = tenant._arena
    whole = Layout((), arena.inputs.size, arena.outputs.size, b"")
    arena.spread(whole)
    assert arena.number == 0
    arena.poison(whole, 3)
    assert (arena.outputs.bytes.view(np.uint64) == 3).all()


def test_a_page_is_the_devices_no_longer_than_its_container_lives(
    tenant: Tenant, memory: TwoDevices, given: Input
) -> None:
    """A later one in this process may come to lie at the same address."""
    call(tenant, GOOD, given)
    assert memory.pages == 1
    for _ in range(2):
        tenant.close()
        assert memory.pages == 0
