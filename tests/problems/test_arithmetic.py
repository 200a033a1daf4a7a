"""An expression is whole-number arithmetic only: Python's answer, or a refusal that explains the correct form."""

import time
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from problems.arithmetic import MAX_BITS, LimitError, evaluate
from problems.fields import ProblemError

CASE: dict[str, Any] = {"n": 7, "rows": 3, "causal": True, "shape": [2, 3, 4], "kind": "wide", "scale": 0.5}


def expressions() -> st.SearchStrategy[str]:
    leaves = st.one_of(st.integers(0, 1000).map(str), st.sampled_from(["n", "rows", "causal"]))

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        two = st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", "**"]), inner)
        return st.one_of(
            two.map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
            two.map(lambda parts: f"{parts[0]} {parts[1]} {parts[2]}"),
            inner.map(lambda text: f"-{text}"),
            st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        )

    return st.recursive(leaves, grow, max_leaves=6)


@given(expressions())
def test_it_agrees_with_pythons_own_arithmetic(expression: str) -> None:
    try:
        found = evaluate(expression, CASE)
    except LimitError:
        assume(False)
    expected = eval(expression, {"__builtins__": {"min": min, "max": max}}, dict(CASE))
    assert found == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("3 * n * n * 2", 294),
        ("  n + 1 ", 8),
        ("-n ** 2", -49),
        ("2 ** 3 ** 2", 512),
        ("(n - 1) / 2", 3),
        ("ceildiv(n, 4) * 4", 8),
        ("ceildiv(-n, 4)", -1),
        ("n * (1 + causal)", 14),
        ("prod(shape) * 4", 96),
        ("sum(shape) + len(shape) + max(shape) + min(shape)", 18),
        ("min(n, 3, rows + 5)", 3),
        ("sum(n, rows)", 10),
    ],
)
def test_what_an_author_may_write(expression: str, expected: int) -> None:
    assert evaluate(expression, CASE) == expected


@pytest.mark.parametrize(
    ("expression", "way_out"),
    [
        ("size * 4", "size is no argument of this case; it has causal, kind, n"),
        ("n / 2", r"write // or ceildiv\(7, 2\)"),
        ("n // (n - 7)", "guard it"),
        ("n % 0", "guard it"),
        ("n ** -1", "divide instead"),
        ("0.5 * n", "whole numbers"),
        ("scale * 4", "not a whole number; use another"),
        ("kind * 4", "not a whole number; use another"),
        ("shape * 4", "take sum, prod"),
        ("min(shape, 3)", "take sum, prod"),
        ("max()", "give it a number"),
        ("ceildiv(n)", "takes two numbers"),
        ("abs(n)", "known are min, max"),
        ("n if n else 1", "whole numbers"),
        ("n < 3", "whole numbers"),
        ("(1, 2)", "whole numbers"),
        ("min(*shape)", "whole numbers"),
        ("min(n, default=3)", "whole numbers"),
        ("4 rows", "is not arithmetic; write something like"),
        ("", "is not arithmetic"),
        ("2if", "is not arithmetic"),
    ],
)
def test_a_refusal_names_the_expression_and_the_way_out(expression: str, way_out: str) -> None:
    with pytest.raises(LimitError, match=way_out) as refused:
        evaluate(expression, CASE, "speed_of_light.read_bytes")
    assert repr(expression) in str(refused.value)
    assert refused.value.field == "speed_of_light.read_bytes"
    assert isinstance(refused.value, ProblemError)


@pytest.mark.parametrize(
    "expression",
    [
        "9 ** 9 ** 9",
        "9 ** 9 ** 9 ** 9 ** 9",
        "(2 ** 127) ** 127",
        "2 ** 1000000000",
        "1 ** 999999999999",
        "n ** n ** n ** n",
        "(" * 199 + "n +" + ")" * 199,
        "(" * 240 + "1" + ")" * 240,
        "-" * 499 + "1",
        "+".join(["1"] * 5000),
        "min(" * 90 + "1" + ")" * 90,
        "9" * 400,
        "*".join(["99999999999999999999"] * 20),
        "prod(big, big, big)",
        "prod(bigs)",
        "().__class__.__bases__",
        "__import__('os').system('x')",
        "[n for n in shape]",
        "lambda: n",
        "(n := 3)",
        "f'{n}'",
        "shape[0]",
        "n.bit_length()",
        "min.__self__",
        "1; 2",
        "n\n+1; 3",
        "\x00",
        "True",
        "'4' * 4",
    ],
)
def test_a_hostile_expression_is_refused_quickly(expression: str) -> None:
    case = CASE | {"big": 2**62, "bigs": [2**62] * 64}
    began = time.process_time()
    with pytest.raises(LimitError):
        evaluate(expression, case)
    assert time.process_time() - began < 5  # a thousandth of a second; never if it is computed


@given(st.text(alphabet="nr0123456789+-*/%(), mixsupdol.[]'\"\\", max_size=80))
def test_no_text_does_anything_but_give_a_bounded_number_or_a_refusal(expression: str) -> None:
    try:
        found = evaluate(expression, CASE)
    except LimitError:
        return
    assert type(found) is int
    assert found.bit_length() <= MAX_BITS
