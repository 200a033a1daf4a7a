"""Whole-number arithmetic over a case's arguments: `speed_of_light` and `precision.reduction`. Pure, safe for any text.

    3 * size * size * 2        min(rows, 128) * cols        ceildiv(n, 64) ** 2        prod(shape) * 4

Known: + - * // % ** and / where it leaves no remainder, parentheses, the case's whole numbers, booleans and lists of
whole numbers by name, and min, max, sum, prod, len, ceildiv. All further syntax is refused. Python's own parser turns
the text into a tree; the text is never compiled or run. The text's length and the size of every intermediate number
bound the cost of a hostile expression. Powers are checked before they are computed.
"""

import ast
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import islice
from typing import Final

from problems.fields import MAX_EXPRESSION_CHARS, ProblemError, shown
from problems.spec import Case, Problem, case_name

MAX_BITS: Final = 128  # of every intermediate number: far beyond any count of bytes or operations
MAX_DEPTH: Final = 32
MOST_NAMED: Final = 32  # arguments in a refusal: a file's constants are arguments, too
MOST_NAME_CHARS: Final = 64
MOST_CASES: Final = 64  # checked when a problem is read in

Number = int | list[int]


class LimitError(ProblemError):
    """A faulty expression or ceiling; names its place, its value and the remedy."""


def evaluate(expression: str | ast.expr, arguments: Mapping[str, object], where: str = "speed_of_light") -> int:
    """Return the value of `expression` for one case. Raises LimitError, which names the expression and the way out."""
    try:
        parsed = _parse(expression) if isinstance(expression, str) else expression
        return _whole(_value(parsed, arguments))
    except _Refused as refused:
        raise LimitError(where, f"{shown(expression)}: {refused}") from None


def must_be_computable(problem: Problem) -> None:
    """Check every declared expression for the public or timed cases that it counts for, at most `MOST_CASES` of them.

    Raises LimitError for the first expression that cannot be computed or is too small.
    """
    timed = [*problem.benchmarks, *(case for cases in problem.benchmarks_on.values() for case in cases)]
    work = {f"speed_of_light.{name}": text for name, text in problem.speed_of_light.items() if name != "flops"}
    flops = {f"speed_of_light.flops.{name}": text for name, text in problem.speed_of_light.get("flops", {}).items()}
    cases = _different(timed)
    for where, expression in (work | flops).items():
        _must_be(expression, cases, where, 0)
    if problem.precision and problem.precision.reduction:
        _must_be(problem.precision.reduction, _different([*problem.tests, *timed]), "precision.reduction", 1)


def _different(cases: Sequence[Case]) -> list[Case]:
    """Return the cases that differ in more than their seeds."""
    return list({case_name(case): case for case in cases}.values())[:MOST_CASES]


def _must_be(expression: str, cases: Sequence[Case], where: str, least: int) -> None:
    case: Case = {}
    try:
        parsed = _parse(expression)
        for case in cases:
            value = _whole(_value(parsed, case))
            if value < least:
                raise _Refused(f"is {value}; it must be at least {least}")
    except _Refused as refused:
        about = f" in the case {case_name(case)}" if case else ""
        raise LimitError(where, f"{shown(expression)}{about}: {refused}") from None


class _Refused(Exception):
    """The fault of an expression and its remedy, without its place."""


def _parse(expression: str) -> ast.expr:
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise _Refused(f"{len(expression)} characters, at most {MAX_EXPRESSION_CHARS}; count in larger steps")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # for example of "2if": refused below, and no news for the judge's log
            return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _Refused("is not arithmetic; write something like 4 * rows * cols") from None


def _value(node: ast.expr, arguments: Mapping[str, object], depth: int = 0) -> Number:
    if depth > MAX_DEPTH:
        raise _Refused(f"is nested deeper than {MAX_DEPTH}; simplify it")
    match node:
        case ast.Constant(int(number)) if type(number) is int:
            return _bounded(number)
        case ast.Name(name):
            value = arguments.get(name)
            if isinstance(value, list) and all(isinstance(item, int) for item in value):
                return [_bounded(item) for item in value]
            if isinstance(value, int):  # true counts as 1
                return _bounded(int(value))
            if name not in arguments:
                known = sorted(argument[:MOST_NAME_CHARS] for argument in islice(arguments, MOST_NAMED))
                raise _Refused(f"{name} is no argument of this case; it has {', '.join(known) or 'none'}")
            raise _Refused(f"{name} is {shown(value)}, not a whole number; use another argument")
        case ast.UnaryOp(ast.USub() | ast.UAdd() as sign, operand):
            number = _whole(_value(operand, arguments, depth + 1))
            return -number if isinstance(sign, ast.USub) else number
        case ast.BinOp(left, sign, right) if type(sign) in _OPERATORS:
            sides = (_whole(_value(side, arguments, depth + 1)) for side in (left, right))
            return _bounded(_OPERATORS[type(sign)](*sides))
        case ast.Call(ast.Name(name), given, []):
            return _call(name, [_value(inner, arguments, depth + 1) for inner in given])
    raise _Refused("holds more than whole numbers, the case's arguments, + - * / // % ** ( ) and known functions")


def _call(name: str, given: list[Number]) -> int:
    if name == "ceildiv":
        if len(given) != 2:
            raise _Refused("ceildiv takes two numbers, such as ceildiv(n, 64)")
        return _bounded(-_divided(-_whole(given[0]), _whole(given[1])))
    if name not in _FUNCTIONS:
        raise _Refused(f"{name}(…) is no known function; known are {', '.join((*_FUNCTIONS, 'ceildiv'))}")
    numbers = given[0] if len(given) == 1 and isinstance(given[0], list) else [_whole(item) for item in given]
    if not numbers and name in ("min", "max"):
        raise _Refused(f"{name}(…) of nothing; give it a number")
    return _bounded(_FUNCTIONS[name](numbers))


def _whole(value: Number) -> int:
    if isinstance(value, list):
        raise _Refused("a list stands where a number is needed; take sum, prod, min, max or len of it")
    return value


def _bounded(value: int) -> int:
    if value.bit_length() > MAX_BITS:
        raise _Refused(f"a number on the way has more than {MAX_BITS} bits; no case moves or computes that much")
    return value


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise _Refused("divides by zero for this case; guard it, such as max(n, 1)")
    return left // right


def _exactly_divided(left: int, right: int) -> int:
    whole = _divided(left, right)
    if whole * right != left:
        raise _Refused(f"{left} / {right} leaves a remainder; write // or ceildiv({left}, {right})")
    return whole


def _power(base: int, exponent: int) -> int:
    """Return a power. Refuse it before the computation if it has no bound: |base| ≥ 2 grows by a bit each time."""
    if exponent < 0:
        raise _Refused("a negative power is no whole number; divide instead")
    if exponent > MAX_BITS or (base.bit_length() - 1) * exponent > MAX_BITS:
        raise _Refused(f"{shown(base)} ** {shown(exponent)} is too large; no case moves or computes that much")
    return int(base**exponent)


_OPERATORS: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _exactly_divided,
    ast.FloorDiv: _divided,
    ast.Mod: lambda left, right: left - right * _divided(left, right),
    ast.Pow: _power,
}


_FUNCTIONS: Final[dict[str, Callable[[list[int]], int]]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "prod": lambda numbers: reduce(lambda product, number: _bounded(product * number), numbers, 1),
    "len": len,
}
