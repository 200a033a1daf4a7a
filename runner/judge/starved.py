"""Did other programs of the host keep the processor from a container whose time limit ran out?

A limit is wall time, so an overloaded host lets a fast program run into it. The kernel's accounts tell this apart from
a program that is slow by itself: how long the container ran, how long a thread of it was ready and waited for a core,
and how long programs that are neither the judge's nor its containers' ran meanwhile. Nothing that a container says
counts.

A program that sleeps does not wait for a core. Threads that keep each other waiting run meanwhile. So a container that
ran for less than a quarter of its time, while one thread waited for at least half of it, had its core taken away. A
program that ran for a quarter of its limit and was not done is not excused: on a quiet host it would be slow, too.
Nobody can tell an endless loop that ran for less: it is judged again, and ends as `timeout` on a calmer host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from runner.judge.foreign import PER_CORE, SUM, Pids, groups_of, open_foreign, usage_ns
from runner.judge.kernelfiles import HostFolders, open_file
from runner.judge.load import ticks_by_core

STARVED: Final = "starved"  # a reason of `unmeasurable`
MOST_RAN: Final = 0.25  # of its time, on all cores together
LEAST_WAITED: Final = 0.5  # of its time, by its most delayed thread
LEAST_FOREIGN: Final = 0.5  # of the time that went by, on one core, by programs of others
WATCHED_S: Final = 1.0  # a wait that is longer is watched; a shorter one costs nothing


@dataclass(frozen=True)
class Reading:
    """Accounts of the kernel at one moment, in ns. `waits`: by thread, how long it was ready and did not run."""

    at_ns: int
    ran_ns: int
    waits: Mapping[int, int]
    foreign: tuple[int, ...]


@dataclass(frozen=True)
class Share:
    """Who had the processor while `wall_ns` went by, in ns."""

    wall_ns: int
    ran_ns: int
    waited_ns: int
    foreign_ns: int

    @classmethod
    def between(cls, before: Reading, after: Reading) -> Share:
        """Of one container, which was to work all the time."""
        waited = [waits - before.waits.get(thread, 0) for thread, waits in after.waits.items()]
        foreign = [now - then for then, now in zip(before.foreign, after.foreign, strict=False)]
        return cls(
            wall_ns=max(1, after.at_ns - before.at_ns),
            ran_ns=max(0, after.ran_ns - before.ran_ns),
            waited_ns=max([0, *waited]),
            foreign_ns=max([0, *foreign]),
        )

    def to_json(self) -> dict[str, int]:
        return asdict(self)


def is_starved(share: Mapping[str, Any]) -> bool:
    """Does this share, as the evidence holds it, excuse a time limit that ran out?"""
    return bool(
        share["ran_ns"] < MOST_RAN * share["wall_ns"]
        and share["waited_ns"] >= LEAST_WAITED * share["wall_ns"]
        and share["foreign_ns"] >= LEAST_FOREIGN * share["wall_ns"]
    )


def sentence(share: Mapping[str, Any]) -> str:
    wall, ran, waited = (share[name] / 1e9 for name in ("wall_ns", "ran_ns", "waited_ns"))
    return (
        f"A time limit ran out because other programs kept the host's processor busy: of {wall:.0f} s the judge and "
        f"its containers waited {waited:.0f} s for a core, and the containers ran {ran:.0f} s. Nothing is known about "
        "your kernel."
    )


class Others:
    """Processor time of all programs but the judge and its containers."""

    def __init__(self, pids: Pids, cores: Sequence[int], folders: HostFolders | None = None) -> None:
        folders = folders or HostFolders()
        self._stat = open_file(folders.proc / "stat")
        self._foreign = open_foreign(pids, folders, cores)

    def ns(self) -> tuple[int, ...]:
        """By core, or in one sum; empty where the host does not tell."""
        return self._foreign.ns(ticks_by_core(self._stat.read()) if self._stat is not None else {})[0]

    def close(self) -> None:
        if self._stat is not None:
            self._stat.close()
        self._foreign.close()


class Meter:
    """The accounts of one container. On a host that does not show its control group nobody ever counts as starved."""

    def __init__(self, pid: int, others: Callable[[], tuple[int, ...]], folders: HostFolders | None = None) -> None:
        self._others = others
        self._folders = folders or HostFolders()
        self._usage, self._threads = self._find(str(pid))

    def _find(self, pid: str) -> tuple[Path, Path]:
        """The files of its control group that say how long it ran, and which threads are in it."""
        for name, threads in ((PER_CORE, "tasks"), (SUM, "cgroup.threads")):
            judges = groups_of("self", self._folders, name)
            for group in groups_of(pid, self._folders, name):
                if group not in judges and (group / name).exists() and (group / threads).exists():
                    return group / name, group / threads
        return Path(), Path()

    def read(self) -> Reading:
        return Reading(time.monotonic_ns(), self._ran_ns(), self._waits(), self._others())

    def _ran_ns(self) -> int:
        try:
            text = self._usage.read_bytes()
        except OSError:
            return 0
        return sum(map(int, text.split())) if self._usage.name == PER_CORE else usage_ns(text)

    def _waits(self) -> dict[int, int]:
        """Of its threads that are alive. One that ended meanwhile is left out, which excuses nothing."""
        waits: dict[int, int] = {}
        with suppress(OSError):
            for thread in self._threads.read_text().split():
                with suppress(OSError, IndexError):
                    waits[int(thread)] = int((self._folders.proc / thread / "schedstat").read_text().split()[1])
        return waits


def judge_waited_ns() -> int:
    """How long this thread was ready and had no core; 0 where the host does not tell."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    except (OSError, IndexError):
        return 0


class Watch:
    """Who has the processor in a stage, from when this is made. One container at a time works, and the judge works for
    all; `polled_ns` says how long the judge has waited for answers of the sides.

    The judge looks for an answer again and again and so waits for a core itself. That must excuse no side that sleeps:
    while an answer is awaited, only the sides' own waiting counts.
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
        """Until now."""
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
