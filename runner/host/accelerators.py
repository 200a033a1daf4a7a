"""Makes, devices and cores of this host, the locks of its devices, and its fingerprint.

A runner judges on one device at a time, and no two processes of a host on the same device: an exclusive flock per
device, in a folder that all runners of the host share, freed by the kernel when its holder dies in any way. The judge
keeps a core for itself, tenants get some of the rest, the oracle all of them. Only `draw_uid` is random.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from runner import __version__
from runner.config import JudgeSettings
from runner.errors import ConfigError, DeviceBusy
from runner.judge.device.make import Cpu, Make
from runner.judge.device.nvidia import Nvidia
from sandbox.protocol import MOST_RANKS

MOST_TENANT_CORES: Final = 4
UIDS: Final = range(200_000, 600_000)  # of containers; no user of a host lies here
CPU: Final = Cpu()
MAKES: tuple[Make, ...] = (Nvidia(),)  # of accelerators: a port adds its own

Read = Callable[[str], str]  # of a path: see `read`


def read(path: str) -> str:
    """Return a file's text; empty if it does not exist or may not be read."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class Device:
    """Device that kernels run on, or `count` of them from `index` on."""

    hardware: str
    index: int
    count: int = 1

    @classmethod
    def of(cls, settings: JudgeSettings) -> Self:
        """Return the device of these settings, whether or not this host has it."""
        if make_of(settings.runner_hardware).on_host:
            return cls(settings.runner_hardware, 0)
        return cls(settings.runner_hardware, settings.runner_gpu, settings.runner_gpus)

    @property
    def name(self) -> str:
        return f"{self.hardware}-{self.index}"

    def files(self, folder: Path, kind: str) -> list[Path]:
        """Return the files that stand for it in a folder of locks: one a GPU, whatever its board calls its hardware."""
        if self.hardware == "cpu":
            return [folder / f"photofinish-cpu.{kind}"]
        return [folder / f"photofinish-gpu-{self.index + number}.{kind}" for number in range(self.count)]


def make_of(hardware: str) -> Make:
    """Return the make that judges this hardware: of accelerators, the first with a device on this host."""
    if hardware == "cpu":
        return CPU
    return next((make for make in MAKES if make.is_here()), MAKES[0])


def device_of(settings: JudgeSettings) -> Device:
    """Return the host's device of these settings. Raises ConfigError for a kind that cannot be judged on here."""
    hardware = settings.runner_hardware
    if not make_of(hardware).is_here():
        needed = f"{hardware!r} needs {' or '.join(make.name for make in MAKES)}, and this host shows none"
        raise ConfigError(f"RUNNER_HARDWARE: {needed}; 'cpu' needs none")
    return Device.of(settings)


def most_ranks(hardware: str, gpus: int) -> int:
    """Return how many devices a problem may run on at once here; `gpus`: RUNNER_GPUS. Ranks share a host's cores."""
    return MOST_RANKS if make_of(hardware).on_host else gpus


class DeviceLock:
    """Exclusive hold on a device. `take` raises DeviceBusy instead of waiting, and so does entering the context."""

    def __init__(self, device: Device, folder: Path, kind: str = "lock") -> None:
        self.paths = device.files(folder, kind)
        self.path = self.paths[0]  # after DeviceBusy the file that another process holds
        self._fds: list[int] = []

    @property
    def held(self) -> bool:
        return bool(self._fds)

    def take(self) -> None:
        try:
            for path in self.paths:
                self.path = path
                self._fds.append(open_shared(path))
                fcntl.flock(self._fds[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise DeviceBusy(f"{self.path}: another runner on this host holds the device; stop it first") from None
        except ConfigError:
            self.close()
            raise

    def close(self) -> None:
        """Give the device back, if it is held."""
        for descriptor in self._fds:
            os.close(descriptor)
        self._fds = []

    def __enter__(self) -> DeviceLock:
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_shared(path: Path) -> int:
    """Open for reading, which is enough for flock: in a sticky folder the kernel forbids O_CREAT on a foreign file."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            return os.open(path, flags | os.O_CREAT, 0o644)
    except OSError as error:
        raise ConfigError(f"RUNNER_LOCKS: cannot open {path}: {error.strerror}") from None


@dataclass(frozen=True)
class Cores:
    """Core numbers. On a host with one core the first three are the same, and the figures are worth little.

    `spares`: of containers that import torch beside a timed job, the last ones that build, as many as a tenant has:
    libraries count threads while they are imported. None if there are too few.
    """

    judge: tuple[int, ...]
    tenant: tuple[int, ...]
    oracle: tuple[int, ...]
    spares: tuple[int, ...] = ()


def share_out(available: Sequence[int], beside: Sequence[int] = ()) -> Cores:
    """Return the cores of a job; `beside`: `building_cores`."""
    cores = tuple(sorted(available))
    if not cores:
        raise ValueError("no core to share out")
    tenant = cores[1 : 1 + MOST_TENANT_CORES] or cores
    return Cores(cores[:1], tenant, cores, tuple(beside[-len(tenant) :]) if len(beside) >= len(tenant) else ())


def building_cores(available: Sequence[int], most: int, read: Read = read) -> tuple[int, ...]:
    """Return the cores that work ahead beside a timed job: the last ones, none of the judge's or a tenant's, and none
    that is a second thread of theirs."""
    cores = share_out(available)
    timed = set[int]().union(*(threads(core, read) for core in (*cores.judge, *cores.tenant)))
    return tuple(core for core in sorted(available) if core not in timed)[-most:] if most else ()


def threads(core: int, read: Read = read) -> set[int]:
    """Return the numbers of all threads of a core, of which this is one."""
    return {core} | listed(read(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"))


def cpuset(cores: Sequence[int]) -> str:
    """Return the cores in Docker's format: "1" or "1,2,3"."""
    return ",".join(map(str, cores))


def listed(text: str) -> set[int]:
    """Return the core numbers of the kernel's "0-1,4"."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def spans(cores: Collection[int]) -> str:
    """Return core numbers in the kernel's short form: "0-1,4"."""
    found: list[list[int]] = []
    for core in sorted(cores):
        if found and core == found[-1][1] + 1:
            found[-1][1] = core
        else:
            found.append([core, core])
    return ",".join(f"{first}-{last}" if first < last else str(first) for first, last in found)


def draw_uid() -> int:
    """Return a random uid for a container, far from the host's own users."""
    return secrets.choice(UIDS)


def fingerprint(hardware: str, index: int = 0) -> dict[str, str | int]:
    """Return the properties of this host for the site to keep beside results: small, public, without names of people or
    machines.

    Raises ConfigError if the device cannot be read: times of an unknown device belong to no epoch. The versions in
    containers come from runner/host/image_versions.py.
    """
    host: dict[str, str | int] = {
        "hardware": hardware,
        "timing_version": TIMING_VERSION,
        "cpu": _cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "photofinish": __version__,
    }
    return {**host, **make_of(hardware).facts(index)}


# Properties that decide how long a kernel takes and how it is timed. A changed value makes a new epoch; epochs never
# rank together. The power limit is the configured limit. The enforced limit may fall below it for a while (a rack's
# cap, heat): that is telemetry of a run, as clocks and temperatures are. Versions in containers are each make's own.
TIMING_VERSION: Final = 13  # of the timing of a call (runner/judge): raised if a change affects times
EPOCH_FIELDS: Final = ("timing_version", "hardware", "cpu", "cpus", "gpu", "driver", "power_limit_w", "max_sm_mhz")


def version_names() -> tuple[str, ...]:
    """Return the names of all versions that a container may report."""
    return ("torch", *(name for make in MAKES for name in make.versions))


def epoch(fingerprint: Mapping[str, str | int]) -> str:
    """Return sixteen hexadecimal digits, the same for hosts whose times may be compared."""
    decisive = {name: fingerprint[name] for name in (*EPOCH_FIELDS, *version_names()) if name in fingerprint}
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]


def _cpu_model() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()[:128]
    return platform.processor()[:128] or platform.machine()
