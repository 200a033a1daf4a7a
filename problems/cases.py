"""A case of a problem (the keyword arguments of `generate_input`), and the ranges of its secret cases.

Parsing and naming only. The judge draws, since it alone has the randomness.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from problems.errors import ProblemError
from problems.fields import Fields, Record, as_bool, as_list, as_mapping, as_number, as_text, as_whole, by, shown

Value: TypeAlias = int | float | str | bool | list[int]
Case: TypeAlias = dict[str, Value]

SEED: Final = "seed"  # the argument that the judge sets in place of an author
MAX_ARGUMENTS: Final = 32  # of a case
MAX_TEXT_CHARS: Final = 200  # of a text argument
MAX_LIST_ITEMS: Final = 64  # of a list argument, and of the values to choose from
MAX_FUZZ_CASES: Final = 64
MIN_INT, MAX_INT = -(2**63), 2**63 - 1  # numbers that every reader of the JSON can hold
MAX_FLOAT: Final = 1e15  # above it a database writes a float as a whole number, and the digest would change
_ARGUMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True)
class IntRange:
    """A whole number from low to high, both included. `odd`: only odd numbers. `log`: each octave equally likely."""

    low: int
    high: int
    odd: bool = False
    log: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"int": [self.low, self.high], "odd": self.odd, "log": self.log}

    @classmethod
    def from_json(cls, value: object, where: str) -> IntRange:
        fields = Fields(value, where, prefix=f"{where}.")
        fields.only(("int", "odd", "log"))
        bounds = fields.required("int", lambda item, at: as_list(item, at, 2))
        if len(bounds) != 2:
            raise ProblemError(f"{where}.int", f"expected [low, high], got {shown(bounds)}")
        low, high = (as_whole(bound, f"{where}.int", MIN_INT, MAX_INT) for bound in bounds)
        odd, log = fields.optional("odd", as_bool, default=False), fields.optional("log", as_bool, default=False)
        if low > high:
            raise ProblemError(f"{where}.int", f"low {low} is above high {high}; swap them")
        if log and low < 1:
            raise ProblemError(f"{where}.int", f"low {low} must be at least 1 with log: true")
        if odd and low == high and low % 2 == 0:
            raise ProblemError(f"{where}.int", f"holds no odd number between {low} and {high}")
        return cls(low=low, high=high, odd=odd, log=log)


Choice: TypeAlias = tuple[Value, ...] | IntRange


def case_name(case: Mapping[str, Value]) -> str:
    """Return a case's public name: `cols=4096 rows=512`, sorted, without the seed. Cases of a shape share a name."""
    words = {
        name: value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        for name, value in case.items()
        if name != SEED
    }
    return " ".join(f"{name}={word}" for name, word in sorted(words.items())) or "default"


def parse_case(data: object, where: str) -> Case:
    items = as_mapping(data, where)
    if len(items) > MAX_ARGUMENTS:
        raise ProblemError(where, f"{len(items)} arguments, at most {MAX_ARGUMENTS}")
    if SEED in items:
        as_whole(items[SEED], f"{where}.{SEED}", MIN_INT, MAX_INT)
    return {argument(name, where): as_value(value, f"{where}.{name}") for name, value in items.items()}


def argument(name: str, where: str) -> str:
    if not _ARGUMENT.fullmatch(name) or keyword.iskeyword(name):
        raise ProblemError(where, f"{shown(name)} is not the name of an argument of generate_input")
    return name


def as_value(value: object, where: str) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return as_whole(value, where, MIN_INT, MAX_INT)
    if isinstance(value, float):
        return as_number(value, where, -MAX_FLOAT, MAX_FLOAT)
    if isinstance(value, str):
        return as_text(value, where, MAX_TEXT_CHARS)
    if isinstance(value, list | tuple):
        items = as_list(value, where, MAX_LIST_ITEMS)
        return [as_whole(item, f"{where}[{n}]", MIN_INT, MAX_INT) for n, item in enumerate(items)]
    raise ProblemError(where, f"{shown(value)} is not a number, text, true, false or list of whole numbers")


def as_choice(value: object, where: str) -> Choice:
    if isinstance(value, Mapping):
        return IntRange.from_json(value, where)
    items = as_list(value, where, MAX_LIST_ITEMS)
    if not items:
        raise ProblemError(where, "is an empty list; give the values to choose from")
    return tuple(as_value(item, f"{where}[{n}]") for n, item in enumerate(items))


def as_choices(value: object, where: str) -> dict[str, Choice]:
    items = as_mapping(value, where)
    if not items:
        raise ProblemError(where, "is empty; give at least one argument a choice, or leave fuzz out")
    if len(items) > MAX_ARGUMENTS:
        raise ProblemError(where, f"{len(items)} arguments, at most {MAX_ARGUMENTS}")
    fuzz = where.removesuffix(".args")  # authors write the arguments beside `cases`
    return {argument(name, fuzz): as_choice(choice, f"{fuzz}.{name}") for name, choice in items.items()}


@dataclass(frozen=True)
class Fuzz(Record):
    """Secret cases: their number, and a choice for each argument, from which the judge draws."""

    args: dict[str, Choice] = field(metadata=by(as_choices))
    cases: int = field(metadata=by(partial(as_whole, least=1, most=MAX_FUZZ_CASES)))
