"""Draw of a CUDA context whose launches take as long as those of another.

A driver lays out a context's own memory anew each time it makes one. On an H200 the same kernel, launched from two
contexts, then takes some 0.16 µs longer in one of them, 7 % of a small kernel, for as long as the context lives;
streams, modules and data of the same context differ far less (docs/lab-notebook). A mean over launches cannot cancel
that, so contexts are made and dropped until one is alike.
"""

import ctypes
import statistics
from itertools import count

from cuda.bindings import driver
from device import call, wait_until

LEAST_DRAWN = 6  # where there is no context to be like: the last has to be like the fastest
MOST_DRAWN = 40  # 0.3 s each; then the last stays
NEAR = (0.0125, 0.025)  # share by which the times of `increment` and of `nothing` may differ; after so many draws
PATIENT = 8  # twice that, which still tells the two kinds of contexts apart
ROUNDS = 15
LAUNCHES = 20  # in a round
BLOCKS, THREADS = 1024, 256  # of `increment`, an element each
KERNELS = b"""
.version 6.5
.target sm_75
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry increment(.param .u64 target, .param .u64 source)
{
    .reg .b32 %block, %size, %thread, %index;
    .reg .b64 %out, %in;
    .reg .f32 %value;
    ld.param.u64 %out, [target];
    ld.param.u64 %in, [source];
    mov.u32 %block, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %index, %block, %size, %thread;
    mad.wide.u32 %out, %index, 4, %out;
    mad.wide.u32 %in, %index, 4, %in;
    ld.global.f32 %value, [%in];
    add.f32 %value, %value, 0f3F800000;
    st.global.f32 [%out], %value;
    ret;
}
\0"""

Times = list[float]  # ns of a launch: of `increment`, of `nothing`


def draw(like: Times | None) -> list[Times]:
    """Draw the primary context of the only device, which no code may use yet.

    Returns the times of each context drawn; the last one stays. `like`: times that it should have; by default, those of
    the fastest drawn.
    """
    call("cuInit", 0)
    (device,) = call("cuDeviceGet", 0)
    drawn: list[Times] = []
    while True:
        (context,) = call("cuDevicePrimaryCtxRetain", device)
        call("cuCtxSetCurrent", context)
        drawn.append(launch_times())
        wanted = like or min(drawn, key=sum)
        enough = like is not None or len(drawn) >= LEAST_DRAWN
        if (enough and is_near(drawn[-1], wanted, 1 if len(drawn) <= PATIENT else 2)) or len(drawn) == MOST_DRAWN:
            return drawn
        call("cuDevicePrimaryCtxRelease", device)  # the last user: it ends


def is_near(times: Times, wanted: Times, factor: int) -> bool:
    limits = (factor * share * one for share, one in zip(NEAR, wanted, strict=True))
    return all(abs(one - other) <= most for one, other, most in zip(times, wanted, limits, strict=True))


def launch_times() -> Times:
    """Return the time of a launch of each kernel in the current context, in ns.

    Many launches follow each other without a gap: a word of the host holds the device until it has all of them.
    """
    (module,) = call("cuModuleLoadData", KERNELS)
    (source,), (target,) = (call("cuMemAlloc", 4 * BLOCKS * THREADS) for _ in range(2))
    (host,) = call("cuMemHostAlloc", ctypes.sizeof(ctypes.c_uint64), driver.CU_MEMHOSTALLOC_DEVICEMAP)
    (address,) = call("cuMemHostGetDevicePointer", host, 0)
    word = ctypes.c_uint64.from_address(host)
    word.value = 0
    begun, ended = (call("cuEventCreate", 0)[0] for _ in range(2))
    rounds = count(1)

    def time(name: bytes, blocks: int, arguments: tuple[int, ...]) -> float:
        (kernel,) = call("cuModuleGetFunction", module, name)
        given = (arguments, (ctypes.c_void_p,) * len(arguments))
        found = []
        for _ in range(ROUNDS):
            call("cuLaunchKernel", kernel, blocks, 1, 1, THREADS, 1, 1, 0, 0, given, 0)
            number = next(rounds)
            wait_until(0, int(address), number)
            call("cuEventRecord", begun, 0)
            for _ in range(LAUNCHES):
                call("cuLaunchKernel", kernel, blocks, 1, 1, THREADS, 1, 1, 0, 0, given, 0)
            call("cuEventRecord", ended, 0)
            word.value = number
            call("cuStreamSynchronize", 0)
            found.append(call("cuEventElapsedTime", begun, ended)[0] * 1e6 / LAUNCHES)
        return float(statistics.median(found))

    times = [time(b"increment", BLOCKS, (int(target), int(source))), time(b"nothing", 1, ())]
    for memory in (source, target):
        call("cuMemFree", memory)
    call("cuMemFreeHost", host)
    call("cuModuleUnload", module)
    return times
