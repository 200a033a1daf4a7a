"""Speed of light: the least time that a case's declared traffic and arithmetic need on this hardware. Pure.

Two ceilings bound each case, and they answer different questions.

**Hard**: no kernel on this hardware can beat it. A result beyond 0.98 of it is rejected without a person, and hence
every doubt is decided for the kernel. GPUs in datasheet.py: the maker's figures at the highest clock. Any other device:
the rates measured here, times MEASURED_MARGIN: our own kernels reach more than half of a device's rates, and a machine
with neighbours may have run at half its speed while it was measured.

**Measured**: the rates of our kernels when called by the judge (`runner bench`); a result beyond it is held.

*Memory.* Each input byte is read once and each output byte written once; there is no cheaper way, for inputs are fresh.
Where the judge sweeps the cache before a call (GPUs) reads come from memory, all but the share of lines that hold the
elements which it writes last (HOT_SHARE), while writes may still lie in the cache when the clock stops: only writes
beyond its size must have reached memory. On a cpu the judge has just copied the inputs and poisoned the output, and the
last level of cache may hold any of it: memory bounds only the traffic beyond the cache's size, the cache bounds all.

*Arithmetic.* Declared operations go at the rate of the engine that the author names, or of any engine that yields the
answer in the precision that it needs: an honest fp32 product may be made of three tf32 or bf16 products.

A number of `bits` takes s = ⌈(bits - 1) / (p + 1)⌉ pieces of p significant bits (each rounded to nearest, which gives a
bit), and a product of two of these numbers at least s (s + 1) / 2 products of pieces. The bits are -log₂ of the
problem's `precision.max_relative_l2`; if that is not declared, one product of the fastest engine counts.

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
    """Inevitable work of a case: bytes in, bytes out, operations by engine."""

    read_bytes: int = 0
    write_bytes: int = 0
    flops: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, speed_of_light: Mapping[str, Any], arguments: Mapping[str, object]) -> Work:
        """Evaluate a problem's `speed_of_light` for a case.

        Raises LimitError for an expression that cannot be evaluated, an amount below 0 and an unknown engine.
        """
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
    """Least time in ns, and the limiting resource: "memory", "cache" or an engine."""

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
    """Return the hard bound of a case; None if work or rates are unknown. Raises LimitError."""
    return _hard(Work.of(speed_of_light, arguments), ceilings, precision)


def impossible(high_ns: float, bound: Bound | None) -> bool:
    """Return whether a time with the upper interval bound `high_ns` is impossible, given a hard bound."""
    return bound is not None and high_ns < CERTAIN * bound.ns


def evidence(
    speed_of_light: Mapping[str, Any],
    cases: Sequence[Case],
    ceilings: Ceilings | None,
    precision: Precision | None = None,
) -> dict[str, Any]:
    """Return the JSON for evidence["limits"], with all that the rules of rules.py need.

    {"ceilings": … | null, "legal": [precision…], "cases": [{"case", "work", "hard", "measured", "legal", "error"} …]},
    cases in the order given; the last three bounds are {"resource", "ns"} or null. `legal` is arithmetic alone, by the
    fastest legal engine at its hard rate. A faulty expression is the author's and spoils no run: it is reported in
    `error`.
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
    """Return the faults of a problem's `speed_of_light`, for its author: a sentence per case that cannot be bounded."""
    found: list[str] = []
    for case in problem.benchmarks:
        try:
            Work.of(problem.speed_of_light, case)
        except LimitError as error:
            found.append(f"{case_name(case)}: {error}")
    return found


def legal_engines(precision: Precision | None) -> frozenset[str]:
    """Return the engines that multiply numbers of a legal precision; all engines if the problem names none."""
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
    """Return the number of products of pieces that one product takes; see the module's text."""
    pieces = max(1, math.ceil((bits - 1) / (piece + 1)))
    return pieces * (pieces + 1) // 2


def _by_named(rates: Rates, legal: frozenset[str]) -> Callable[[str], float | None]:
    """Return the rate of the engine that the author named, on any of its units, or of a faster engine of a legal
    precision."""

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
    """Return the bytes that must have passed between memory and cache while the clock ran."""
    if ceilings.swept:
        return work.read_bytes * (1 - HOT_SHARE) + max(0, work.write_bytes - ceilings.cache_bytes)
    return max(0, work.read_bytes + work.write_bytes - ceilings.cache_bytes)


def _bound(resource: str, amount: float, per_s: float | None) -> Bound | None:
    return Bound(resource, amount / per_s * 1e9) if per_s and amount > 0 else None


def _json(bound: Bound | None) -> dict[str, Any] | None:
    return bound.to_json() if bound else None
