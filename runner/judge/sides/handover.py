"""First exchange with a container, and the files of a problem for the containers of submission and baseline.

The first exchange is the same for a tenant and the oracle: it checks that judge and container are of one build, and
maps the shared memory. No file of a user or a problem is in the container yet. The problem's own container (oracle.py)
gets all files of the problem.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Mapping
from typing import Any, Final

from problems.spec import MODEL, Problem
from runner.judge.data.memory import Memory
from sandbox import protocol
from sandbox.container import Container, SandboxError

BASELINE: Final = "submission.py"  # its file's name; it is Python in every problem
REFERENCE: Final = "reference.py"
NOT_THE_TENANTS: Final = (REFERENCE, "eval.py")  # except a reference that is imported
_ASKS: Final = re.compile(r"^[^\S\n]*+(from|import)[^\S\n]++reference\b", re.MULTILINE)  # within a line: linear
_DEFINES: Final = re.compile(r"^class\s|namedtuple|make_dataclass", re.MULTILINE)
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


def files_beside(source: str, files: Mapping[str, str]) -> dict[str, str]:
    """Return the files beside a submission: the problem's files, with its reference only if the submission imports it,
    or if the reference defines classes, which the data may be made of."""
    needed = _ASKS.search(source) or _DEFINES.search(files.get(REFERENCE, ""))
    left_out = NOT_THE_TENANTS[1:] if needed else NOT_THE_TENANTS
    return {name: text for name, text in files.items() if name not in left_out}


def baseline_files(problem: Problem) -> tuple[str, dict[str, str]]:
    """Return the name of the baseline's file, and all files in its container. Without a tuned baseline the reference
    takes its place."""
    name = problem.submission_name if problem.build is None else BASELINE
    if problem.baseline is not None:
        others = {file: text for file, text in problem.files.items() if file != REFERENCE}
        return name, {**others, name: problem.baseline}
    original = "Model" if problem.interface == MODEL else "ref_kernel"
    return name, {**problem.files, name: f"from reference import {original} as {problem.entry}\n"}
