"""A stored report as a reviewer sees it: blocks of calls by both clocks, heat, ratios by case. Pure.

A report was written by a runner (docs/report.schema.json) and is stored unchanged, so this module trusts no part of it:
missing values and values of the wrong kind are left out, and the amount that is read is bounded. Times are in
microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    evidence = _mapping(report.get("evidence"))
    runs = _list(evidence.get("runs"))
    return _mapping(runs[0]) if runs else evidence


def timings(report: Mapping[str, Any]) -> list[Timed]:
    found = [_mapping(timing) for timing in _list(evidence_of(report).get("timing"))[:MOST_CASES]]
    return [
        Timed(_text(timing.get("case")), tuple(_bounded(_blocks(timing))), _text(timing.get("ended")))
        for timing in found
    ]


def case_rows(report: Mapping[str, Any], incumbent: Mapping[str, Any] | None = None) -> list[CaseRow]:
    """Return the rows of a report's timed cases. `incumbent`: the report of the submission in first place, if any."""
    rivals = {name: number(case.get("ratio")) for name, case in _timed_cases(incumbent or {})}
    limits = _by_case(_mapping(evidence_of(report).get("limits")).get("cases"))
    eager = {name: timing.get("eager_ns") for name, timing in _by_case(evidence_of(report).get("timing")).items()}
    return [
        _row(name, case, rivals.get(name), limits.get(name, {}), number(eager.get(name)))
        for name, case in _timed_cases(report)
    ]


def number(value: object) -> float | None:
    """Return a positive number, or None."""
    found = real(value)
    return found if found is not None and found > 0 else None


def real(value: object) -> float | None:
    """Return a number that a float can hold, or None. A bool is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < LARGEST else None


def _row(
    name: str, case: Mapping[str, Any], rival: float | None, limits: Mapping[str, Any], eager_ns: float | None
) -> CaseRow:
    measured, baseline = number(case.get("measured_us")), number(case.get("baseline_us"))
    ratio = number(case.get("ratio")) or (measured / baseline if measured and baseline else None)
    hard, reached = _mapping(limits.get("hard")), _mapping(limits.get("measured"))
    return CaseRow(
        case=name,
        measured_us=measured,
        baseline_us=baseline,
        ratio=ratio,
        half_width=number(case.get("half_width")),
        incumbent_ratio=rival,
        light_us=_us(hard.get("ns")),
        measured_limit_us=_us(reached.get("ns")),
        resource=_text(hard.get("resource")),
        eager_us=_us(eager_ns),
    )


def _timed_cases(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for item in _list(report.get("cases")):
        case = _mapping(item)
        if number(case.get("measured_us")) or number(case.get("ratio")):
            yield _text(case.get("name")), case


def _by_case(items: object) -> dict[str, Mapping[str, Any]]:
    return {_text(_mapping(item).get("case")): _mapping(item) for item in _list(items)}


def _blocks(timing: Mapping[str, Any]) -> Iterator[Block]:
    for quad in map(_mapping, _list(timing.get("quads"))):
        for block in map(_mapping, _list(quad.get("blocks"))):
            if block.get("side") in SIDES:
                calls = [call for call in _list(block.get("calls")) if isinstance(call, list) and len(call) > INNER]
                yield Block(
                    side=str(block["side"]),
                    wall_us=tuple(_times(calls, WALL)),
                    inner_us=tuple(_times(calls, INNER)),
                    void=_text(quad.get("void")),
                    heat=_mapping(block.get("heat")),
                )


def _bounded(blocks: Iterator[Block]) -> Iterator[Block]:
    calls = 0
    for place, block in enumerate(blocks):
        calls += len(block.wall_us)
        if place >= MOST_BLOCKS or calls > MOST_CALLS:
            return
        yield block


def _times(calls: Sequence[Sequence[object]], place: int) -> Iterator[float]:
    for call in calls:
        yield (real(call[place]) or 0.0) / 1e3


def _us(ns: object) -> float | None:
    value = number(ns)
    return None if value is None else value / 1e3


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""
