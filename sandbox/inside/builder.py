"""First program of a container that builds a submission ahead, without a device: imports it, and keeps what it wrote.

An import compiles extensions, which takes up to a minute. The files that it left in its only writable folder go to the
submission's own tenant, where the same import finds them. The judge passes them on unread; they are as hostile as the
submission. An import that fails is no error here: the tenant's import tells the author.
"""

import contextlib
import os
import socket
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import built
import harness
import native
import problem_code
import protocol


def main() -> None:
    harness.set_up()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(harness.SOCKET)
    protocol.send(connection, {"ready": protocol.VERSION})
    protocol.receive(connection)
    protocol.send(connection, {"mapped": True})
    job, fds = protocol.receive(connection, descriptors=3)
    harness.print_into(fds[:2])
    sources: dict[str, Any] = job["load"]["files"]
    given = {os.path.join(harness.WORK, name) for name in sources}
    if job["capability"]:
        native.without_device(job["capability"])
    with contextlib.suppress(BaseException):  # SystemExit, too
        problem_code.put(sources, harness.WORK)
        load = {name: value for name, value in job["load"].items() if name != "files"}
        harness.load(sources, **load, on_device=job["on_device"])
    built.pack(fds[2], harness.HOME, given)
    protocol.send(connection, {"done": True})


if __name__ == "__main__":
    main()
