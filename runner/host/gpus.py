"""Which of a host's GPUs this runner owns, and what its containers get of it."""

from __future__ import annotations

from runner import config
from runner.host import accelerators
from sandbox import policy


def gpu_of(settings: config.JudgeSettings) -> policy.Gpu:
    """For containers: the device's node goes by its minor number, which need not be NVML's. Raises ConfigError."""
    names = accelerators.gpu_names(settings.runner_gpu)
    return policy.Gpu(
        stack=settings.runner_gpu_stack,
        device_id=names.minor if settings.runner_gpu_stack == policy.HOST else names.uuid,
        interpreter=settings.runner_gpu_interpreter,
        library_path=settings.runner_gpu_library_path,
    )


def own(settings: config.JudgeSettings) -> None:
    """From now on this process's first device is its runner's; before anything of CUDA begins. Raises ConfigError."""
    config.show_cuda(accelerators.gpu_names(settings.runner_gpu).uuid)
