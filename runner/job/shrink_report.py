"""Shrink the report of a confirmation to the wire's limit: cases are summed up, one by one, until it fits.

Several runs with three sides in their blocks can have more samples than a report may carry. The deciding figures are in
the report in any case (records.RecordVerdict). Cases that did not converge are summed up first, since they have the
most samples and the least value; of those the largest first. A report that fits is left as it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from runner.evidence import schedule, schema, stats
from runner.evidence.schema import Block, Timing
from runner.wire import MAX_REPORT_BYTES, Report, dump

LIMIT_BYTES: Final = MAX_REPORT_BYTES - 200_000
LOG_CHARS: Final = 2_000  # of each stream, if even that is not enough


def fit(report: Report, limit_bytes: int = LIMIT_BYTES) -> Report:
    """Return the report in at most `limit_bytes`, with as few of its cases summed up as necessary."""
    over = len(dump(report)) - limit_bytes
    if over <= 0:
        return report
    evidence = schema.parse(report.evidence)
    assert isinstance(evidence, schema.Confirmation)
    cases = [(run, place, timing) for run in evidence.everything for place, timing in enumerate(run.timing)]
    for run, place, whole in sorted(cases, key=lambda case: (case[2].ended == schedule.CONVERGED, -_size(case[2]))):
        if over <= 0:
            break
        run.timing[place] = summed_up(whole)
        over -= _size(whole) - _size(run.timing[place])
    shrunk = replace(report, evidence=evidence.model_dump(mode="json"))
    if over <= 0:
        return shrunk
    return replace(shrunk, logs={name: text[-LOG_CHARS:] for name, text in report.logs.items()})


def summed_up(timing: Timing) -> Timing:
    """Return a case without its samples: the number of quads, the reasons of voids, and the median of each valid
    block."""
    valid = [quad for quad in timing.quads if not quad.void]
    voids = Counter(f"{quad.charged}: {quad.void}" for quad in timing.quads if quad.void)
    summary = {
        "quads": len(timing.quads),
        "voids": dict(voids.most_common(16)),
        "sides": [quad.sides for quad in valid],
        "wall_ns": [[_median(block, "wall_ns") for block in quad.blocks] for quad in valid],
        "inner_ns": [[_median(block, "inner_ns") for block in quad.blocks] for quad in valid],
    }
    return timing.model_copy(update={"idle": [], "warm_ups": [], "quads": [], "repeats": [], "summary": summary})


def _median(block: Block, part: str) -> float:
    middle: float = stats.median([getattr(sample, part) for sample in block.calls])
    return round(middle, 1)


def _size(timing: Timing) -> int:
    return len(timing.model_dump_json())
