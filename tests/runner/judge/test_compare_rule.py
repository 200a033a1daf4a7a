"""Choice of the comparison rule of a case from its problem's declarations."""

import pytest

from problems.spec import Precision, Problem, Tolerance
from runner.judge.data.compare import Rule
from runner.judge.data.faults import OracleFailed


def problem(reduction: str = "", tolerance: Tolerance | None = None) -> Problem:
    precision = Precision(("fp32",), reduction=reduction)
    return Problem("p", "P", "", {"reference.py": ""}, ({"n": 4},), tolerance=tolerance, precision=precision)


def test_the_declared_reduction_is_worked_out_for_the_case() -> None:
    assert Rule.of(problem("rows * cols"), {"rows": 3, "cols": 50}, own_check=False).reduction == 150
    assert Rule.of(problem(), {"rows": 3}, own_check=False).reduction == 0


@pytest.mark.parametrize(("reduction", "said"), [("rows", "rows is no argument"), ("n - 9", "at least 1")])
def test_a_reduction_that_is_no_number_of_terms_is_the_problems_fault(reduction: str, said: str) -> None:
    with pytest.raises(OracleFailed, match=said):
        Rule.of(problem(reduction), {"n": 4}, own_check=False)


def test_the_model_decides_only_where_nothing_else_does() -> None:
    assert Rule.of(problem(), {}, own_check=False).by_model
    assert not Rule.of(problem(), {}, own_check=True).by_model
    assert not Rule.of(problem(tolerance=Tolerance(1e-3, 0)), {}, own_check=False).by_model
