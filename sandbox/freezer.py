"""Stopping every thread of a container at once, through its control group (version 1 or 2).

Root can open the files. Without write access `find_freezer` returns None, and the judge reports "not certified".
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

GIVE_UP_S: Final = 2.0
CGROUP_ROOT: Final = Path("/sys/fs/cgroup")


class Freezer:
    """Two open files of one control group. Freezing returns when every thread has stopped."""

    def __init__(self, control: Path, state: Path, words: tuple[bytes, bytes], frozen: bytes, thawed: bytes) -> None:
        self._control = os.open(control, os.O_WRONLY | os.O_CLOEXEC)
        self._state = os.open(state, os.O_RDONLY | os.O_CLOEXEC)
        self._freeze_word, self._thaw_word = words
        self._frozen, self._thawed = frozen, thawed

    def freeze(self) -> None:
        os.pwrite(self._control, self._freeze_word, 0)
        self._wait_for(self._frozen)

    def thaw(self) -> None:
        """Begin to thaw; the threads run as the scheduler finds time."""
        os.pwrite(self._control, self._thaw_word, 0)

    def _wait_for(self, wanted: bytes) -> None:
        give_up = time.monotonic() + GIVE_UP_S
        while wanted not in os.pread(self._state, 256, 0):
            os.sched_yield()  # to a thread that has yet to stop and may be on this very core, such as the oracle's
            if time.monotonic() > give_up:
                raise TimeoutError(f"the control group did not become {wanted.decode()!r} in {GIVE_UP_S} s")

    def close(self) -> None:
        os.close(self._control)
        os.close(self._state)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def find_freezer(pid: int, root: Path = CGROUP_ROOT) -> Freezer | None:
    """Return the freezer of `pid`'s control group, or None if this process may not write it."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        return _version_two(lines, root) or _version_one(lines, root)
    except OSError:
        return None


def _version_two(lines: list[str], root: Path) -> Freezer | None:
    """Find a version 2 freezer, also on hybrid hosts, which mount version 2 beside version 1 under `unified`."""
    for line in lines:
        if line.startswith("0::/") and len(line) > len("0::/"):
            for base in (root, root / "unified"):
                folder = base / line[len("0::/") :]
                if (folder / "cgroup.freeze").exists():
                    return Freezer(
                        folder / "cgroup.freeze", folder / "cgroup.events", (b"1", b"0"), b"frozen 1", b"frozen 0"
                    )
    return None


def _version_one(lines: list[str], root: Path) -> Freezer | None:
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "freezer" and path != "/":
            state = root / "freezer" / path.lstrip("/") / "freezer.state"
            return Freezer(state, state, (b"FROZEN", b"THAWED"), b"FROZEN", b"THAWED")
    return None
