"""Set-up of the device for judging: the lines of `runner doctor`, and the requirements of every job (P0).

Each line is a name, whether it is right, the state found, and a remedy if it is wrong. No setting is changed.
"""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from runner.evidence.throttle import FULL, NEEDED_COUNTERS, NONE
from runner.judge.device.gpu import UNCORRECTED, VOLATILE, Device, Strangers, load_nvml
from runner.judge.device.processor import STEAL_COLUMN, HostFolders, Pids
from runner.judge.device.telemetry import CpuTelemetry

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


def _fit(name: str, ok: bool, found: str, remedy: str) -> Fit:
    return Fit(name, ok, found, "" if ok else remedy)


def gpu_fit(nvml: Any, *, own: Pids = frozenset, index: int = 0, proc: Path = Path("/proc")) -> list[Fit]:
    """Return all checks of a GPU. `nvml`: the library, ready (load_nvml). `own`: processes that may be on the device
    beside this process."""
    device = Device(nvml, index)
    modes = device.ask("nvmlDeviceGetEccMode")
    ecc = "the device has none" if modes is None else "on" if modes[0] else "off"
    pids, remedy = Strangers(device, own, proc).pids(), "End them: a device is judged on alone."
    company = "none but the judge's" if not pids else f"pid {', '.join(map(str, sorted(pids)))}"
    if pids is None:
        company = "NVML's list says nothing here"
        remedy = "Run the judge in the host's pid namespace: else no stranger on the device is noticed."
    screens = device.pids(GRAPHICS)
    display = "none" if not screens else f"pid {', '.join(map(str, sorted(screens)))}"
    width, most = device.ask("nvmlDeviceGetCurrPcieLinkWidth"), device.ask("nvmlDeviceGetMaxPcieLinkWidth")
    lanes_known = None not in (width, most)
    lanes = f"{width} of {most} lanes" if lanes_known else "NVML does not tell"
    missing = sorted(NEEDED_COUNTERS - set(device.counters()))
    counters = "mask and counters", ""
    if device.mask() is None:
        counters = "no mask of reasons", "Update the driver: nothing ranks without telemetry."
    elif missing:
        without = f"by mask only; no counters {', '.join(map(str, missing))}"
        counters = without, "Update the driver: a polled mask misses short events."
    return [
        *gpu_needs(nvml, index=index, proc=proc),
        _fit("ECC", ecc != "off", ecc, "`nvidia-smi -e 1` and reset: a flipped bit would be the submission's fault."),
        _fit("processes", pids is not None and not pids, company, remedy),
        _fit("display", not screens, display, "Show the screen from another device."),
        _fit(
            "PCIe",
            not lanes_known or width >= most,
            lanes,
            "Reseat the device or look at its slot: some lanes do not work.",
        ),
        Fit("throttling", not counters[1], *counters),
    ]


def gpu_needs(nvml: Any, *, index: int = 0, proc: Path = Path("/proc")) -> list[Fit]:
    """Return the checks without which no job may run. If one fails, foreign work runs beside a kernel, containers
    cannot share the device, or its memory may make right code wrong. No later check detects that while a job runs."""
    device = Device(nvml, index)
    mode = device.ask("nvmlDeviceGetComputeMode")
    remedy = "`nvidia-smi -c DEFAULT`: judge, oracle and tenants share the device."
    if mode is None:
        compute_mode, remedy = "NVML does not tell", "Update the driver: the judge must see its device."
    else:
        compute_mode = COMPUTE_MODES[mode] if 0 <= mode < len(COMPUTE_MODES) else str(mode)
    slices = device.ask("nvmlDeviceGetMigMode")
    mig = "the device has none" if slices is None else "on" if any(slices) else "off"
    names = sorted({name for path in proc.glob("[0-9]*/comm") if (name := _text(path)).startswith(MPS)})
    errors = device.ask("nvmlDeviceGetTotalEccErrors", UNCORRECTED, VOLATILE)  # since the driver was loaded
    return [
        _fit("compute mode", mode == 0, compute_mode, remedy),
        _fit("MIG", mig != "on", mig, "`nvidia-smi -mig 0`: slices share memory and clocks."),
        _fit(
            "MPS",
            not names,
            ", ".join(names) or "not running",
            "Stop it (`echo quit | nvidia-cuda-mps-control`): it runs kernels of several processes at once.",
        ),
        _fit(
            "memory errors",
            not errors,
            f"{errors} uncorrected" if errors else "none",
            "Reset the device (`nvidia-smi -r`); replace it if they come back.",
        ),
    ]


def cpu_fit(folders: HostFolders | None = None) -> list[Fit]:
    folders = folders or HostFolders()
    with closing(CpuTelemetry(own=frozenset, folders=folders)) as telemetry:
        telemetry.begin()
        seen, level = telemetry.end().after, telemetry.level
    heat = "clock or heat can be read" if level == FULL else "no clock and no heat to be read, as in a virtual machine"
    remedy = "Nothing says whether others used the cores, so nothing ranks; judge on Linux."
    telemetry_fit = _fit("telemetry", level != NONE, f"{level}: {heat}", remedy)
    pressure = "the kernel tells who waited for a core" if seen.waited_ns is not None else "no /proc/pressure/cpu"
    remedy = "Boot with psi=1: else work of others that harms nobody voids too."
    pressure_fit = _fit("pressure", seen.waited_ns is not None, pressure, remedy)
    try:
        spent = [int(one) for one in (folders.proc / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        spent = []
    if len(spent) <= STEAL_COLUMN:
        return [telemetry_fit, pressure_fit, Fit("steal", False, "/proc/stat does not tell", "Judge on Linux.")]
    share = spent[STEAL_COLUMN] / max(1, sum(spent))  # since the start of this host
    remedy = "The hypervisor gives these cores to other guests; ask for dedicated ones."
    found = f"{100 * share:.2g} % of the time since the start"
    return [telemetry_fit, pressure_fit, _fit("steal", share <= MOST_STEAL, found, remedy)]


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
