"""Devices that do a call by themselves: memory plays the judge's device, and harness threads the tenant's."""

import mmap
import time
from collections.abc import Callable
from typing import Any

from runner.judge.data.memory import Memory
from sandbox import protocol

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
            if echoes and self.failed is None:
                protocol.write_echo(self.answers, nonce)
        self.failed = None
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        if behind_gate and hasattr(submission, "SYNCHRONISES"):
            self.told()

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
    """Work of the judge's device that happens as soon as its condition word is read with the right value."""

    def __init__(self, page: mmap.mmap, value: int, take: Callable[[], None]) -> None:
        self._asked = (page, value, take)
        self._began = time.perf_counter_ns()
        self.took_ns = self.take_ns = 0

    def is_put(self) -> bool:
        return True

    def is_done(self) -> bool:
        page, value, take = self._asked
        if not self.took_ns and protocol.read_echo(page) == value:
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

    def __init__(self, *, moves: bool = True) -> None:
        self.moves = moves
        self.shots: list[Shot] = []
        self.gates: list[bool] = []
        self.pages = 0  # pages that the device may write

    def host_page(self, page: mmap.mmap) -> int:
        self._page = page
        self.pages += 1
        return 1 << 20

    def forget_page(self, page: mmap.mmap) -> None:
        assert page is self._page
        self.pages -= 1

    def shoot(self, put: Callable[[], None], take: Callable[[], None], gate: int, echo: int, nonce: int) -> Any:
        assert echo == (1 << 20) + protocol.ECHO_OFFSET
        assert gate in (0, (1 << 20) + protocol.GATE_OFFSET)
        put()
        if gate:
            protocol.write_gate(self._page, nonce)
        self.gates.append(gate > 0)
        self.shots.append(Shot(self._page, nonce, take))
        return self.shots[-1]
