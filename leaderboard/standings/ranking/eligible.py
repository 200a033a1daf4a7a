"""Pure: whether a passing ranked result can have a line before any review, and its share of the speed of light."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean
from typing import Any, Final

NO_TELEMETRY: Final = "no_telemetry"  # clocks and temperatures were not watched, so the measurement is unreliable


def refusal(*, telemetry: str) -> str:
    """Return why a result cannot rank; "": it can. Older runners do not report telemetry at all, and can rank."""
    return NO_TELEMETRY if telemetry == "none" else ""


def light_share(report: Mapping[str, Any]) -> float | None:
    """Return the geometric mean over the timed cases of hard bound / measured time, 1 at most.

    None unless the report has both for every timed case.
    """
    limits = _mapping(_mapping(report.get("evidence")).get("limits")).get("cases")
    bounds = {one.get("case"): _mapping(one.get("hard")).get("ns") for one in _mappings(limits)}
    timed = [case for case in _mappings(report.get("cases")) if case.get("stage") == "time"]
    pairs = [(_positive(bounds.get(case.get("name"))), _positive(case.get("measured_us"))) for case in timed]
    known = [(ns / 1e3, us) for ns, us in pairs if ns is not None and us is not None]
    if not known or len(known) < len(pairs):
        return None
    return min(1.0, math.exp(fmean(math.log(bound) - math.log(took) for bound, took in known)))


def _positive(value: Any) -> float | None:
    return value if isinstance(value, int | float) and math.isfinite(value) and value > 0 else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list | tuple) else []
