"""Speed of light: the least time that a case's declared traffic and arithmetic need on this hardware. Pure.

Two ceilings bound each case (docs/how-it-measures.md). *Hard*: no kernel here can beat it, so every doubt is decided
for the kernel, and a result beyond 0.98 of it is rejected without a person. *Measured*: the rates of our own kernels; a
result beyond it is held, and only the named engine and the legal precisions count.

Memory: each input byte is read once and each output byte written once. Arithmetic: declared operations go at the rate
of the engine that the author names, or of any engine that yields the precision that the answer needs. A number of
`bits` takes s = ⌈(bits - 1) / (p + 1)⌉ pieces of p significant bits, and a product of two of these numbers at least
s (s + 1) / 2 products of pieces. The bits are -log₂ of the problem's `precision.max_relative_l2`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from problems.arithmetic import LimitError, evaluate
from problems.spec import Case, Precision, Problem, case_name
from runner.evidence.ceilings import ALIASES, ENGINES, Ceilings, Rates, engine

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

    def forbids(self, high_ns: float) -> bool:
        """Return whether a time with the upper interval bound `high_ns` is impossible, given a hard bound."""
        return high_ns < CERTAIN * self.ns


@dataclass(frozen=True)
class CaseLimits:
    """Least times of a case. `legal` is arithmetic alone, by the fastest legal engine at its hard rate."""

    case: str
    work: Work | None = None
    hard: Bound | None = None
    measured: Bound | None = None
    legal: Bound | None = None
    error: str = ""  # a faulty expression is the author's, and spoils no run


@dataclass(frozen=True)
class Limits:
    """Limits of a run, with all that the rules of rules.py need. `cases` are in the order of the problem."""

    ceilings: (
        Annotated[
            Ceilings,
            PlainValidator(Ceilings.from_json),
            PlainSerializer(Ceilings.to_json),
            WithJsonSchema({"type": "object"}),
        ]
        | None
    ) = None
    legal: list[str] = field(default_factory=list)  # precisions
    cases: Annotated[list[CaseLimits], Field(max_length=256)] = field(default_factory=list)

    def of(self, case: str) -> CaseLimits:
        return next((limits for limits in self.cases if limits.case == case), CaseLimits(case))


def limits(
    speed_of_light: Mapping[str, Any],
    cases: Sequence[Case],
    ceilings: Ceilings | None,
    precision: Precision | None = None,
) -> Limits:
    """Return the limits of a run with these cases."""
    found = [_case(speed_of_light, case, ceilings, precision) for case in cases]
    return Limits(ceilings, list(precision.legal) if precision else [], found)


def _case(
    speed_of_light: Mapping[str, Any], case: Case, ceilings: Ceilings | None, precision: Precision | None
) -> CaseLimits:
    name = case_name(case)
    try:
        work = Work.of(speed_of_light, case)
    except LimitError as error:
        return CaseLimits(name, error=str(error))
    if ceilings is None:
        return CaseLimits(name, work)
    legal = legal_engines(precision)
    arithmetic = replace(work, read_bytes=0, write_bytes=0)
    return CaseLimits(
        case=name,
        work=work,
        hard=_hard(work, ceilings, precision),
        measured=_slowest(work, ceilings, ceilings.measured, _by_named(ceilings.measured, legal)),
        legal=_slowest(arithmetic, ceilings, ceilings.hard, _by_named(ceilings.hard, legal)) if precision else None,
    )


def faults(problem: Problem) -> list[str]:
    """Return the faults of a problem's `speed_of_light`, for its author: a sentence per case that cannot be bounded."""
    found = []
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
    """Return the bound that no kernel beats. An honest fp32 product may be made of three tf32 or bf16 products."""
    rates = ceilings.hard
    limit = precision.max_relative_l2 if precision else None
    bits = -math.log2(limit) if limit else 0.0

    def rate(name: str) -> float | None:
        itself = [rates.flops[name]] if name in rates.flops else []
        pieces = {made: max(1, math.ceil((bits - 1) / (ENGINES[made] + 1))) for made in rates.flops}  # of a number
        made_of = [other / (pieces[made] * (pieces[made] + 1) // 2) for made, other in rates.flops.items()]
        return max([*itself, *made_of], default=None)

    return _slowest(work, ceilings, rates, rate)


def _by_named(rates: Rates, legal: frozenset[str]) -> Callable[[str], float | None]:
    """Return the rate of the engine that the author named, on any of its units, or of a faster engine of a legal
    precision."""

    def rate(name: str) -> float | None:
        usable = legal | {name, f"{name}_tc"}
        return max((value for known, value in rates.flops.items() if known in usable), default=None)

    return rate


def _slowest(work: Work, ceilings: Ceilings, rates: Rates, rate: Callable[[str], float | None]) -> Bound | None:
    """Return the resource that needs the longest for this work.

    Where the judge sweeps the cache before a call (GPUs), reads come from memory, all but the lines that it writes
    last, while writes may still lie in the cache when the clock stops: only writes beyond its size must have reached
    memory.
    On a cpu the judge has just copied the inputs and poisoned the output, and the last level of cache may hold any of
    it: memory bounds only the traffic beyond the cache's size, and the cache bounds all.
    """
    total = work.read_bytes + work.write_bytes
    if ceilings.swept:  # bytes that must have passed between memory and cache while the clock ran
        from_memory = work.read_bytes * (1 - HOT_SHARE) + max(0, work.write_bytes - ceilings.cache_bytes)
    else:
        from_memory = max(0, total - ceilings.cache_bytes)
    bounds = [
        _bound(MEMORY, from_memory, rates.memory_bytes_per_s),
        _bound(CACHE, total, rates.cache_bytes_per_s),
        *(_bound(name, count, rate(name)) for name, count in work.flops.items()),
    ]
    return max((bound for bound in bounds if bound is not None), key=lambda bound: bound.ns, default=None)


def _bound(resource: str, amount: float, per_s: float | None) -> Bound | None:
    return Bound(resource, amount / per_s * 1e9) if per_s and amount > 0 else None
