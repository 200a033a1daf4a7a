"""Memory that a tenant shares with the judge: an input and an output allocation, and two control pages. With several
ranks each has allocations and answers of its own, and all read the same orders.

No allocation is mapped by two tenants. The judge laid out every byte; all bytes that it reads back are data. Sizes are
sealed: no truncation can take a page from under it. The tenant cannot write the page with orders.
"""

import random
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from runner.evidence.starved import Reading, Share
from runner.judge.data import faults, room
from runner.judge.data.call import Clock
from runner.judge.data.layout import Buffer, Layout
from runner.judge.data.memory import Look, Memory, SharedPages, Shot, WaitingMemory
from runner.judge.data.ranks import part_of
from runner.judge.device.processor import WATCHED_S, Meter
from sandbox import protocol
from sandbox.container import Container, SandboxError

START_S: Final = 120  # container started → harness connected; torch is imported on the way
POLL_ALIVE_NS: Final = 20_000_000  # while waiting, check at this interval whether the container lives
SPACIOUS: Final = 4 * room.PLACES  # a region of as many times the data has room for places that do not overlap
MOST_INOUT: Final = 16  # of such a layout, as each takes a request more, and a device's queue has room for 1,024
STUCK_NS: Final = 1_000_000_000  # after a rank failed, for the others
MOST_TOLD_NS: Final = 1 << 50  # a fortnight: up to there whole nanoseconds are distinct, also as floats
_CHANCE: Final = random.SystemRandom()

There = tuple[Buffer, Buffer]  # both regions from a place on
Place = tuple[int, int]  # starts of a call's inputs and outputs in their regions, in units of PLACE_BYTES


def connect(
    container: Container,
    memory: Memory,
    input_bytes: int,
    output_bytes: int,
    descriptors: tuple[int, ...],
    before: Callable[[socket.socket], None] = lambda connection: None,
) -> socket.socket:
    """Return the connection of a container that has mapped the memory shared with the judge, a tenant's or the
    oracle's. No file of a user or a problem is in it yet. `before`: a further exchange, before memory is mapped.
    Raises SandboxError, OSError."""
    deadline = time.monotonic_ns() + START_S * 1_000_000_000
    connection = container.accept(deadline)
    try:
        version = protocol.receive(connection, deadline_ns=deadline)[0].get("ready")
        if version != protocol.VERSION:
            raise SandboxError(
                f"the image's harness speaks protocol {version!r}, this judge {protocol.VERSION}: "
                "build the image of this checkout with `make image`"
            )
        before(connection)
        on = {"device": memory.device, "module": memory.module, "ranks": memory.ranks}
        arena = {**on, "input_bytes": input_bytes, "output_bytes": output_bytes}
        protocol.send(connection, arena, descriptors)
        protocol.receive(connection, deadline_ns=deadline)
    except (protocol.ProtocolError, OSError) as err:
        connection.close()
        raise SandboxError(f"a container failed before there was a job in it: {err}; {container.logs()}") from None
    except SandboxError:
        connection.close()
        raise
    return connection


class Arena:
    """Regions of a tenant. The inputs and outputs lie in `memory`; the control pages always on the host."""

    def __init__(self, memory: Memory, input_bytes: int, output_bytes: int) -> None:
        self.memory = memory
        self.inputs = memory.region("inputs", input_bytes)
        self.outputs = memory.region("outputs", output_bytes)
        self.orders = SharedPages("orders", protocol.ORDERS_BYTES, for_reading_only=True)
        self.answers = SharedPages("answers", memory.ranks * protocol.ANSWERS_BYTES)
        self.pages: list[Any] = [self.answers.map]  # of the answers, by rank
        if memory.ranks > 1:
            whole, size = memoryview(self.answers.map), protocol.ANSWERS_BYTES
            self.pages = [whole[rank * size : (rank + 1) * size] for rank in range(memory.ranks)]
        self._addresses: list[int] = []  # the device's, of those pages
        self.places = [(0, 0)]  # starts of the data in them, in units of PLACE_BYTES
        self.are_apart = False  # whether no two places overlap, and the work of several calls has room
        self._turns: list[Place] = []  # the next places, the last first
        self.place = self.places[0]  # the current place
        self._there: There = (self.inputs.bytes, self.outputs.bytes)  # the regions from there on
        self._known: dict[Place, There] = {}  # by place, as making them anew takes as long as a request to a device

    @property
    def descriptors(self) -> tuple[int, ...]:
        return *self.inputs.fds, *self.outputs.fds, self.orders.fd, self.answers.fd

    def spread(self, layout: Layout) -> None:
        """Draw the places for data of this layout, if the memory has more than one; `move` must follow.

        The time of a kernel depends on the place of its data (on an H200 by up to 0.2 µs): a single place per container
        would be a difference between containers. The places are few: a device takes longer at a place that it never
        used before. Data that fill a region have fewer places still.
        """
        sizes = ((self.inputs, layout.input_bytes), (self.outputs, layout.output_bytes))
        most = [(region.size - size) // protocol.PLACE_BYTES + 1 for region, size in sizes]
        few = sum(slot.role == "inout" for slot in layout.slots) <= MOST_INOUT
        self.are_apart = self.memory.moves and few and all(SPACIOUS * size <= region.size for region, size in sizes)
        if self.memory.moves:
            drawn = set[Place]()
            while len(drawn) < room.places((most[0], most[1])):
                place = _CHANCE.randrange(most[0]), _CHANCE.randrange(most[1])
                if not (self.are_apart and any(_overlap(place, other, layout) for other in drawn)):
                    drawn.add(place)
            self.places = list(drawn)
        self._turns, self._known = [], {}

    def begin_turns(self) -> None:
        """Begin a new turn: all places are still to come."""
        self._turns = []

    def move(self) -> None:
        """Move to the next place; when all have had their turn, begin again in a new order. Over many calls, each place
        counts equally."""
        self._turns = self._turns or _CHANCE.sample(self.places, len(self.places))
        self.go_to(self._turns.pop())

    def next_places(self, most: int) -> list[Place]:
        """Return the current place and further ones, up to `most`."""
        found = [self.place]
        while len(found) < min(most, len(self.places)):
            if not self._turns:  # places that are among these come last
                self._turns = sorted(_CHANCE.sample(self.places, len(self.places)), key=lambda one: one not in found)
            found.append(self._turns.pop())
        return found

    def go_to(self, place: Place) -> None:
        """Make the data begin at this place from now on."""
        self.place = place
        if place not in self._known:
            starts = protocol.places_of(self.number)
            self._known[place] = self.inputs.bytes[starts[0] :], self.outputs.bytes[starts[1] :]
        self._there = self._known[place]

    def holds(self, place: Place, layout: Layout) -> bool:
        """Return whether data of this layout end before the regions do, if they begin at this place."""
        starts = protocol.places_of(protocol.number_of(place))
        room = self.inputs.size - starts[0], self.outputs.size - starts[1]
        return layout.input_bytes <= room[0] and layout.output_bytes <= room[1]

    @property
    def number(self) -> int:
        """The current place in the encoding of an order."""
        return protocol.number_of(self.place)

    def poison(self, layout: Layout, pattern: int) -> None:
        """Fill the whole output with a fresh 64-bit pattern: no earlier contents can pass for a result."""
        self.memory.fill(self._there[1], layout.output_bytes, pattern)

    def stage(self, layout: Layout, inputs: Buffer) -> None:
        """Prepare the inputs before the clock."""
        self.memory.stage(inputs, layout.input_bytes)

    def put_inputs(self, layout: Layout, inputs: Buffer, *, hot: bool = False, there: There | None = None) -> None:
        """Copy from the judge's private memory; `inout` tensors get their first contents in the place of the result."""
        into, out_of = there or self._there
        self.memory.put(into, inputs, layout.input_bytes, hot=hot)
        for slot in layout.slots:
            if slot.role == "inout":
                memory, rank = self.memory.of(slot.rank), slot.rank
                result, first = part_of(out_of, rank), part_of(inputs, rank)
                with memory.here():
                    memory.copy(result[slot.output :], first[slot.input :], slot.nbytes)

    def take_outputs(self, layout: Layout, into: Buffer, *, there: There | None = None) -> None:
        """Copy the whole output into private memory."""
        self.memory.copy(into, (there or self._there)[1], layout.output_bytes)

    @property
    def can_wait(self) -> bool:
        return isinstance(self.memory, WaitingMemory)

    def shoot(
        self, layout: Layout, inputs: Buffer, into: Buffer, nonce: int, *, gated: bool, hot: bool = False
    ) -> Shot:
        """Hand over `put_inputs` and, when the tenant's device echoes the nonce, `take_outputs`, to a device alone, for
        `Shot.fire`. `gated`: in between it opens the gate to the tenant's device."""
        assert isinstance(self.memory, WaitingMemory)
        self._addresses = self._addresses or [self.memory.host_page(page) for page in self.pages]
        gates = [address + protocol.GATE_OFFSET for address in self._addresses] if gated else []
        echoes = [address + protocol.ECHO_OFFSET for address in self._addresses]
        put = partial(self.put_inputs, layout, inputs, hot=hot, there=self._there)
        take = partial(self.take_outputs, layout, into, there=self._there)
        return self.memory.shoot(put, take, gates, echoes, nonce)

    def look_at_inputs(self, layout: Layout, inputs: Buffer) -> Look:
        """Return the look that shows whether the inputs at the current place are these."""
        return self._there[0], inputs, layout.input_bytes

    def look_at_outputs(self, layout: Layout, snapshot: Buffer) -> Look:
        return self._there[1], snapshot, layout.output_bytes

    def close(self) -> None:
        if self._addresses:
            assert isinstance(self.memory, WaitingMemory)
            for page in self.pages:
                self.memory.forget_page(page)
            self._addresses = []
        self._known.clear()
        for region in (self.inputs, self.outputs, self.orders, self.answers):
            region.close()


def _overlap(one: Place, other: Place, layout: Layout) -> bool:
    sizes = layout.input_bytes, layout.output_bytes
    return any(abs(a - b) * protocol.PLACE_BYTES < size for a, b, size in zip(one, other, sizes, strict=True))


class Orders:
    """Orders to a tenant and its answers, over the control pages: `give`, or `write`, `wait` and `answer` separately.

    All raise Fault. Every wait has a deadline and notices that the container died; an answer is bounded, and believed
    only as far as a tenant's word goes.
    """

    def __init__(self, container: Container, arena: Arena, clock: Clock, meter: Meter | None = None) -> None:
        self._container = container
        self._arena = arena
        self._clock = clock
        self._meter = meter
        self.polled_ns = 0  # total wait for answers
        self._watched: Reading | None = None  # start of the watch over the current wait
        self._nonce = secrets.randbelow(1 << 61)  # the last

    def nonce(self) -> int:
        """Return a new nonce: larger than all before, by a step that no code can guess, and below 2⁶³."""
        self._nonce += 1 + secrets.randbelow(1 << 32)
        return self._nonce

    def give(self, kind: int, text: bytes, limit_s: float, when: str) -> int:
        """Write an order, wait for the echo of its nonce, and return the tenant's number. Any failure in the answer is
        a fault."""
        return self.answer(self.order(kind, text), limit_s, when)

    def order(self, kind: int, text: bytes = b"") -> tuple[int, int]:
        """Write an order with a fresh nonce, for `answer`."""
        nonce = self.nonce()
        self.write(kind, text, nonce)
        return kind, nonce

    def write(self, kind: int, text: bytes, nonce: int) -> None:
        protocol.write_page(self._arena.orders.map, nonce, kind, self._arena.number, text)

    def answer(self, order: tuple[int, int], limit_s: float, when: str) -> int:
        """Wait for the answer of every rank and return the largest number. A rank that failed is enough: the others
        may wait for it."""
        kind, nonce = order
        self.wait(nonce, limit_s, when)
        largest = 0
        for rank, page in enumerate(self._arena.pages):
            if protocol.read_nonce(page) != nonce:
                continue  # the rank that failed is another one
            status, inner_ns, said = protocol.read_page(page, protocol.MAX_TEXT_BYTES)
            if status != protocol.OK:
                text = protocol.clean_text(said)
                if len(self._arena.pages) == 1:
                    raise faults.from_answer(kind, status, text)
                fault = faults.from_answer(kind, status, f"Rank {rank}: {text}")
                raise replace(fault, is_stuck=not self._all_answer(nonce, STUCK_NS))
            largest = max(largest, min(inner_ns, MOST_TOLD_NS))
        return largest

    def wait(self, nonce: int, limit_s: float, when: str, *, by_device: bool = False) -> None:
        """Wait until the tenant answered with the nonce; with `by_device`, or its device did."""
        if not self.echoed(nonce, int(limit_s * 1e9), when, by_device=by_device):
            share = Share.between(self._watched, self._meter.read()) if self._watched and self._meter else None
            raise faults.from_timeout(limit_s, when, share, self._silent(nonce))

    def _silent(self, nonce: int) -> str:
        """Return which ranks have not answered; "" if there is only one."""
        pages = self._arena.pages
        silent = [str(rank) for rank, page in enumerate(pages) if protocol.read_nonce(page) != nonce]
        return f"{', '.join(silent)} of {len(pages)}" if len(pages) > 1 else ""

    def _all_answer(self, nonce: int, limit_ns: int) -> bool:
        """Return whether all ranks answer within the limit, in ns."""
        deadline = self._clock.now_ns() + limit_ns
        while not all(protocol.read_nonce(page) == nonce for page in self._arena.pages):
            if self._clock.now_ns() > deadline:
                return False
            time.sleep(0.001)
        return True

    def _has_failed(self, nonce: int) -> bool:
        """Return whether one of several ranks has answered with a failure."""
        pages = self._arena.pages if len(self._arena.pages) > 1 else []
        return any(
            protocol.read_nonce(page) == nonce and protocol.read_page(page, 0)[0] != protocol.OK for page in pages
        )

    def echoed(self, nonce: int, limit_ns: int, when: str = faults.CALL, *, by_device: bool = False) -> bool:
        """Return whether the answers came within the limit, in ns, or a rank's failure did."""
        now = self._clock.now_ns
        began = now()
        deadline = began + limit_ns
        look = began + POLL_ALIVE_NS
        self._watched = None
        spins = 0
        try:
            for page in self._arena.pages:
                while protocol.read_nonce(page) != nonce:
                    if by_device and protocol.read_echo(page) == nonce:
                        break
                    spins += 1
                    if spins % 64:
                        continue
                    time.sleep(0)  # yields if judge and tenant share a core
                    moment = now()
                    if moment > deadline:
                        return False
                    if moment <= look:
                        continue
                    look = moment + POLL_ALIVE_NS
                    if not self._container.alive():
                        raise died(self._container, when)
                    if self._has_failed(nonce):
                        return True
                    if self._watched is None and self._meter is not None and moment - began > WATCHED_S * 1e9:
                        self._watched = self._meter.read()
            return True
        finally:
            self.polled_ns += now() - began


def died(container: Container, when: str) -> faults.Fault:
    """Return the fault of a container that ended by itself."""
    return faults.from_exit(container.wait_exit(), container.policy.memory_bytes, when)
