"""Which of a host's GPUs this runner owns, and what its containers get of it."""

from __future__ import annotations

import os

from runner.config import JudgeSettings
from runner.errors import ConfigError
from sandbox import policy


def gpu_of(settings: JudgeSettings) -> policy.Gpu:
    """For containers: the device's node goes by its minor number, which need not be NVML's. Raises ConfigError."""
    return policy.Gpu(
        toolkit=settings.runner_gpu_stack == "toolkit",
        device_id=_uuid(settings.runner_gpu) if settings.runner_gpu_stack == "toolkit" else _minor(settings.runner_gpu),
        interpreter=settings.runner_gpu_interpreter,
        library_path=settings.runner_gpu_library_path,
    )


def own(settings: JudgeSettings) -> None:
    """From now on this process's first device is its runner's; before anything of CUDA begins. Raises ConfigError."""
    os.environ["CUDA_VISIBLE_DEVICES"] = _uuid(settings.runner_gpu)


def _uuid(index: int) -> str:
    return str(_ask("nvmlDeviceGetUUID", index))


def _minor(index: int) -> str:
    return str(_ask("nvmlDeviceGetMinorNumber", index))


def _ask(what: str, index: int) -> object:
    try:
        import pynvml

        pynvml.nvmlInit()
        found: object = getattr(pynvml, what)(pynvml.nvmlDeviceGetHandleByIndex(index))
    except Exception as err:  # NVML raises its own tree, and ImportError where it is not installed
        raise ConfigError(f"RUNNER_GPU: this host's GPU {index} does not answer NVML ({err}); see nvidia-smi") from None
    return found
