"""A stored report as a reviewer sees it: blocks of calls by both clocks, heat, ratios by case. Pure.

A report was written by a runner (docs/report.schema.json) and is stored unchanged, so this module trusts no part of it:
missing values and values of the wrong kind are left out, and the amount that is read is bounded. Times are in
microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MOST_CASES: Final = 12  # drawn cases
MOST_BLOCKS: Final = 400  # per case
MOST_CALLS: Final = 10_000  # per case
LARGEST: Final = 1e30
WALL, INNER = 0, 3  # places in a call: [wall, put, take, inner, probe, thaw, freeze]
SIDES: Final = ("baseline", "candidate", "incumbent")


@dataclass(frozen=True)
class Block:
    side: str
    wall_us: tuple[float, ...]  # of the judge's clock, the whole call
    inner_us: tuple[float, ...]  # of the tenant's
    void: str  # why it does not count; "": it does
    heat: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Timed:
    """A benchmark case, with its blocks in the order of time."""

    case: str
    blocks: tuple[Block, ...]
    ended: str


@dataclass(frozen=True)
class CaseRow:
    """A case with all its points of comparison; None: not known."""

    case: str
    measured_us: float | None
    baseline_us: float | None
    ratio: float | None  # candidate / baseline
    half_width: float | None
    incumbent_ratio: float | None  # the incumbent's candidate / baseline, of its own run
    light_us: float | None  # the speed of light: no kernel on this hardware is faster
    measured_limit_us: float | None  # reached by the project's own kernels
    resource: str  # the resource that sets the limit
    eager_us: float | None

    @property
    def against_incumbent(self) -> float | None:
        """The candidate's ratio / the incumbent's, so below 1 is faster."""
        return self.ratio / self.incumbent_ratio if self.ratio and self.incumbent_ratio else None

    @property
    def light_share(self) -> float | None:
        """The share of the speed of light; above 1 is impossible."""
        return self.light_us / self.measured_us if self.light_us and self.measured_us else None


def evidence_of(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the evidence of a report; of a confirmation that of its first run."""
    evidence = mapping(report.get("evidence"))
    return next(iter(mappings(evidence.get("runs"))), evidence)


def timings(report: Mapping[str, Any]) -> list[Timed]:
    found = mappings(evidence_of(report).get("timing"))[:MOST_CASES]
    return [Timed(_text(timing.get("case")), tuple(_blocks(timing)), _text(timing.get("ended"))) for timing in found]


def case_rows(report: Mapping[str, Any], incumbent: Mapping[str, Any] | None = None) -> list[CaseRow]:
    """Return the rows of a report's timed cases. `incumbent`: the report of the submission in first place, if any."""
    run = evidence_of(report)
    rivals = {name: number(case.get("ratio")) for name, case in _timed_cases(incumbent or {})}
    limits = {_text(limit.get("case")): limit for limit in mappings(mapping(run.get("limits")).get("cases"))}
    eager = {_text(timing.get("case")): timing.get("eager_ns") for timing in mappings(run.get("timing"))}
    rows = []
    for name, case in _timed_cases(report):
        measured, baseline = number(case.get("measured_us")), number(case.get("baseline_us"))
        limit = limits.get(name, {})
        hard = mapping(limit.get("hard"))
        rows.append(
            CaseRow(
                case=name,
                measured_us=measured,
                baseline_us=baseline,
                ratio=number(case.get("ratio")) or (measured / baseline if measured and baseline else None),
                half_width=number(case.get("half_width")),
                incumbent_ratio=rivals.get(name),
                light_us=_us(hard.get("ns")),
                measured_limit_us=_us(mapping(limit.get("measured")).get("ns")),
                resource=_text(hard.get("resource")),
                eager_us=_us(eager.get(name)),
            )
        )
    return rows


def number(value: object) -> float | None:
    """Return a positive number, or None."""
    found = real(value)
    return found if found is not None and found > 0 else None


def real(value: object) -> float | None:
    """Return a number that a float can hold, or None. A bool is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < LARGEST else None


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def mappings(value: object) -> list[Mapping[str, Any]]:
    return [mapping(item) for item in items(value)]


def _timed_cases(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for case in mappings(report.get("cases")):
        if number(case.get("measured_us")) or number(case.get("ratio")):
            yield _text(case.get("name")), case


def _blocks(timing: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the blocks of a case, MOST_BLOCKS with MOST_CALLS calls at most."""
    blocks = calls = 0
    for quad in mappings(timing.get("quads")):
        for block in mappings(quad.get("blocks")):
            if block.get("side") not in SIDES:
                continue
            kept = [call for call in items(block.get("calls")) if isinstance(call, list) and len(call) > INNER]
            blocks, calls = blocks + 1, calls + len(kept)
            if blocks > MOST_BLOCKS or calls > MOST_CALLS:
                return
            yield Block(
                side=str(block["side"]),
                wall_us=tuple((real(call[WALL]) or 0.0) / 1e3 for call in kept),
                inner_us=tuple((real(call[INNER]) or 0.0) / 1e3 for call in kept),
                void=_text(quad.get("void")),
                heat=mapping(block.get("heat")),
            )


def _us(ns: object) -> float | None:
    value = number(ns)
    return None if value is None else value / 1e3


def _text(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""
