"""Time limits of a tenant's orders. Pure.

A construction and a call take longer where the reference's own do: a model of many parameters, an operator that loads a
library, a decomposition that takes seconds. Their limits follow the reference's time in the oracle, between the usual
limit of such an order and a ceiling that no reference moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from runner.judge.data.faults import Fault

COMPILE_S: Final = 120.0  # for the compiler, if a submission is compiled before it is loaded, or by its import
CALL_S: Final = 10.0  # limit of a call
FIRST_CALL_S: Final = 60.0  # limit of a case's first call, which may compile kernels (Triton, torch.compile)
REFERENCE_TIMES: Final = 4  # a limit is this many times the reference's own time, if that is more
MOST_CALL_S: Final = 60.0
MOST_CONSTRUCTION_S: Final = 120.0
MOST_FIRST_CALL_S: Final = 300.0


@dataclass(frozen=True)
class Limit:
    """Time limit of an order, and the sentence about its origin for the author of a submission that exceeds it."""

    seconds: float
    origin: str = ""

    def explain(self, fault: Fault) -> Fault:
        """Return the fault with the limit's origin, if this time ran out."""
        if fault.outcome != "timeout" or not self.origin:
            return fault
        return replace(fault, message=f"{fault.message} {self.origin}")


def call(call_s: float, reference_s: float = 0.0) -> Limit:
    """Return the limit of a call. `reference_s`: how long the reference's first call of the case took."""
    if REFERENCE_TIMES * reference_s <= call_s:
        return Limit(call_s)
    return _scaled(reference_s, call_s, MOST_CALL_S, "A call", "the reference's own")


def construction(reference_s: float, call_s: float = CALL_S) -> Limit:
    """Return the limit of constructing a ModelNew. `reference_s`: how long Model's construction took."""
    return _scaled(reference_s, call_s, MOST_CONSTRUCTION_S, "A construction of ModelNew", "Model's own")


def first_call(reference_s: float) -> Limit:
    """Return the limit of a case's first call. `reference_s`: how long the reference's first call took."""
    return _scaled(reference_s, FIRST_CALL_S, MOST_FIRST_CALL_S, "The first call of a case", "the reference's own")


def _scaled(reference_s: float, least_s: float, most_s: float, what: str, whose: str) -> Limit:
    origin = (
        f"{what} may take {least_s:g} s or {REFERENCE_TIMES} times {whose} time ({reference_s:.1f} s here), whichever "
        f"is more, at most {most_s:g} s and half of its stage's time."
    )
    return Limit(round(min(max(least_s, REFERENCE_TIMES * reference_s), max(least_s, most_s)), 1), origin)
