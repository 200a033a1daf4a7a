"""Compiles a submission's Triton kernels where there is no device: each case is called with shapes alone.

Triton compiles a kernel in its first call with data of a kind, and keeps what it made in a folder. Here such a call has
tensors without contents, on torch's device "meta", and Triton's driver launches nothing. Kernels of code that cannot be
called so, as it reads a value, are compiled by the tenant. The folder is as hostile as the submission.
"""

import contextlib
import importlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import modelnew
import problem_code
import stand_in
import torch
from torch.overrides import TorchFunctionMode

CACHE = "/tmp/.triton"  # noqa: S108  inside the container: what Triton keeps
OWN = "/tmp/.ahead"  # noqa: S108  of this module
POLL_S = 0.02
DEVICES = "/dev/nvidiactl"  # there where a container has any
SHARED = {(7, 0): 98_304, (7, 5): 65_536, (8, 0): 166_912, (8, 7): 166_912, (9, 0): 232_448, (10, 0): 232_448}
LEAST_SHARED = 101_376  # bytes of memory that a block of threads may share at most, on all others
REGISTERS = 32  # of a thread, if code asks how many a kernel takes
BASE = 1 << 20  # address of a tensor: aligned, as tensors of a call are
META = torch.device("meta")
GLUON = "triton.experimental.gluon"  # a first launch imports it
CALLED = re.compile(r"\bcu[A-Z]\w+")  # functions of the CUDA driver

Tensor: Any = torch.Tensor  # mypy does not know the getters of its attributes


class Shapes(TorchFunctionMode):
    """Tensors for which a program asks on a CUDA device lie on "meta", and tell that they lie on the first device."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func == Tensor.is_cuda.__get__:
            return True
        if func == Tensor.device.__get__:
            return torch.device("cuda", 0)
        if func == Tensor.cuda:
            return args[0].to(META)
        if func == Tensor.data_ptr:
            return BASE + args[0].storage_offset() * args[0].element_size()
        kwargs = dict(kwargs or {})
        kwargs.pop("generator", None)  # it belongs to another device
        if isinstance(kwargs.get("device"), int):
            kwargs["device"] = META
        return func(*map(on_meta, args), **{name: on_meta(value) for name, value in kwargs.items()})


def on_meta(value: Any) -> Any:
    """Return "meta" for a CUDA device or its name, and every other value unchanged."""
    if isinstance(value, torch.device):
        return META if value.type == "cuda" else value
    return META if isinstance(value, str) and value.split(":")[0] == "cuda" else value


class NoDriver:
    """The functions that Triton calls in its compiled modules, without a device."""

    PyCUtensorMap = object

    def __init__(self, capability: list[int], processors: int) -> None:
        self._properties = {
            "max_shared_mem": SHARED.get((capability[0], capability[1]), LEAST_SHARED),
            "multiprocessor_count": processors,
            "warpSize": 32,
            "max_num_regs": 65_536,
            "sm_clock_rate": 1,
            "mem_clock_rate": 1,
            "mem_bus_width": 1,
        }

    def get_device_properties(self, device: int) -> dict[str, int]:
        return self._properties

    def load_binary(self, *args: Any) -> tuple[int, ...]:
        return 0, 0, REGISTERS, 0, 1024  # module, function, registers, spills, threads

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


def prepare_triton() -> None:
    """Prepare what a first kernel on a device waits for, which takes a second: the checksum of the compiler, the module
    that calls the driver, and imports. None makes a context. Without a device Triton is not even imported: code may
    choose its interpreter before."""
    if not os.path.exists(DEVICES):
        return
    with contextlib.suppress(Exception):  # it is not installed
        importlib.import_module("triton.runtime.cache").triton_key()
        import_ahead(GLUON)
        importlib.import_module("triton.backends.nvidia.driver").CudaUtils()


def take_driver_away(capability: list[int], processors: int) -> None:
    """Have Triton compile for a device that is not here, and do nothing on it. Raises what Triton raises where it is
    not installed, or is another than we know."""
    build: Any = importlib.import_module("triton.runtime.build")
    nvidia: Any = importlib.import_module("triton.backends.nvidia.driver")
    knobs: Any = importlib.import_module("triton.knobs")
    knobs.nvidia.libcuda_path = driver_to_link(Path(nvidia.__file__).parent)
    build._load_module_from_path = lambda name, path: NoDriver(capability, processors)
    driver = nvidia.CudaDriver()
    driver.get_current_device, driver.get_current_stream = (lambda: 0), (lambda device: 0)
    driver.get_device_capability = lambda device=None: tuple(capability)
    driver.get_benchmarker = lambda: measured_by_none
    tuner: Any = importlib.import_module("triton.runtime.autotuner").Autotuner
    tuner.check_disk_cache = lambda self, key, choices, measure: measure()  # and keeps no times for the tenant
    importlib.import_module("triton.runtime.driver").driver.set_active(driver)
    # Once for all processes. Arithmetic on "meta" imports the first module, which takes longer than most kernels.
    import_ahead("torch._dynamo", GLUON)
    importlib.import_module("triton.runtime.cache").triton_key()


def import_ahead(*modules: str) -> None:
    """Import modules that a call imports, if these versions of torch and Triton have them."""
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def show_device(capability: list[int], processors: int) -> None:
    """Have torch see a device of this capability with so many multiprocessors, which does nothing."""
    major, minor = capability
    cuda: Any = torch.cuda
    cuda.is_available, cuda.is_initialized = (lambda: True), (lambda: False)
    cuda.device_count, cuda.current_device = (lambda: 1), (lambda: 0)
    cuda.get_device_capability = lambda device=None: (major, minor)
    properties = SimpleNamespace(
        name="",
        major=major,
        minor=minor,
        multi_processor_count=processors,
        shared_memory_per_block_optin=SHARED.get((major, minor), LEAST_SHARED),
        # Few kernels depend on the rest.
        warp_size=32,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65_536,
        total_memory=1 << 36,
        L2_cache_size=1 << 25,
    )
    cuda.get_device_properties = lambda device=None: properties
    cuda.current_stream = lambda device=None: SimpleNamespace(cuda_stream=0)
    cuda.device = cuda.stream = lambda device: contextlib.nullcontext()
    for name in ("synchronize", "set_device", "empty_cache"):
        setattr(cuda, name, lambda *args, **kwargs: None)
    torch.Generator = stand_in.Generator  # type: ignore[misc]


def measured_by_none(call: Callable[[], Any], **options: Any) -> list[float]:
    """Call once, as a tuner does with each choice of a kernel, and return times that say nothing."""
    call()
    return [1.0, 1.0, 1.0]


def driver_to_link(folder: Path) -> str:
    """Return a folder with a library that only names the CUDA driver's functions which Triton's sources in `folder`
    call. Triton's modules are linked with it, and find the real one in the tenant."""
    text = "".join((folder / name).read_text("utf-8") for name in ("driver.c", "driver.py"))
    os.makedirs(OWN, exist_ok=True)
    command = ["gcc", "-shared", "-Wl,-soname,libcuda.so.1", "-o", f"{OWN}/libcuda.so.1", "-xc", "-"]
    empty = "".join(f"void {name}(void) {{}}\n" for name in sorted(set(CALLED.findall(text))))
    subprocess.run(command, input=empty.encode(), check=True)
    return OWN


def compile_for(function: Any, files: dict[str, str], cases: list[dict[str, Any]], limit_s: float) -> None:
    """Call the submission once for each of these cases of a problem with these files.

    Each call has a process of its own, as many at once as there are cores. Those that are not done after `limit_s`
    are ended.
    """
    until = time.monotonic() + limit_s
    waiting, running = list(cases), set[int]()
    while waiting or running:
        while waiting and len(running) < len(os.sched_getaffinity(0)):
            running.add(begun(function, files, waiting.pop(0)))
        running = {pid for pid in running if not has_ended(pid)}
        if time.monotonic() > until:
            for pid in running:
                for end in (os.killpg, os.kill):  # it may not be the leader of a group yet
                    with contextlib.suppress(OSError):
                        end(pid, signal.SIGKILL)
            return
        time.sleep(POLL_S)


def has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:  # an import had the kernel collect ended processes
        return True


def begun(function: Any, files: dict[str, str], case: dict[str, Any]) -> int:
    """Return the pid of a process that calls the submission for a case, and ends."""
    if pid := os.fork():
        return pid
    try:
        os.setsid()
        torch.set_num_threads(1)  # threads of the parent are not here
        call(function, files, case)
    except BaseException as err:
        print(f"not compiled ahead for {case}: {type(err).__name__}: {err}", flush=True)
    finally:
        os._exit(0)


def call(function: Any, files: dict[str, str], case: dict[str, Any]) -> None:
    folder = f"{OWN}/{os.getpid()}"
    with torch.no_grad():
        if not isinstance(function, modelnew.Candidate):
            with Shapes():
                function(problem_code.Problem(files, "cuda", folder).generate(case, case.get("seed", 1)))
            return
        problem_code.put(files, folder)
        with META, Shapes():
            reference = importlib.import_module("reference")
            function.make(*reference.get_init_inputs())(*reference.get_inputs())
