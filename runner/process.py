"""The judge as a process: a Job goes in on stdin, events and one Report come out on stdout, as JSON lines.

The process gets a scrubbed environment, a session of its own, a wall-clock limit, limits on what it may say, and dies
with us (runner/child.py). What it says is parsed into the wire's types or refused. `run` returns a Report, or raises
JudgeFault (it did not do its part) or JudgeStopped (we ended it); when it has returned, the process and its children
are gone.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import IO, Final

from runner.errors import JudgeFault, JudgeStopped
from runner.log import get_logger
from runner.wire import MAX_REPORT_BYTES, Event, Job, Report, WireError, dump

log = get_logger(__name__)

MAX_LINE_BYTES: Final = MAX_REPORT_BYTES + 64  # a report and its wrapping
MAX_STDOUT_BYTES: Final = 2 * MAX_REPORT_BYTES  # events and all
MAX_STDERR_BYTES: Final = 4_000_000  # forwarded to our log; the rest is read and dropped
LOG_LINE_CHARS: Final = 2_000
TAIL_LINES: Final = 40
READ_BYTES: Final = 1 << 16
TICK_S: Final = 0.5  # how often limits are looked at while the judge is silent


class JudgeProcess:
    """One run of the judge. `stop` may be called from any thread, before, during and after."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], *, limit_s: float, grace_s: float) -> None:
        self._command = (sys.executable, "-m", "runner.child", str(os.getpid()), *command)
        self._environment = environment
        self._limit_s = limit_s
        self._grace_s = grace_s
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = ""
        self._kill_at = float("inf")

    def stop(self, why: str) -> None:
        """Asks the judge to end now; it is killed after the grace."""
        with self._guard:
            self._stopped = self._stopped or why
        self._terminate()

    def run(self, job: Job, on_event: Callable[[Event], None]) -> Report:
        output = _Output(job, on_event)
        self._start(job)
        try:
            self._follow(output)
        except JudgeFault:
            self._terminate()
            raise
        finally:
            code = self._end()
        if self._stopped:
            raise JudgeStopped(self._stopped)
        if output.report is None:
            tail = list(output.tail)
            log.error("judge_died", attempt=job.attempt_id, exit_code=code, stderr_tail=tail)
            raise JudgeFault("judge_died", f"the judge ended with exit code {code} and no report")
        return output.report

    def _start(self, job: Job) -> None:
        with self._guard:
            if self._stopped:
                raise JudgeStopped(self._stopped)
            with _as_file(dump(job).encode()) as stdin:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=self._environment,
                    start_new_session=True,
                    bufsize=0,
                )

    def _follow(self, output: _Output) -> None:
        """Reads until the judge has ended. Limits are checked at least every TICK_S."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        assert process.stderr is not None
        deadline = time.monotonic() + self._limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ, output.take_stdout)
            selector.register(process.stderr, selectors.EVENT_READ, output.take_stderr)
            while selector.get_map():
                ready = selector.select(TICK_S)
                for key, _ in ready:
                    chunk = os.read(key.fd, READ_BYTES)
                    if chunk:
                        key.data(chunk)
                    else:
                        selector.unregister(key.fileobj)
                now = time.monotonic()
                if now > self._kill_at:
                    return
                if now > deadline:
                    raise JudgeFault("judge_hung", f"the judge did not end within {self._limit_s:g} s")
                if not ready and self._has_ended(process):  # a grandchild may hold the pipes open
                    return

    @staticmethod
    def _has_ended(process: subprocess.Popen[bytes]) -> bool:
        """Without reaping: while the zombie is there, its process group cannot be somebody else's."""
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _end(self) -> int:
        """Kills whatever is left of the session and reaps the judge.

        A judge that merely fell silent (closed its output) gets the grace to end by itself: it may be cleaning up.
        """
        process = self._process
        assert process is not None
        self._await_exit(process)
        with self._guard:
            self._signal(signal.SIGKILL)
            code = process.wait()
            self._process = None
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        return code

    def _await_exit(self, process: subprocess.Popen[bytes]) -> None:
        kill_at = min(self._kill_at, time.monotonic() + self._grace_s)
        while time.monotonic() < kill_at and not self._has_ended(process):
            time.sleep(0.02)

    def _terminate(self) -> None:
        with self._guard:
            self._kill_at = min(self._kill_at, time.monotonic() + self._grace_s)
            self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        """To the judge and its children. Only under the guard: the group is ours until the judge is reaped."""
        if self._process is not None:
            os.killpg(self._process.pid, number)


class _Output:
    """What the judge said, parsed and bounded."""

    def __init__(self, job: Job, on_event: Callable[[Event], None]) -> None:
        self.report: Report | None = None
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._job = job
        self._on_event = on_event
        self._line = bytearray()
        self._stdout_bytes = 0
        self._stderr_bytes = 0
        self._stderr_line = bytearray()
        self._last_seq = 0

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
            log.info("judge_log", attempt=self._job.attempt_id, line=text)
        self._stderr_line += rest[:LOG_LINE_CHARS]

    def _extend(self, piece: bytes) -> None:
        self._line += piece
        if len(self._line) > MAX_LINE_BYTES:
            raise JudgeFault("judge_protocol", f"the judge wrote a line of more than {MAX_LINE_BYTES} bytes")

    def _take_line(self, line: bytes) -> None:
        try:
            data = json.loads(line, parse_constant=_refuse_constant)
            if not isinstance(data, dict) or len(data) != 1:
                raise WireError("line", 'expected {"event": …} or {"report": …}')
            if "event" in data:
                self._take_event(Event.from_json(data["event"]))
            elif "report" in data:
                self._take_report(Report.from_json(data["report"]))
            else:
                raise WireError("line", 'expected {"event": …} or {"report": …}')
        except (ValueError, RecursionError) as error:  # JSON's, the wire's, and unicode's
            raise JudgeFault("judge_protocol", f"the judge wrote a line that does not fit: {error}") from None

    def _take_event(self, event: Event) -> None:
        if event.seq <= self._last_seq:
            raise WireError("event.seq", f"{event.seq} after {self._last_seq}")
        self._last_seq = event.seq
        self._on_event(event)

    def _take_report(self, report: Report) -> None:
        if self.report is not None:
            raise WireError("report", "a second one")
        if (report.attempt_id, report.token) != (self._job.attempt_id, self._job.token):
            raise WireError("report", "for another attempt or token")
        self.report = report


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _as_file(data: bytes) -> IO[bytes]:
    """An anonymous file in memory: a program can read it to its end without anyone feeding it."""
    file = os.fdopen(os.memfd_create("job", os.MFD_CLOEXEC), "w+b")
    file.write(data)
    file.flush()
    file.seek(0)
    return file
