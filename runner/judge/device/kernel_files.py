"""Files below /proc and /sys that are read again and again: opened once, read in some µs, never failing afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 1 << 16


@dataclass(frozen=True)
class HostFolders:
    """Folders of the kernel's files; a test has its own."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    cgroup: Path = Path("/sys/fs/cgroup")


class KernelFile:
    """Open file of the kernel's that is read again and again; a vanished file keeps its last text."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._last = b""
        self._number = 0

    def read(self) -> bytes:
        with suppress(OSError):
            self._last = os.pread(self._descriptor, MOST_BYTES, 0)
        return self._last

    def whole(self) -> int:
        """Return the number in the file; if its text is no number for once, the last number."""
        with suppress(ValueError):
            self._number = int(self.read())
        return self._number

    def close(self) -> None:
        os.close(self._descriptor)


class KernelFiles:
    """The kernel's files that a reader keeps open, below `folders`; `close` closes all."""

    def __init__(self, folders: HostFolders | None = None) -> None:
        self.folders = folders or HostFolders()
        self._open: list[KernelFile] = []

    def open(self, path: Path) -> KernelFile | None:
        """Open a file; None if the kernel does not offer it or not to us."""
        with suppress(OSError):
            self._open.append(KernelFile(path))
            return self._open[-1] if self._open[-1].read() else None
        return None

    def open_all(self, paths: Iterable[Path]) -> list[KernelFile]:
        return [file for path in paths if (file := self.open(path)) is not None]

    def open_numbers(self, paths: Iterable[Path]) -> list[KernelFile]:
        """Open the files that contain a number: a frequency may be "<unknown>"."""
        return [file for file in self.open_all(paths) if file.read().strip().isdigit()]

    def close(self) -> None:
        while self._open:
            self._open.pop().close()
