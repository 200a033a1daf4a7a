"""The real oracle program and the judge's real side of it, without a container: a process and a socket."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from problems.spec import Problem
from runner.commands.local import find_problem
from runner.judge.data.memory import Memory
from runner.judge.sides.oracle import Oracle
from sandbox.container import Exit
from sandbox.policy import Policy
from tests.forks import Forked

HERE = Path(__file__).parent  # with the container's side of the fake devices
SANDBOX = Path(__file__).parents[3] / "sandbox"
PROGRAM = "import sys, oracle; oracle.SOCKET, oracle.WORK = sys.argv[1:]; oracle.main()"


class Process:
    """The part of a container that Oracle needs."""

    def __init__(self, folder: Path, program: str = PROGRAM) -> None:
        path = str(folder / "socket")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(1)
        self._errors = (folder / "stderr").open("w+")
        environment = {
            "PYTHONPATH": f"{SANDBOX}/inside:{SANDBOX}:{HERE}",
            "PATH": os.environ["PATH"],
            "OMP_NUM_THREADS": "1",
        }
        self._program = Forked(program, [path, str(folder / "work")], environment, self._errors.fileno())

    def accept(self, deadline_ns: int) -> socket.socket:
        return self._listener.accept()[0]

    policy = Policy(image="none", command=(), uid=1000, cpus="0")

    def alive(self) -> bool:
        return self._program.poll() is None

    def freeze(self) -> None:
        """Behave as with a control group that is gone once the program is gone."""
        if not self.alive():
            raise OSError(errno.ENODEV, "No such device")

    thaw = freeze

    def wait_exit(self) -> Exit:
        code = self._program.wait(10)
        return Exit(code if code >= 0 else 128 - code, oom_killed=False, flooded=False)

    def logs(self) -> dict[str, str]:
        self._errors.seek(0)
        return {"stdout": "", "stderr": self._errors.read()}

    def close(self) -> None:
        self._listener.close()
        self._program.kill()
        self._program.wait()
        self._errors.close()


def problem_of(reference: str, case: dict[str, Any], **changes: Any) -> Problem:
    """Problem of this reference.py alone, with a single case, and `changes` of its bundle."""
    plain = {"fuzz": None, "baseline": None, "tolerance": None, "precision": None, "speed_of_light": None}
    own = {"files": {"reference.py": reference}, "tests": [case], "benchmarks": [case], "benchmarks_on": {}}
    return Problem.from_bundle(find_problem("vectoradd").to_bundle() | plain | own | {"templates": {}} | changes)


@contextmanager
def oracle_of(
    reference: str, folder: Path, region_bytes: int = 64 << 20, init_seed: int | None = None, **files: str
) -> Iterator[Oracle]:
    """Loaded oracle with this reference.py. `files`: further files, by module name; `init_seed`: seed of its Model."""
    container: Any = Process(folder)
    oracle = Oracle(container, Memory(), region_bytes, region_bytes)
    try:
        oracle.connect()
        oracle.load({"reference.py": reference} | {f"{name}.py": text for name, text in files.items()}, init_seed)
        yield oracle
    finally:
        oracle.close()
