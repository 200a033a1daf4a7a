"""Builds of submissions ahead of their jobs, beside the job that a runner judges.

While a job is judged, the site names the attempts that this runner would claim next. Those that need a compiler are
built, one at a time, on cores that neither judge nor tenant uses, in a container without the device
(runner/job/build.py). Meanwhile the next container is prepared. A claim then finds the archive. A build that failed, or
was for nothing, costs no submission anything: its tenant builds.
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
from collections import deque
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

EVERY_S: Final = 5.0  # between two questions to the site that name nothing new, while no further job begins
MOST_KEPT: Final = 8  # archives, of at most 64 MB each
GRACE_S: Final = 10.0
IDLE_S: Final = 60.0  # without a job that is judged: then no process is kept at hand
OLD_S: Final = 600.0  # the image or the host may have changed since a process was started


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
        self._is_busy = self._is_news = False  # news: the site may name others since a job began
        self._closing = threading.Event()
        self._at_work: str | None = None  # submission
        self._process: BuildProcess | None = None  # the last that got a job
        self._at_hand: BuildProcess | None = None  # has none yet; there from the first build on, while jobs are judged
        self._made: dict[str, bytes] = {}  # by submission, the oldest first; b"" where it failed
        self._claimed = deque[str](maxlen=MOST_KEPT)  # submissions whose job has begun
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Look for work from now on: a job is judged."""
        if not self._is_wanted:
            return
        with self._change:
            self._is_busy = self._is_news = True
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
            self._claimed.append(job.submission_id)
            return self._made.pop(job.submission_id, b"")

    def close(self) -> None:
        with self._change:
            self._closing.set()
            self._change.notify_all()
            at_hand, at_work = self._at_hand, self._process
        for process in (at_hand, at_work):
            if process is not None:
                process.terminate()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._change:
                is_busy = self._change.wait_for(lambda: self._is_busy or self._closing.is_set(), IDLE_S)
                self._is_news = False
            if self._closing.is_set():
                return
            if not is_busy:
                self._dismiss()
                continue
            if (job := self._next()) is None:
                with self._change:
                    self._change.wait_for(lambda: self._is_news or self._closing.is_set(), EVERY_S)
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
            if self._process is not None and self._process.was_killed:
                self._dismiss()  # what removes its container removes that of the process at hand, too
                self._reap()

    def _next(self) -> Job | None:
        """Return a job that the site names and that is not built yet."""
        with suppress(SiteError):  # of an older site, or away: the tenant builds
            known = (self._made, self._claimed)
            return next((job for job in self._asked() if not any(job.submission_id in one for one in known)), None)
        return None

    def _built(self, job: Job) -> bytes:
        """Return the archive; b"" if the build failed. The process is gone then. Raises OSError, SubprocessError."""
        if self._at_hand is not None and not self._at_hand.is_fit:
            self._dismiss()
        with self._change:
            if self._closing.is_set():
                return b""
            self._process, self._at_hand = self._at_hand or self._begun(), None
            with suppress(OSError, subprocess.SubprocessError):  # this build needs no other
                self._at_hand = self._begun()
        return self._process.build(job)

    def _begun(self) -> BuildProcess:
        return BuildProcess(self._command, self._environment, self._identity)

    def _dismiss(self) -> None:
        """End the process at hand."""
        with self._change:
            at_hand, self._at_hand = self._at_hand, None
        if at_hand is not None:
            at_hand.terminate()
            if at_hand.was_killed:
                self._reap()


class BuildProcess:
    """A process of runner/job/build.py: it prepares a container, waits for one job, builds it, and ends."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], identity: Mapping[str, Any]) -> None:
        """Start the process. Raises OSError, SubprocessError."""
        self._began = time.monotonic()
        with tempfile.TemporaryFile() as archive:
            self._archive = os.fdopen(os.dup(archive.fileno()), "rb")
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=archive,
                env=environment,
                start_new_session=True,
                **identity,
            )

    @property
    def is_fit(self) -> bool:
        """Whether it may still get a job."""
        return self._process.poll() is None and time.monotonic() - self._began < OLD_S

    @property
    def was_killed(self) -> bool:
        """Whether it ended without removing its container."""
        return self._process.poll() not in (None, 0, 1, 128 + signal.SIGTERM, -signal.SIGTERM)

    def build(self, job: Job) -> bytes:
        """Hand over the job, wait for the end, and return the archive; b"" if there is none."""
        line = json.dumps(job.to_json()).encode() + b"\n"
        with self._archive:
            try:
                self._process.communicate(line, START_S + LIMIT_S + GRACE_S)
            except subprocess.TimeoutExpired:
                self.terminate()
            self._archive.seek(0)
            return self._archive.read() if self._process.wait() == 0 else b""

    def terminate(self) -> None:
        """End the process. Safe to call twice, from any thread."""
        self._process.terminate()
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
