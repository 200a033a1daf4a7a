"""Loan of a device that a daemon keeps to a command, for one job.

Each device has three files in RUNNER_LOCKS, all held by flock, which the kernel frees when the holder dies in any way.
`….lock` is held by the process that prepares or judges on the device; `….runner` by the daemon as long as it lives,
which allows a single daemon; `….ask` is shared by all commands that want the device or have it. An idle daemon that
sees `.ask` held puts its waiting judge away and leaves the device alone until no command asks any more. A busy daemon
does the same after its attempt.
"""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from runner.errors import DeviceBusy
from runner.host.accelerators import Device, DeviceLock, open_shared
from sandbox.protocol import clean_text

TICK_S: Final = 0.2
LEND_S: Final = 45.0  # the most that an idle daemon needs to put its judge away
COME_BACK_S: Final = 3.0  # a command that judges samples in turn asks again at once
NOTE_BYTES: Final = 200
IDLE: Final = "a runner that waits for work and lends it"
UNNAMED: Final = "another program of this host"
CHANGE_S: Final = 3.0  # the most that a holder needs to write its name, and a lender to go after it has erased its own


class Patience(NamedTuple):
    """How long a command waits for a busy device. `tell` gets the device's holder and the seconds waited."""

    limit_s: float = float("inf")
    tell: Callable[[str, float], None] = lambda holder, waited_s: None


class Stay:
    """The daemon's hold on the device. `asked` is for any thread, `take` and `give` for one at a time; a second `take`
    has no effect."""

    def __init__(self, device: Device, folder: Path) -> None:
        self._lock = DeviceLock(device, folder)
        self._asks = device.files(folder, "ask")
        self._probing = threading.Lock()

    def take(self, stopping: threading.Event) -> bool:
        """Wait until no command asks and the device is free, then hold it. Returns False if the daemon is to stop."""
        quiet_since = time.monotonic() - COME_BACK_S
        while not self._lock.held:
            if self.asked():
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since >= COME_BACK_S:
                with suppress(DeviceBusy):
                    self._lock.take()
                    return True
            if stopping.wait(TICK_S):
                return False
        return True

    def give(self) -> None:
        self.note("")
        self._lock.close()

    def asked(self) -> bool:
        """Return whether a command asks for the device, or has it."""
        with self._probing:  # a second thread would take the first one's probe for a command
            return any(map(_is_held, self._asks))

    def note(self, text: str) -> None:
        """Write the purpose of the hold for waiting commands."""
        if self._lock.held:
            note(self._lock, text)


def _is_held(path: Path) -> bool:
    descriptor = open_shared(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def borrowed(device: Device, folder: Path, patience: Patience, purpose: str) -> Iterator[None]:
    """Hold the device for one job, lent by an idle daemon or after a wait. Raises DeviceBusy."""
    lock = DeviceLock(device, folder)
    began = named_at = time.monotonic()
    with ExitStack() as asking:
        for path in device.files(folder, "ask"):
            descriptor = open_shared(path)
            asking.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        while not lock.held:
            try:
                lock.take()
            except DeviceBusy:
                now, holder = time.monotonic(), holder_of(lock.path)
                waited_s = now - began
                if holder != UNNAMED:
                    named_at = now
                changes = holder == UNNAMED and now - named_at < CHANGE_S
                limit_s = max(patience.limit_s, LEND_S) if holder == IDLE else patience.limit_s
                if waited_s >= limit_s and not changes:
                    raise DeviceBusy(
                        f"the device {device.name} is held by {holder} (waited {waited_s:.0f} s); wait longer with "
                        f"--wait SECONDS, or end it ({lock.path})"
                    ) from None
                patience.tell(holder, waited_s)
                time.sleep(TICK_S)
        try:
            note(lock, purpose)
            yield
        finally:
            note(lock, "")
            lock.close()


def note(lock: DeviceLock, text: str) -> None:
    """Write a line into a lock's files for waiting commands. If a file is another user's, there is no line."""
    for path in lock.paths:
        with suppress(OSError):
            descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode()[:NOTE_BYTES])


def holder_of(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:
        if text := " ".join(clean_text(file.read(NOTE_BYTES)).split()):
            return text
    return UNNAMED
