"""The real harness and the judge's real side of it, without a container: a process, a socket and an arena."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from runner.judge.data.call import Input
from runner.judge.data.memory import Memory
from runner.judge.sides.tenant import Tenant
from sandbox.container import Exit
from tests.runner.judge.oracle_here import Process

PROGRAM = "import sys, harness; harness.SOCKET, harness.WORK = sys.argv[1:]; harness.main()"
LIMIT_S = 60


class Moving(Memory):
    """Memory whose data move between calls, as on a device."""

    moves = True


class Container(Process):
    """The part of a container that Tenant needs; it cannot be frozen."""

    freezer = None
    policy = SimpleNamespace(memory_bytes=1 << 30, cpus="0")

    def __init__(self, folder: Path, program: str) -> None:
        super().__init__(folder, program)
        self.printed = self._errors.fileno(), self._errors.fileno()

    def stop_logs(self) -> None: ...

    def kill(self) -> None:
        self._program.kill()

    def wait_exit(self) -> Exit:
        code = self._program.wait(LIMIT_S)
        return Exit(code if code >= 0 else 128 - code, oom_killed=False, flooded=False)


@contextmanager
def tenant_of(
    folder: Path, region_bytes: int = 2 << 20, memory: Memory | None = None, program: str = PROGRAM, **drawing: Any
) -> Iterator[Tenant]:
    """Tenant that is connected and waits for its job."""
    folder.mkdir(parents=True, exist_ok=True)
    container: Any = Container(folder, program)
    tenant = Tenant(container, memory or Memory(), region_bytes, region_bytes)
    try:
        tenant.connect(**drawing)
        yield tenant
    finally:
        tenant.close()


def output_of(tenant: Tenant, given: Input) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Output region after one call."""
    into = np.empty(given.layout.output_bytes, np.uint8)
    tenant.move()
    tenant.lay_out(given.layout, LIMIT_S)
    call = tenant.call(given, into, LIMIT_S)
    assert call.inputs_kept
    return into


def agrees(given: Input, output: np.ndarray[Any, np.dtype[np.uint8]]) -> bool:
    """Whether every output tensor agrees bit for bit."""
    return all(
        np.array_equal(output[slot.output :][: slot.nbytes], given.expected[slot.output :][: slot.nbytes])
        for slot in given.layout.outputs
    )
