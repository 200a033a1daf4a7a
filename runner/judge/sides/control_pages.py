"""Orders to a tenant and its answers, over the two control pages of its arena.

This module owns no memory and freezes no container (tenant.py does). Always true: every wait has a deadline and notices
that the container died; an answer is bounded, and believed only as far as a tenant's word goes.
"""

from __future__ import annotations

import secrets
import time
from typing import Final

from runner.evidence.starved import Reading, Share
from runner.judge.data import faults
from runner.judge.data.call import Clock
from runner.judge.device.processor import WATCHED_S, Meter
from runner.judge.sides.arena import Arena
from sandbox import protocol
from sandbox.container import Container

POLL_ALIVE_NS: Final = 20_000_000  # while waiting, check at this interval whether the container lives
MOST_TOLD_NS: Final = 1 << 50  # a fortnight: up to there whole nanoseconds are distinct, also as floats


class Orders:
    """Orders to a tenant: `give`, or `write`, `wait` and `answer` separately. All raise Fault."""

    def __init__(self, container: Container, arena: Arena, clock: Clock, meter: Meter | None = None) -> None:
        self._container = container
        self._arena = arena
        self._clock = clock
        self._meter = meter
        self.polled_ns = 0  # total wait for answers
        self._watched: Reading | None = None  # start of the watch over the current wait

    def give(self, kind: int, text: bytes, limit_s: float, when: str) -> int:
        """Write an order, wait for the echo of its nonce, and return the tenant's number. Any failure in the answer is
        a fault."""
        nonce = secrets.randbits(64) | 1
        self.write(kind, text, nonce)
        return self.answer((kind, nonce), limit_s, when)

    def write(self, kind: int, text: bytes, nonce: int) -> None:
        protocol.write_page(self._arena.orders.map, nonce, kind, self._arena.number, text)

    def answer(self, order: tuple[int, int], limit_s: float, when: str) -> int:
        kind, nonce = order
        self.wait(nonce, limit_s, when)
        status, inner_ns, said = protocol.read_page(self._arena.answers.map, protocol.MAX_TEXT_BYTES)
        if status != protocol.OK:
            raise faults.from_answer(kind, status, protocol.clean_text(said))
        return min(inner_ns, MOST_TOLD_NS)

    def wait(self, nonce: int, limit_s: float, when: str, *, by_device: bool = False) -> None:
        """Wait until the tenant answered with the nonce; with `by_device`, or its device did."""
        if not self.echoed(nonce, int(limit_s * 1e9), when, by_device=by_device):
            share = Share.between(self._watched, self._meter.read()) if self._watched and self._meter else None
            raise faults.from_timeout(limit_s, when, share)

    def echoed(self, nonce: int, limit_ns: int, when: str = faults.CALL, *, by_device: bool = False) -> bool:
        """Return whether the answer came within the limit, in ns."""
        answers, now = self._arena.answers.map, self._clock.now_ns
        began = now()
        deadline = began + limit_ns
        look = began + POLL_ALIVE_NS
        self._watched = None
        spins = 0
        try:
            while protocol.read_nonce(answers) != nonce:
                if by_device and protocol.read_echo(answers) == nonce:
                    return True
                spins += 1
                if spins % 64:
                    continue
                time.sleep(0)  # yields if judge and tenant share a core
                moment = now()
                if moment > deadline:
                    return False
                if moment > look:
                    look = moment + POLL_ALIVE_NS
                    if not self._container.alive():
                        raise died(self._container, when)
                    if self._watched is None and self._meter is not None and moment - began > WATCHED_S * 1e9:
                        self._watched = self._meter.read()
            return True
        finally:
            self.polled_ns += now() - began


def died(container: Container, when: str) -> faults.Fault:
    """Return the fault of a container that ended by itself."""
    return faults.from_exit(container.wait_exit(), container.policy.memory_bytes, when)
