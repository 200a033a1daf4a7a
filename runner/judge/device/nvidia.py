"""NVIDIA GPUs: their set-up, names and facts through NVML, the equipment of containers, CUDA's memory.

nvml.py has the telemetry, runner/judge/data/cuda.py the memory, sandbox/inside/on_cuda.py the container's side.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from runner import config
from runner.errors import ConfigError
from runner.evidence.throttle import NEEDED_COUNTERS
from runner.judge.data.call import Steps
from runner.judge.data.memory import Memory
from runner.judge.device import nvml
from runner.judge.device.make import Fit, Found, Make, fit
from runner.judge.device.nvml import UNCORRECTED, VOLATILE, Device, Strangers
from runner.judge.device.processor import Pids
from runner.judge.device.telemetry import Blind, Telemetry
from sandbox import policy

log = logging.getLogger("runner.judge.device.nvidia")

GRAPHICS: Final = ("nvmlDeviceGetGraphicsRunningProcesses",)
MPS: Final = "nvidia-cuda-mps"  # prefix of its daemons' names
CDI_KIND: Final = "nvidia.com/gpu"
HALF_AS_WIDE: Final = ((7, 0), (7, 2), (7, 5), (8, 0))  # compute capabilities of multiprocessors with 64 cores, not 128
COMPUTE_MODES: Final = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")


class Names(NamedTuple):
    """Names of a GPU beside NVML's number: its permanent id, and the number of its device node."""

    uuid: str
    minor: str


def names_of(index: int) -> Names:
    """Return the names of a GPU. Raises ConfigError if NVML knows no GPU with this number."""
    try:
        library = nvml.load_nvml()
        handle = library.nvmlDeviceGetHandleByIndex(index)
        return Names(str(library.nvmlDeviceGetUUID(handle)), str(library.nvmlDeviceGetMinorNumber(handle)))
    except Exception as err:  # NVML raises its own tree, and ImportError where it is not installed
        raise ConfigError(f"RUNNER_GPU: this host's GPU {index} does not answer NVML ({err}); see nvidia-smi") from None


class Nvidia(Make):
    name = "an NVIDIA GPU"
    tool = "nvidia-smi"
    versions = ("torch_cuda", "cuda")
    remedies = {
        policy.TOOLKIT: "Install nvidia-container-toolkit and restart Docker; or mount the host's stack: "
        "RUNNER_GPU_STACK=host.",
        policy.CDI: "Have the NVIDIA container toolkit name the GPUs (nvidia-ctk cdi generate "
        "--output=/etc/cdi/nvidia.yaml) and Docker read that (Engine 25 or later, features.cdi in its daemon.json); or "
        "RUNNER_GPU_STACK=toolkit.",
        policy.HOST: "Load the driver and make its device nodes (nvidia-smi, nvidia-modprobe -u), then look again.",
    }

    def is_here(self) -> bool:
        return Path("/dev/nvidiactl").exists()

    def find(self, numbers: Sequence[int]) -> list[Found]:
        text = ",".join(map(str, numbers)) or "all"
        try:
            library = nvml.load_nvml()
            count = int(library.nvmlDeviceGetCount())
            if absent := [number for number in numbers if number >= count]:
                text = f"{text!r} names GPU {absent[0]}, and NVML knows {count} here"
                raise ConfigError(f"RUNNER_FLEET: {text}; see nvidia-smi, or leave it out")
            found = []
            for number in numbers or range(count):
                handle = library.nvmlDeviceGetHandleByIndex(number)
                pci = pci_address(library.nvmlDeviceGetPciInfo(handle).busId)
                found.append(Found(number, str(library.nvmlDeviceGetName(handle)), pci))
        except ConfigError:
            raise
        except Exception as error:  # NVML raises its own tree, and ImportError where it is not installed
            text = f"{text!r}: NVML does not list the GPUs ({type(error).__name__}: {error})"
            raise ConfigError(
                f"RUNNER_FLEET: {text}; `nvidia-smi` must work here, or set RUNNER_HARDWARE=cpu"
            ) from None
        if not found:
            raise ConfigError(f"RUNNER_FLEET: {text!r}: NVML knows no GPU here; see nvidia-smi")
        return found

    def facts(self, index: int) -> dict[str, str | int]:
        """Return a GPU, its driver and its limits, then its identity and its link, as far as NVML reports them."""
        reading = "the library"
        try:
            library = nvml.load_nvml()
            device = Device(library, index)
            reading = "the GPU's name"
            found: dict[str, str | int] = {"gpu": str(library.nvmlDeviceGetName(device.handle))}
            reading = "the driver's version"
            found["driver"] = str(library.nvmlSystemGetDriverVersion())
            reading = "the highest clock"
            found["max_sm_mhz"] = int(library.nvmlDeviceGetMaxClockInfo(device.handle, nvml.SM))
            reading = "the power limit"
            try:
                found["power_limit_w"] = int(library.nvmlDeviceGetPowerManagementLimit(device.handle)) // 1000
            except Exception as error:
                if getattr(error, "value", None) != nvml.NOT_SUPPORTED:  # a virtual GPU has no limit of its own
                    raise
        except Exception as error:  # NVML raises its own tree, and ImportError where it is not installed
            text = f"NVML does not tell {reading} of GPU {index} ({type(error).__name__}: {error})"
            remedy = "times of a device that cannot be read belong to no epoch; `nvidia-smi -q` must work on this host"
            raise ConfigError(f"RUNNER_GPU: {text}; {remedy}") from None
        uuid, lanes = device.ask("nvmlDeviceGetUUID"), device.ask("nvmlDeviceGetCurrPcieLinkWidth")
        # The maximum, because the current generation falls while the device is idle.
        generation = device.ask("nvmlDeviceGetMaxPcieLinkGeneration")
        asked = {"gpu_uuid": uuid, "pcie": None if None in (generation, lanes) else f"gen {generation} x{lanes}"}
        return found | {name: str(value) for name, value in asked.items() if value is not None}

    def claim(self, index: int, count: int = 1) -> None:
        uuids = [names_of(number).uuid for number in range(index, index + count)]
        config.show_only("CUDA_VISIBLE_DEVICES", ",".join(uuids))

    def equipment(self, settings: config.JudgeSettings, count: int = 1) -> policy.Gpu:
        """Return the GPUs for containers: a device's node goes by its minor number, which need not be NVML's."""
        found = [names_of(number) for number in range(settings.runner_gpu, settings.runner_gpu + count)]
        return policy.Gpu(
            stack=settings.runner_gpu_stack,
            device_ids=tuple(one.uuid for one in found),
            cdi_kind=CDI_KIND,
            nodes=(*(f"/dev/nvidia{one.minor}" for one in found), "/dev/nvidiactl", "/dev/nvidia-uvm"),
            programs="/usr/local/cuda/bin",
            interpreter=settings.runner_gpu_interpreter,
            library_path=settings.runner_gpu_library_path,
        )

    def nodes(self, devices: Sequence[str]) -> list[str]:
        return [name for name in devices if name.removeprefix("/dev/nvidia").isdigit()]

    def job_fit(self, index: int) -> list[Fit]:
        return _by_nvml(lambda library: gpu_needs(library, index=index))

    def host_fit(self, index: int) -> list[Fit]:
        return _by_nvml(lambda library: gpu_fit(library, index=index))

    def telemetry(self, index: int, *, own: Pids, cores: Sequence[int] | None = None) -> Telemetry:
        try:
            return nvml.NvmlTelemetry(nvml.load_nvml(), own=own, index=index)
        except Exception as err:  # NVML has its own tree of errors, and a stub of it may raise anything
            log.warning("no telemetry: NVML does not answer (%s: %s)", type(err).__name__, err)
            return Blind()

    def strangers(self, index: int, *, own: Pids) -> frozenset[int]:
        try:
            return frozenset(Strangers(Device(nvml.load_nvml(), index), own).pids() or ())
        except Exception as err:  # as above
            log.warning("NVML does not say who is on the device (%s: %s)", type(err).__name__, err)
            return frozenset()

    def temperature_c(self, index: int) -> float | None:
        library = nvml.load_nvml()
        try:
            found: float | None = Device(library, index).ask("nvmlDeviceGetTemperature", nvml.GPU_SENSOR)
            return found
        finally:
            library.nvmlShutdown()

    def memory(self, steps: Steps, ranks: int = 1) -> Memory:
        from runner.judge.data.cuda import CudaMemory, CudaRanks  # need a GPU's stack, which a cpu host has not

        return CudaMemory(steps) if ranks == 1 else CudaRanks(steps, ranks)

    def building(self, index: int) -> tuple[str, tuple[int, ...], int]:
        from runner.judge.data.cuda import CudaMemory

        try:
            library = nvml.load_nvml()
            device = Device(library, index)
            capability = tuple(map(int, library.nvmlDeviceGetCudaComputeCapability(device.handle)))
            cores = device.ask("nvmlDeviceGetNumGpuCores") or 0
            return CudaMemory.compiler, capability, cores // (64 if capability in HALF_AS_WIDE else 128)
        except Exception as error:  # NVML raises its own tree, and ImportError where it is not installed
            text = f"NVML does not tell the compute capability of GPU {index} ({type(error).__name__}: {error})"
            raise ConfigError(f"RUNNER_GPU: {text}; `nvidia-smi -q` must work on this host") from None


def pci_address(bus_id: str | bytes) -> str:
    """Return the kernel's form of NVML's address of a device: its domain has four digits there, in lower case."""
    text = bus_id.decode() if isinstance(bus_id, bytes) else bus_id
    domain, _, rest = text.partition(":")
    return f"{int(domain, 16):04x}:{rest.lower()}"


# -- set-up of a GPU ----------------------------------------------------------------------------------------------


def _by_nvml(ask: Callable[[Any], list[Fit]]) -> list[Fit]:
    try:
        return ask(nvml.load_nvml())
    except Exception as err:  # NVML has its own tree of errors, and the library may be missing altogether
        remedy = "Load the driver (nvidia-smi must work): without telemetry nothing ranks."
        return [Fit("NVML", False, f"{type(err).__name__}: {err}", remedy)]


def gpu_fit(library: Any, *, own: Pids = frozenset, index: int = 0, proc: Path = Path("/proc")) -> list[Fit]:
    """Return all checks of a GPU. `library`: NVML, ready (load_nvml). `own`: processes that may be on the device
    beside this process."""
    device = Device(library, index)
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
        *gpu_needs(library, index=index, proc=proc),
        fit("ECC", ecc != "off", ecc, "`nvidia-smi -e 1` and reset: a flipped bit would be the submission's fault."),
        fit("processes", pids is not None and not pids, company, remedy),
        fit("display", not screens, display, "Show the screen from another device."),
        fit(
            "PCIe",
            not lanes_known or width >= most,
            lanes,
            "Reseat the device or look at its slot: some lanes do not work.",
        ),
        Fit("throttling", not counters[1], *counters),
    ]


def gpu_needs(library: Any, *, index: int = 0, proc: Path = Path("/proc")) -> list[Fit]:
    """Return the checks without which no job may run. If one fails, foreign work runs beside a kernel, containers
    cannot share the device, or its memory may make right code wrong. No later check detects that while a job runs."""
    device = Device(library, index)
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
        fit("compute mode", mode == 0, compute_mode, remedy),
        fit("MIG", mig != "on", mig, "`nvidia-smi -mig 0`: slices share memory and clocks."),
        fit(
            "MPS",
            not names,
            ", ".join(names) or "not running",
            "Stop it (`echo quit | nvidia-cuda-mps-control`): it runs kernels of several processes at once.",
        ),
        fit(
            "memory errors",
            not errors,
            f"{errors} uncorrected" if errors else "none",
            "Reset the device (`nvidia-smi -r`); replace it if they come back.",
        ),
    ]


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
