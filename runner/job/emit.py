"""Code that torch.compile writes for a problem's Model, from a container of its own.

The Model runs in that container alone, within the limits of a problem's code. The answer is the sandbox's word: it is
read within limits, and the judge verifies the code like any submission.
"""

import os
import time
from contextlib import ExitStack, closing
from typing import Annotated, Final

from pydantic import BaseModel, Field, ValidationError

from problems.spec import Problem
from runner import config
from runner.errors import RunnerError
from runner.host import accelerators
from runner.host.image_versions import chosen_image
from runner.job.prepare import Hardware
from runner.judge.sides.arena import connect
from runner.wire import MAX_SOURCE_BYTES
from sandbox import container, helper, policy, protocol

LIMIT_S: Final = 300.0  # from the end of the import of torch until the code is there
SAID_CHARS: Final = 2_000
MOST_ARGUMENTS: Final = 5_000

Expression = Annotated[str, Field(max_length=1_000)]


class Emitted(BaseModel):
    """A module of Inductor with a function `call(arguments)`, and its place in a Model."""

    code: str = Field(max_length=MAX_SOURCE_BYTES)
    arguments: list[Expression] = Field(max_length=MOST_ARGUMENTS)
    result: str = Field(max_length=10_000)


class NotEmitted(RunnerError):
    """The reason why there is no code for this Model."""


def emit(problem: Problem, settings: config.JudgeSettings) -> Emitted:
    """Compile the problem's Model for this hardware. The caller holds the device. Raises NotEmitted, SandboxError."""
    hardware = Hardware.of(settings)
    cores = accelerators.share_out(sorted(os.sched_getaffinity(0)))
    with ExitStack() as stack:
        client = helper.Client(settings.runner_helper) if settings.runner_helper else container.connect()
        stack.callback(client.close)
        image, uid, cpus = chosen_image(client, settings)[0], accelerators.draw_uid(), accelerators.cpuset(cores.tenant)
        wanted = policy.compiler(image, uid, cpus, hardware.gpu)
        made = stack.enter_context(container.Container(client, wanted, settings.runner_id))
        made.start()
        connection = stack.enter_context(closing(connect(made, hardware.memory, 0, 0, ())))
        try:
            protocol.send(connection, {"files": problem.files, "device": hardware.memory.device}, made.printed)
            answer, _ = protocol.receive(connection, deadline_ns=time.monotonic_ns() + int(LIMIT_S * 1e9))
        except TimeoutError:
            raise NotEmitted(f"torch.compile did not end within {LIMIT_S:g} s") from None
        except (protocol.ProtocolError, OSError):
            raise NotEmitted(f"the compiler's container ended without an answer: {made.logs()['stderr']}") from None
    if failed := answer.get("failed"):
        raise NotEmitted(protocol.clean_text(str(failed)[:SAID_CHARS].encode("utf-8", "replace")).strip())
    try:
        return Emitted.model_validate(answer)
    except ValidationError as error:
        fault = error.errors()[0]
        raise NotEmitted(f"the compiler's answer cannot be used: {fault['loc']}: {fault['msg']}") from None
