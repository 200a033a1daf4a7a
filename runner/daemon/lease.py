"""Renewal of an attempt's lease, with immediate notice of its loss.

A lease is lost if the site ends it: 409 stale, a cancel flag, or a refusal. If the site cannot be reached, the judge
goes on, since without the site there is no other work to fetch, and the fencing token makes late numbers harmless
(they are refused, or the attempt was still ours).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from runner.daemon.client import SiteClient, backoff_s
from runner.errors import SiteRefused, SiteUnreachable, StaleLease, Unauthorised
from runner.log import get_logger
from runner.wire import Job

log = get_logger(__name__)


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
        self._why = ""

    @property
    def lost(self) -> str:
        """Why the lease is lost, or "" while it is ours."""
        return self._why

    def lose(self, why: str) -> None:
        with self._guard:
            if self._why:
                return
            self._why = why
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
