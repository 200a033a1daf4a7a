"""Device memory that travels as a POSIX file descriptor: made by the judge, mapped by a container.

The module owns no memory beyond a call: mappings live as long as their process. It needs cuda-bindings and a CUDA build
of torch, and is imported only where the hardware is a GPU. An importer sets its own access, and a mapping is never
read-only: that is why two containers never map the same allocation.
"""

import ctypes
import os
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import torch
from cuda.bindings import driver

os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # devices have the same numbers in the judge and in all containers

HANDLE = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
LONGEST_MEETING_NS = 1_000_000_000
WAIT = b"""
.version 6.5
.target sm_75
.address_size 64
.visible .entry wait_for(.param .u64 address, .param .u64 value, .param .u64 longest_ns)
{
    .reg .pred %is;
    .reg .b64 %address, %value, %longest, %found, %began, %now;
    ld.param.u64 %address, [address];
    ld.param.u64 %value, [value];
    ld.param.u64 %longest, [longest_ns];
    mov.u64 %began, %globaltimer;
LOOK:
    ld.acquire.sys.u64 %found, [%address];
    setp.eq.u64 %is, %found, %value;
    @%is bra DONE;
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %began;
    setp.lt.u64 %is, %now, %longest;
    @%is bra LOOK;
DONE:
    ret;
}
\0"""  # a kernel; the driver compiles it


class DeviceError(Exception):
    """A driver call failed; the text is its name and the driver's error."""


def start(number: int = 0) -> None:
    """Make the device's primary context current in this thread: torch and the driver calls below share it.

    All functions here work on the current device.
    """
    torch.cuda.set_device(number)
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()


def create(size: int) -> tuple[torch.Tensor, int, int]:
    """Allocate at least `size` bytes; return them as a tensor, with the real size and the descriptor."""
    wanted = driver.CUmemAllocationProp()
    wanted.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.requestedHandleTypes = HANDLE
    wanted.location = _location(torch.cuda.current_device())
    least = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    (grain,) = call("cuMemGetAllocationGranularity", wanted, least)
    size = -(-size // grain) * grain
    (handle,) = call("cuMemCreate", size, wanted, 0)
    (fd,) = call("cuMemExportToShareableHandle", handle, HANDLE, 0)
    mapped = _map(handle, size)
    call("cuMemRelease", handle)  # the mapping and the descriptor hold it
    return mapped, size, int(fd)


def unmap(memory: torch.Tensor, size: int) -> None:
    """Unmap memory that `create` mapped here; the tensor must not be used again."""
    torch.cuda.synchronize(memory.device)
    call("cuMemUnmap", memory.data_ptr(), size)
    call("cuMemAddressFree", memory.data_ptr(), size)


def adopt(fd: int, size: int, others: Iterable[int] = ()) -> torch.Tensor:
    """Map an allocation that another process made and return its bytes; `size` is its real size. `others`: devices that
    may reach it, too, where they can."""
    (handle,) = call("cuMemImportFromShareableHandle", fd, HANDLE)
    return _map(handle, size, others)


def device_address(address: int, size: int) -> int:
    """Return the device's address of these bytes of the host, and let all devices write them from now on."""
    call("cuMemHostRegister", address, size, driver.CU_MEMHOSTREGISTER_DEVICEMAP | driver.CU_MEMHOSTREGISTER_PORTABLE)
    (found,) = call("cuMemHostGetDevicePointer", address, 0)
    return int(found)


def forget_address(address: int) -> None:
    """Take these bytes of the host from the device: another allocation may come to lie there."""
    call("cuMemHostUnregister", address)


def copy(stream: int, target: int, source: int, count: int) -> None:
    """Let the device copy bytes between two of its addresses. By torch it takes the host ten times as long."""
    if count:
        call("cuMemcpyDtoDAsync", target, source, count, stream)


def write_when_done(stream: int, address: int, value: int) -> None:
    """Let the device write 64 bits at `address` when it has done all work that the stream holds."""
    call("cuStreamWriteValue64", stream, address, value, 0)


def wait_until(stream: int, address: int, value: int) -> None:
    """Let later work of the stream wait until the 64 bits at `address` are `value`."""
    call("cuStreamWaitValue64", stream, address, value, int(driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ))


def wait_for_at_least(stream: int, address: int, value: int) -> None:
    """Let later work of the stream wait until the 64 bits at `address` are `value` or more, below 2⁶³."""
    call("cuStreamWaitValue64", stream, address, value, int(driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ))


class Meeting:
    """A meeting of several devices at words of the host, one a rank: none goes on before all have come.

    Each device waits by a kernel. A stream that waits gives its context's turn away, and where another context has
    streams that wait for each other, has it back 2 ms later: the devices would go on as far apart.
    """

    def __init__(self, words: Sequence[int], rank: int) -> None:
        """Prepare the meetings of the current device, of this rank. `words`: the devices' addresses of them."""
        self._own, self._others = words[rank], [*words[:rank], *words[rank + 1 :]]
        for word in self._others:  # the kernel's first use may wait for the device
            _wait_for(0, word, 0, 0)

    def attend(self, stream: int, number: int) -> None:
        """Meet when the stream's work so far is done, for LONGEST_MEETING_NS at most. `number`: of no other meeting."""
        write_when_done(stream, self._own, number)
        for word in self._others:
            _wait_for(stream, word, number, LONGEST_MEETING_NS)


def reset_persisting_cache() -> None:
    """Turn the L2 lines that any process asked to keep into ordinary lines."""
    call("cuCtxResetPersistingL2Cache")


@cache
def _waiting_kernel(number: int) -> Any:
    """Return the kernel of the device with this number, which is the current one."""
    (module,) = call("cuModuleLoadData", WAIT)
    return call("cuModuleGetFunction", module, b"wait_for")[0]


def _wait_for(stream: int, address: int, value: int, longest_ns: int) -> None:
    given = tuple(ctypes.c_ulonglong(one) for one in (address, value, longest_ns))
    kernel = _waiting_kernel(torch.cuda.current_device())
    call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, stream, (given, (ctypes.c_ulonglong,) * len(given)), 0)


def _location(number: int) -> Any:
    place = driver.CUmemLocation()
    place.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    place.id = number
    return place


def _map(handle: Any, size: int, others: Iterable[int] = ()) -> torch.Tensor:
    own = torch.cuda.current_device()
    (address,) = call("cuMemAddressReserve", size, 0, 0, 0)
    call("cuMemMap", address, size, 0, handle, 0)
    for number in (own, *(other for other in others if torch.cuda.can_device_access_peer(other, own))):
        access = driver.CUmemAccessDesc()
        access.location = _location(number)
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        call("cuMemSetAccess", address, size, [access], 1)
    return torch.as_tensor(_Raw(int(address), size), device=torch.device("cuda", own))


class _Raw:
    """Bytes at a device address, in the form that torch takes in without a copy."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}


def call(name: str, *arguments: Any) -> tuple[Any, ...]:
    """Call the driver and return what it returns behind its error code. Raises DeviceError."""
    error, *values = getattr(driver, name)(*arguments)
    if error != driver.CUresult.CUDA_SUCCESS:
        raise DeviceError(f"{name}: {error.name}")
    return tuple(values)
