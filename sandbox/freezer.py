"""Stopping every thread of a container at once, through its control group (version 1 or 2).

Root can open the files. Without write access `find_freezer` returns None, and the judge reports "not certified".
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

GIVE_UP_S: Final = 2.0
CGROUP_ROOT: Final = Path("/sys/fs/cgroup")


class Freezer:
    """Two open files of one control group. Freezing returns when every thread has stopped."""

    def __init__(self, control: Path, state: Path, words: tuple[bytes, bytes], frozen: bytes) -> None:
        self._control = os.open(control, os.O_WRONLY | os.O_CLOEXEC)
        self._state = os.open(state, os.O_RDONLY | os.O_CLOEXEC)
        self._freeze_word, self._thaw_word = words
        self._frozen = frozen

    def freeze(self) -> None:
        os.pwrite(self._control, self._freeze_word, 0)
        give_up = time.monotonic() + GIVE_UP_S
        while self._frozen not in os.pread(self._state, 256, 0):
            os.sched_yield()  # to a thread that has yet to stop and may be on this very core, such as the oracle's
            if time.monotonic() > give_up:
                raise TimeoutError(f"the control group did not become {self._frozen.decode()!r} in {GIVE_UP_S} s")

    def thaw(self) -> None:
        """Begin to thaw; the threads run as the scheduler finds time."""
        os.pwrite(self._control, self._thaw_word, 0)

    def close(self) -> None:
        os.close(self._control)
        os.close(self._state)


def find_freezer(pid: int, root: Path = CGROUP_ROOT) -> Freezer | None:
    """Return the freezer of `pid`'s control group, or None if this process may not write it."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        for line in lines:  # version 2, also on hybrid hosts, which mount it beside version 1 under `unified`
            if line.startswith("0::/") and len(line) > len("0::/"):
                for base in (root, root / "unified"):
                    folder = base / line[len("0::/") :]
                    if (folder / "cgroup.freeze").exists():
                        return Freezer(folder / "cgroup.freeze", folder / "cgroup.events", (b"1", b"0"), b"frozen 1")
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if controllers == "freezer" and path != "/":
                state = root / "freezer" / path.lstrip("/") / "freezer.state"
                return Freezer(state, state, (b"FROZEN", b"THAWED"), b"FROZEN")
    except OSError:
        pass
    return None
