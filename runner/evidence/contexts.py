"""Timing offsets between the candidate's and the baseline's containers. Pure.

On an H200 every kernel takes up to 0.2 µs longer in one container than in another, and the gap between a call's two
clocks (gap.py) is up to 2.4 µs longer there. Both offsets are much the same for all kernels, so queued calls of a small
kernel of the harness (judge/sides/own_times.py) show them. The offsets are subtracted from the candidate's times and
gaps. A submission that moves itself to a place as good as the baseline's gains that much, so the offset is also added
to the forgeable share (docs/lab-notebook).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from runner.evidence import stats
from runner.evidence.sample import BASELINE, Sample

LEAST: Final = 32  # queued calls per side; fewer allow no comparison

# No two contexts were seen to differ by this much: a side was disturbed, and the offset stays unknown.
MOST_NS: Final = 2_000.0  # of device times
MOST_OF_GAP_NS: Final = 3_000.0
# Standard error of a gap's difference; the largest seen was 190. The error is the same in all of a case's blocks, and
# the job cannot show how far it strays: a host whose gaps scatter more gets no difference.
MOST_ERROR_NS: Final = 300.0
GROUPS: Final = 8  # of consecutive calls, each left out once


def compare(found: Mapping[str, Sequence[Sample]]) -> dict[str, float]:
    """Return the offset of device times, in ns, of every side but the baseline: the value of timing's `contexts`."""
    return _apart(found, lambda sample: sample.inner_ns, MOST_NS)


def compare_gaps(found: Mapping[str, Sequence[Sample]]) -> dict[str, float]:
    """Return the offset of gaps, in ns, of every side but the baseline: the value of timing's `gaps`. A side whose gaps
    scatter too much is left out."""
    apart = _apart(found, lambda sample: sample.gap_ns, MOST_OF_GAP_NS)
    return {name: ns for name, ns in apart.items() if error_ns(found[name], found[BASELINE]) <= MOST_ERROR_NS}


def error_ns(theirs: Sequence[Sample], ours: Sequence[Sample]) -> float:
    """Return the standard error of the difference, by a jackknife over groups."""
    without = [_midmean_gap(theirs, left_out) - _midmean_gap(ours, left_out) for left_out in range(GROUPS)]
    return stats.jackknife_error(without)


def _midmean_gap(samples: Sequence[Sample], left_out: int) -> float:
    first, last = (len(samples) * number // GROUPS for number in (left_out, left_out + 1))
    return stats.midmean([sample.gap_ns for sample in (*samples[:first], *samples[last:])])


def _apart(found: Mapping[str, Sequence[Sample]], value: Callable[[Sample], float], most_ns: float) -> dict[str, float]:
    if BASELINE not in found or min(map(len, found.values())) < LEAST:
        return {}
    usual = {name: stats.midmean([value(sample) for sample in samples]) for name, samples in found.items()}
    apart = {name: ns - usual[BASELINE] for name, ns in usual.items() if name != BASELINE}
    return {name: ns for name, ns in apart.items() if abs(ns) <= most_ns}


def offsets(own_calls: Mapping[str, Sequence[Sample]]) -> dict[str, dict[str, float]]:
    """Return both offsets as the fields of a timing."""
    return {"contexts": compare(own_calls), "gaps": compare_gaps(own_calls)}
