"""Failures of a submission before any comparison. Each fault is an outcome, a reason code and a sentence."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from typing import Final

from runner.evidence.starved import Share
from sandbox import protocol
from sandbox.container import Exit, SandboxError


@dataclass
class Fault(Exception):
    """Fault of the submission: it ends the job with this verdict."""

    outcome: str
    reason: str
    message: str
    told_by_tenant: bool = False  # the message was written inside the container and may hold data of the case
    share: Share | None = None  # of the processor, if a time limit ran out
    is_kill: bool = False  # its container looks killed from outside
    is_stuck: bool = False  # other ranks may wait for the one that failed

    def about(self, case: str) -> Fault:
        """Return the fault with the public case that it happened in."""
        return replace(self, message=f"Case {case}: {self.message}")

    def without_data(self, elements: int = 0) -> Fault:
        """Return the fault for a secret case: event and size class, without text from the container. Between two cases
        there are no elements."""
        if not self.told_by_tenant:
            return self
        when = f"in a secret case with about {elements} output elements" if elements else "between two cases"
        return Fault(self.outcome, self.reason, f"{SENTENCES[self.reason]}, {when}.")

    def __str__(self) -> str:
        return f"{self.outcome} ({self.reason}): {self.message}"


class IncumbentFailed(Exception):
    """Failure of the incumbent in a confirmation: never the candidate's fault, for a person to look at.

    Carries outcome and reason alone: any more may show the incumbent's code to its rival.
    """

    def __init__(self, outcome: str, reason: str, share: Share | None = None) -> None:
        super().__init__(f"{outcome} ({reason})")
        self.reason = reason
        self.share = share


class OracleFailed(Exception):
    """Failure of the problem's own code: never the competitor's fault. The text is for the organiser. `share` is the
    use of the processor, if a time limit ran out."""

    def __init__(self, text: str, share: Share | None = None) -> None:
        super().__init__(text)
        self.share = share


class ProblemRaised(OracleFailed):
    """Exception in the problem's own code, reported by its container, which answers the next request."""


class OracleFull(ProblemRaised):
    """The problem's own code found too little memory. Others may have taken it: trial.py finds out."""


class TooLarge(OracleFailed):
    """A case that this hardware's free memory does not hold. The fault is neither the submission's nor an error in the
    problem's code."""


class BaselineFull(OracleFailed):
    """The baseline found too little of a device's memory. Others may have taken it: trial.py finds out."""


UNENDED: Final = "Your code could not be ended after its last call."
BUILD, CALL = "while it was being imported", "in a call of the kernel"
CONSTRUCTION: Final = "while ModelNew was being constructed"

ANSWERS: Final = {
    protocol.SYNTAX: ("build_error", "syntax"),
    protocol.IMPORT: ("build_error", "import"),
    protocol.COMPILE: ("build_error", "compile"),
    protocol.MISSING: ("build_error", "missing_entry"),
    protocol.RAISED: ("runtime_error", "raised"),
    protocol.NONE: ("wrong", "none"),
    protocol.TYPE: ("wrong", "type"),
    protocol.SHAPE: ("wrong", "shape"),
    protocol.DTYPE: ("wrong", "dtype"),
    protocol.MEMORY: ("out_of_memory", "allocation"),
    protocol.LAYOUT_FAILED: ("runtime_error", "layout"),
}
ANSWERED: Final = frozenset(reason for _, reason in ANSWERS.values())

SENTENCES: Final = {
    "exited": "Your code ended its own process instead of returning",
    "raised": "Your kernel raised an exception",
    "none": "Your kernel returned None",
    "type": "Your kernel returned something that is not a plain torch.Tensor",
    "shape": "Your kernel returned a tensor of another shape than expected",
    "dtype": "Your kernel returned a tensor of another dtype than expected",
    "allocation": "Your kernel could not allocate memory",
    "layout": "The inputs could not be laid out in your process",
}


def from_answer(order: int, status: int, text: str) -> Fault:
    """Return the fault that the harness reported. A status that does not exist for this order is a forgery."""
    possible = {
        protocol.LOAD: (protocol.SYNTAX, protocol.COMPILE, protocol.IMPORT, protocol.MISSING, protocol.MEMORY),
        protocol.LAYOUT: (protocol.LAYOUT_FAILED, protocol.MEMORY),
        protocol.FORGET: (),
    }.get(order, (protocol.RAISED, protocol.NONE, protocol.TYPE, protocol.SHAPE, protocol.DTYPE, protocol.MEMORY))
    if status not in possible:
        return Fault("policy", "protocol", "The answers page holds a status that does not belong there.")
    outcome, reason = ANSWERS[status]
    return Fault(outcome, reason, text, told_by_tenant=True)


def obeys_after(err: BaseException) -> bool:
    """Return whether a tenant itself reported that an order failed. Its container lives, and waits for the next
    order."""
    return isinstance(err, Fault) and err.told_by_tenant and err.reason in ANSWERED and not err.is_stuck


def from_exit(end: Exit, memory_bytes: int, when: str) -> Fault:
    """Return the fault of a container that died by itself (or was killed by a limit) `when`."""
    if end.flooded:
        return Fault("policy", "output_limit", "Your code printed more than 16 MB; print less, or nothing.")
    if end.oom_killed:
        return Fault(
            "out_of_memory", "limit", f"Your code used more than its {memory_bytes >> 20} MiB of memory {when}."
        )
    if end.code > 128:
        name = _signal_name(end.code - 128)
        return Fault("runtime_error", "crashed", f"Your code's process died of {name} {when}.", is_kill=end.is_kill)
    return Fault(
        "runtime_error",
        "exited",
        f"Your code ended its own process with exit status {end.code} {when}, instead of returning.",
        told_by_tenant=True,
    )


def of_baseline(fault: Fault, what: str) -> OracleFailed | SandboxError:
    """Return the error that a fault of the baseline means: the host's if its container was killed, else the
    problem's. `what` says what failed."""
    if fault.is_kill:
        return SandboxError("the baseline's container was killed from outside")
    return (BaselineFull if fault.reason == "allocation" else OracleFailed)(f"{what}: {fault}", fault.share)


def end_of_problem(end: Exit, memory_bytes: int, where: str) -> str:
    """Describe for the organiser how the problem's container ended by itself, as an act of its code."""
    if end.oom_killed:
        return (
            f"used more than its {memory_bytes >> 20} MiB of memory{where}; choose smaller sizes for this hardware, or "
            "hardware with memory of its own"
        )
    if end.flooded:
        return f"printed more than 16 MB{where}"
    if end.code > 128:
        return f"died of {_signal_name(end.code - 128)}{where}"
    return f"ended its own process with exit status {end.code}{where}"


def from_timeout(limit_s: float, when: str, share: Share | None = None, silent: str = "") -> Fault:
    """`silent`: which ranks gave no answer, of a problem for several devices."""
    reason = "import" if when == BUILD else "call"
    said = f"No answer within {limit_s:g} s {when}{f' from rank {silent}' if silent else ''}."
    return Fault("timeout", reason, said, share=share)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
