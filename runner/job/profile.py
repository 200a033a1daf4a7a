"""Profile of a submission: its largest timed case once more under the profilers, each in a container of its own.

It follows the checks, when all other foreign code has ended, and changes no verdict. All that comes back is the
sandbox's word: it is read within limits, and ranks nothing.
"""

import base64
import logging
import time
from contextlib import ExitStack, closing
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from runner.evidence import profiled
from runner.evidence.profiled import Counted, Kernel, Profiled, Traced
from runner.evidence.speed_of_light import CACHE, MEMORY
from runner.job.prepare import Prepared
from runner.judge.data.call import Input
from runner.judge.data.memory import Memory, SharedPages
from runner.judge.sides.arena import connect
from runner.judge.sides.tenant import in_memory
from runner.judge.trial import Trial
from runner.wire import Job
from sandbox import protocol
from sandbox.container import SandboxError

log = logging.getLogger("runner.job.profile")

LIMIT_S: Final = 120.0  # of each profiler, from the start of its work
SAID_CHARS: Final = 600
NOT_SET: Final = "This runner's operator has not allowed performance counters (RUNNER_COUNTERS in docs/gpu-hosts.md)."
FORBIDDEN: Final = (
    "This host's driver refuses its performance counters to the profiler. Its operator can allow them "
    "(docs/gpu-hosts.md); until then there is the trace of PyTorch alone."
)

OF_SEVERAL: Final = "Kernels of a problem for several GPUs are not profiled: a profiler sees one of its processes."

Told = TypeVar("Told", bound=BaseModel)


class _Failed(Exception):
    """Why a profiler gave no figures, as a sentence for the submission's author."""


def profile(job: Job, trial: Trial, ready: Prepared, built: bytes = b"") -> Profiled:
    """Return the profile of the submission. `built`: the files that its import left before (runner/job/build.py).
    Raises OracleFailed and SandboxError for the problem's code alone."""
    if trial.problem.ranks > 1:
        return profiled.on_cpu("", None, None, [OF_SEVERAL])
    given = _largest(trial)
    memory, size = trial.calls.memory, given.layout.input_bytes
    with closing(SharedPages("profile", max(size, protocol.ALIGN), for_reading_only=True)) as pages:
        pages.bytes[:size] = memory.to_host(given.inputs, size)
        trial.calls.oracle.release(given)
        sent = {**trial.sources(job.source), "device": memory.device, "layout": given.layout.text.decode()}
        case, traced = given.case[: profiled.NAME_CHARS], None
        kernels: list[Kernel] = []
        files: dict[str, str] = {}
        notes: list[str] = []
        limit_s = LIMIT_S + trial.compiling_s(job.source)
        try:
            traced = _told(Traced, ready, memory, {**sent, "counters": False}, pages, limit_s, built)
            files |= traced.files
        except _Failed as failed:
            notes.append(str(failed))
        if ready.hardware.gpu is None:
            limit = trial.evidence.limits.of(given.case).measured
            light_us = limit.ns / 1e3 if limit is not None and limit.resource in (MEMORY, CACHE) else None
            return profiled.on_cpu(case, traced, light_us, notes)
        try:
            if not ready.settings.runner_counters:
                raise _Failed(NOT_SET)
            counted = _told(Counted, ready, memory, {**sent, "counters": True}, pages, limit_s, built)
            files |= counted.files
            kernels = _kernels(counted)
        except _Failed as failed:
            notes.append(str(failed))
        return profiled.on_gpu(case, traced, kernels, notes, files)


def _largest(trial: Trial) -> Input:
    """Return an input of the timed case with the most bytes."""
    found: list[Input] = []
    for case in trial.problem.benchmarks:
        found += trial.calls.fresh(case, 1)
        found.sort(key=lambda given: given.layout.input_bytes + given.layout.output_bytes)
        for smaller in found[:-1]:
            trial.calls.oracle.release(smaller)
        del found[:-1]
    return found[0]


def _told(
    kind: type[Told],
    ready: Prepared,
    memory: Memory,
    sent: dict[str, Any],
    pages: SharedPages,
    limit_s: float,
    built: bytes = b"",
) -> Told:
    """Run a profiler in its container and return its answer. Raises _Failed."""
    try:
        with ExitStack() as stack:
            container = stack.enter_context(closing(ready.start_profiler(counters=sent["counters"])))
            connection = stack.enter_context(closing(connect(container, memory, pages.size, 0, (pages.fd,))))
            archive = stack.enter_context(in_memory(built))
            descriptors = (*container.printed, *([archive] if built else []))
            protocol.send(connection, {**sent, "has_built": bool(built)}, descriptors)
            told, _ = protocol.receive(connection, deadline_ns=time.monotonic_ns() + int(limit_s * 1e9))
    except TimeoutError:
        raise _Failed(f"The profiler did not end within {limit_s:g} s.") from None
    except SandboxError as err:
        log.error("a profiler's container did not start: %s", err)
        raise _Failed("The profiler's container did not start; operators see why in the runner's log.") from None
    except (protocol.ProtocolError, OSError):
        raise _Failed("Under the profiler your code's container ended without an answer.") from None
    if failed := told.get("failed"):
        raise _Failed(f"Under the profiler your code failed: {_clean(failed)}")
    try:
        return kind.model_validate(told)
    except ValidationError:
        raise _Failed("The profiler's answer cannot be read.") from None


def _kernels(counted: Counted) -> list[Kernel]:
    """Return the kernels that Nsight Compute measured. Raises _Failed."""
    table = counted.files.get(profiled.COUNTERS, "")
    if profiled.FORBIDDEN in counted.said:
        raise _Failed(FORBIDDEN)
    try:
        found = profiled.kernels_of(protocol.clean_text(base64.b64decode(table, validate=True)))
    except ValueError:
        raise _Failed("Nsight Compute's table cannot be read.") from None
    if not found:
        raise _Failed(f"Nsight Compute measured no kernel. {_clean(counted.said)}".strip())
    return found


def _clean(text: object) -> str:
    return protocol.clean_text(str(text)[-SAID_CHARS:].encode("utf-8", "replace")).strip()
