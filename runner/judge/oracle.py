"""Asks the problem's container for inputs, expected outputs and checks. It runs the problem's code; the judge does not.

The oracle is frozen but for the moments in which it is asked. Its answers are bounded; its failures are never the
competitor's fault.
"""

from __future__ import annotations

import socket
import time
from typing import Any, Final

from problems.spec import Case, case_name
from runner.judge.faults import OracleFailed
from runner.judge.layout import Layout, parse_layout
from runner.judge.memory import Buffer, Memory, Region
from runner.judge.tenant import Input, connect
from sandbox import protocol
from sandbox.container import Container

ANSWER_S: Final = 120  # for one request
MOST_FREE: Final = 64  # buffers kept for later inputs


class Oracle:
    """Use: connect, load, then `make` and `check`."""

    def __init__(self, container: Container, memory: Memory, input_bytes: int, output_bytes: int) -> None:
        self.container = container
        self._memory = memory
        self.checks = False  # does the problem bring its own check?
        self._inputs = memory.region("oracle-inputs", input_bytes)
        self._expected = memory.region("oracle-expected", output_bytes)
        self._answer = memory.region("oracle-answer", output_bytes)
        self._connection: socket.socket | None = None
        self._number = 0
        self._free: list[Buffer] = []
        self.took_ns = 0

    def connect(self) -> None:
        """Wait until its program is there: torch imported, the regions mapped, nothing of any problem in it."""
        regions = self._inputs, self._expected, self._answer
        self._connection = connect(
            self.container,
            self._memory,
            self._inputs.size,
            self._expected.size,
            tuple(region.fd for region in regions),
        )
        self.container.freeze()

    def load(self, files: dict[str, str]) -> None:
        self.checks = bool(self._ask({"do": "load", "files": files}).get("checks"))

    def make(self, case: Case, seed: int) -> Input:
        """One fresh input of this case, copied to private memory before the oracle runs again."""
        self._number += 1
        answer = self._ask({"do": "make", "number": self._number, "case": case, "seed": seed})
        layout = parse_layout(answer.get("layout"), self._inputs.size, self._expected.size)
        return Input(
            number=self._number,
            case=case_name(case),
            seed=seed,
            layout=layout,
            inputs=self._copy(self._inputs, layout.input_bytes),
            expected=self._copy(self._expected, layout.output_bytes),
        )

    def release(self, given: Input) -> None:
        """Its memory may be used again: fresh pages for every call would cost more than the call."""
        self._free += [given.inputs, given.expected]
        del self._free[:-MOST_FREE]

    def check(self, number: int, layout: Layout, output: Buffer) -> tuple[bool, str]:
        """The problem's own `check_implementation` on these bytes."""
        self._memory.copy(self._answer.bytes, output, layout.output_bytes)
        answer = self._ask({"do": "check", "number": number})
        return answer.get("good") is True, str(answer.get("message", ""))[:4000]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._connection is not None
        self.container.thaw()
        try:
            protocol.send(self._connection, request)
            return self._receive()
        finally:
            self.container.freeze()

    def _receive(self) -> dict[str, Any]:
        assert self._connection is not None
        try:
            answer, _ = protocol.receive(self._connection, deadline_ns=time.monotonic_ns() + ANSWER_S * 1_000_000_000)
        except (OSError, protocol.ProtocolError) as err:
            raise OracleFailed(
                f"the problem's container gave no answer: {err}; {self.container.logs()['stderr']}"
            ) from None
        if "error" in answer:
            raise OracleFailed(protocol.clean_text(str(answer["error"]).encode("utf-8", "replace")))
        self.took_ns = int(answer.get("took_ns", 0))
        return answer

    def _copy(self, region: Region, count: int) -> Buffer:
        private = next((buffer for buffer in self._free if len(buffer) == count), None)
        if private is None:
            private = self._memory.buffer(count)
        else:
            self._free = [buffer for buffer in self._free if buffer is not private]
        self._memory.copy(private, region.bytes, count)
        return private

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self.container.close()
        for region in (self._inputs, self._expected, self._answer):
            region.close()
