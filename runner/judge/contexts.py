"""How much longer one container's context takes than the baseline's, whatever runs in it.

On an H200 the same kernel of 4 µs takes up to 0.2 µs longer in one container than in another, and the gap between the
clocks is up to 2 µs wider (docs/measurements.md): for all calls alike, so calls of the harness's own small kernel show
it. They are made before any container holds code of others, sides in turn. gap.py takes off what they show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from runner.judge import stats
from runner.judge.certificate import BASELINE
from runner.judge.tenant import Tenant

WARM_CALLS: Final = 8  # of each side, which do not count
ROUNDS: Final = 8
CALLS: Final = 8  # of each side in a round
LEAST: Final = 32  # of each side that were queued; fewer compare nothing

# What no context was seen to differ by: then a side was disturbed, and nothing is known.
MOST_TOLD_NS: Final = 2_000.0
MOST_GAP_NS: Final = 5_000.0

Samples = dict[str, list[list[int]]]


def own_calls(sides: Mapping[str, Tenant]) -> Samples:
    """Queued calls of the harness's own kernel, by side; nothing where no device does calls by itself."""
    if not all(side.queues for side in sides.values()):
        return {}
    for side in sides.values():
        side.own_calls(WARM_CALLS)
    found: Samples = {name: [] for name in sides}
    for number in range(ROUNDS):
        for name in sorted(sides, reverse=number % 2 > 0):
            found[name] += [call.sample for call in sides[name].own_calls(CALLS) if call.queued]
    return found


def compare(found: Mapping[str, Sequence[Sequence[float]]]) -> dict[str, list[float]]:
    """[told, gap] in ns of every side but the baseline, as timing's `contexts` has them: what its context adds."""
    if BASELINE not in found or min(map(len, found.values())) < LEAST:
        return {}
    ours = _typical(found[BASELINE])
    apart = {}
    for name, samples in found.items():
        told, gap = (side - base for side, base in zip(_typical(samples), ours, strict=True))
        if name != BASELINE and abs(told) <= MOST_TOLD_NS and abs(gap) <= MOST_GAP_NS:
            apart[name] = [told, gap]
    return apart


def _typical(samples: Sequence[Sequence[float]]) -> list[float]:
    told = stats.midmean([sample[3] for sample in samples])
    return [told, stats.median([sample[0] - sample[3] for sample in samples])]


def of_evidence(evidence: Mapping[str, Any]) -> dict[str, list[float]]:
    return compare(evidence.get("own_calls") or {})
