"""Shared memory: sizes are sealed, a tenant cannot write orders, and old bytes never pass for a result."""

import mmap
import os

import numpy as np
import pytest

from runner.judge.data.layout import Layout, Slot
from runner.judge.data.memory import Memory, SharedPages
from runner.judge.sides.arena import Arena
from sandbox import protocol
from tests.runner.judge.tenant_here import Moving

SLOTS = (
    Slot("in", "float32", (4,), (1,), 16, 0, -1),
    Slot("inout", "float32", (4,), (1,), 16, 256, 0),
    Slot("out", "float32", (4,), (1,), 16, -1, 256),
)
LAYOUT = Layout(SLOTS, 512, 512, b"")


@pytest.mark.parametrize("size", [0, 100, 1 << 20])
def test_no_holder_of_the_descriptor_can_change_the_size(size: int) -> None:
    region = SharedPages("test", 4096)
    with pytest.raises(PermissionError):
        os.ftruncate(region.fd, size)
    region.close()


def test_orders_can_be_read_and_not_written_by_the_other_side() -> None:
    region = SharedPages("test", 4096, for_reading_only=True)
    region.map[0:1] = b"x"
    with pytest.raises(PermissionError):
        mmap.mmap(region.fd, 4096)
    with pytest.raises(PermissionError):
        os.write(region.fd, b"y")
    theirs = mmap.mmap(region.fd, 4096, prot=mmap.PROT_READ)
    assert theirs[0:1] == b"x"
    region.close()


def test_no_seal_can_be_taken_off_or_added_later() -> None:
    import fcntl

    region = SharedPages("test", 4096)
    with pytest.raises(PermissionError):
        fcntl.fcntl(region.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    region.close()


def test_memory_of_a_closed_arena_is_freed_though_views_of_it_live_on() -> None:
    """A judge keeps the closed sides of its last jobs, and a kernel may have written its whole arena."""
    arena = Arena(Memory(), 4 << 20, 4 << 20)
    arena.inputs.bytes[:] = arena.outputs.bytes[:] = 1
    held = [os.dup(fd) for region in (arena.inputs, arena.outputs) for fd in region.fds]
    assert [os.fstat(fd).st_blocks * 512 for fd in held] == [4 << 20] * 2
    arena.close()
    assert [os.fstat(fd).st_blocks for fd in held] == [0, 0]
    arena.close()
    for fd in held:
        os.close(fd)


@pytest.mark.parametrize("memory", [Memory, Moving])
def test_poison_covers_the_whole_output_and_inout_gets_its_first_contents(memory: type[Memory]) -> None:
    arena = Arena(memory(), 4 << 20, 4 << 20)
    arena.spread(LAYOUT)
    arena.move()
    first, second = protocol.places_of(arena.number)
    put, out = arena.inputs.bytes[first:], arena.outputs.bytes[second:]
    inputs, taken = np.arange(512, dtype=np.uint16).astype(np.uint8), np.zeros(512, np.uint8)
    arena.poison(LAYOUT, 0x1122334455667788)
    assert (out[:512].view(np.uint64) == 0x1122334455667788).all()
    arena.put_inputs(LAYOUT, inputs)
    assert (put[:512] == inputs).all()
    assert (out[:16] == inputs[256:272]).all()
    assert (out[256:272].view(np.uint64) == 0x1122334455667788).all()
    arena.take_outputs(LAYOUT, taken)
    assert (taken == out[:512]).all()
    assert np.count_nonzero(arena.inputs.bytes) == np.count_nonzero(inputs), "nothing lies elsewhere"
    arena.close()


def test_a_change_of_one_bit_is_seen() -> None:
    arena = Arena(Memory(), 4096, 4096)
    inputs, snapshot = np.zeros(512, np.uint8), np.zeros(512, np.uint8)
    arena.put_inputs(LAYOUT, inputs)
    arena.take_outputs(LAYOUT, snapshot)
    looks = [arena.look_at_inputs(LAYOUT, inputs), arena.look_at_outputs(LAYOUT, snapshot)]
    assert arena.memory.all_same(looks) == [True, True]
    arena.inputs.bytes[511] ^= 1
    assert arena.memory.all_same(looks) == [False, True]
    arena.outputs.bytes[0] ^= 128
    assert arena.memory.all_same(looks) == [False, False]
    arena.close()
