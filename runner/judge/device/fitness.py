"""Set-up of the device for judging: the lines of `runner doctor`, and the requirements of every job (P0).

Each line is a name, whether it is right, the state found, and a remedy if it is wrong. No setting is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from runner.evidence.throttle import FULL, NEEDED_COUNTERS, NONE
from runner.judge.device.cpu import STEAL_COLUMN, CpuTelemetry
from runner.judge.device.gpu import UNCORRECTED, VOLATILE, Device, Own, Strangers, load_nvml
from runner.judge.device.kernel_files import HostFolders

GRAPHICS: Final = ("nvmlDeviceGetGraphicsRunningProcesses",)
MPS: Final = "nvidia-cuda-mps"  # prefix of its daemons' names
COMPUTE_MODES: Final = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")
MOST_STEAL: Final = 0.02  # of all time since the host started: as much as a ranked time on a CPU may be unsure


class Fit(NamedTuple):
    """Result of a check; `remedy` if it is not ok."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def host_fit(hardware: str, gpu: int = 0) -> list[Fit]:
    """Return all checks of this host's device, on a GPU host of the GPU with this NVML number. Queries; never
    raises."""
    return cpu_fit() if hardware == "cpu" else _by_nvml(lambda nvml: gpu_fit(nvml, index=gpu))


def job_fit(gpu: int) -> list[Fit]:
    """Return the checks that every job on this GPU requires, in a few milliseconds. Queries; never raises."""
    return _by_nvml(lambda nvml: gpu_needs(nvml, index=gpu))


def _by_nvml(ask: Callable[[Any], list[Fit]]) -> list[Fit]:
    try:
        return ask(load_nvml())
    except Exception as err:  # NVML has its own tree of errors, and the library may be missing altogether
        remedy = "Load the driver (nvidia-smi must work): without telemetry nothing ranks."
        return [Fit("NVML", False, f"{type(err).__name__}: {err}", remedy)]


def nobody() -> frozenset[int]:
    return frozenset()


def gpu_fit(nvml: Any, *, own: Own = nobody, index: int = 0, proc: Path = Path("/proc")) -> list[Fit]:
    """Return all checks of a GPU. `nvml`: the library, ready (load_nvml). `own`: processes that may be on the device
    beside this process."""
    device = Device(nvml, index)
    return [
        *gpu_needs(nvml, index=index, proc=proc),
        _ecc(device),
        _company(Strangers(device, own, proc)),
        _graphics(device),
        _pcie(device),
        _counters(device),
    ]


def gpu_needs(nvml: Any, *, index: int = 0, proc: Path = Path("/proc")) -> list[Fit]:
    """Return the checks without which no job may run. If one fails, foreign work runs beside a kernel, containers
    cannot share the device, or its memory may make right code wrong. No later check detects that while a job runs."""
    device = Device(nvml, index)
    return [_compute_mode(device), _mig(device), _mps(proc), _ecc_errors(device)]


def cpu_fit(folders: HostFolders | None = None) -> list[Fit]:
    folders = folders or HostFolders()
    with closing(CpuTelemetry(own=nobody, folders=folders)) as telemetry:
        telemetry.begin()
        seen, level = telemetry.end().after, telemetry.level
    heat = "clock or heat can be read" if level == FULL else "no clock and no heat to be read, as in a virtual machine"
    return [
        Fit(
            "telemetry",
            level != NONE,
            f"{level}: {heat}",
            "" if level != NONE else "Nothing says whether others used the cores, so nothing ranks; judge on Linux.",
        ),
        Fit(
            "pressure",
            seen.waited_ns is not None,
            "the kernel tells who waited for a core" if seen.waited_ns is not None else "no /proc/pressure/cpu",
            "" if seen.waited_ns is not None else "Boot with psi=1: else work of others that harms nobody voids too.",
        ),
        _steal(folders.proc),
    ]


def _steal(proc: Path) -> Fit:
    """Check the steal time since the host was started."""
    try:
        spent = [int(one) for one in (proc / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        spent = []
    if len(spent) <= STEAL_COLUMN:
        return Fit("steal", False, "/proc/stat does not tell", "Judge on Linux.")
    share = spent[STEAL_COLUMN] / max(1, sum(spent))
    good = share <= MOST_STEAL
    remedy = "" if good else "The hypervisor gives these cores to other guests; ask for dedicated ones."
    return Fit("steal", good, f"{100 * share:.2g} % of the time since the start", remedy)


def _compute_mode(device: Device) -> Fit:
    mode = device.ask("nvmlDeviceGetComputeMode")
    if mode is None:
        return Fit("compute mode", False, "NVML does not tell", "Update the driver: the judge must see its device.")
    name = COMPUTE_MODES[mode] if 0 <= mode < len(COMPUTE_MODES) else str(mode)
    remedy = "" if mode == 0 else "`nvidia-smi -c DEFAULT`: judge, oracle and tenants share the device."
    return Fit("compute mode", mode == 0, name, remedy)


def _mig(device: Device) -> Fit:
    modes = device.ask("nvmlDeviceGetMigMode")
    if modes is None:
        return Fit("MIG", True, "the device has none")
    on = any(modes)
    return Fit(
        "MIG", not on, "on" if on else "off", "`nvidia-smi -mig 0`: slices share memory and clocks." if on else ""
    )


def _mps(proc: Path) -> Fit:
    names = sorted({name for path in proc.glob("[0-9]*/comm") if (name := _text(path)).startswith(MPS)})
    remedy = "Stop it (`echo quit | nvidia-cuda-mps-control`): it runs kernels of several processes at once."
    return Fit("MPS", not names, ", ".join(names) or "not running", remedy if names else "")


def _ecc(device: Device) -> Fit:
    modes = device.ask("nvmlDeviceGetEccMode")
    if modes is None:
        return Fit("ECC", True, "the device has none")
    if not modes[0]:
        return Fit("ECC", False, "off", "`nvidia-smi -e 1` and reset: a flipped bit would be the submission's fault.")
    return Fit("ECC", True, "on")


def _ecc_errors(device: Device) -> Fit:
    """Check the memory errors since the driver was loaded; a reset clears them."""
    errors = device.ask("nvmlDeviceGetTotalEccErrors", UNCORRECTED, VOLATILE)
    remedy = "Reset the device (`nvidia-smi -r`); replace it if they come back." if errors else ""
    return Fit("memory errors", not errors, f"{errors} uncorrected" if errors else "none", remedy)


def _company(strangers: Strangers) -> Fit:
    pids = strangers.pids()
    if pids is None:
        remedy = "Run the judge in the host's pid namespace: else no stranger on the device is noticed."
        return Fit("processes", False, "NVML's list says nothing here", remedy)
    found = "none but the judge's" if not pids else f"pid {', '.join(map(str, sorted(pids)))}"
    return Fit("processes", not pids, found, "End them: a device is judged on alone." if pids else "")


def _graphics(device: Device) -> Fit:
    pids = device.pids(GRAPHICS)
    found = "none" if not pids else f"pid {', '.join(map(str, sorted(pids)))}"
    return Fit("display", not pids, found, "Show the screen from another device." if pids else "")


def _pcie(device: Device) -> Fit:
    width, most = device.ask("nvmlDeviceGetCurrPcieLinkWidth"), device.ask("nvmlDeviceGetMaxPcieLinkWidth")
    if width is None or most is None:
        return Fit("PCIe", True, "NVML does not tell")
    remedy = "" if width >= most else "Reseat the device or look at its slot: some lanes do not work."
    return Fit("PCIe", width >= most, f"{width} of {most} lanes", remedy)


def _counters(device: Device) -> Fit:
    missing = sorted(NEEDED_COUNTERS - set(device.counters()))
    if device.mask() is None:
        return Fit("throttling", False, "no mask of reasons", "Update the driver: nothing ranks without telemetry.")
    if missing:
        found = f"by mask only; no counters {', '.join(map(str, missing))}"
        return Fit("throttling", False, found, "Update the driver: a polled mask misses short events.")
    return Fit("throttling", True, "mask and counters")


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
