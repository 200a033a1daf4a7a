"""Use of the processor while a time limit ran out, from the kernel's accounts (evidence/starved.py)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from runner.evidence.starved import Reading, Share
from runner.judge.device.cpu import ticks_by_core
from runner.judge.device.foreign_load import (
    PER_CORE,
    SUM,
    HostFolders,
    KernelFiles,
    Pids,
    groups_of,
    open_foreign,
    usage_ns,
)

WATCHED_S: Final = 1.0  # a longer wait is watched; a shorter wait costs no reading


class Others:
    """Processor time of all programs but the judge and its containers."""

    def __init__(self, pids: Pids, cores: Sequence[int], folders: HostFolders | None = None) -> None:
        files = KernelFiles(folders)
        self._stat = files.open(files.folders.proc / "stat")
        self._foreign = open_foreign(pids, files, cores)
        self.close = files.close

    def ns(self) -> tuple[int, ...]:
        """Return the time by core, or in one sum, in ns; empty if the host does not report it."""
        return self._foreign.ns(ticks_by_core(self._stat.read()) if self._stat is not None else {})[0]


class Meter:
    """Accounts of one container. On a host that does not show its control group no container ever counts as starved."""

    def __init__(self, pid: int, others: Callable[[], tuple[int, ...]], folders: HostFolders | None = None) -> None:
        self._others = others
        self._folders = folders or HostFolders()
        self._usage, self._threads = self._find(str(pid))

    def _find(self, pid: str) -> tuple[Path, Path]:
        """Return the files of its control group with its running time and with its threads."""
        for name, threads in ((PER_CORE, "tasks"), (SUM, "cgroup.threads")):
            judges = groups_of("self", self._folders, name)
            for group in groups_of(pid, self._folders, name):
                if group not in judges and (group / name).exists() and (group / threads).exists():
                    return group / name, group / threads
        return Path(), Path()

    def read(self) -> Reading:
        at_ns, ran_ns = time.monotonic_ns(), 0
        with suppress(OSError):
            text = self._usage.read_bytes()
            ran_ns = sum(map(int, text.split())) if self._usage.name == PER_CORE else usage_ns(text)
        waits: dict[int, int] = {}  # of its live threads, in ns; leaving out a thread that ended excuses no timeout
        with suppress(OSError):
            for thread in self._threads.read_text().split():
                with suppress(OSError, IndexError):
                    waits[int(thread)] = int((self._folders.proc / thread / "schedstat").read_text().split()[1])
        return Reading(at_ns, ran_ns, waits, self._others())


def judge_waited_ns() -> int:
    """Return how long this thread was ready and had no core, in ns; 0 if the host does not report it."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    except (OSError, IndexError):
        return 0


class Watch:
    """Use of the processor in a stage, from the creation of this object.

    One container at a time works, and the judge works for all; `polled_ns` returns how long the judge has waited for
    answers of the sides. The judge polls for an answer and therefore waits for a core itself. That must not excuse a
    side that sleeps: while an answer is awaited, only the sides' own waiting counts.
    """

    def __init__(
        self,
        sides: Sequence[Meter],
        oracle: Meter,
        polled_ns: Callable[[], int],
        judge_waited_ns: Callable[[], int] = judge_waited_ns,
    ) -> None:
        self._meters = (*sides, oracle)
        self._polled_ns = polled_ns
        self._judge_waited_ns = judge_waited_ns
        self._before = [meter.read() for meter in self._meters]
        self._polled_before = polled_ns()
        self._judge_before = judge_waited_ns()

    def share(self) -> Share:
        """Return the share until now."""
        shares = [Share.between(before, meter.read()) for before, meter in zip(self._before, self._meters, strict=True)]
        wall_ns, polled_ns = shares[-1].wall_ns, self._polled_ns() - self._polled_before
        sides_ns = sum(one.waited_ns for one in shares[:-1])
        ours_ns = shares[-1].waited_ns + self._judge_waited_ns() - self._judge_before
        return Share(
            wall_ns=wall_ns,
            ran_ns=sum(one.ran_ns for one in shares),
            waited_ns=min(sides_ns, polled_ns) + max(0, min(ours_ns, wall_ns - polled_ns)),
            foreign_ns=shares[-1].foreign_ns,
        )
