"""Programs in separate processes that have torch already: forked, once per worker, from a process that imported it.

The import takes a second and a half of a core's time, and some hundred tests need a program or two. A program runs as
`python -c PROGRAM ARGUMENTS` would; it shares no imports except torch and numpy.

python -m tests.forks SOCKET: the process that they are forked from, until its standard input ends.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NoReturn

ADDRESS = "PHOTOFINISH_TEST_FORKS"  # in the environment of a test's child that asks for programs itself
START_S = 120.0


class Forked:
    """The part of `subprocess.Popen` of `python -c program *arguments` that tests need. `environment` is the whole
    environment; standard error goes to `errors`, and standard output, too, unless `output` names a different file."""

    def __init__(
        self, program: str, arguments: Sequence[str], environment: Mapping[str, str], errors: int, output: int = -1
    ) -> None:
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line.connect(address())
        asked = {"program": program, "arguments": list(arguments), "environment": dict(environment), "cwd": os.getcwd()}
        text = json.dumps(asked).encode()
        descriptors = [errors, output if output >= 0 else errors]
        socket.send_fds(self._line, [len(text).to_bytes(4, "little")], descriptors)
        self._line.sendall(text)
        self.pid = self._number(None)
        self._code: int | None = None
        try:
            self._end = os.pidfd_open(self.pid)  # readable as soon as it has ended: the line is later
        except ProcessLookupError:
            self._end = -1

    def poll(self) -> int | None:
        if self._code is None and (self._end < 0 or select.select([self._end], [], [], 0)[0]):
            self.wait()
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """As Popen's: a signal's number is negative. Raises TimeoutError."""
        if self._code is None:
            self._code = self._number(timeout)
            self._line.close()
            if self._end >= 0:
                os.close(self._end)
        return self._code

    def kill(self) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended just now
                signal.pidfd_send_signal(self._end, signal.SIGKILL)

    def _number(self, timeout: float | None) -> int:
        self._line.settimeout(timeout)
        found = self._line.recv(4, socket.MSG_WAITALL)
        if len(found) < 4:
            raise RuntimeError("the process that programs are forked from is gone")
        return int.from_bytes(found, "little", signed=True)


def address() -> str:
    return os.environ.get(ADDRESS) or _started()


@cache
def _started() -> str:
    path = str(Path(tempfile.mkdtemp(prefix="pf-forks-")) / "socket")
    command = [sys.executable, "-m", "tests.forks", path]
    environment = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd()}
    server = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE)  # it ends with this process
    _SERVERS.append(server)
    give_up_at = time.monotonic() + START_S
    while not Path(path).exists():
        assert server.poll() is None, "the process that programs are forked from did not start"
        assert time.monotonic() < give_up_at
        time.sleep(0.02)
    return path


_SERVERS: list[subprocess.Popen[bytes]] = []  # their standard input stays open as long as this process lives


def _serve(path: str) -> None:
    import numpy
    import torch

    assert numpy is not None
    assert torch is not None
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no process waits for the intermediate children
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path + ".new")
    listener.listen(64)
    os.rename(path + ".new", path)
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        line, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _run(line)
        line.close()
    os.unlink(path)
    os.rmdir(os.path.dirname(path))


def _run(line: socket.socket) -> NoReturn:
    """Fork the program in a child; send its number and its exit code."""
    found, descriptors, _, _ = socket.recv_fds(line, 4, 2)
    asked = json.loads(line.recv(int.from_bytes(found, "little"), socket.MSG_WAITALL))
    pid = os.fork()
    if pid == 0:
        line.close()
        _become(asked["program"], asked["arguments"], asked["environment"], asked["cwd"], *descriptors)
    line.sendall(pid.to_bytes(4, "little", signed=True))
    _, status = os.waitpid(pid, 0)
    line.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "little", signed=True))
    os._exit(0)


def _become(
    program: str, arguments: list[str], environment: dict[str, str], cwd: str, errors: int, output: int
) -> NoReturn:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.closerange(3, 64)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    code: object = 1
    try:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    _serve(sys.argv[1])
