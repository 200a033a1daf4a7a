"""The end of a web process, without a failed request.

SIGUSR1 announces that the whole host stops: /readyz answers 503, so that the proxy chooses another host. SIGTERM lets
this process leave: WEB_DRAIN_S after the first of the two signals, its event streams end with a time to reconnect,
and uvicorn closes the listener and finishes the open requests. Until then the process goes on answering. Each answer
closes its connection, so that no client sends a request into a connection that ends.

A process that is replaced by another gets SIGTERM alone: /readyz of its host stays 200.
"""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from django.conf import settings

Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class Leaving:
    """State of this process between the first signal and its end."""

    def __init__(self) -> None:
        self.is_announced = False
        self._began_at: float | None = None

    def await_signals(self, end_streams: Callable[[], None]) -> None:
        """Take SIGTERM over from uvicorn. Call it in uvicorn's event loop, after uvicorn took the signal itself."""
        stop = signal.getsignal(signal.SIGTERM)
        if threading.current_thread() is not threading.main_thread() or not callable(stop):
            return  # no uvicorn runs this application
        loop, parent = asyncio.get_running_loop(), multiprocessing.parent_process()

        def end() -> None:
            end_streams()
            stop(signal.SIGTERM, None)

        def leave() -> None:
            self.is_announced |= parent is None
            loop.call_later(self._drained_in_s(), end)

        loop.add_signal_handler(signal.SIGUSR1, self.announce)
        loop.add_signal_handler(signal.SIGTERM, leave)
        if parent is not None:  # an orphan would hold the port that the next parent needs
            threading.Thread(target=_leave_after, args=(parent,), name="parent", daemon=True).start()

    def announce(self) -> None:
        self.is_announced = True
        self._drained_in_s()

    def wrap(self, send: Send) -> Send:
        """Return a `send` that closes the connection after this answer, if this process is about to end."""
        if self._began_at is None:
            return send

        async def send_last(event: Mapping[str, Any]) -> None:
            if event["type"] == "http.response.start":
                event = {**event, "headers": [*event.get("headers", ()), (b"connection", b"close")]}
            await send(event)

        return send_last

    def _drained_in_s(self) -> float:
        now = time.monotonic()
        self._began_at = self._began_at or now
        return max(0.0, self._began_at + settings.WEB_DRAIN_S - now)


def _leave_after(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


leaving = Leaving()
