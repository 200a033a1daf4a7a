"""First exchange of judge and container: it checks that both are of one build, and maps the shared memory.

The same for a tenant and the oracle. No file of a user or a problem is in the container yet.
"""

from __future__ import annotations

import socket
import time
from typing import Any, Final

from runner.judge.data.memory import Memory
from sandbox import protocol
from sandbox.container import Container
from sandbox.errors import SandboxError

START_S: Final = 120  # container started → harness connected; torch is imported on the way


def connect(
    container: Container, memory: Memory, input_bytes: int, output_bytes: int, descriptors: tuple[int, ...]
) -> socket.socket:
    """Return the connection of a container that has mapped the memory shared with the judge. Raises SandboxError,
    OSError."""
    deadline = time.monotonic_ns() + START_S * 1_000_000_000
    connection = container.accept(deadline)
    try:
        check_version(protocol.receive(connection, deadline_ns=deadline)[0])
        arena = {"device": memory.device, "input_bytes": input_bytes, "output_bytes": output_bytes}
        protocol.send(connection, arena, descriptors)
        protocol.receive(connection, deadline_ns=deadline)
    except (protocol.ProtocolError, OSError) as err:
        connection.close()
        raise SandboxError(f"a container failed before there was a job in it: {err}; {container.logs()}") from None
    except SandboxError:
        connection.close()
        raise
    return connection


def check_version(ready: dict[str, Any]) -> None:
    """Check that judge and image were built together. Raises SandboxError if not."""
    if ready.get("ready") != protocol.VERSION:
        raise SandboxError(
            f"the image's harness speaks protocol {ready.get('ready')!r}, this judge {protocol.VERSION}: "
            "build the image of this checkout with `make image`"
        )
