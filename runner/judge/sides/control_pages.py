"""Orders to a tenant and its answers, over the two control pages of its arena.

Owns no memory and freezes nothing (tenant.py does). Always true: every wait has a deadline and notices that the
container died; what an answer says is bounded, and believed only as far as a tenant's word goes.
"""

from __future__ import annotations

import secrets
import time
from typing import Final

from runner.evidence.starved import Reading, Share
from runner.judge.data import faults
from runner.judge.data.clock import Clock
from runner.judge.device.processor import WATCHED_S, Meter
from runner.judge.sides.arena import Arena
from sandbox import protocol
from sandbox.container import Container

POLL_ALIVE_NS: Final = 20_000_000  # while waiting, look this often whether the container lives
MOST_TOLD_NS: Final = 1 << 50  # a fortnight: whole nanoseconds are told apart up to there, also as floats


class Orders:
    """`give` one and have its answer, or `write`, `wait` and `answer` by themselves. All raise Fault."""

    def __init__(self, container: Container, arena: Arena, clock: Clock, meter: Meter | None = None) -> None:
        self._container = container
        self._arena = arena
        self._clock = clock
        self._meter = meter
        self.polled_ns = 0  # of waiting for answers, in all
        self._watched: Reading | None = None  # since when the wait under way is watched

    def give(self, kind: int, text: bytes, limit_s: float, when: str) -> int:
        """Write an order, wait for the echo of its nonce; the tenant's number. The rest of the answer is a fault."""
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
        """Until the tenant answered with the nonce; `by_device`: or its device did."""
        if not self.echoed(nonce, int(limit_s * 1e9), when, by_device=by_device):
            share = Share.between(self._watched, self._meter.read()) if self._watched and self._meter else None
            raise faults.from_timeout(limit_s, when, share)

    def echoed(self, nonce: int, limit_ns: int, when: str = faults.CALL, *, by_device: bool = False) -> bool:
        """The same, within that time?"""
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
                time.sleep(0)  # yields where judge and tenant share a core
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
    """How it ended by itself."""
    return faults.from_exit(container.wait_exit(), container.policy.memory_bytes, when)
