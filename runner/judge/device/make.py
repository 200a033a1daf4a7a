"""Interface of a make of accelerators, and the host's own cores behind it.

A make is everything that the judge and its host take from a vendor's driver. `index` is the driver's own number of a
device (RUNNER_GPU). docs/porting.md says what each method must guarantee, and which cheat that stops. A make is asked
before and after calls: inside of a call there are only the memory and the telemetry that it returned.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import ClassVar, Final, NamedTuple

from runner.config import JudgeSettings
from runner.evidence import schedule
from runner.evidence.throttle import FULL, NONE
from runner.judge.data.call import Steps
from runner.judge.data.memory import Memory
from runner.judge.data.ranks import RanksMemory
from runner.judge.device.processor import STEAL_COLUMN, HostFolders, Pids
from runner.judge.device.telemetry import CpuTelemetry, Telemetry
from sandbox import policy

MOST_STEAL: Final = 0.02  # of all time since the host started: as much as a ranked time on a CPU may be unsure


class Fit(NamedTuple):
    """Check of a device's set-up, a line of `runner doctor`. `remedy` if it is not ok."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def fit(name: str, ok: bool, found: str, remedy: str) -> Fit:
    return Fit(name, ok, found, "" if ok else remedy)


class Found(NamedTuple):
    """A device of this host. `pci`: its address as the kernel writes it; empty if it has none."""

    number: int
    name: str
    pci: str = ""


class Make(ABC):
    """Devices of one vendor."""

    name: ClassVar[str]  # of one device, for a person
    tool: ClassVar[str]  # the vendor's command that shows the devices of a host
    on_host: ClassVar[bool] = False  # whether the host's own cores are the device
    profile: ClassVar[schedule.Profile] = schedule.GPU
    versions: ClassVar[tuple[str, ...]] = ()  # what its containers report beside torch's version, for the timing epoch
    remedies: ClassVar[Mapping[str, str]] = {}  # by RUNNER_GPU_STACK: for a container that does not see its device

    @abstractmethod
    def is_here(self) -> bool:
        """Return whether this host shows a device of this make. Quick, and loads no library."""

    @abstractmethod
    def find(self, numbers: Sequence[int]) -> list[Found]:
        """Return the devices with these numbers; without numbers, all. Raises ConfigError."""

    @abstractmethod
    def facts(self, index: int) -> dict[str, str | int]:
        """Return the device's part of the fingerprint. Raises ConfigError if any that decides times is unreadable."""

    @abstractmethod
    def claim(self, index: int, count: int = 1) -> None:
        """Make this device, or `count` from it on, the only ones that this process sees, before any use of them.
        Raises ConfigError."""

    @abstractmethod
    def equipment(self, settings: JudgeSettings, count: int = 1) -> policy.Gpu | None:
        """Return what a container needs to see the device, or `count` from it on, and no other; None if it needs
        nothing. Raises ConfigError."""

    @abstractmethod
    def nodes(self, devices: Sequence[str]) -> list[str]:
        """Return which of these files in a container's /dev are devices of this make: one file a device."""

    @abstractmethod
    def job_fit(self, index: int) -> list[Fit]:
        """Return the checks that every job requires, in a few milliseconds. Changes nothing; never raises."""

    @abstractmethod
    def host_fit(self, index: int) -> list[Fit]:
        """Return all checks of the device's set-up. Changes nothing; never raises."""

    @abstractmethod
    def telemetry(self, index: int, *, own: Pids, cores: Sequence[int] | None = None) -> Telemetry:
        """Open the telemetry. `cores`: the cores whose load counts on a CPU; by default all of the host's. Never
        raises: a silent device is judged blind, and its runs do not rank."""

    @abstractmethod
    def strangers(self, index: int, *, own: Pids) -> frozenset[int]:
        """Return processes on the device that are not ours; none if they cannot be known. Never raises."""

    @abstractmethod
    def temperature_c(self, index: int) -> float | None:
        """Return the device's temperature. May raise anything."""

    @abstractmethod
    def memory(self, steps: Steps, ranks: int = 1) -> Memory:
        """Return the judge's memory on the claimed device, or on `ranks` of them."""

    def building(self, index: int) -> tuple[str, tuple[int, ...], int]:
        """Return what a build without the device has to know of it: the compiler of native submissions, the compute
        capability, () where there is none, and the number of multiprocessors. Raises ConfigError."""
        return Memory.compiler, (), 0


class Cpu(Make):
    """The host's own cores."""

    name = "a CPU"
    tool = "lscpu"
    on_host = True
    profile = schedule.CPU

    def is_here(self) -> bool:
        return True

    def find(self, numbers: Sequence[int]) -> list[Found]:
        """Return lanes: a host has as many as its operator names."""
        return [Found(number, "cpu") for number in numbers]

    def facts(self, index: int) -> dict[str, str | int]:
        return {}

    def claim(self, index: int, count: int = 1) -> None:
        """Do nothing: cores are shared out by runner/host/accelerators.py."""

    def equipment(self, settings: JudgeSettings, count: int = 1) -> None:
        return None

    def nodes(self, devices: Sequence[str]) -> list[str]:
        return []

    def job_fit(self, index: int) -> list[Fit]:
        return []

    def host_fit(self, index: int) -> list[Fit]:
        return cpu_fit()

    def telemetry(self, index: int, *, own: Pids, cores: Sequence[int] | None = None) -> Telemetry:
        return CpuTelemetry(own=own, cores=cores)

    def strangers(self, index: int, *, own: Pids) -> frozenset[int]:
        return frozenset()

    def temperature_c(self, index: int) -> float | None:
        with closing(CpuTelemetry(own=frozenset)) as telemetry:
            return telemetry.temperature_c()

    def memory(self, steps: Steps, ranks: int = 1) -> Memory:
        return Memory() if ranks == 1 else RanksMemory([Memory() for _ in range(ranks)])


def cpu_fit(folders: HostFolders | None = None) -> list[Fit]:
    folders = folders or HostFolders()
    with closing(CpuTelemetry(own=frozenset, folders=folders)) as telemetry:
        telemetry.begin()
        seen, level = telemetry.end().after, telemetry.level
    heat = "clock or heat can be read" if level == FULL else "no clock and no heat to be read, as in a virtual machine"
    remedy = "Nothing says whether others used the cores, so nothing ranks; judge on Linux."
    telemetry_fit = fit("telemetry", level != NONE, f"{level}: {heat}", remedy)
    pressure = "the kernel tells who waited for a core" if seen.waited_ns is not None else "no /proc/pressure/cpu"
    remedy = "Boot with psi=1: else work of others that harms nobody voids too."
    pressure_fit = fit("pressure", seen.waited_ns is not None, pressure, remedy)
    try:
        spent = [int(one) for one in (folders.proc / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        spent = []
    if len(spent) <= STEAL_COLUMN:
        return [telemetry_fit, pressure_fit, Fit("steal", False, "/proc/stat does not tell", "Judge on Linux.")]
    share = spent[STEAL_COLUMN] / max(1, sum(spent))  # since the start of this host
    remedy = "The hypervisor gives these cores to other guests; ask for dedicated ones."
    found = f"{100 * share:.2g} % of the time since the start"
    return [telemetry_fit, pressure_fit, fit("steal", share <= MOST_STEAL, found, remedy)]
