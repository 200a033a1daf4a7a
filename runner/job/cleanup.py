"""Early end of a command that judges in its own process, and removal of its containers.

Owns the signals of `runner once`, `verify`, `confirm`, `bench` and `doctor`, and the name on their containers, which
identifies their owner. Always true: on a signal to end (SIGTERM, SIGHUP, Ctrl-C), the command removes its containers
first. After a command that was killed, the next command on this host removes them. Containers of a process that might
be alive are never removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import logging
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from sandbox import container
from sandbox.container import SandboxError

if TYPE_CHECKING:
    from rich.console import Console

log = logging.getLogger("runner.job.cleanup")

SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
AGAIN_S: Final = 5.0  # after a signal, further signals are ignored this long; cleaning takes a second
NO_DOCKER: Final = (SandboxError, OSError)  # the Docker Engine does not answer, or not as expected
ENGINE_S: Final = 20  # to wait for each of its answers
OWNER: Final = re.compile(r"once([0-9a-f]+)s([0-9a-f]+)h([0-9a-f]+)n[0-9a-f]+")

_numbers = itertools.count(1)


class Terminated(SystemExit):
    """Exit after a signal; all containers are removed on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


@contextlib.contextmanager
def tidy(screen: Console) -> Iterator[None]:
    """Wrap all code that starts containers, in the main thread.

    The exit code is 143 after SIGTERM, 129 after SIGHUP, 130 after Ctrl-C. A signal that this process was started to
    ignore (nohup) stays ignored.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: was for number, was in before.items() if was is not signal.SIG_IGN}
    received = _SignalHandler()
    try:
        for number in before:
            signal.signal(number, received)
        reap_of_the_dead()
        yield
    except BaseException:
        if received.number is None:
            raise
    finally:
        for number, was in before.items():
            signal.signal(number, was)
    if received.number is not None:  # also if the exception was dropped, or replaced on the way out
        by = "Ctrl-C" if received.number == signal.SIGINT else received.number.name
        screen.print(f"Ended by {by} before it was done.", markup=False, highlight=False)
        raise Terminated(received.number)


class _SignalHandler:
    """Handler that raises at a signal, but not again at once: `timeout` sends its signal twice, and the second must not
    cut the cleaning short. It raises again later: the first signal may have come where Python drops exceptions, as in a
    destructor."""

    def __init__(self) -> None:
        self._last_s = -float("inf")
        self.number: signal.Signals | None = None  # the first one

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._last_s < AGAIN_S:
            return
        self._last_s = now
        self.number = self.number or signal.Signals(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise Terminated(number)


@contextlib.contextmanager
def cleared(owner: str) -> Iterator[None]:
    """Wrap the start of this owner's containers. Contexts close most of them; this removes a container that the Docker
    Engine had made but not named yet when the signal came, and a container whose closing the signal cut short."""
    try:
        yield
    except (SystemExit, KeyboardInterrupt):
        with contextlib.suppress(*NO_DOCKER), contextlib.closing(container.connect(ENGINE_S)) as client:
            container.reap(client, owner)
        raise


def new_owner() -> str:
    """Return a label for containers of this process, new at each call: pid, its start time, and their host."""
    pid = os.getpid()
    return f"once{pid:x}s{_started(pid):x}h{_here()}n{next(_numbers):x}"


def reap_of_the_dead() -> int:
    """Remove the containers of killed processes that are certainly dead; return their number.

    Without a Docker Engine it does nothing: a later use of the engine reports that.
    """
    gone = 0
    with contextlib.suppress(*NO_DOCKER), contextlib.closing(container.connect(ENGINE_S)) as client:
        for owner in filter(is_of_the_dead, container.owners(client)):
            gone += container.reap(client, owner)
            log.info("removed what %s left behind", owner)
    return gone


def is_of_the_dead(owner: str) -> bool:
    """Return whether the process that made this label here is certainly gone. A process of another boot, host or PID
    namespace is not."""
    made = OWNER.fullmatch(owner)
    if made is None or made[3] != _here():
        return False
    pid = int(made[1], 16)
    try:
        os.kill(pid, 0)  # also for foreign processes, which /proc may hide
        return _started(pid) != int(made[2], 16)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError, ValueError):
        return False


def _started(pid: int) -> int:
    """Return clock ticks after the boot (proc_pid_stat(5), field 22): two processes with one pid differ in it."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19])


def _here() -> str:
    """Return a hash of this boot and this PID namespace: elsewhere the same pid is another process."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return hashlib.sha256(f"{boot} {os.readlink('/proc/self/ns/pid')}".encode()).hexdigest()[:8]
