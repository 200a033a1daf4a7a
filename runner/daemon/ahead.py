"""Builds of submissions ahead of their jobs, beside the job that a runner judges.

While a job is judged, the site names the attempts that this runner would claim next. Those that need a compiler are
built, a few side by side, on cores that neither judge nor tenant uses, each in a container without the device
(runner/job/build.py). Meanwhile the next container is prepared. A claim then finds the archive, which a judge of
the same image uses. A build that failed, or was for nothing, costs no submission anything: its tenant builds.
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
CORES_A_BUILD: Final = 2  # most compilers use one or two
MOST_AT_ONCE: Final = 4  # builds, each with a container of at most BUILDER_MEMORY_BYTES (sandbox/policy.py)
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
        self._at_once = min(-(-len(cores) // CORES_A_BUILD), MOST_AT_ONCE)  # builds side by side, on all the cores
        self._change = threading.Condition()
        self._is_busy = self._is_news = False  # news: a job began, so that the site may name others, or a build ended
        self._closing = threading.Event()
        self._at_work: dict[str, BuildProcess] = {}  # by submission
        self._at_hand: BuildProcess | None = None  # without a job; there from the first build on, while jobs are judged
        self._left_behind = False  # a killed process left a container
        # By submission, the oldest first: the problem's digest, and the archive; b"" where it failed.
        self._made: dict[str, tuple[str, bytes]] = {}
        self._claimed = deque[str](maxlen=MOST_KEPT)  # submissions whose job has begun
        # The first asks the site and starts all processes: a child ends with the thread that started it
        # (die_with_parent.py). The others wait for one build each.
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        """Look for work from now on: a job is judged."""
        if not self._at_once:
            return
        with self._change:
            self._is_busy = self._is_news = True
            self._change.notify_all()
        if not self._threads:
            try:
                self._start(self._work)
            except RuntimeError as error:  # no further thread now; the next job may begin with one
                log.error("not_built_ahead", error=str(error))

    def end(self) -> None:
        """Begin no further build."""
        with self._change:
            self._is_busy = False

    @property
    def at_work(self) -> list[str]:
        """The submissions that are being built."""
        with self._change:
            return list(self._at_work)

    def take(self, job: Job, given_up: Callable[[], bool]) -> bytes:
        """Return what was built of the job's submission for its version of the problem; b"" if nothing was. Waits for
        its build if that is at work: it is further than a new one."""
        with self._change:
            while job.submission_id in self._at_work and not given_up():
                self._change.wait(0.2)
            self._claimed.append(job.submission_id)
            built_for, archive = self._made.pop(job.submission_id, ("", b""))
            return archive if built_for == job.problem_digest else b""

    def close(self) -> None:
        with self._change:
            self._closing.set()
            self._change.notify_all()
            processes = [*filter(None, (self._at_hand,)), *self._at_work.values()]
        for process in processes:
            process.ask_to_end()
        for process in processes:
            process.terminate()
        while alive := [thread for thread in self._threads if thread.is_alive()]:
            alive[0].join()

    def _start(self, work: Callable[..., object], *told: Any) -> None:
        thread = threading.Thread(target=work, args=told, name="ahead", daemon=True)
        self._threads = [*filter(threading.Thread.is_alive, self._threads), thread]
        try:
            thread.start()
        except RuntimeError:
            self._threads.remove(thread)
            raise

    def _work(self) -> None:
        """Hand over jobs that the site names, as there is room for builds, until closed."""
        while True:
            with self._change:
                is_busy = self._change.wait_for(lambda: self._is_busy or self._closing.is_set(), IDLE_S)
                self._is_news = False
            if self._closing.is_set():
                with self._change:
                    self._change.wait_for(lambda: not self._at_work)  # they would be killed with this thread
                self._tidy(keeps=False)
                return
            try:
                self._tidy(keeps=is_busy)
                if not is_busy:
                    continue
                for job in self._next():
                    self._hand_over(job)
            except Exception:  # the next jobs may do better
                log.exception("not_built_ahead")
            with self._change:
                self._change.wait_for(lambda: self._is_news or self._closing.is_set(), EVERY_S)

    def _tidy(self, *, keeps: bool) -> None:
        """End the process at hand if it is unfit, or in any case. Remove what killed processes left behind, once no
        build is at work: containers of builds have one label."""
        at_hand = self._at_hand
        if at_hand is not None and not (keeps and at_hand.is_fit and not self._left_behind):
            with self._change:
                self._at_hand = None
            at_hand.terminate()
        with self._change:
            self._left_behind |= at_hand is not None and at_hand.was_killed
            reaps = self._left_behind and not self._at_work and self._at_hand is None
            self._left_behind &= not reaps
        if reaps:
            self._reap()

    def _next(self) -> list[Job]:
        """Return the jobs to build now: those that the site names, and that nobody builds or has built or judges."""
        room = 0 if self._left_behind else self._at_once - len(self._at_work)
        named: Sequence[Job] = ()
        with suppress(SiteError):  # of an older site, or away: the tenant builds
            named = self._asked() if room else ()
        with self._change:
            known = {*self._made, *self._claimed, *self._at_work}
        return [job for name, job in {job.submission_id: job for job in named}.items() if name not in known][:room]

    def _hand_over(self, job: Job) -> None:
        """Let a process build a job's submission, and start the next one."""
        with self._change:
            if self._closing.is_set() or job.submission_id in self._claimed:
                return
            at_hand, self._at_hand = self._at_hand, None
            process = self._at_work[job.submission_id] = at_hand or self._begun()
        try:
            self._start(self._build, job, process)
        except RuntimeError:  # no further thread
            with self._change:
                del self._at_work[job.submission_id]
            process.terminate()
            raise
        with self._change:
            if not self._closing.is_set():
                self._at_hand = self._begun()

    def _build(self, job: Job, process: BuildProcess) -> None:
        """Wait for a build, and keep its archive."""
        began, found = time.monotonic(), b""
        try:
            found = process.build(job)
        except Exception:
            log.exception("not_built_ahead", submission=job.submission_id)
            process.terminate()
        took_s = round(time.monotonic() - began, 1)
        log.info("built_ahead", submission=job.submission_id, bytes=len(found), took_s=took_s)
        with self._change:
            del self._at_work[job.submission_id]
            self._left_behind |= process.was_killed
            self._made[job.submission_id] = job.problem_digest, found
            while len(self._made) > MOST_KEPT:
                del self._made[next(iter(self._made))]
            self._is_news = True
            self._change.notify_all()

    def _begun(self) -> BuildProcess:
        return BuildProcess(self._command, self._environment, self._identity)


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

    def ask_to_end(self) -> None:
        self._process.terminate()

    def terminate(self) -> None:
        """End the process. Safe to call twice, from any thread."""
        self.ask_to_end()
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
