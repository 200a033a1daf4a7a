"""Builds of submissions ahead of their jobs, beside the job that a runner judges.

While a job is judged, the site names the attempts that this runner would claim next. Those whose import runs a compiler
are built, one at a time, on cores that neither judge nor tenant uses, in a container without the device
(runner/job/build.py). A claim then finds the archive. A build that failed, or was for nothing, costs no submission
anything: its tenant builds.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import structlog

from runner.errors import SiteError
from runner.host.accelerators import spans
from runner.job.build import LIMIT_S
from runner.judge.sides.arena import START_S
from runner.wire import Job

log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

EVERY_S: Final = 5.0  # between two questions to the site that name nothing new
MOST_KEPT: Final = 8  # archives, of at most 64 MB each
GRACE_S: Final = 10.0


class Ahead:
    """Archives of submissions that wait. `begin`, `end` and `take` are for the daemon's thread; `close` for any."""

    def __init__(
        self,
        asked: Callable[[], Sequence[Job]],
        command: Sequence[str],
        environment: Mapping[str, str],
        identity: Mapping[str, Any],
        cores: Sequence[int],
        reap: Callable[[], None],
    ) -> None:
        """`asked`: the jobs that may come next; it may raise SiteError. Without cores it never builds. `reap` removes
        what a killed build left."""
        self._asked, self._reap = asked, reap
        starts = (sys.executable, "-m", "runner.daemon.die_with_parent", str(os.getpid()))
        self._command = (*starts, *command, spans(cores))
        self._environment, self._identity = dict(environment), dict(identity)
        self._is_wanted = bool(cores)
        self._change = threading.Condition()
        self._is_busy = False
        self._closing = threading.Event()
        self._at_work: str | None = None  # submission
        self._process: subprocess.Popen[bytes] | None = None
        self._made: dict[str, bytes] = {}  # by submission, the oldest first; b"" where it failed
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Look for work from now on: a job is judged."""
        if not self._is_wanted:
            return
        with self._change:
            self._is_busy = True
            self._change.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="ahead", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Begin no further build."""
        with self._change:
            self._is_busy = False

    @property
    def at_work(self) -> str:
        """The submission that is being built; "" if none is."""
        return self._at_work or ""

    def take(self, job: Job, given_up: Callable[[], bool]) -> bytes:
        """Return what was built of the job's submission; b"" if nothing was. Waits for its build if that is at work: it
        is further than a new one."""
        with self._change:
            while self._at_work == job.submission_id and not given_up():
                self._change.wait(0.2)
            return self._made.pop(job.submission_id, b"")

    def close(self) -> None:
        with self._change:
            self._closing.set()
            self._change.notify_all()
        if self._process is not None:
            self._terminate(self._process)
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._is_busy or self._closing.is_set())
            if self._closing.is_set():
                return
            if (job := self._next()) is None:
                self._closing.wait(EVERY_S)
                continue
            with self._change:
                self._at_work = job.submission_id
            began, found = time.monotonic(), b""
            try:
                found = self._built(job)
            except (OSError, subprocess.SubprocessError) as error:
                log.error("not_built_ahead", submission=job.submission_id, error=str(error))
            took_s = round(time.monotonic() - began, 1)
            log.info("built_ahead", submission=job.submission_id, bytes=len(found), took_s=took_s)
            with self._change:
                self._at_work = None
                self._made[job.submission_id] = found
                while len(self._made) > MOST_KEPT:
                    del self._made[next(iter(self._made))]
                self._change.notify_all()

    def _next(self) -> Job | None:
        """Return a job that the site names and that is not built yet."""
        with suppress(SiteError):  # of an older site, or away: the tenant builds
            return next((job for job in self._asked() if job.submission_id not in self._made), None)
        return None

    def _built(self, job: Job) -> bytes:
        """Return the archive; b"" if the build failed. The process is gone then. Raises OSError, SubprocessError."""
        with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as archive:
            told.write(json.dumps(job.to_json()).encode() + b"\n")
            told.seek(0)
            with self._change:
                if self._closing.is_set():
                    return b""
                process = self._process = subprocess.Popen(
                    self._command,
                    stdin=told,
                    stdout=archive,
                    env=self._environment,
                    start_new_session=True,
                    **self._identity,
                )
            try:
                code = process.wait(START_S + LIMIT_S + GRACE_S)
            except subprocess.TimeoutExpired:
                code = self._terminate(process)
            if code not in (0, 1, 128 + signal.SIGTERM):
                self._reap()
            archive.seek(0)
            return archive.read() if code == 0 else b""

    @staticmethod
    def _terminate(process: subprocess.Popen[bytes]) -> int:
        process.terminate()
        try:
            return process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()
