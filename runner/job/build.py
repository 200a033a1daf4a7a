"""Build of a submission ahead of its job, in a container without a device, as a process of its own.

    python -m runner.job.build CORES        prepares a container, takes a Job as a line of JSON on stdin, and writes to
                                            stdout a line with the image's id, and an archive of the files that its
                                            import and its Triton kernels left (sandbox/inside/built.py)

It holds no secret of the job, not even a seed. The archive is the sandbox's word: nothing here reads it, and only the
same submission's own tenant gets it, of the same image: a compiled file may not load beside another torch.
"""

import json
import logging
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Final

from problems.fields import ProblemError
from problems.spec import Case, Problem, case_name
from runner import config
from runner.errors import ConfigError, RunnerError
from runner.host import accelerators
from runner.host.image_versions import chosen_image
from runner.job.cleanup import Terminated
from runner.judge.cases import plan_checks
from runner.judge.data.call import ALL
from runner.judge.sides.arena import START_S, connect
from runner.judge.trial import to_load
from runner.wire import TRITON, Job, WireError
from sandbox import container, helper, policy, protocol
from sandbox.container import SandboxError

log = logging.getLogger("runner.job.build")

LIMIT_S: Final = 180.0  # from the job until its archive is there
KERNELS_S: Final = 15.0  # of it, for Triton's kernels: its claim may wait for them
MOST_BYTES: Final = 64 << 20


class NotBuilt(RunnerError):
    """The reason why there is no archive."""


class Builder:
    """A container that has torch and a stand-in of the device, and waits for its one submission. A context manager."""

    def __init__(self, settings: config.JudgeSettings, cores: Sequence[int]) -> None:
        """Wait until the container is ready, on these cores. Raises SandboxError, ConfigError, OSError."""
        self._settings, self._make = settings, accelerators.make_of(settings.runner_hardware)
        self._compiler, self._capability, self._processors = self._make.building(settings.runner_gpu)
        with ExitStack() as stack:
            self._client = helper.Client(settings.runner_helper) if settings.runner_helper else container.connect()
            stack.callback(self._client.close)
            self.image = chosen_image(self._client, settings)[0]
            uid, cpus = accelerators.draw_uid(), accelerators.cpuset(cores)
            wanted = policy.builder(self.image, uid, cpus, self._make.equipment(settings))
            self._made = stack.enter_context(container.Container(self._client, wanted, settings.runner_id))
            self._made.start()
            connection = connect(self._made, accelerators.CPU.memory(ALL), 0, 0, (), self._tell_device)
            self._connection = stack.enter_context(closing(connection))
            self._stack = stack.pop_all()

    def _tell_device(self, connection: socket.socket) -> None:
        protocol.send(connection, {"capability": list(self._capability), "processors": self._processors})
        told, _ = protocol.receive(connection, deadline_ns=time.monotonic_ns() + int(START_S * 1e9))
        self._compiles_kernels = told.get("can_compile") is True

    def __enter__(self) -> "Builder":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()

    def build(self, job: Job) -> bytes:
        """Import a job's submission, and return an archive of the files that it left. Ends the container. Raises
        NotBuilt, SandboxError, ConfigError, ProblemError."""
        if chosen_image(self._client, self._settings)[0] != self.image:
            raise NotBuilt("the image has changed since the container was started")
        problem = Problem.from_bundle(job.problem)
        load, kernels = to_load(problem, job.source, self._compiler), None
        if self._compiles_kernels and problem.build is None and problem.ranks == 1 and TRITON in job.source:
            kernels = {"files": dict(problem.files), "cases": likely_cases(problem), "limit_s": KERNELS_S}
        sent = {"load": load, "on_device": not self._make.on_host, "kernels": kernels}
        with open(os.memfd_create("built"), "rb") as archive:
            try:
                protocol.send(self._connection, sent, (*self._made.printed, archive.fileno()))
                protocol.receive(self._connection, deadline_ns=time.monotonic_ns() + int(LIMIT_S * 1e9))
            except TimeoutError:
                raise NotBuilt(f"the import did not end within {LIMIT_S:g} s") from None
            except (protocol.ProtocolError, OSError):
                raise NotBuilt("the container ended without an answer") from None
            self._made.close()  # from now on nothing changes
            found = os.pread(archive.fileno(), MOST_BYTES + 1, 0)
        if len(found) > MOST_BYTES:
            raise NotBuilt(f"the archive has more than {MOST_BYTES} bytes")
        return found


def likely_cases(problem: Problem) -> list[Case]:
    """Return cases whose shapes a judge may choose, each once: the timed cases first. Chance draws them anew; they are
    no secret."""
    planned = (one.case for one in plan_checks(problem, random.SystemRandom()))
    return list({case_name(case): dict(case) for case in (*problem.benchmarks, *planned)}.values())


def _on_term(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated(number)


def main() -> None:
    """Build, or end with the input. Exit code 1 if there is no archive, which costs only time: the job builds then."""
    signal.signal(signal.SIGTERM, _on_term)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    cores = sorted(accelerators.listed(sys.argv[1]))
    try:
        os.sched_setaffinity(0, cores)
        with Builder(config.load_judge(), cores) as builder:
            if line := sys.stdin.buffer.readline():
                built = builder.build(Job.from_json(json.loads(line)))
                sys.stdout.buffer.write(builder.image.encode() + b"\n" + built)
    except (NotBuilt, SandboxError, ConfigError, ProblemError, WireError, ValueError, OSError) as error:
        log.error("not built: %s", error)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
