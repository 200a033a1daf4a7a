"""First program of a container that builds a submission ahead, without a device: imports it, and keeps what it wrote.

An import compiles extensions, which takes up to a minute. Triton's kernels are compiled after it (kernels_ahead.py).
The files that the import left in the only writable folder, and Triton's cache, go to the submission's own tenant,
where the same code finds them. The judge passes them on unread; they are as hostile as the submission. An import that
fails is no error here: the tenant's import tells the author.
"""

import contextlib
import os
import socket
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import built
import harness
import kernels_ahead
import native
import problem_code
import protocol


def main() -> None:
    harness.set_up()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(harness.SOCKET)
    protocol.send(connection, {"ready": protocol.VERSION})
    device, _ = protocol.receive(connection)
    protocol.send(connection, {"can_compile": pretend(**device)})
    protocol.receive(connection)
    protocol.send(connection, {"mapped": True})
    job, fds = protocol.receive(connection, descriptors=3)
    harness.print_into(fds[:2])
    sources: dict[str, Any] = job["load"]["files"]
    given = [os.path.join(harness.WORK, name) for name in sources]
    kernels, function = job["kernels"], None
    shapes: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    if kernels:
        kernels_ahead.show_device(**device)
        shapes = kernels_ahead.Shapes()
    with contextlib.suppress(BaseException), shapes:  # SystemExit, too
        problem_code.put(sources, harness.WORK)
        load = {name: value for name, value in job["load"].items() if name != "files"}
        function = harness.load(sources, **load, on_device=job["on_device"])
    with built.Archive(fds[2], harness.HOME) as archive:
        archive.add(harness.HOME, [*given, kernels_ahead.OWN])
        if kernels and function is not None:
            with contextlib.suppress(BaseException):  # what calls without contents leave elsewhere is no use
                kernels_ahead.compile_for(function, kernels["files"], kernels["cases"], kernels["limit_s"])
                archive.add(kernels_ahead.CACHE, most=built.MOST_BYTES - built.SPARE_BYTES)
    protocol.send(connection, {"done": True})


def pretend(capability: list[int], processors: int) -> bool:
    """Let compilers build for a device that is not here. Returns whether Triton can."""
    if not capability:
        return False
    native.without_device(capability)
    try:
        kernels_ahead.take_driver_away(capability, processors)
    except Exception:  # it is not installed, or another than we know: the tenant compiles
        return False
    return True


if __name__ == "__main__":
    main()
