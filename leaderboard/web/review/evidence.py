"""A stored report as a reviewer sees it: blocks of calls by both clocks, heat, ratios by case. Pure.

A report was written by a runner and is stored unchanged. Evidence that does not fit the schema is left out, and the
amount that is drawn is bounded. Times are in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from runner.evidence.schema import Evidence, ReportError, parse
from runner.evidence.throttle import Window

MOST_CASES: Final = 12  # drawn cases
MOST_BLOCKS: Final = 400  # per case
MOST_CALLS: Final = 10_000  # per case
LARGEST: Final = 1e30


@dataclass(frozen=True)
class Block:
    side: str
    wall_us: tuple[float, ...]  # of the judge's clock, the whole call
    inner_us: tuple[float, ...]  # of the tenant's
    void: str  # why it does not count; "": it does
    heat: Window


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


def evidence_of(report: Mapping[str, Any]) -> Evidence | None:
    """Return the evidence of a report, of a confirmation that of its first run; None if it does not fit the schema."""
    try:
        evidence = parse(report.get("evidence"))
    except ReportError:
        return None
    return evidence if isinstance(evidence, Evidence) else evidence.runs[0]


def timings(evidence: Evidence | None) -> list[Timed]:
    """Return the cases to be drawn, with their first blocks."""
    found = []
    for timing in evidence.timing[:MOST_CASES] if evidence else []:
        blocks: list[Block] = []
        calls = 0
        for void, block in ((quad.void, block) for quad in timing.quads for block in quad.blocks):
            calls += len(block.calls)
            if len(blocks) >= MOST_BLOCKS or calls > MOST_CALLS:
                break
            wall_us = tuple(sample.wall_ns / 1e3 for sample in block.calls)
            inner_us = tuple(sample.inner_ns / 1e3 for sample in block.calls)
            blocks.append(Block(block.side, wall_us, inner_us, void, block.heat))
        found.append(Timed(timing.case, tuple(blocks), timing.ended))
    return found


def case_rows(
    report: Mapping[str, Any], evidence: Evidence | None, incumbent: Mapping[str, Any] | None = None
) -> list[CaseRow]:
    """Return the rows of a report's timed cases. `incumbent`: the report of the submission in first place, if any."""
    rivals = {name: number(case.get("ratio")) for name, case in _timed_cases(incumbent or {})}
    rows = []
    for name, case in _timed_cases(report):
        measured, baseline = number(case.get("measured_us")), number(case.get("baseline_us"))
        limits = evidence.limits.of(name) if evidence else None
        hard, reached = (limits.hard, limits.measured) if limits else (None, None)
        eager = [timing.eager_ns for timing in evidence.timing if timing.case == name] if evidence else []
        row = CaseRow(
            case=name,
            measured_us=measured,
            baseline_us=baseline,
            ratio=number(case.get("ratio")) or (measured / baseline if measured and baseline else None),
            half_width=number(case.get("half_width")),
            incumbent_ratio=rivals.get(name),
            light_us=_us(hard and hard.ns),
            measured_limit_us=_us(reached and reached.ns),
            resource=hard.resource[:200] if hard else "",
            eager_us=_us(eager[-1] if eager else None),
        )
        rows.append(row)
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


def _timed_cases(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    cases = report.get("cases")
    for case in cases if isinstance(cases, list) else []:
        if isinstance(case, dict) and (number(case.get("measured_us")) or number(case.get("ratio"))):
            name = case.get("name")
            yield name[:200] if isinstance(name, str) else "", case


def _us(ns: object) -> float | None:
    value = number(ns)
    return None if value is None else value / 1e3
