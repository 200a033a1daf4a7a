"""Speed of light: the least time that a case's declared traffic and arithmetic need on this hardware. Pure.

Two ceilings bound each case, and they answer different questions.

**Hard**: what no kernel on this hardware can beat; a result beyond 0.98 of it is rejected without a person, so every
doubt is decided for the kernel. GPUs in datasheet.py: the maker's figures at the highest clock. Anything else: what was
measured here, times MEASURED_MARGIN: our own kernels reach more than half of what a device has, and a machine with
neighbours may have run at half its speed while it was measured.
**Measured**: what our kernels reached through the judge's own way (`runner bench`); a result beyond it is held.

*Memory.* Each input byte is read once and each output byte written once; nothing cheaper exists, for inputs are fresh.
Where the judge sweeps the cache before a call (GPUs) reads come from memory, all but the share of lines that hold the
elements which it writes last (HOT_SHARE), while writes may still lie in the cache when the clock stops: only what
exceeds it must have reached memory. On a cpu the judge has just copied the inputs and poisoned the output, so the last
level of cache may hold any of it: only what exceeds the cache as a whole is bounded by memory, all of it by the cache.

*Arithmetic.* Declared operations go at the rate of the engine that the author names, or of any other engine by which
the answer can be got in the precision that it needs: an honest fp32 product may be made of three tf32 or bf16 ones.
A number of `bits` takes s = ⌈(bits - 1) / (p + 1)⌉ pieces of p significant bits (each rounded to nearest, which gives a
bit), and a product of two such numbers at least s (s + 1) / 2 products of pieces. The bits are -log₂ of the problem's
`precision.max_relative_l2`; where that is not declared, one product of the fastest engine counts.
The measured ceiling allows the named engine and the legal precisions only: cleverness is then looked at, not rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from problems.arithmetic import LimitError, evaluate
from problems.cases import case_name
from problems.spec import Case, Problem
from problems.tolerance import Precision
from runner.evidence.ceilings import ALIASES, ENGINES, Ceilings, Rates, engine

__all__ = ["Bound", "Ceilings", "LimitError", "Work", "bound_ns", "evaluate", "evidence", "faults", "impossible"]

CERTAIN: Final = 0.98  # of the hard bound; a time below it is impossible
HOT_SHARE: Final = 8 / 256  # of the inputs in the cache: one word in 256 is written after the sweep, in lines of eight

MEMORY, CACHE = "memory", "cache"  # resources beside the engines


@dataclass(frozen=True)
class Work:
    """What a case cannot do without: bytes in, bytes out, operations by engine."""

    read_bytes: int = 0
    write_bytes: int = 0
    flops: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, speed_of_light: Mapping[str, Any], arguments: Mapping[str, object]) -> Work:
        """Raises LimitError for an expression that cannot be evaluated, an amount below 0 and an unknown engine."""
        flops: dict[str, int] = {}
        for name, expression in (speed_of_light.get("flops") or {}).items():
            known = engine(name, "speed_of_light.flops")
            flops[known] = flops.get(known, 0) + _amount(expression, arguments, f"speed_of_light.flops.{name}")
        return cls(
            _amount(speed_of_light.get("read_bytes", "0"), arguments, "speed_of_light.read_bytes"),
            _amount(speed_of_light.get("write_bytes", "0"), arguments, "speed_of_light.write_bytes"),
            flops,
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _amount(expression: str, arguments: Mapping[str, object], where: str) -> int:
    amount = evaluate(expression, arguments, where)
    if amount < 0:
        raise LimitError(where, f"{expression!r} is {amount} for this case; an amount of work is 0 or more")
    return amount


@dataclass(frozen=True)
class Bound:
    """The least time in ns, and what binds: "memory", "cache" or an engine."""

    resource: str
    ns: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def bound_ns(
    speed_of_light: Mapping[str, Any],
    arguments: Mapping[str, object],
    ceilings: Ceilings,
    precision: Precision | None = None,
) -> Bound | None:
    """The hard bound of one case; None where nothing is declared or nothing is known. Raises LimitError."""
    return _hard(Work.of(speed_of_light, arguments), ceilings, precision)


def impossible(high_ns: float, bound: Bound | None) -> bool:
    """Whether a time whose upper interval bound is `high_ns` cannot have been, given a hard bound."""
    return bound is not None and high_ns < CERTAIN * bound.ns


def evidence(
    speed_of_light: Mapping[str, Any],
    cases: Sequence[Case],
    ceilings: Ceilings | None,
    precision: Precision | None = None,
) -> dict[str, Any]:
    """What goes under evidence["limits"]; JSON, and all that the rules of plausible.py need.

    {"ceilings": … | null, "legal": [precision…], "cases": [{"case", "work", "hard", "measured", "legal", "error"} …]},
    cases in the order given; the last three bounds are {"resource", "ns"} or null. `legal` is arithmetic alone, by the
    fastest legal engine at its hard rate. A faulty expression is the author's and spoils no run: it stands in `error`.
    """
    return {
        "ceilings": ceilings and ceilings.to_json(),
        "legal": list(precision.legal) if precision else [],
        "cases": [_case(speed_of_light, case, ceilings, precision) for case in cases],
    }


def _case(
    speed_of_light: Mapping[str, Any], case: Case, ceilings: Ceilings | None, precision: Precision | None
) -> dict[str, Any]:
    entry: dict[str, Any] = {"case": case_name(case), "work": None, "hard": None, "measured": None, "legal": None}
    try:
        work = Work.of(speed_of_light, case)
    except LimitError as error:
        return {**entry, "error": str(error)}
    entry.update(work=work.to_json(), error="")
    if ceilings is not None:
        legal = legal_engines(precision)
        entry["hard"] = _json(_hard(work, ceilings, precision))
        entry["measured"] = _json(_slowest(work, ceilings, ceilings.measured, _by_named(ceilings.measured, legal)))
        if precision is not None:
            arithmetic = replace(work, read_bytes=0, write_bytes=0)
            entry["legal"] = _json(_slowest(arithmetic, ceilings, ceilings.hard, _by_named(ceilings.hard, legal)))
    return entry


def faults(problem: Problem) -> list[str]:
    """What is wrong with a problem's `speed_of_light`, for its author: a sentence a case that cannot be bounded."""
    found: list[str] = []
    for case in problem.benchmarks:
        try:
            Work.of(problem.speed_of_light, case)
        except LimitError as error:
            found.append(f"{case_name(case)}: {error}")
    return found


def legal_engines(precision: Precision | None) -> frozenset[str]:
    """Engines that multiply numbers of a legal precision; all of them where the problem names none."""
    if precision is None:
        return frozenset(ENGINES)
    named = {ALIASES.get(name, name) for name in precision.legal}
    return frozenset(known for known in ENGINES if known in named or known.removesuffix("_tc") in named)


def _hard(work: Work, ceilings: Ceilings, precision: Precision | None) -> Bound | None:
    rates = ceilings.hard
    limit = precision.max_relative_l2 if precision else None
    bits = -math.log2(limit) if limit else 0.0

    def rate(name: str) -> float | None:
        itself = [rates.flops[name]] if name in rates.flops else []
        made_of = [other / _products(bits, ENGINES[piece]) for piece, other in rates.flops.items()]
        return max([*itself, *made_of], default=None)

    return _slowest(work, ceilings, rates, rate)


def _products(bits: float, piece: int) -> int:
    """Products of pieces that one product takes; see the module's text."""
    pieces = max(1, math.ceil((bits - 1) / (piece + 1)))
    return pieces * (pieces + 1) // 2


def _by_named(rates: Rates, legal: frozenset[str]) -> Callable[[str], float | None]:
    """The rate of the engine that the author named, on whichever units, or of a faster one of a legal precision."""

    def rate(name: str) -> float | None:
        usable = legal | {name, f"{name}_tc"}
        return max((value for known, value in rates.flops.items() if known in usable), default=None)

    return rate


def _slowest(work: Work, ceilings: Ceilings, rates: Rates, rate: Callable[[str], float | None]) -> Bound | None:
    total = work.read_bytes + work.write_bytes
    bounds = [
        _bound(MEMORY, _from_memory(work, ceilings), rates.memory_bytes_per_s),
        _bound(CACHE, total, rates.cache_bytes_per_s),
        *(_bound(name, count, rate(name)) for name, count in work.flops.items()),
    ]
    return max((bound for bound in bounds if bound is not None), key=lambda bound: bound.ns, default=None)


def _from_memory(work: Work, ceilings: Ceilings) -> float:
    """Bytes that must have passed between memory and cache while the clock ran."""
    if ceilings.swept:
        return work.read_bytes * (1 - HOT_SHARE) + max(0, work.write_bytes - ceilings.cache_bytes)
    return max(0, work.read_bytes + work.write_bytes - ceilings.cache_bytes)


def _bound(resource: str, amount: float, per_s: float | None) -> Bound | None:
    return Bound(resource, amount / per_s * 1e9) if per_s and amount > 0 else None


def _json(bound: Bound | None) -> dict[str, Any] | None:
    return bound.to_json() if bound else None
