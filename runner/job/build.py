"""Build of a submission ahead of its job, in a container without a device, as a process of its own.

    python -m runner.job.build CORES        takes a Job as a line of JSON on stdin; writes an archive of the files that
                                            the submission's import left to stdout (sandbox/inside/built.py)

It holds no secret of the job, not even a seed. The archive is the sandbox's word: nothing here reads it, and only the
same submission's own tenant gets it.
"""

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Final

from problems.fields import ProblemError
from problems.spec import Problem
from runner import config
from runner.errors import ConfigError, RunnerError
from runner.host import accelerators
from runner.host.image_versions import chosen_image
from runner.job.cleanup import Terminated
from runner.judge.data.call import ALL
from runner.judge.sides.arena import connect
from runner.judge.trial import to_load
from runner.wire import Job, WireError
from sandbox import container, helper, policy, protocol
from sandbox.container import SandboxError

log = logging.getLogger("runner.job.build")

LIMIT_S: Final = 180.0  # from the end of the import of torch until the archive is there
MOST_BYTES: Final = 64 << 20


class NotBuilt(RunnerError):
    """The reason why there is no archive."""


def build(job: Job, settings: config.JudgeSettings, cores: Sequence[int]) -> bytes:
    """Import a job's submission on these cores, and return an archive of the files that it left. Raises NotBuilt,
    SandboxError, ConfigError, ProblemError."""
    problem = Problem.from_bundle(job.problem)
    make = accelerators.make_of(settings.runner_hardware)
    compiler, capability = make.building(settings.runner_gpu)
    load = to_load(problem, job.source, compiler)
    with ExitStack() as stack:
        client = helper.Client(settings.runner_helper) if settings.runner_helper else container.connect()
        stack.callback(client.close)
        image, uid, cpus = chosen_image(client, settings)[0], accelerators.draw_uid(), accelerators.cpuset(cores)
        wanted = policy.builder(image, uid, cpus, make.equipment(settings))
        archive = stack.enter_context(open(os.memfd_create("built"), "rb"))
        with container.Container(client, wanted, settings.runner_id) as made:
            made.start()
            connection = stack.enter_context(closing(connect(made, accelerators.CPU.memory(ALL), 0, 0, ())))
            try:
                sent = {"load": load, "capability": list(capability), "on_device": not make.on_host}
                protocol.send(connection, sent, (*made.printed, archive.fileno()))
                protocol.receive(connection, deadline_ns=time.monotonic_ns() + int(LIMIT_S * 1e9))
            except TimeoutError:
                raise NotBuilt(f"the import did not end within {LIMIT_S:g} s") from None
            except (protocol.ProtocolError, OSError):
                raise NotBuilt("the container ended without an answer") from None
        found = os.pread(archive.fileno(), MOST_BYTES + 1, 0)  # the container has ended: nothing changes any more
    if len(found) > MOST_BYTES:
        raise NotBuilt(f"the archive has more than {MOST_BYTES} bytes")
    return found


def _on_term(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated(number)


def main() -> None:
    """Build; exit code 1 if there is no archive, which costs nothing but time: the job builds then."""
    signal.signal(signal.SIGTERM, _on_term)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    cores = sorted(accelerators.listed(sys.argv[1]))
    try:
        os.sched_setaffinity(0, cores)
        job = Job.from_json(json.loads(sys.stdin.buffer.readline()))
        sys.stdout.buffer.write(build(job, config.load_judge(), cores))
    except (NotBuilt, SandboxError, ConfigError, ProblemError, WireError, ValueError, OSError) as error:
        log.error("not built: %s", error)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
