"""Shrink the report of a confirmation to the wire's limit: cases are summed up, one by one, until it fits.

Several runs with three sides in their blocks can have more samples than a report may carry. The deciding figures are in
the report in any case (records.RecordVerdict). Cases that did not converge are summed up first, since they have the
most samples and the least value; of those the largest first. A report that fits is left as it is.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any, Final

from runner.evidence import schedule, stats
from runner.wire import MAX_REPORT_BYTES, Report, dump

LIMIT_BYTES: Final = MAX_REPORT_BYTES - 200_000
LOG_CHARS: Final = 2_000  # of each stream, if even that is not enough

JSON = dict[str, Any]


def fit(report: Report, limit_bytes: int = LIMIT_BYTES) -> Report:
    """Return the report in at most `limit_bytes`, with as few of its cases summed up as necessary."""
    over = len(dump(report)) - limit_bytes
    if over <= 0:
        return report
    evidence = {
        **report.evidence,
        "runs": [_copied(run) for run in report.evidence["runs"]],
        "alone": [run and _copied(run) for run in report.evidence["alone"]],
    }
    runs = [*evidence["runs"], *filter(None, evidence["alone"])]
    cases = [(run, place, timing) for run in runs for place, timing in enumerate(run["timing"])]
    for run, place, whole in sorted(cases, key=lambda case: (case[2]["ended"] == schedule.CONVERGED, -_size(case[2]))):
        if over <= 0:
            break
        run["timing"][place] = summed_up(whole)
        over -= _size(whole) - _size(run["timing"][place])
    if over <= 0:
        return replace(report, evidence=evidence)
    short = {name: text[-LOG_CHARS:] for name, text in report.logs.items()}
    return replace(report, evidence=evidence, logs=short)


def summed_up(timing: JSON) -> JSON:
    """Return a case without its samples: the number of quads, the reasons of voids, and the median of each valid
    block."""
    valid = [quad for quad in timing["quads"] if not quad["void"]]
    voids = Counter(f"{quad['charged']}: {quad['void']}" for quad in timing["quads"] if quad["void"])
    summary = {
        "quads": len(timing["quads"]),
        "voids": dict(voids.most_common(16)),
        "sides": [[block["side"] for block in quad["blocks"]] for quad in valid],
        "wall_ns": [[_median(block, 0) for block in quad["blocks"]] for quad in valid],
        "inner_ns": [[_median(block, 3) for block in quad["blocks"]] for quad in valid],
    }
    return {**timing, "idle": [], "warm_ups": [], "quads": [], "repeats": [], "summary": summary}


def is_summed_up(run: JSON) -> bool:
    return any(timing.get("summary") for timing in run["timing"])


def _copied(run: JSON) -> JSON:
    """Return a copy whose cases can be replaced without a change to the original run."""
    return {**run, "timing": list(run["timing"])}


def _median(block: JSON, part: int) -> float:
    return round(stats.median([sample[part] for sample in block["calls"]]), 1)


def _size(timing: JSON) -> int:
    return len(json.dumps(timing, allow_nan=False, separators=(",", ":")))
