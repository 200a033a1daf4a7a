"""Use of the processor, from the kernel's accounts: foreign CPU time, which is all less that of the judge and its
containers; how long ours waited for a core; and both while a time limit ran out (evidence/starved.py).

Load of our own is no disturbance, however much it is. Foreign time comes from the first available source: cpuacct of
cgroup v1 (ns, by core), the top-level groups of cgroup v2 (µs, all cores together), /proc/stat (ticks, and hence with a
grain). Waiting time comes from the judge's schedstat and the containers' own PSI, or else from the host's PSI, which
also counts programs that wait for each other. Files of the kernel are opened once and never fail afterwards.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runner.evidence.starved import Reading, Share

MOST_BYTES: Final = 1 << 16  # of a file below /proc or /sys
PER_CORE: Final = "cpuacct.usage_percpu"
SUM: Final = "cpu.stat"
PRESSURE: Final = "cpu.pressure"
TICK_NS: Final = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
BUSY_COLUMNS: Final = (0, 1, 2, 5, 6)  # of /proc/stat: user, nice, system, irq, softirq
STEAL_COLUMN: Final = 7
WATCHED_S: Final = 1.0  # a longer wait is watched; a shorter wait costs no reading

Pids = Callable[[], frozenset[int]]  # of the judge and of a program in each of its containers
Ticks = Mapping[int, Sequence[int]]  # columns of /proc/stat by core


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


class _Groups:
    """Control groups of our containers, by one file of each; ended groups keep the time that they had used.

    `processes` are ours too but share the judge's own group, or their group is not visible here: each is counted by its
    own clock.
    """

    def __init__(self, pids: Pids, files: KernelFiles, name: str) -> None:
        self._pids = pids
        self._kernel = files
        self._name = name
        self._known = {os.getpid()}
        self._not_theirs = set(groups_of("self", files.folders, name))
        self._files: dict[Path, KernelFile] = {}
        self._processes: dict[int, int] = {}

    def read(self) -> list[bytes]:
        for pid in self._pids() - self._known:
            self._known.add(pid)
            self._find(pid)
        return [file.read() for file in self._files.values()]

    def complete(self) -> bool:
        """Return whether every container known so far has its file."""
        return bool(self.read()) and not self._processes

    def processes_ns(self) -> int:
        for pid in self._processes:
            with suppress(OSError):
                clock = (~pid << 3) | 2  # the CPU time of the whole process, as clock_getcpuclockid returns it
                self._processes[pid] = time.clock_gettime_ns(clock)
        return sum(self._processes.values())

    def _find(self, pid: int) -> None:
        for group in groups_of(str(pid), self._kernel.folders, self._name):
            path = group / self._name
            if path in self._files:
                return
            if group not in self._not_theirs and (file := self._kernel.open(path)) is not None:
                self._files[path] = file
                return
        self._processes[pid] = 0


class _ByCore:
    """Foreign time from cgroup v1, where the judge keeps to one core: ns on each core that counts.

    Our own time is read before the total: reading it brings the account of a running process up to date.
    """

    counts_ticks = False

    def __init__(self, total: KernelFile, own: _Groups, judge: int, cores: Sequence[int]) -> None:
        self._total = total
        self._own = own
        self._judge = judge
        self._cores = cores

    def ns(self, ticks: Ticks) -> tuple[tuple[int, ...], int]:
        """Return foreign CPU time by core, and its resolution. Both in ns."""
        ours = [[int(one) for one in text.split()] for text in self._own.read()]
        everywhere, judge = self._own.processes_ns(), time.process_time_ns()
        used = [int(one) for one in self._total.read().split()]
        foreign = {core: used[core] - sum(one[core] for one in ours) - everywhere for core in self._cores}
        if self._judge in foreign:
            foreign[self._judge] -= judge
        return tuple(foreign.values()), 0


class _Summed:
    """Foreign time from cgroup v2, or from ticks without groups to sum: one figure for all cores."""

    def __init__(self, groups: list[KernelFile], own: _Groups, cores: Sequence[int]) -> None:
        self._groups = groups
        self._own = own
        self._cores = cores
        self.counts_ticks = not groups

    def ns(self, ticks: Ticks) -> tuple[tuple[int, ...], int]:
        """Return foreign CPU time in one sum, empty if unknown; and its resolution. Both in ns."""
        ours = sum(usage_ns(text) for text in self._own.read())
        ours += self._own.processes_ns() + time.process_time_ns()
        if self._groups:
            return (sum(usage_ns(group.read()) for group in self._groups) - ours,), 0
        counted = [ticks[core] for core in self._cores if core in ticks]
        if not counted:
            return (), 0
        spent = sum(columns[column] for columns in counted for column in BUSY_COLUMNS)
        return (spent * TICK_NS - ours,), (len(counted) + 1) * TICK_NS


def open_foreign(pids: Pids, files: KernelFiles, cores: Sequence[int]) -> _ByCore | _Summed:
    """Return the most exact account that this host offers."""
    judge, folders = os.sched_getaffinity(0), files.folders
    total = files.open(folders.cgroup / "cpuacct" / PER_CORE)
    if total is not None and len(judge) == 1 and len(total.read().split()) > max(cores, default=0):
        return _ByCore(total, _Groups(pids, files, PER_CORE), min(judge), cores)
    groups = []
    if folders.cgroup not in groups_of("self", folders, SUM):  # otherwise there is work outside all groups, ours
        groups = files.open_all(sorted(folders.cgroup.glob("*/cpu.stat")))
    return _Summed(groups, _Groups(pids, files, SUM), cores)


def open_waiting(pids: Pids, files: KernelFiles, cores: int) -> Callable[[], int | None]:
    """Return the most exact account of waiting time, in ns, that this host offers of the containers that exist now.

    It covers this thread, which must be the judge's measuring thread, and the containers; or else all programs: PSI is
    weighed over the cores that are not idle, and the waiting of one core is at most `cores` times it.
    """
    containers = _Groups(pids, files, PRESSURE)
    thread = files.open(files.folders.proc / "self/task" / str(threading.get_native_id()) / "schedstat")
    if thread is not None and len(thread.read().split()) == 3 and containers.complete():  # ran, waited, slices
        return lambda: int(thread.read().split()[1]) + sum(map(_stalled_ns, containers.read()))
    pressure = files.open(files.folders.proc / "pressure" / "cpu")
    return lambda: None if pressure is None else cores * _stalled_ns(pressure.read())


def ticks_by_core(stat: KernelFile | None) -> dict[int, list[int]]:
    """Return the columns of /proc/stat by core. Empty without the file, or a column of steal time."""
    lines = (line.split() for line in (stat.read() if stat else b"").splitlines() if line.startswith(b"cpu"))
    return {
        int(name[3:]): [int(one) for one in columns]
        for name, *columns in lines
        if name != b"cpu" and len(columns) > STEAL_COLUMN
    }


def groups_of(pid: str, folders: HostFolders, name: str) -> list[Path]:
    """Return folders that may be the process's control group: of version 1 for PER_CORE, else of version 2."""
    try:
        lines = (folders.proc / pid / "cgroup").read_text().splitlines()
    except OSError:
        return []
    root, found = folders.cgroup, []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if name == PER_CORE and "cpuacct" in controllers.split(","):
            found.append(root / "cpuacct" / path.lstrip("/"))
        elif name != PER_CORE and not controllers:
            found += [base / path.lstrip("/") for base in (root, root / "unified")]
    return found


def usage_ns(text: bytes) -> int:
    """Parse cpu.stat, whose first line is "usage_usec N". Returns ns."""
    return 1000 * int(text.split(b"\n", 1)[0].rpartition(b" ")[2] or 0)


def _stalled_ns(text: bytes) -> int:
    """Parse a PSI file: "some avg10=… avg60=… avg300=… total=MICROSECONDS". Returns ns."""
    return 1000 * int(text.split(b"\n", 1)[0].rpartition(b"total=")[2] or 0)


# -- while a time limit runs out --------------------------------------------------------------------------------------


class Others:
    """Processor time of all programs but the judge and its containers."""

    def __init__(self, pids: Pids, cores: Sequence[int], folders: HostFolders | None = None) -> None:
        files = KernelFiles(folders)
        self._stat = files.open(files.folders.proc / "stat")
        self._foreign = open_foreign(pids, files, cores)
        self.close = files.close

    @property
    def counts_ticks(self) -> bool:
        """Whether the time is counted in ticks of the cores, for want of a finer account."""
        return self._foreign.counts_ticks

    def ns(self) -> tuple[int, ...]:
        """Return the time by core, or in one sum, in ns; empty if the host does not report it."""
        return self._foreign.ns(ticks_by_core(self._stat))[0]


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
