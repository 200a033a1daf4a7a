"""How much more than the baseline's one container's context makes every call tell.

On an H200 every kernel takes up to 0.2 µs longer in one container than in another, the same for all, once it no longer
matters where their data lie (arena.py, docs/measurements.md); so calls of a small kernel of the harness's own show it.
They are made before there is a job (runner/prepare.py), sides in turn. What they show is taken off the candidate's
times, and a submission that finds itself a better place than the one that was measured gains that much at most: so it
is added to what could be forged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from runner.judge import stats
from runner.judge.certificate import BASELINE
from runner.judge.tenant import Tenant

WARM_CALLS: Final = 8  # of each side, which do not count
ROUNDS: Final = 16
CALLS: Final = 8  # of each side in a round
LEAST: Final = 32  # of each side that were queued; fewer compare nothing

MOST_NS: Final = 2_000.0  # no two contexts were seen to differ by that: then a side was disturbed, nothing is known

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


def compare(found: Mapping[str, Sequence[Sequence[float]]]) -> dict[str, float]:
    """In ns, of every side but the baseline, as timing's `contexts` has them."""
    if BASELINE not in found or min(map(len, found.values())) < LEAST:
        return {}
    told = {name: stats.midmean([sample[3] for sample in samples]) for name, samples in found.items()}
    apart = {name: ns - told[BASELINE] for name, ns in told.items() if name != BASELINE}
    return {name: ns for name, ns in apart.items() if abs(ns) <= MOST_NS}


def samples_of(evidence: Mapping[str, Any]) -> list[list[int]]:
    """All of them, of whatever side."""
    return [sample for samples in (evidence.get("own_calls") or {}).values() for sample in samples]


def of_evidence(evidence: Mapping[str, Any]) -> dict[str, float]:
    return compare(evidence.get("own_calls") or {})
