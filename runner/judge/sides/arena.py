"""Memory that a tenant shares with the judge: an input and an output allocation, and two control pages.

No allocation is mapped by two tenants. The judge laid out every byte; all bytes that it reads back are data. Sizes are
sealed: no truncation can take a page from under it. The tenant cannot write the page with orders.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Final

from runner.judge.data.layout import Buffer, Layout
from runner.judge.data.memory import Memory, SharedPages, Shot, WaitingMemory
from sandbox import protocol

PLACES: Final = 16
_CHANCE: Final = random.SystemRandom()


class Arena:
    """Regions of a tenant. The inputs and outputs lie in `memory`; the control pages always on the host."""

    def __init__(self, memory: Memory, input_bytes: int, output_bytes: int) -> None:
        self.memory = memory
        self.inputs = memory.region("inputs", input_bytes)
        self.outputs = memory.region("outputs", output_bytes)
        self.orders = SharedPages("orders", protocol.ORDERS_BYTES, for_reading_only=True)
        self.answers = SharedPages("answers", protocol.ANSWERS_BYTES)
        self._answers = 0  # the device's address of that page
        self.places = [(0, 0)]  # starts of the data in them, in units of PLACE_BYTES
        self._turns: list[tuple[int, int]] = []  # the next places, the last first
        self.place = self.places[0]  # the current place
        self._into, self._out_of = self.inputs.bytes, self.outputs.bytes  # the regions from there on

    @property
    def descriptors(self) -> tuple[int, int, int, int]:
        return self.inputs.fd, self.outputs.fd, self.orders.fd, self.answers.fd

    def spread(self, layout: Layout) -> None:
        """Draw the places for data of this layout, if the memory has more than one; `move` must follow.

        The time of a kernel depends on the place of its data (on an H200 by up to 0.2 µs): a single place per container
        would be a difference between containers. The places are few: a device takes longer at a place that it never
        used before.
        """
        sizes = ((self.inputs, layout.input_bytes), (self.outputs, layout.output_bytes))
        most = [(region.size - size) // protocol.PLACE_BYTES + 1 for region, size in sizes]
        if self.memory.moves:
            self.places = [(_CHANCE.randrange(most[0]), _CHANCE.randrange(most[1])) for _ in range(PLACES)]
        self._turns = []

    def begin_turns(self) -> None:
        """Begin a new turn: all places are still to come."""
        self._turns = []

    def move(self) -> None:
        """Move to the next place; when all have had their turn, begin again in a new order. Over many calls, each place
        counts equally."""
        self._turns = self._turns or _CHANCE.sample(self.places, len(self.places))
        self.go_to(self._turns.pop())

    def go_to(self, place: tuple[int, int]) -> None:
        """Make the data begin at this place from now on."""
        self.place = place
        starts = protocol.places_of(self.number)
        self._into, self._out_of = self.inputs.bytes[starts[0] :], self.outputs.bytes[starts[1] :]

    def holds(self, place: tuple[int, int], layout: Layout) -> bool:
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
        self.memory.fill(self._out_of, layout.output_bytes, pattern)

    def stage(self, layout: Layout, inputs: Buffer) -> None:
        """Prepare the inputs before the clock."""
        self.memory.stage(inputs, layout.input_bytes)

    def put_inputs(self, layout: Layout, inputs: Buffer, *, hot: bool = False) -> None:
        """Copy from the judge's private memory; `inout` tensors get their first contents in the place of the result."""
        self.memory.put(self._into, inputs, layout.input_bytes, hot=hot)
        for slot in layout.slots:
            if slot.role == "inout":
                self.memory.copy(self._out_of[slot.output :], inputs[slot.input :], slot.nbytes)

    def take_outputs(self, layout: Layout, into: Buffer) -> None:
        """Copy the whole output into private memory."""
        self.memory.copy(into, self._out_of, layout.output_bytes)

    @property
    def can_wait(self) -> bool:
        return isinstance(self.memory, WaitingMemory)

    def shoot(
        self, layout: Layout, inputs: Buffer, into: Buffer, nonce: int, *, gated: bool, hot: bool = False
    ) -> Shot:
        """Run `put_inputs` and, when the tenant's device echoes the nonce, `take_outputs`, by a device alone. `gated`:
        in between it opens the gate to the tenant's device."""
        assert isinstance(self.memory, WaitingMemory)
        self._answers = self._answers or self.memory.host_page(self.answers.map)
        gate, echo = self._answers + protocol.GATE_OFFSET if gated else 0, self._answers + protocol.ECHO_OFFSET
        put, take = partial(self.put_inputs, layout, inputs, hot=hot), partial(self.take_outputs, layout, into)
        return self.memory.shoot(put, take, gate, echo, nonce)

    def outputs_are(self, layout: Layout, snapshot: Buffer) -> bool:
        return self.memory.same(self._out_of, snapshot, layout.output_bytes)

    def inputs_are(self, layout: Layout, inputs: Buffer) -> bool:
        return self.memory.same(self._into, inputs, layout.input_bytes)

    def close(self) -> None:
        if self._answers:
            assert isinstance(self.memory, WaitingMemory)
            self.memory.forget_page(self.answers.map)
            self._answers = 0
        for region in (self.inputs, self.outputs, self.orders, self.answers):
            region.close()
