"""The judge's device reads an output by itself when the tenant's has echoed; here a memory that plays both devices."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.judge.faults import Fault
from runner.judge.memory import Buffer, HostMemory
from runner.judge.oracle import Oracle
from runner.judge.tenant import Input, Tenant
from sandbox import protocol
from tests.runner.judge.oracle_here import oracle_of
from tests.runner.judge.tenant_here import LIMIT_S, agrees, output_of, tenant_of

REFERENCE = """
import torch

def generate_input(*, n, seed):
    return torch.arange(float(n)) + seed, torch.empty(n)

def ref_kernel(data):
    return torch.add(data[0], 1, out=data[1])
"""
GOOD = "import torch\ndef custom_kernel(data):\n    return torch.add(data[0], 1, out=data[1])\n"
ECHOES = """
import sys, time, protocol, torch
def custom_kernel(data):
    torch.add(data[0], 1, out=data[1])
    frame = sys._getframe(1)
    while "seen" not in frame.f_locals:
        frame = frame.f_back
    protocol.write_echo(frame.f_locals["self"].answers, frame.f_locals["seen"])
    time.sleep(0.2)
    return data[1]
"""


class Armed:
    """A copy that happens as soon as somebody looks whether the word has its value."""

    def __init__(self, page: mmap.mmap, value: int, target: Buffer, source: Buffer, count: int) -> None:
        self._asked = (page, value, target, source, count)
        self.done = False

    def query(self) -> bool:
        page, value, target, source, count = self._asked
        if not self.done and protocol.read_echo(page) == value:
            np.copyto(target[:count], source[:count])
            self.done = True
        return self.done


class TwoDevices(HostMemory):
    """Host memory that works on while its tenant is frozen."""

    frozen_stands_still = False

    def __init__(self) -> None:
        self.armed: list[Armed] = []

    def host_word(self, page: mmap.mmap, offset: int) -> int:
        self._page = page
        return offset

    def copy_when(self, word: int, value: int, target: Buffer, source: Buffer, count: int) -> Any:
        assert word == protocol.ECHO_OFFSET
        self.armed.append(Armed(self._page, value, target, source, count))
        return self.armed[-1]


@pytest.fixture
def memory() -> TwoDevices:
    return TwoDevices()


@pytest.fixture
def tenant(tmp_path: Path, memory: TwoDevices) -> Iterator[Tenant]:
    with tenant_of(tmp_path / "tenant", memory=memory) as tenant:
        yield tenant


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(REFERENCE, tmp_path_factory.mktemp("oracle"), 1 << 20) as oracle:
        yield oracle


@pytest.fixture
def given(oracle: Oracle) -> Input:
    return oracle.make({"n": 64}, 7)


def load(tenant: Tenant, source: str) -> None:
    tenant.load({"submission.py": source}, "submission.py", "custom_kernel", "function", LIMIT_S)


def test_the_output_is_read_when_the_device_echoes(tenant: Tenant, given: Input) -> None:
    load(tenant, ECHOES)
    tenant.lay_out(given.layout, LIMIT_S)
    into = np.empty(given.layout.output_bytes, np.uint8)
    call = tenant.call(given, into, LIMIT_S)
    assert agrees(given, into)
    assert call.wall_ns < 200_000_000  # the clock stops by the device; the host's answer comes 0.2 s later


def test_without_an_echo_the_answer_lets_the_judge_read(tenant: Tenant, given: Input) -> None:
    load(tenant, GOOD)
    assert agrees(given, output_of(tenant, given))
    assert agrees(given, output_of(tenant, given))


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("def custom_kernel(data):\n    raise ValueError('no')\n", "runtime_error"),
        ("import os\ndef custom_kernel(data):\n    os._exit(3)\n", "runtime_error"),
        ("import time\ndef custom_kernel(data):\n    time.sleep(600)\n", "timeout"),
    ],
    ids=["raises", "dies", "hangs"],
)
def test_whatever_a_call_comes_to_no_read_is_left_waiting(
    tenant: Tenant, memory: TwoDevices, given: Input, source: str, outcome: str
) -> None:
    load(tenant, source)
    tenant.lay_out(given.layout, LIMIT_S)
    with pytest.raises(Fault) as fault:
        tenant.call(given, np.empty(given.layout.output_bytes, np.uint8), 1.0)
    assert fault.value.outcome == outcome
    assert memory.armed
    assert all(armed.done for armed in memory.armed)
