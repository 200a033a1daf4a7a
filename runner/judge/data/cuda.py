"""Memory on an NVIDIA device, behind the same operations as the host's. Loaded only on GPU hardware.

Judge-owned memory is allocated before any tenant starts and is never mapped by a tenant. Inputs reach a tenant in two
steps inside the clock: all but a random 1/256 of the words, then, after the L2 cache was swept, the withheld words. The
device's own work is held until the host has handed over all of it: otherwise the clock would measure how fast a host
launches. An operation that is handed over must therefore neither wait for the device nor allocate; steps that do run
before.
"""

import ctypes
import mmap
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, Final

import torch

from problems import sizes
from runner.judge.data import compare
from runner.judge.data.call import ALL, Input, Steps
from runner.judge.data.compare import Rule
from runner.judge.data.device_arrays import TensorArrays
from runner.judge.data.layout import Slot
from runner.judge.data.memory import Look, Memory, NoMemory
from runner.judge.data.ranks import RanksMemory
from sandbox.container import SandboxError
from sandbox.inside import device
from sandbox.inside.device import Meeting

# A sixteenth of a device's memory, three times: both tenants' and the oracle's.
INPUTS: Final = sizes.GPU_INPUT_SHARE
# Four times, and once more up to 4 GiB. Beside them and the judge's own 24 GiB a third of an H200's memory is left for
# the needs of all code; a quarter with an incumbent.
OUTPUTS: Final = 17
WITHHELD_SHARE: Final = 256  # one word of four bytes in this many comes last
SWEEP_FACTOR: Final = 4  # of the L2 cache: written, then read
LONGEST_LAUNCH_S: Final = 0.5  # to hand over the device's own work, which takes 0.4 ms
LONGEST_HOLD_S: Final = 30.0  # then for a container to hand over a call's, and to freeze, which have shorter limits
CHUNK: Final = 1 << 23  # elements compared at a time; some twenty doubles each, on a device that tenants share

Buffer = torch.Tensor


class DeviceRegion:
    """Device allocation, shared by its descriptor with one container."""

    def __init__(self, size: int) -> None:
        try:
            self.bytes, self.size, self.fd = device.create(size)
        except device.DeviceError as err:
            raise SandboxError(f"no {size} bytes of device memory: {err}") from None

    @property
    def fds(self) -> tuple[int, ...]:
        return (self.fd,)

    def close(self) -> None:
        """Unmap the allocation. It is freed when the container that maps it, too, is gone."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            device.unmap(self.bytes, self.size)


@contextmanager
def _allocating() -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError as err:
        raise NoMemory(f"no device memory is left for the judge: {err}") from None


class _Start:
    """A word of this host that the judge's device waits for; no tenant maps it. It holds the number of the last shot
    that may begin.

    A full queue stops the host in the middle of handing over: a thread then releases the device, and the clock measures
    how fast a host launches.
    """

    def __init__(self) -> None:
        page = mmap.mmap(-1, mmap.PAGESIZE)
        self._word = ctypes.c_uint64.from_buffer(page)
        self._address = device.device_address(ctypes.addressof(self._word), mmap.PAGESIZE)
        self._lock = threading.Lock()
        self._last = 0
        self._held: dict[int, float] = {}  # shots by number, and until when they are held
        threading.Thread(target=self._watch, name="start", daemon=True).start()

    def new(self) -> int:
        """Return the number of a new shot. All its work is handed over when `keep` is called."""
        with self._lock:
            self._last += 1
            self._held[self._last] = time.monotonic() + LONGEST_LAUNCH_S
            return self._last

    def hold(self, stream: int, number: int) -> None:
        """Hold all work that the stream gets from now on until the shot with this number is released."""
        device.wait_for_at_least(stream, self._address, number)

    def keep(self, number: int) -> None:
        with self._lock:
            if number in self._held:
                self._held[number] = time.monotonic() + LONGEST_HOLD_S

    def release(self, number: int) -> bool:
        """Let a shot and all before it go, and return whether it was still held."""
        with self._lock:
            was_held = number in self._held
            self._let_go(number)
        return was_held

    def _let_go(self, number: int) -> None:
        self._word.value = max(self._word.value, number)
        self._held = {later: until for later, until in self._held.items() if later > number}

    def _watch(self) -> None:
        while True:
            time.sleep(LONGEST_LAUNCH_S / 2)
            with self._lock:
                now = time.monotonic()
                if late := [number for number, until in self._held.items() if now > until]:
                    self._let_go(max(late))


@cache
def _start() -> _Start:
    """Return the process's only start word: the driver keeps its page until the process ends."""
    return _Start()


class CudaShot:
    """Four events of the judge's own stream, which no tenant reaches."""

    def __init__(self, memory: "CudaMemory", number: int) -> None:
        self._memory, self._number = memory, number
        self._stream = memory.stream
        self._marks: list[Any] = [torch.cuda.Event(enable_timing=True) for _ in range(4)]  # type: ignore[no-untyped-call]

    def mark(self, place: int) -> None:
        self._marks[place].record(self._stream)

    def fire(self) -> bool:
        try:
            self._memory.reset()
        finally:
            was_held = _start().release(self._number)
        return was_held

    def is_put(self) -> bool:
        return bool(self._marks[1].query())

    def is_done(self) -> bool:
        return bool(self._marks[3].query())

    def times_ns(self) -> tuple[int, int, int]:
        return self._between(0, 3), self._between(0, 1), self._between(2, 3)

    def _between(self, first: int, last: int) -> int:
        return int(self._marks[first].elapsed_time(self._marks[last]) * 1e6)


class CudaMemory(Memory):
    """The device's primary context through torch. Each operation but `stage` ends with a synchronisation, except in a
    shot and, in `together`, except at the end."""

    device = "cuda"
    module = "on_cuda"
    compiler = "nvcc"
    frozen_stands_still = False
    sweeps = True
    moves = True
    draws = True
    snapshot_bytes = 24 << 30
    is_shared = True
    works_beside_oracle = True

    def __init__(self, steps: Steps = ALL, number: int = 0) -> None:
        device.start(number)
        self.steps, self.number = steps, number
        l2 = torch.cuda.get_device_properties(number).L2_cache_size
        self._sweeper = torch.zeros(SWEEP_FACTOR * l2, dtype=torch.uint8, device="cuda")
        self._probe = torch.zeros(1, device="cuda")
        self._alone = False  # whether the device goes on without the host
        self.stream = torch.cuda.current_stream()  # of all work; looking it up takes longer than most requests
        self._make_room(0)
        some, other = self.buffer(1024), self.buffer(1024)  # each kernel's first use may wait for the device
        self.stage(some, 1024)
        self.put(other, some, 1024)
        self.copy(some, other, 1024)
        _start()

    def here(self) -> AbstractContextManager[Any]:
        return torch.cuda.device(self.number)

    def free_bytes(self) -> int:
        """Return the device's free memory and the judge's own buffers, which it can free."""
        return self.unused_bytes() + torch.cuda.memory_reserved()

    def unused_bytes(self) -> int:
        return int(torch.cuda.mem_get_info()[0])

    def region_bytes(self) -> tuple[int, int]:
        total = int(torch.cuda.get_device_properties(0).total_memory)
        return total // INPUTS, total // OUTPUTS

    def region(self, name: str, size: int) -> DeviceRegion:
        return DeviceRegion(size)

    @_allocating()
    def buffer(self, size: int) -> Buffer:
        return torch.ones(size, dtype=torch.uint8, device="cuda")

    def copy(self, target: Buffer, source: Buffer, count: int) -> None:
        device.copy(self.stream.cuda_stream, target.data_ptr(), source.data_ptr(), count)
        self._synchronize()

    def to_host(self, source: Buffer, count: int) -> Any:
        return source[:count].cpu().numpy()

    @contextmanager
    def together(self) -> Iterator[None]:
        self._alone = True
        try:
            yield
        finally:
            self._alone = False
            torch.cuda.synchronize(self.number)

    def _synchronize(self) -> None:
        if not self._alone:
            torch.cuda.synchronize(self.number)

    def host_page(self, page: mmap.mmap) -> int:
        return device.device_address(ctypes.addressof(ctypes.c_char.from_buffer(page)), mmap.PAGESIZE)

    def forget_page(self, page: mmap.mmap) -> None:
        """Forget the page, after the device has finished its work."""
        torch.cuda.synchronize(self.number)
        device.forget_address(ctypes.addressof(ctypes.c_char.from_buffer(page)))

    def shoot(
        self, put: Callable[[], None], take: Callable[[], None], gates: Sequence[int], echoes: Sequence[int], nonce: int
    ) -> CudaShot:
        number = _start().new()
        shot = CudaShot(self, number)
        try:
            self.begin(shot, number)
            put()
            self.wait_for(shot, gates[0] if gates else 0, echoes[0], nonce)
            take()
            shot.mark(3)
            _start().keep(number)
        except BaseException:
            shot.fire()
            raise
        finally:
            self.end()
        return shot

    def begin(self, shot: CudaShot, number: int, meeting: Meeting | None = None) -> None:
        """Hold the device for a shot, with several devices until their `meeting`; its requests follow until `end`."""
        self._alone = True
        _start().hold(self.stream.cuda_stream, number)
        if meeting is not None:
            meeting.attend(self.stream.cuda_stream, number)
        shot.mark(0)

    def wait_for(self, shot: CudaShot, gate: int, echo: int, nonce: int) -> None:
        """Have the device open the gate, if there is one, and wait for the echo."""
        stream = self.stream.cuda_stream
        shot.mark(1)
        if gate:
            device.write_when_done(stream, gate, nonce)
        device.wait_until(stream, echo, nonce)
        shot.mark(2)

    def end(self) -> None:
        self._alone = False

    def reset(self) -> None:
        """Turn what any process asked the cache to keep into ordinary lines, if that is a step."""
        if self.steps.reset:
            device.reset_persisting_cache()

    @_allocating()
    def fill(self, target: Buffer, count: int, pattern: int) -> None:
        target[:count].view(torch.int64).fill_(pattern - (1 << 64) if pattern >> 63 else pattern)
        self._synchronize()

    @_allocating()
    def same(self, left: Buffer, right: Buffer, count: int) -> bool:
        return bool(torch.equal(left[:count].view(torch.int64), right[:count].view(torch.int64)))

    @_allocating()
    def all_same(self, looks: Sequence[Look]) -> list[bool]:
        """As `same`; the host waits only once."""
        differ = [(_words(one, count) != _words(other, count)).any() for one, other, count in looks]
        return [not found for found in torch.stack(differ).tolist()]

    @_allocating()
    def stage(self, source: Buffer, count: int) -> None:
        """Prepare the first part of `put` before the clock, with the withheld words poisoned.

        The device does it before any later work of the judge; the host does not wait.
        """
        if len(self._staged) != count:
            self._make_room(count)
        device.copy(self.stream.cuda_stream, self._staged.data_ptr(), source.data_ptr(), count)
        if self.steps.withhold:
            torch.randint(max(count // 4, 1), self._drawn.shape, out=self._drawn)
            torch.index_select(source[:count].view(torch.int32), 0, self._drawn, out=self._taken)
            self._staged.view(torch.int32).index_copy_(0, self._late, self._wrong)

    def _make_room(self, count: int) -> None:
        """Make room for what `stage` prepares of this many bytes: nothing may be allocated while a shot is held."""
        words = count // 4
        withheld = max(words // WITHHELD_SHARE, min(words, 1))
        self._staged = torch.empty(0, dtype=torch.uint8, device="cuda")  # there may be no room for both
        self._staged = torch.ones(count, dtype=torch.uint8, device="cuda")
        self._drawn = torch.zeros(2 * withheld, dtype=torch.int64, device="cuda")  # places of words
        self._taken = torch.zeros(2 * withheld, dtype=torch.int32, device="cuda")  # and their contents
        self._late = self._drawn[:withheld]  # the late words
        self._right, self._wrong = self._taken[:withheld], self._taken[withheld:]  # of the late words; plausible ones

    @_allocating()
    def put(self, target: Buffer, source: Buffer, count: int, *, hot: bool = False) -> None:
        """Copy inside the clock: the staged bytes, a sweep of L2, the withheld words."""
        device.copy(self.stream.cuda_stream, target.data_ptr(), self._staged.data_ptr(), count)
        if not self._alone:
            self.reset()
        if self.steps.sweep and not hot:
            self._sweeper.add_(1)
        if self.steps.withhold:
            target[:count].view(torch.int32).index_copy_(0, self._late, self._right)
        self._synchronize()

    def probe_ns(self) -> int:
        """Return how long a tiny kernel of the judge takes, in ns: far longer if a foreign kernel is still resident."""
        if not self.steps.probe:
            return 0
        start = time.perf_counter_ns()
        self._probe.add_(1)
        torch.cuda.synchronize()
        return time.perf_counter_ns() - start

    @_allocating()
    def compare(self, given: Input, got: Buffer, rule: Rule) -> list[compare.Figures]:
        return compare.compare(given, got, rule, TensorArrays(CHUNK))

    @_allocating()
    def nans(self, slot: Slot, region: Buffer) -> int:
        return compare.nans(slot, region, TensorArrays(CHUNK))

    def release(self) -> None:
        self._make_room(0)
        torch.cuda.empty_cache()


def _words(buffer: Buffer, count: int) -> Buffer:
    return (buffer if len(buffer) == count else buffer[:count]).view(torch.int64)


class RanksShot:
    """A shot on each device. Its times are those of the device that was done last."""

    def __init__(self, memories: Sequence[CudaMemory], number: int) -> None:
        self._memories = memories
        self.shots = [CudaShot(memory, number) for memory in memories]

    def fire(self) -> bool:
        try:
            for memory in self._memories[1:]:
                with memory.here():
                    memory.reset()
        finally:
            was_held = self.shots[0].fire()
        return was_held

    def is_put(self) -> bool:
        return all(shot.is_put() for shot in self.shots)

    def is_done(self) -> bool:
        return all(shot.is_done() for shot in self.shots)

    def times_ns(self) -> tuple[int, int, int]:
        return max(shot.times_ns() for shot in self.shots)


class CudaRanks(RanksMemory):
    """Memory of several devices of this process.

    All devices begin a shot together, and open their gates together: work of a rank that needs another rank's inputs
    finds them there.
    """

    memories: Sequence[CudaMemory]

    def __init__(self, steps: Steps, ranks: int) -> None:
        for number in range(ranks):
            device.start(number)  # pages of the host are registered with all devices that are in use by then
        super().__init__([CudaMemory(steps, number) for number in range(ranks)])
        device.start(0)
        self._page = mmap.mmap(-1, mmap.PAGESIZE)
        first, size = self.host_page(self._page), ctypes.sizeof(ctypes.c_uint64)
        begun, self._put = ([first + size * (row * ranks + rank) for rank in range(ranks)] for row in range(2))
        self._starts, self._openings = (
            [Meeting(words, rank) for rank, _ in enumerate(self._each())] for words in (begun, self._put)
        )

    def host_page(self, page: mmap.mmap) -> int:
        return self.memories[0].host_page(page)

    def forget_page(self, page: mmap.mmap) -> None:
        for memory in self.memories[1:]:
            torch.cuda.synchronize(memory.number)
        self.memories[0].forget_page(page)

    def shoot(
        self, put: Callable[[], None], take: Callable[[], None], gates: Sequence[int], echoes: Sequence[int], nonce: int
    ) -> RanksShot:
        number = _start().new()
        shot = RanksShot(self.memories, number)
        try:
            for rank, (memory,) in enumerate(self._each()):
                memory.begin(shot.shots[rank], number, self._starts[rank])
            put()
            for rank, (memory,) in enumerate(self._each()):
                stream = memory.stream.cuda_stream
                self._openings[rank].attend(stream, number)
                for word in self._put:  # also where the meeting took too long
                    device.wait_until(stream, word, number)
                memory.wait_for(shot.shots[rank], gates[rank] if gates else 0, echoes[rank], nonce)
            take()
            for rank, _ in enumerate(self._each()):
                shot.shots[rank].mark(3)
            _start().keep(number)
        except BaseException:
            shot.fire()
            raise
        finally:
            for memory in self.memories:
                memory.end()
        return shot
