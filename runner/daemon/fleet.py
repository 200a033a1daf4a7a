"""Daemons of a fleet: one child process per device, started on its own cores, started again when it dies.

The parent judges nothing, and leaves the runners' cores alone if it has others. It forwards SIGTERM and SIGINT, and
returns when all children have ended. Always true: a child dies with its parent, even by SIGKILL
(runner/daemon/die_with_parent.py); a pause before the next start doubles with each death that comes soon after a start.

A child that ends with exit code 2 cannot work at all: a setting, a token, a device in use. If it never worked, the
fleet ends, too: an operator must act. If it worked before, the others go on.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final

import structlog

from runner.daemon.worker import log_to_stderr
from runner.host.accelerators import spans
from runner.host.fleet import Member

log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

TICK_S: Final = 0.5
CANNOT_WORK: Final = 2  # exit code of a daemon
WORKED_S: Final = 60.0  # a child that lived so long has found its settings, its token and its device
PAUSE_S: Final = 1.0
PAUSE_CAP_S: Final = 60.0
DAEMON: Final = (sys.executable, "-m", "runner.daemon.worker")


class Child:
    """Daemon of a member, and its starts."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.name = f"{member.settings.runner_hardware}-{member.seat.number}"
        self.process: subprocess.Popen[bytes] | None = None
        self.cannot_work = False
        self._has_worked = False
        self._deaths = 0  # in a row, each soon after its start
        self._started_at = self._start_at = 0.0

    def start_if_due(self, now: float) -> None:
        if self.process is not None or now < self._start_at:
            return
        before, cores = os.sched_getaffinity(0), self.member.seat.cores
        command = (sys.executable, "-m", "runner.daemon.die_with_parent", str(os.getpid()), *DAEMON)
        try:
            os.sched_setaffinity(0, cores)  # the child inherits it from its first instruction on
            self.process = subprocess.Popen(command, env=self.member.environment, stdin=subprocess.DEVNULL)
        except OSError as error:
            log.error("runner_not_started", device=self.name, error=str(error))
            self._note_death(now)
            return
        finally:
            os.sched_setaffinity(0, before)
        self._started_at = now
        log.info("runner_started", device=self.name, cores=spans(cores), pid=self.process.pid)

    def look(self, now: float) -> None:
        """Notice the end of the process."""
        if self.process is None or (code := self.process.poll()) is None:
            return
        self.process = None
        if now - self._started_at >= WORKED_S:
            self._has_worked, self._deaths = True, 0
        log.warning("runner_ended", device=self.name, exit_code=code)
        self.cannot_work = code == CANNOT_WORK and not self._has_worked
        self._note_death(now)

    def send(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def _note_death(self, now: float) -> None:
        self._start_at = now + min(PAUSE_CAP_S, PAUSE_S * 2.0 ** min(self._deaths, 16))
        self._deaths += 1


def serve(members: Sequence[Member]) -> int:
    """Run the members' daemons until a signal. Exit code: 0 after a signal, 2 if a daemon cannot work at all."""
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    log_to_stderr(members[0].settings.log_level, "fleet")
    if left := os.sched_getaffinity(0) - {core for member in members for core in member.seat.cores}:
        os.sched_setaffinity(0, left)
    for member in members:
        if member.settings.runner_judge_user:  # which has to go through to the state of each runner
            member.settings.runner_state.parent.mkdir(parents=True, exist_ok=True)
            member.settings.runner_state.parent.chmod(0o711)
    children = [Child(member) for member in members]
    stopping, code = False, 0
    while True:
        now = time.monotonic()
        for child in children:
            child.look(now)
            if not stopping:
                child.start_if_due(now)
        if not stopping and (unable := next((child for child in children if child.cannot_work), None)):
            log.error("fleet_cannot_work", device=unable.name, remedy="see this device's lines above")
            stopping, code = True, CANNOT_WORK
            _send(children, signal.SIGTERM)
        if stopping and all(child.process is None for child in children):
            return code
        if received := signal.sigtimedwait(signals, TICK_S):
            log.info("stopping", signal=signal.Signals(received.si_signo).name)
            stopping = True
            _send(children, received.si_signo)


def _send(children: Sequence[Child], number: int) -> None:
    for child in children:
        child.send(number)
