"""Rule for judging a case's outputs, and the data that the oracle must supply for it. A pure value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from problems.arithmetic import LimitError, evaluate
from problems.spec import Case, Precision, Problem, Tolerance
from runner.judge.data.faults import OracleFailed

# The reference alone; outputs in double precision; also the condition of each element; or the condition of the case,
# from an earlier input.
Fp64 = Literal["", "values", "spread", "condition"]


@dataclass(frozen=True)
class Rule:
    """Rule for judging a case's outputs. A declared `tolerance` decides element by element, else the error model
    (error_model.py).

    `reduction`: terms behind an output element as declared, 0 if the judge finds out. `own_check`: the problem's
    `check_implementation` decides; the comparison is for the report, except for `precision.max_relative_l2`.
    """

    tolerance: Tolerance | None = None
    precision: Precision | None = None
    reduction: int = 0
    own_check: bool = False

    @classmethod
    def of(cls, problem: Problem, case: Case, *, own_check: bool) -> Rule:
        """Return the rule of a case. Raises OracleFailed if the declared reduction is no number for this case."""
        declared = problem.precision.reduction if problem.precision else ""
        try:
            reduction = evaluate(declared, case, "precision.reduction") if declared else 0
        except LimitError as error:
            raise OracleFailed(str(error)) from None
        if declared and reduction < 1:
            raise OracleFailed(f"precision.reduction: {declared} is {reduction} for {case}; it must be at least 1")
        return cls(problem.tolerance, problem.precision, reduction, own_check)

    @property
    def by_model(self) -> bool:
        return self.tolerance is None and not self.own_check

    def fp64(self, *, timed: bool) -> Fp64:
        """Return the data to request from the oracle. A check is worth several runs of the reference, a timed call is
        not."""
        if timed:
            return "condition" if self.by_model else ""
        return "spread" if self.by_model else "values"
