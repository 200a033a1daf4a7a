"""What a tenant shares with the judge: one input and one output allocation, never mapped by two, and two control pages.

The judge laid out every byte; what it reads back is data. Sizes are sealed, so that no truncation can take a page from
under it; the page with orders cannot be written by the other side.
"""

from __future__ import annotations

from runner.judge.layout import Layout
from runner.judge.memory import Buffer, Memory, SharedPages, Shot, WaitingMemory, Words
from sandbox import protocol


class Arena:
    """The inputs and outputs lie in `memory`; the control pages always on the host."""

    def __init__(self, memory: Memory, input_bytes: int, output_bytes: int) -> None:
        self.memory = memory
        self.inputs = memory.region("inputs", input_bytes)
        self.outputs = memory.region("outputs", output_bytes)
        self.orders = SharedPages("orders", protocol.ORDERS_BYTES, for_reading_only=True)
        self.answers = SharedPages("answers", protocol.ANSWERS_BYTES)
        self._answers = 0  # the device's address of that page

    @property
    def descriptors(self) -> tuple[int, int, int, int]:
        return self.inputs.fd, self.outputs.fd, self.orders.fd, self.answers.fd

    def poison(self, layout: Layout, pattern: int) -> None:
        """A fresh 64-bit pattern over the whole output, so that nothing that was left there can pass for a result."""
        self.memory.fill(self.outputs.bytes, layout.output_bytes, pattern)

    def stage(self, layout: Layout, inputs: Buffer) -> None:
        """Before the clock."""
        self.memory.stage(inputs, layout.input_bytes)

    def put_inputs(self, layout: Layout, inputs: Buffer, *, hot: bool = False) -> None:
        """From the judge's private memory; `inout` tensors get their first contents where the result is expected."""
        self.memory.put(self.inputs.bytes, inputs, layout.input_bytes, hot=hot)
        for slot in layout.slots:
            if slot.role == "inout":
                self.memory.copy(self.outputs.bytes[slot.output :], inputs[slot.input :], slot.nbytes)

    def take_outputs(self, layout: Layout, into: Buffer) -> None:
        """The whole output into private memory."""
        self.memory.copy(into, self.outputs.bytes, layout.output_bytes)

    @property
    def can_wait(self) -> bool:
        return isinstance(self.memory, WaitingMemory)

    def shoot(
        self, layout: Layout, inputs: Buffer, into: Buffer, nonce: int, *, gated: bool, hot: bool = False
    ) -> Shot:
        """`put_inputs` and, when the tenant's device echoes the nonce, `take_outputs`, by a device alone. `gated`: in
        between it opens the gate to the tenant's device."""
        assert isinstance(self.memory, WaitingMemory)
        self._answers = self._answers or self.memory.host_page(self.answers.map)
        words = Words(self._answers + protocol.GATE_OFFSET if gated else 0, self._answers + protocol.ECHO_OFFSET)
        return self.memory.shoot(
            lambda: self.put_inputs(layout, inputs, hot=hot), lambda: self.take_outputs(layout, into), words, nonce
        )

    def outputs_are(self, layout: Layout, snapshot: Buffer) -> bool:
        return self.memory.same(self.outputs.bytes, snapshot, layout.output_bytes)

    def inputs_are(self, layout: Layout, inputs: Buffer) -> bool:
        return self.memory.same(self.inputs.bytes, inputs, layout.input_bytes)

    def close(self) -> None:
        if self._answers:
            assert isinstance(self.memory, WaitingMemory)
            self.memory.forget_page(self.answers.map)
            self._answers = 0
        for region in (self.inputs, self.outputs, self.orders, self.answers):
            region.close()
