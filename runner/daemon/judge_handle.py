"""Handle of the judge process: prepared ahead, it takes Jobs on stdin and prints events and their Reports on stdout.

    {"ready": {"fingerprint", "epoch", "images"}}    when all work that needs no job is done; then it waits for a line
                                                    of stdin. Names the host, the timing epoch and the image's digests
    {"event": …}                                     while it judges
    {"report": …}                                    once for each job; then it clears away, or is ready again

The process gets a scrubbed environment, a session of its own, wall-clock limits, limits on its output, and dies with us
(runner/daemon/die_with_parent.py). Its output is parsed into the wire's types or refused. `prepare` and `run` return
the documented result, or raise JudgeFault (the judge failed) or JudgeStopped (we ended it); when they have raised, and
when `finish` has returned, the process and its children are gone.
"""

from __future__ import annotations

import base64
import json
import math
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, Final

import structlog

from runner.errors import STALE_EXIT, JudgeFault, JudgeStale, JudgeStopped
from runner.wire import MAX_REPORT_BYTES, OUT_OF_TIME, TIMED_MODES, Event, Job, Report, WireError

log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

MAX_LINE_BYTES: Final = MAX_REPORT_BYTES + 64  # a report and its wrapping
MAX_STDOUT_BYTES: Final = 2 * MAX_REPORT_BYTES  # events and all
MAX_STDERR_BYTES: Final = 4_000_000  # forwarded to our log; the rest is read and dropped
LOG_LINE_CHARS: Final = 2_000
TAIL_LINES: Final = 40
READ_BYTES: Final = 1 << 16
TICK_S: Final = 0.5  # interval of the checks of limits while the judge is silent
CLEAR_LIMIT_S: Final = 30.0  # from the report to the end of the process
RENEWAL_LIMIT_S: Final = 90.0  # from the report until it waits again: it may import torch and draw contexts

CLEAN_EXITS: Final = (0, 128 + signal.SIGTERM, STALE_EXIT)  # its containers are removed

# A judge gets SIGKILL when the thread that started it ends: this thread ends with the whole process only.
_SPAWNER: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")


@dataclass(frozen=True)
class Host:
    """Host that a judge judges on, as it describes it for the site."""

    fingerprint: dict[str, str | int]
    epoch: str
    images: tuple[str, ...]  # digests of the sandbox image

    @classmethod
    def from_json(cls, data: object) -> Host:
        """Parse the judge's description. Raises WireError."""
        if not isinstance(data, dict) or data.keys() != {"fingerprint", "epoch", "images"}:
            raise WireError("ready", "expected a fingerprint, an epoch and images")
        fingerprint, epoch, images = data["fingerprint"], data["epoch"], data["images"]
        if not isinstance(fingerprint, dict) or not isinstance(epoch, str) or not epoch or not isinstance(images, list):
            raise WireError("ready", "expected an object, the name of an epoch and a list")
        return cls(fingerprint, epoch, tuple(map(str, images)))


class JudgeProcess:
    """Judge process: `prepare`, `run` a job, perhaps `renew` and `run` another, `finish`. `stop` may be called from any
    thread, before, during and after."""

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        *,
        limit_s: float,
        grace_s: float,
        identity: Mapping[str, Any] | None = None,
    ) -> None:
        """`identity`: user and groups, as subprocess.Popen takes them, if they are not ours."""
        self._command = (sys.executable, "-m", "runner.daemon.die_with_parent", str(os.getpid()), *command)
        self._environment = environment
        self._identity = identity or {}
        self._limit_s = limit_s
        self._grace_s = grace_s
        self._guard = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._output = _Output()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = ""
        self._in_peace = True  # neither its acts nor its end can have left containers behind
        self._kill_at = float("inf")

    @property
    def waiting(self) -> bool:
        """Whether it is prepared, alive and without a job."""
        with self._guard:
            return self._process is not None and self._output.waiting and not self._has_ended(self._process)

    @property
    def problem(self) -> str:
        """Digest of the problem of its last job; "" before the first."""
        return self._output.problem

    @property
    def was_timed(self) -> bool:
        """Whether its last job was timed: then it is fit to time another."""
        return self._output.was_timed

    @property
    def host(self) -> Host:
        """Host of a prepared judge."""
        assert self._output.host is not None
        return self._output.host

    def stop(self, why: str) -> None:
        """Ask the judge to end now; it is killed after the grace."""
        with self._guard:
            self._stopped = self._stopped or why
        self._terminate()

    def pause(self) -> None:
        """Stop the process of a judge that waits: beside a timed call it does not even look after its containers."""
        with self._guard:
            self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        with self._guard:
            self._signal(signal.SIGCONT)

    def prepare(self, limit_s: float) -> None:
        """Start the judge; returns when it waits for its job."""
        with self._guard:
            if self._stopped:
                raise JudgeStopped(self._stopped)
            try:
                start: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen
                process = self._process = _SPAWNER.submit(
                    start,
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=self._environment,
                    start_new_session=True,
                    bufsize=0,
                    **self._identity,
                ).result()
            except (OSError, subprocess.SubprocessError) as error:  # the latter: it could not take the identity
                raise JudgeFault("judge_died", f"the judge could not be started: {error}") from None
        assert process.stdout is not None
        assert process.stderr is not None
        self._selector.register(process.stdout, selectors.EVENT_READ, self._reader(self._output.take_stdout))
        self._selector.register(process.stderr, selectors.EVENT_READ, self._reader(self._output.take_stderr))
        self._follow_or_end(lambda: self._output.waiting, limit_s)

    def run(
        self, job: Job, on_event: Callable[[Event], None], within_s: float = float("inf"), built: bytes = b""
    ) -> Report:
        """Hand over the job; returns with the report, while the judge is still clearing away.

        `within_s`: the time that the site leaves for it. Raises JudgeFault `out_of_time` if that is over first.
        `built`: what was built of the submission ahead.
        """
        self._output.expect(job, on_event)
        assert self._process is not None
        assert self._process.stdin is not None
        beside = {"built": base64.b64encode(built).decode()} if built else {}
        left = memoryview(json.dumps({**job.to_json(), **beside}, allow_nan=False).encode() + b"\n")

        def write(pipe: IO[bytes]) -> None:
            """Write as fast as the judge reads."""
            nonlocal left
            try:
                left = left[os.write(pipe.fileno(), left[:READ_BYTES]) :]
            except BrokenPipeError:  # its report or exit code must explain that
                left = left[:0]
            if not left:
                self._selector.unregister(pipe)

        os.set_blocking(self._process.stdin.fileno(), False)
        self._selector.register(self._process.stdin, selectors.EVENT_WRITE, write)
        own_s = self._limit_s * job.most_judged
        reason = OUT_OF_TIME if within_s < own_s else "judge_hung"
        self._follow_or_end(lambda: self._output.report is not None, min(own_s, within_s), reason)
        assert self._output.report is not None
        return self._output.report

    def renew(self) -> bool:
        """Have the judge renew itself after a report, and wait until it waits for a further job. Returns False if it
        does not; then `finish`."""
        if self._process is not None:
            assert self._process.stdin is not None
            try:
                with suppress(BlockingIOError, BrokenPipeError):  # its silence or its end must explain that
                    os.write(self._process.stdin.fileno(), b"\n")
                self._follow(lambda: self._output.is_ready_again, min(RENEWAL_LIMIT_S, self._limit_s))
            except JudgeFault as fault:
                log.error("judge_not_renewed", reason=fault.reason, error=str(fault))
                self._terminate()
        return not self._stopped and self._process is not None and self._output.begin_anew()

    def finish(self) -> bool:
        """Wait for the judge's end, if it has not ended yet. Returns False if containers may be left."""
        if self._process is not None:
            self._end_input()
            try:
                self._follow(lambda: False, min(CLEAR_LIMIT_S, self._limit_s))
            except JudgeFault as fault:
                log.error("judge_not_clean", reason=fault.reason, error=str(fault))
                self._terminate()
            self._end()
        return self._in_peace

    def _follow_or_end(self, enough: Callable[[], bool], limit_s: float, too_late: str = "judge_hung") -> None:
        """Follow the judge until `enough` is true. When this raises, the judge is gone."""
        try:
            self._follow(enough, limit_s, too_late)
        except JudgeFault:
            self._terminate()
            self._end()
            if self._stopped:
                raise JudgeStopped(self._stopped) from None
            raise
        if enough() and not self._stopped:
            return
        code = self._end()
        if self._stopped:
            raise JudgeStopped(self._stopped)
        if code == STALE_EXIT:
            raise JudgeStale("judge_died", "the judge gave up waiting before it took its job")
        log.error("judge_died", attempt=self._output.attempt_id, exit_code=code, stderr_tail=list(self._output.tail))
        raise JudgeFault("judge_died", f"the judge ended with exit code {code} before its time")

    def _end_input(self) -> None:
        """End the judge's stdin: a judge that waits for a further job ends in peace."""
        assert self._process is not None
        if (pipe := self._process.stdin) is not None and not pipe.closed:
            with suppress(KeyError):  # the job is not written to its end
                self._selector.unregister(pipe)
            pipe.close()

    def _reader(self, take: Callable[[bytes], None]) -> Callable[[IO[bytes]], None]:
        def read(pipe: IO[bytes]) -> None:
            chunk = os.read(pipe.fileno(), READ_BYTES)
            if chunk:
                take(chunk)
            else:
                self._selector.unregister(pipe)

        return read

    def _follow(self, enough: Callable[[], bool], limit_s: float, too_late: str = "judge_hung") -> None:
        """Follow the judge until `enough`, or until it has ended. Limits are checked at least every TICK_S."""
        process = self._process
        assert process is not None
        deadline = time.monotonic() + limit_s
        while self._selector.get_map() and not enough():
            ready = self._selector.select(TICK_S)
            for key, _ in ready:
                key.data(key.fileobj)
            now = time.monotonic()
            if now > self._kill_at:
                return
            if now > deadline:
                raise JudgeFault(too_late, f"the judge was not done within {limit_s:g} s")
            if not ready and self._has_ended(process):  # a grandchild may hold the pipes open
                return

    @staticmethod
    def _has_ended(process: subprocess.Popen[bytes]) -> bool:
        """Return whether the process has ended, without reaping: while the zombie exists, its process group stays its
        own."""
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _end(self) -> int:
        """Kill the rest of the session and reap the judge.

        A judge that merely fell silent (closed its output) gets the grace to end by itself: it may be cleaning up.
        """
        process = self._process
        assert process is not None
        kill_at = min(self._kill_at, time.monotonic() + self._grace_s)
        while time.monotonic() < kill_at and not self._has_ended(process):
            time.sleep(0.02)
        with self._guard:
            self._signal(signal.SIGKILL)
            code = process.wait()
            self._process = None
            self._in_peace = self._in_peace and code in CLEAN_EXITS
        self._selector.close()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        return code

    def _terminate(self) -> None:
        with self._guard:
            self._kill_at = min(self._kill_at, time.monotonic() + self._grace_s)
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # a paused judge takes the signal only when it runs again

    def _signal(self, number: signal.Signals) -> None:
        """Signal the judge and its children. Only under the guard: the group is ours until the judge is reaped."""
        if self._process is not None:
            os.killpg(self._process.pid, number)


class _Output:
    """Output of the judge, parsed and bounded."""

    def __init__(self) -> None:
        self.report: Report | None = None
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self.host: Host | None = None
        self.problem = ""
        self.was_timed = False
        self.is_ready_again = False
        self._job: Job | None = None
        self._on_event: Callable[[Event], None] = lambda event: None
        self._line = bytearray()
        self._stdout_bytes = 0
        self._stderr_bytes = 0
        self._stderr_line = bytearray()
        self._last_seq = 0

    @property
    def waiting(self) -> bool:
        return self.host is not None and self._job is None

    @property
    def attempt_id(self) -> str:
        return self._job.attempt_id if self._job else ""

    def expect(self, job: Job, on_event: Callable[[Event], None]) -> None:
        """Accept events and one report of this job from now on; earlier output is refused."""
        self._job = job
        self.problem = job.problem_digest
        self.was_timed = job.mode in TIMED_MODES
        self._on_event = on_event

    def begin_anew(self) -> bool:
        """Forget job, report and counts, if the judge is ready for a further job; return whether it is."""
        if self.is_ready_again:
            self.report, self._job, self.is_ready_again = None, None, False
            self._stdout_bytes = self._stderr_bytes = self._last_seq = 0
            return True
        return False

    def take_stdout(self, chunk: bytes) -> None:
        self._stdout_bytes += len(chunk)
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            self._extend(piece)
            line, self._line = bytes(self._line), bytearray()
            if line.strip():
                self._take_line(line)
        self._extend(rest)
        if self._stdout_bytes > MAX_STDOUT_BYTES:
            raise JudgeFault("judge_protocol", f"the judge wrote more than {MAX_STDOUT_BYTES} bytes")

    def take_stderr(self, chunk: bytes) -> None:
        self._stderr_bytes += len(chunk)
        if self._stderr_bytes > MAX_STDERR_BYTES:
            return
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            text = bytes(self._stderr_line + piece)[:LOG_LINE_CHARS].decode(errors="backslashreplace")
            self._stderr_line.clear()
            self.tail.append(text)
            log.info("judge_log", attempt=self.attempt_id, line=text)
        self._stderr_line += rest[:LOG_LINE_CHARS]

    def _extend(self, piece: bytes) -> None:
        self._line += piece
        if len(self._line) > MAX_LINE_BYTES:
            raise JudgeFault("judge_protocol", f"the judge wrote a line of more than {MAX_LINE_BYTES} bytes")

    def _take_line(self, line: bytes) -> None:
        try:
            data = json.loads(line, parse_constant=_refuse_constant, parse_float=_finite)
            kind, value = next(iter(data.items())) if isinstance(data, dict) and len(data) == 1 else ("", None)
            if kind == "ready":
                host = Host.from_json(value)
                if self.host is None:
                    self.host = host
                elif self.report is None or self.is_ready_again or host != self.host:
                    raise WireError("ready", "a second time, without a report between, or of another host")
                else:
                    self.is_ready_again = True
            elif kind == "event":
                event = Event.from_json(value)
                if self._job is None or self.report is not None:
                    raise WireError("event", "without a job")
                if event.seq <= self._last_seq:
                    raise WireError("event.seq", f"{event.seq} after {self._last_seq}")
                self._last_seq = event.seq
                self._on_event(event)
            elif kind == "report":
                report = Report.from_json(value)
                if self._job is None or self.report is not None:
                    raise WireError("report", "without a job, or a second one for it")
                if (report.attempt_id, report.token) != (self._job.attempt_id, self._job.token):
                    raise WireError("report", "for another attempt or token")
                self.report = report
            else:
                raise WireError("line", 'expected {"ready": …}, {"event": …} or {"report": …}')
        except (ValueError, RecursionError) as error:  # JSON's, the wire's, and unicode's
            raise JudgeFault("judge_protocol", f"the judge wrote a line that does not fit: {error}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    """Return the number, unless it is read as an infinity, such as 1e999: no message to the site can hold that."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value
