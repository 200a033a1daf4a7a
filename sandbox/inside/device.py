"""Device memory that travels as a POSIX file descriptor: made by the judge, mapped by a container.

Owns nothing beyond the call: mappings live as long as their process. Needs cuda-bindings and a CUDA build of torch;
imported only where the hardware is a GPU. An importer sets its own access, so a mapping is never read-only: that is why
no allocation is ever mapped by two containers.
"""

from __future__ import annotations

from typing import Any

import torch
from cuda.bindings import driver

HANDLE = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


class DeviceError(Exception):
    """A driver call failed; the text is its name and the driver's error."""


def start(index: int = 0) -> None:
    """Make the device's primary context current in this thread: torch and the driver calls below share it."""
    torch.cuda.set_device(index)
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()


def create(size: int, index: int = 0) -> tuple[torch.Tensor, int, int]:
    """A new allocation of at least `size` bytes: its bytes as a tensor, its real size, its descriptor."""
    wanted = _property(index)
    (grain,) = _call(
        "cuMemGetAllocationGranularity",
        wanted,
        driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM,
    )
    size = -(-size // grain) * grain
    (handle,) = _call("cuMemCreate", size, wanted, 0)
    (fd,) = _call("cuMemExportToShareableHandle", handle, HANDLE, 0)
    mapped = _map(handle, size, index)
    _call("cuMemRelease", handle)  # the mapping and the descriptor hold it
    return mapped, size, int(fd)


def unmap(memory: torch.Tensor, size: int) -> None:
    """What `create` mapped here goes away; the tensor must not be used again."""
    torch.cuda.synchronize()
    _call("cuMemUnmap", memory.data_ptr(), size)
    _call("cuMemAddressFree", memory.data_ptr(), size)


def adopt(fd: int, size: int, index: int = 0) -> torch.Tensor:
    """The bytes of an allocation that another process made; `size` is its real size."""
    (handle,) = _call("cuMemImportFromShareableHandle", fd, HANDLE)
    return _map(handle, size, index)


def device_address(address: int, size: int) -> int:
    """Where the device sees these bytes of the host, which it may write from now on."""
    _call("cuMemHostRegister", address, size, driver.CU_MEMHOSTREGISTER_DEVICEMAP)
    (found,) = _call("cuMemHostGetDevicePointer", address, 0)
    return int(found)


def forget_address(address: int) -> None:
    """The device may write these bytes of the host no more: another allocation may come to lie there."""
    _call("cuMemHostUnregister", address)


def write_when_done(stream: int, address: int, value: int) -> None:
    """The device writes 64 bits there when it has done what the stream holds so far."""
    _call("cuStreamWriteValue64", stream, address, value, 0)


def wait_until(stream: int, address: int, value: int) -> None:
    """What the stream gets from now on waits until these 64 bits are `value`."""
    _call("cuStreamWaitValue64", stream, address, value, int(driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ))


def reset_persisting_cache() -> None:
    """Lines of L2 that any process asked to keep become ordinary ones."""
    _call("cuCtxResetPersistingL2Cache")


def _property(index: int) -> Any:
    wanted = driver.CUmemAllocationProp()
    wanted.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.requestedHandleTypes = HANDLE
    wanted.location = _location(index)
    return wanted


def _location(index: int) -> Any:
    place = driver.CUmemLocation()
    place.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    place.id = index
    return place


def _map(handle: Any, size: int, index: int) -> torch.Tensor:
    (address,) = _call("cuMemAddressReserve", size, 0, 0, 0)
    _call("cuMemMap", address, size, 0, handle, 0)
    access = driver.CUmemAccessDesc()
    access.location = _location(index)
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    _call("cuMemSetAccess", address, size, [access], 1)
    return torch.as_tensor(_Raw(int(address), size), device=f"cuda:{index}")


class _Raw:
    """Bytes at a device address, as torch takes them in without a copy."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}


def _call(name: str, *arguments: Any) -> tuple[Any, ...]:
    error, *values = getattr(driver, name)(*arguments)
    if error != driver.CUresult.CUDA_SUCCESS:
        raise DeviceError(f"{name}: {error.name}")
    return tuple(values)
