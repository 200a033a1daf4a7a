"""Messages to the site while an attempt is judged: renewals of its lease, and its events.

A lease is lost if the site ends it: 409 stale, a cancel flag, or a refusal. If the site cannot be reached, the judge
goes on, since without the site there is no other work to fetch, and the fencing token makes late numbers harmless
(they are refused, or the attempt was still ours).

Events are for watchers; no verdict rests on them, and no step waits for them. They travel in small batches, in order.
If the site is slow or away they queue up to a limit: the oldest progress is dropped first, and states always stay.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final

import structlog

from runner.daemon.client import SiteClient, backoff_s
from runner.errors import SiteRefused, SiteUnreachable, StaleLease, Unauthorised
from runner.wire import MAX_EVENTS_PER_CALL, Event, Job

log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

BATCH_S: Final = 0.25  # seconds in which events are gathered into a call
MAX_WAITING: Final = 1_000  # events


class Lease(threading.Thread):
    """Context in which an attempt is ours. `on_lost(why)` is called once, from the thread that detects the loss."""

    def __init__(self, client: SiteClient, job: Job, *, renew_s: float, on_lost: Callable[[str], None]) -> None:
        super().__init__(name="lease", daemon=True)
        self._client = client
        self._job = job
        self._renew_s = renew_s
        self._on_lost = on_lost
        self._over = threading.Event()  # lost, or no longer needed
        self._guard = threading.Lock()
        self.lost = ""  # the reason of the loss; "" while the lease is ours

    def lose(self, why: str) -> None:
        with self._guard:
            if self.lost:
                return
            self.lost = why
        self._over.set()
        self._on_lost(why)

    def wait(self, seconds: float) -> bool:
        """Sleep. Returns True as soon as the lease is lost."""
        return self._over.wait(seconds)

    def __enter__(self) -> Lease:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        failures = 0
        pause_s = self._renew_s
        while not self._over.wait(pause_s):
            try:
                if self._client.renew(self._job):
                    self.lose("cancelled")
                failures, pause_s = 0, self._renew_s
            except SiteUnreachable as error:
                pause_s = min(self._renew_s, backoff_s(failures, error.retry_after_s))
                failures += 1
                log.warning("lease_not_renewed", attempt=self._job.attempt_id, error=str(error))
            except StaleLease:
                self.lose("stale")
            except (Unauthorised, SiteRefused) as error:
                log.error("lease_refused", attempt=self._job.attempt_id, error=str(error))
                self.lose("refused")


class EventFeed(threading.Thread):
    """Context in which `add` hands events over; leaving it sends the remaining events, once."""

    def __init__(self, client: SiteClient, job: Job, lease: Lease) -> None:
        super().__init__(name="feed", daemon=True)
        self._client = client
        self._job = job
        self._lease = lease
        self._waiting: deque[Event] = deque()
        self._guard = threading.Lock()
        self._news = threading.Event()
        self._closing = threading.Event()

    def add(self, event: Event) -> None:
        with self._guard:
            if len(self._waiting) >= MAX_WAITING:
                progress = (waiting for waiting in self._waiting if waiting.kind == "progress")
                self._waiting.remove(next(progress, self._waiting[0]))
            self._waiting.append(event)
        self._news.set()

    def __enter__(self) -> EventFeed:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._news.set()
        self.join()

    def run(self) -> None:
        failures = 0
        while not self._lease.lost:
            self._news.wait()
            self._news.clear()
            self._closing.wait(BATCH_S)  # gather, unless the context ends
            last_call = self._closing.is_set()
            try:
                while batch := self._next_batch():
                    self._client.send_events(self._job, batch)
                    with self._guard:
                        while self._waiting and self._waiting[0].seq <= batch[-1].seq:
                            self._waiting.popleft()
                failures = 0
            except SiteUnreachable as error:
                log.warning("events_not_sent", attempt=self._job.attempt_id, error=str(error))
                self._closing.wait(backoff_s(failures, error.retry_after_s))
                failures += 1
                self._news.set()
            except StaleLease:
                self._lease.lose("stale")
            except (Unauthorised, SiteRefused) as error:
                log.error("events_refused", attempt=self._job.attempt_id, error=str(error))
                with self._guard:
                    self._waiting.clear()
            if last_call:
                return

    def _next_batch(self) -> list[Event]:
        with self._guard:
            return list(islice(self._waiting, MAX_EVENTS_PER_CALL))
