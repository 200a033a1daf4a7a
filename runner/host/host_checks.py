"""Checks of a machine's fitness to judge: cores, clocks, memory, kernel. Part of `runner doctor`.

Each check is a function from a `Host` to a `Check`: the state found, its reason, its remedy. They read files below
/proc and /sys through one seam, which lets a test imitate any machine.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from runner.host import accelerators
from runner.judge.data.memory import SharedPages
from runner.judge.device.fitness import Fit, host_fit

OK: Final = "ok"
WARNING: Final = "warning"  # it can judge; figures are noisier or an error is possible
NOT_CERTIFIED: Final = "not certified"  # good enough at home, not for a site
UNFIT: Final = "unfit"  # it cannot judge

GOOD_CLOCKS: Final = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
COARSE_CLOCK_NS: Final = 1_000
SLOW_CLOCK_NS: Final = 2_000  # a read; clocks outside the kernel's fast path cost more
LEAST_MEMORY: Final = 4 << 30
GOOD_MEMORY: Final = 10 << 30  # two tenants, an oracle, their arenas and the judge, each at its limit
NOISE: Final = ("pressure", "steal", "display", "throttling")  # of a device's fitness: more voids, no wrong times
BUSY_SHARE: Final = 0.5  # of the cores; a load beyond it is foreign work


@dataclass(frozen=True)
class Check:
    """Line of the table. `remedy` is empty if none is needed."""

    name: str
    result: str
    found: str
    why: str
    remedy: str = ""

    def to_json(self) -> dict[str, str]:
        return dict(self.__dict__)


class Host:
    """This machine, as far as the checks look at it."""

    def read(self, path: str) -> str:
        """Return a file's text; empty if it does not exist or may not be read."""
        try:
            return Path(path).read_text(errors="replace").strip()
        except OSError:
            return ""

    def cores(self) -> Sequence[int]:
        return sorted(os.sched_getaffinity(0))

    def load(self) -> float:
        """Return the runnable threads, averaged over a minute."""
        return os.getloadavg()[0]

    def clock_ns(self) -> tuple[int, float]:
        """Return the smallest step seen of the judge's clock, and the cost of a read, in ns."""
        now, reads = time.monotonic_ns, 20_000
        began = now()
        seen = [now() for _ in range(reads)]
        cost = (seen[-1] - began) / reads
        steps = [later - earlier for earlier, later in pairwise(seen) if later > earlier]
        return min(steps, default=COARSE_CLOCK_NS * 1_000), cost

    def sealing(self) -> str:
        """Return the fault of sealing memory against later writers; empty if it works."""
        return _on_os_error(_try_sealing)

    def pidfd(self) -> str:
        """Return the fault of descriptors of processes; empty if they work."""
        return _on_os_error(lambda: os.close(os.pidfd_open(os.getpid())))

    def fit(self, hardware: str, gpu: int) -> list[Fit]:
        """Return the checks of the device itself."""
        return host_fit(hardware, gpu)


def _on_os_error(act: Callable[[], Any]) -> str:
    try:
        return act() or ""
    except (OSError, AttributeError) as err:
        return str(err)


def _try_sealing() -> str:
    with closing(SharedPages("doctor", mmap.PAGESIZE, for_reading_only=True)) as page:
        page.map[:1] = b"x"  # the map from before stays writable
        try:
            mmap.mmap(page.fd, mmap.PAGESIZE).close()
        except PermissionError:
            return ""
        return "a sealed page can still be mapped for writing"


def check_fitness(host: Host, hardware: str, gpu: int = 0) -> list[Check]:
    """Check the judge's view of its device, and disturbances of the device."""
    why = "A time ranks only with evidence that its device ran as it should, and for nobody else."
    return [
        Check(fit.name, OK if fit.ok else WARNING if fit.name in NOISE else UNFIT, fit.found, why, fit.remedy)
        for fit in host.fit(hardware, gpu)
    ]


def check_host(host: Host) -> list[Check]:
    return [check(host) for check in CHECKS]


def checked(name: str, good: bool, found: str, why: str, remedy: str, bad: str = UNFIT) -> Check:
    """Return a check, with the result `bad` and the remedy only if it is not good."""
    return Check(name, OK if good else bad, found, why, "" if good else remedy)


def cores(host: Host) -> Check:
    found = host.cores()
    why = "The judge keeps a core for itself: on a shared one, its clock waits for the kernel that it measures."
    remedy = "Give this process at least two cores."
    return checked("cores", len(found) >= 2, f"{len(found)} for this process", why, remedy)


def siblings(host: Host) -> Check:
    shared = accelerators.share_out(host.cores())
    near = {core: listed(host.read(_cpu(core, "topology/thread_siblings_list"))) for core in shared.judge}
    both = sorted({core for found in near.values() for core in found} & set(shared.tenant) - set(shared.judge))
    why = "Two threads of one core share its units: the judge's polling would slow the kernel that it times."
    found = "judge and tenants share no core"
    if both:
        found = f"the judge's core {shared.judge[0]} is a thread of the same core as {accelerators.cpuset(both)}"
    remedy = "Turn SMT off (echo off > /sys/devices/system/cpu/smt/control), or start with taskset on whole cores."
    return checked("SMT siblings", not both, found, why, remedy, WARNING)


def governor(host: Host) -> Check:
    used = accelerators.share_out(host.cores())
    governors = {host.read(_cpu(core, "cpufreq/scaling_governor")) for core in (*used.judge, *used.tenant)} - {""}
    found = "no governor to be seen, as on a virtual machine"
    if governors:
        found = f"governor {', '.join(sorted(governors))}"
    why = "A governor that saves power changes the clock rate between blocks."
    remedy = "cpupower frequency-set -g performance"
    return checked("frequency", governors <= {"performance"}, found, why, remedy, WARNING)


def clock_source(host: Host) -> Check:
    found = host.read("/sys/devices/system/clocksource/clocksource0/current_clocksource") or "unknown"
    why = "A clock that is read from a device (hpet, acpi_pm) costs microseconds a read and steps coarsely."
    remedy = "Find out why the kernel gave up on tsc (dmesg | grep -i clocksource); clocksource=tsc at boot."
    return checked("clock source", found in GOOD_CLOCKS, found, why, remedy, NOT_CERTIFIED)


def clock(host: Host) -> Check:
    step, cost = host.clock_ns()
    found, why = f"steps of {step} ns, {cost:.0f} ns a read", "What ranks is read from this clock."
    remedy = "See the clock source; under emulation no remedy is known."
    return checked("clock", step <= COARSE_CLOCK_NS and cost <= SLOW_CLOCK_NS, found, why, remedy, NOT_CERTIFIED)


def memory(host: Host) -> Check:
    lines = dict(line.split(":", 1) for line in host.read("/proc/meminfo").splitlines() if ":" in line)
    available = int(lines.get("MemAvailable", "0").split()[0]) * 1024
    why = "Containers, their arenas (memfd: memory, not /dev/shm) and the judge's copies lie in it, without swap."
    remedy = f"Free some: {GOOD_MEMORY >> 30} GiB hold a job whose containers all reach their limits."
    bad = WARNING if available >= LEAST_MEMORY else UNFIT
    return checked("memory", available >= GOOD_MEMORY, f"{available / 2**30:.1f} GiB available", why, remedy, bad)


def swap(host: Host) -> Check:
    lines = host.read("/proc/swaps").splitlines()[1:]
    found = f"on: {', '.join(line.split()[0] for line in lines)}" if lines else "off"
    why = "Containers get none, but the judge's own memory could be swapped out in the middle of a call."
    return checked("swap", not lines, found, why, "swapoff -a", WARNING)


def sealing(host: Host) -> Check:
    wrong = host.sealing()
    why = "A page from judge to tenant must not become writable for the tenant (F_SEAL_FUTURE_WRITE, Linux 5.1)."
    remedy = "Use Linux 5.1 or later, on the machine itself."
    return checked("sealed memory", not wrong, wrong or "memfd and its seals work", why, remedy)


def pidfd(host: Host) -> Check:
    wrong = host.pidfd()
    why = "The judge watches and kills containers by descriptors that cannot come to mean another process (Linux 5.3)."
    return checked("pidfd", not wrong, wrong or "works", why, "Use Linux 5.3 or later, on the machine itself.")


def load(host: Host) -> Check:
    threads, cores = host.load(), len(host.cores())
    why = "Other people's work disturbs the times; what is disturbed is voided and repeated, or not ranked."
    remedy = "Stop what else runs here, or wait a minute and look again."
    return checked("load", threads <= BUSY_SHARE * cores, f"load {threads:.2f} on {cores} cores", why, remedy, WARNING)


CHECKS: Final = (cores, siblings, governor, clock_source, clock, memory, swap, sealing, pidfd, load)


def _cpu(core: int, name: str) -> str:
    return f"/sys/devices/system/cpu/cpu{core}/{name}"


def listed(text: str) -> set[int]:
    """Core numbers from the kernel's "0-1,4"."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
