"""Time limit over many calls, and the side to blame if it was not enough."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from runner.evidence.schedule import A, B, I
from runner.judge.data.call import Stopwatch
from runner.judge.data.faults import Fault, IncumbentFailed, OracleFailed
from runner.judge.device.processor import Watch

CALL_S: Final = 10.0  # limit of a call
AS_SLOW: Final = 4 / 5  # a baseline that took this much of the candidate's time leaves no submission room to be in time
FIRST_CALL_S: Final = 60.0  # limit of a case's first call, which may compile kernels (Triton, torch.compile)


@dataclass
class Stage:
    """Time limit of a stage, which begins with this object.

    Each call gets the remaining time, at most `call_s`, the first of a case more. `asked`: the time that the oracle
    took so far, in this stage and before. `watch` records the use of the processor meanwhile.
    """

    name: str
    limit_s: float
    asked: Stopwatch
    call_s: float = CALL_S
    watch: Watch | None = None
    _spent: dict[str, Stopwatch] = field(default_factory=lambda: {side: Stopwatch() for side in (A, B, I)})

    def __post_init__(self) -> None:
        self._ends = time.monotonic() + self.limit_s
        self._asked_before_s = self.asked.seconds

    def spent_by(self, side: str) -> AbstractContextManager[None]:
        """Count the time of this context on this side's account."""
        return self._spent[side].running()

    def left_s(self, *, is_first: bool = False) -> float:
        """Return the limit of the next call, in s.

        If no time is left, raises by the side that took most of it: Fault, IncumbentFailed, or OracleFailed for the
        problem's own code and its baseline.
        """
        left = self._ends - time.monotonic()
        if left > 0:
            return min(left, max(self.call_s, min(FIRST_CALL_S, self.limit_s / 2)) if is_first else self.call_s)
        took = f"{self.name} took longer than its {self.limit_s:g} s in all"
        share = None if self.watch is None else self.watch.share()
        remedy = "choose smaller sizes or fewer cases, or allow more time"
        problems_s = self.asked.seconds - self._asked_before_s
        if problems_s > self.limit_s / 2:
            text = f"{took}, {problems_s:.0f} s of them to make inputs and expected outputs: {remedy}"
            raise OracleFailed(text, share)
        ours, theirs, others = (self._spent[side].seconds for side in (A, B, I))
        if others > max(ours, theirs):
            raise IncumbentFailed("timeout", "stage", share)
        if ours > AS_SLOW * theirs:
            raise OracleFailed(f"{took}, {ours:.0f} s of them for the baseline: {remedy}", share)
        raise Fault("timeout", "stage", f"{took}; make the kernel faster.", share=share)
