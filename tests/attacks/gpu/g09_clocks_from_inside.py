"""class: locks clocks, raises limits or changes the compute mode of the device through NVML from inside the container
expect: contained | the driver lets root alone change them; no ATTACK-EFFECT line
on: add:size=524288
It undoes what it manages to change."""

import ctypes
import sys

import torch

SUCCESS = 0


def tries(nvml, device):
    yield "locked clocks", nvml.nvmlDeviceSetGpuLockedClocks(device, 1980, 1980), nvml.nvmlDeviceResetGpuLockedClocks
    yield (
        "memory clocks",
        nvml.nvmlDeviceSetMemoryLockedClocks(device, 3201, 3201),
        nvml.nvmlDeviceResetMemoryLockedClocks,
    )
    limit = ctypes.c_uint()
    nvml.nvmlDeviceGetPowerManagementLimit(device, ctypes.byref(limit))
    yield "power limit", nvml.nvmlDeviceSetPowerManagementLimit(device, limit), None
    mode = ctypes.c_int()
    nvml.nvmlDeviceGetComputeMode(device, ctypes.byref(mode))
    yield "compute mode", nvml.nvmlDeviceSetComputeMode(device, mode), None


try:
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    device = ctypes.c_void_p()
    if nvml.nvmlInit_v2() == SUCCESS and nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == SUCCESS:
        for name, answer, undo in tries(nvml, device):
            if answer == SUCCESS:
                sys.stderr.write(f"ATTACK-EFFECT g09_clocks_from_inside: {name} could be set\n")
                if undo is not None:
                    undo(device)
except OSError:
    pass  # no such library inside


def custom_kernel(data):
    x, out = data
    return torch.add(x, 1.0, out=out)
