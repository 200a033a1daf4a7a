"""Permitted distance of an output from the expected output, and required precision of its arithmetic.

Plain numbers, no arithmetic on tensors: the judge compares. Used where a problem brings no `check_implementation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from problems.errors import ProblemError
from problems.fields import Fields, as_bool, as_expression, as_list, as_number, shown

MAX_LEGAL: Final = 16
FORMATS: Final = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp8_e4m3", "fp8_e5m2", "int8", "fp4")


@dataclass(frozen=True)
class Tolerance:
    """An element passes when |got − expected| ≤ atol + rtol · |expected|. Non-finite elements must match exactly."""

    rtol: float
    atol: float

    def to_json(self) -> dict[str, Any]:
        return {"rtol": self.rtol, "atol": self.atol}

    @classmethod
    def from_json(cls, data: object, where: str = "tolerance") -> Tolerance:
        fields = Fields(data, where, prefix=f"{where}.")
        fields.only(frozenset({"rtol", "atol"}))
        number = partial(as_number, least=0.0, most=1.0)
        return cls(rtol=fields.required("rtol", number), atol=fields.required("atol", number))


@dataclass(frozen=True)
class Precision:
    """Number formats that a submission may compute in, and the relative L2 error that still counts as legal.

    `reduction`: about how many terms are added up behind one output element, as arithmetic over the case's arguments
    ("rows * cols"); "" where the judge finds out. An error model needs it where no tolerance is declared.
    `strict`: the admission test refuses the problem where its own tolerance accepts half precision.
    """

    legal: tuple[str, ...]
    max_relative_l2: float | None = None
    reduction: str = ""
    strict: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form. It leaves out keys that a problem does not declare, so that its digest stays."""
        declared: dict[str, Any] = {"reduction": self.reduction} if self.reduction else {}
        declared |= {"strict": True} if self.strict else {}
        return {"legal": list(self.legal), "max_relative_l2": self.max_relative_l2, **declared}

    @classmethod
    def from_json(cls, data: object, where: str = "precision") -> Precision:
        fields = Fields(data, where, prefix=f"{where}.")
        fields.only(frozenset({"legal", "max_relative_l2", "reduction", "strict"}))
        legal = fields.required("legal", _names)
        if not legal:
            raise ProblemError(f"{where}.legal", "is empty; name at least one format, such as fp32")
        limit = fields.optional("max_relative_l2", partial(as_number, least=1e-12, most=1.0), default=None)
        return cls(
            legal=legal,
            max_relative_l2=limit,
            reduction=fields.optional("reduction", as_expression, default=""),
            strict=fields.optional("strict", as_bool, default=False),
        )


def _names(value: object, where: str) -> tuple[str, ...]:
    items = as_list(value, where, MAX_LEGAL)
    for n, item in enumerate(items):
        if item not in FORMATS:
            raise ProblemError(f"{where}[{n}]", f"{shown(item)} is no number format; known are {', '.join(FORMATS)}")
    return tuple(items)
