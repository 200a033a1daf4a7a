"""The GPU that this runner owns, and its containers' share in it."""

from __future__ import annotations

from runner import config
from runner.host import accelerators
from sandbox import policy


def gpu_of(settings: config.JudgeSettings) -> policy.Gpu:
    """Return the GPU for containers: the device's node goes by its minor number, which need not be NVML's. Raises
    ConfigError."""
    names = accelerators.gpu_names(settings.runner_gpu)
    return policy.Gpu(
        stack=settings.runner_gpu_stack,
        device_id=names.minor if settings.runner_gpu_stack == policy.HOST else names.uuid,
        interpreter=settings.runner_gpu_interpreter,
        library_path=settings.runner_gpu_library_path,
    )


def own(settings: config.JudgeSettings) -> None:
    """Make the runner's GPU this process's first device; before any CUDA call. Raises ConfigError."""
    config.show_cuda(accelerators.gpu_names(settings.runner_gpu).uuid)
