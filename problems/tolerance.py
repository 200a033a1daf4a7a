"""Permitted distance of an output from the expected output, and required precision of its arithmetic.

Plain numbers, no arithmetic on tensors: the judge compares. Used where a problem brings no `check_implementation`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final

from problems.errors import ProblemError
from problems.fields import Record, as_bool, as_expression, as_list, as_number, by, shown

MAX_LEGAL: Final = 16
FORMATS: Final = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp8_e4m3", "fp8_e5m2", "int8", "fp4")


_distance = partial(as_number, least=0.0, most=1.0)


def as_formats(value: object, where: str) -> tuple[str, ...]:
    names = as_list(value, where, MAX_LEGAL)
    if not names:
        raise ProblemError(where, "is empty; name at least one format, such as fp32")
    for n, name in enumerate(names):
        if name not in FORMATS:
            raise ProblemError(f"{where}[{n}]", f"{shown(name)} is no number format; known are {', '.join(FORMATS)}")
    return tuple(names)


@dataclass(frozen=True)
class Tolerance(Record):
    """An element passes when |got − expected| ≤ atol + rtol · |expected|. Non-finite elements must match exactly."""

    rtol: float = field(metadata=by(_distance))
    atol: float = field(metadata=by(_distance))


@dataclass(frozen=True)
class Precision(Record):
    """Number formats that a submission may compute in, and the relative L2 error that still counts as legal.

    `reduction`: about how many terms are added up behind one output element, as arithmetic over the case's arguments
    ("rows * cols"); "" where the judge finds out. An error model needs it where no tolerance is declared.
    `strict`: the admission test refuses the problem where its own tolerance accepts half precision.
    """

    legal: tuple[str, ...] = field(metadata=by(as_formats))
    max_relative_l2: float | None = field(default=None, metadata=by(partial(as_number, least=1e-12, most=1.0)))
    reduction: str = field(default="", metadata=by(as_expression, omitted=True))
    strict: bool = field(default=False, metadata=by(as_bool, omitted=True))
