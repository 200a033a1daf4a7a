"""Doorbells over HTTP: runners without a broker wait in this process until their hardware has work.

A ring wakes the runner of that hardware that has waited longest, in each web process. A ring that no runner hears is
kept for the next. A lost ring costs at most BELL_S, after which the runner claims anyway.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Final


class Bells:
    """The runners that wait. Lives in one event loop."""

    def __init__(self) -> None:
        self._waiting: defaultdict[str, dict[int, asyncio.Event]] = defaultdict(dict)  # hardware → runner, oldest first
        self._unheard: set[str] = set()

    async def wait(self, hardware: str, runner_id: int, within_s: float) -> bool:
        """Return whether the bell rang in time. A runner's second call ends its first."""
        if hardware in self._unheard:
            self._unheard.remove(hardware)
            return True
        waiting, rung = self._waiting[hardware], asyncio.Event()
        if first := waiting.pop(runner_id, None):
            first.set()
        waiting[runner_id] = rung
        try:
            async with asyncio.timeout(within_s):
                await rung.wait()
        except TimeoutError:
            return False
        except asyncio.CancelledError:  # the runner went away
            if waiting.get(runner_id) is not rung:
                self.ring(hardware)
            raise
        finally:
            if waiting.get(runner_id) is rung:
                del waiting[runner_id]
        return True

    def ring(self, hardware: str) -> None:
        waiting = self._waiting[hardware]
        if waiting:
            waiting.pop(next(iter(waiting))).set()
        else:
            self._unheard.add(hardware)

    def ring_all(self) -> None:
        """Wake every runner: rings may have been lost."""
        for waiting in self._waiting.values():
            while waiting:
                waiting.popitem()[1].set()


bells: Final = Bells()
