"""By which rule one case's outputs are judged, and what the oracle must bring for it. A pure value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from problems.arithmetic import LimitError, evaluate
from problems.spec import Case, Problem
from problems.tolerance import Precision, Tolerance
from runner.judge.data.faults import OracleFailed

# Nothing; outputs in double precision; also how each element is conditioned; or how the case is, from an earlier input.
Fp64 = Literal["", "values", "spread", "condition"]


@dataclass(frozen=True)
class Rule:
    """`tolerance` decides element by element where it is declared, else the error model (error_model.py).

    `reduction`: terms behind one output element as declared, 0 where the judge finds out. `own_check`: the problem's
    `check_implementation` decides; what is compared here is for the report, but for `precision.max_relative_l2`.
    """

    tolerance: Tolerance | None = None
    precision: Precision | None = None
    reduction: int = 0
    own_check: bool = False

    @classmethod
    def of(cls, problem: Problem, case: Case, *, own_check: bool) -> Rule:
        """Raises OracleFailed where the declared reduction is no number for this case."""
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
        """What to ask the oracle for. A check is worth several runs of the reference, a timed call is not."""
        if timed:
            return "condition" if self.by_model else ""
        return "spread" if self.by_model else "values"
