"""Devices that do a call by themselves: memory plays the judge's device, and threads of the harness the tenant's
(thread_device.py)."""

import itertools
import mmap
import time
from collections.abc import Callable, Sequence
from typing import Any

from runner.judge.data.memory import Memory
from sandbox import protocol


class Shot:
    """Work of the judge's device: `put` when it is fired, `take` as soon as its condition word is read with the right
    value."""

    def __init__(self, page: mmap.mmap, value: int, put: Callable[[], None], take: Callable[[], None]) -> None:
        self._asked = (page, value, take)
        self._put = put
        self._began = 0
        self.took_ns = self.take_ns = 0

    def fire(self) -> bool:
        if self._began:
            return False
        self._began = time.perf_counter_ns()
        self._put()
        return True

    def is_put(self) -> bool:
        return self._began > 0

    def is_done(self) -> bool:
        page, value, take = self._asked
        if self._began and not self.took_ns and protocol.read_echo(page) == value:
            taking = time.perf_counter_ns()
            take()
            self.take_ns = time.perf_counter_ns() - taking
            self.took_ns = time.perf_counter_ns() - self._began
        return self.took_ns > 0

    def times_ns(self) -> tuple[int, int, int]:
        return self.took_ns, 0, self.take_ns


class TwoDevices(Memory):
    """Host memory that works on while its tenant is frozen."""

    frozen_stands_still = False
    module = "thread_device"

    def __init__(self, *, moves: bool = True) -> None:
        self.moves = moves
        self.shots: list[Shot] = []
        self.gates: list[bool] = []
        self.pages: dict[int, mmap.mmap] = {}  # that the device may write, by its address of them
        self._addresses = itertools.count(1 << 20, mmap.PAGESIZE)

    def host_page(self, page: mmap.mmap) -> int:
        address = next(self._addresses)
        self.pages[address] = page
        return address

    def forget_page(self, page: mmap.mmap) -> None:
        (address,) = [address for address, known in self.pages.items() if known is page]
        del self.pages[address]

    def shoot(
        self, put: Callable[[], None], take: Callable[[], None], gates: Sequence[int], echoes: Sequence[int], nonce: int
    ) -> Any:
        (echo,) = echoes
        page = self.pages[echo - protocol.ECHO_OFFSET]
        assert list(gates) in ([], [echo - protocol.ECHO_OFFSET + protocol.GATE_OFFSET])
        self.gates.append(bool(gates))

        def put_and_open() -> None:
            put()
            if gates:
                protocol.write_gate(page, nonce)

        self.shots.append(Shot(page, nonce, put_and_open, take))
        return self.shots[-1]
