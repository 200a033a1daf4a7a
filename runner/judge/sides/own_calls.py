"""Queued calls of the harness's own kernel in every container, made before there is a job.

runner/evidence/contexts.py derives the timing offsets between containers from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from runner.evidence.sample import Sample
from runner.judge.sides.tenant import Tenant

WARM_CALLS: Final = 8  # of each side, not counted
ROUNDS: Final = 16
CALLS: Final = 8  # of each side in a round

Samples = dict[str, list[Sample]]


def own_calls(sides: Mapping[str, Tenant]) -> Samples:
    """Return queued calls of the harness's own kernel, by side; empty if no device does calls by itself."""
    if not all(side.queues for side in sides.values()):
        return {}
    for side in sides.values():
        side.own_calls(WARM_CALLS)
    found: Samples = {name: [] for name in sides}
    for number in range(ROUNDS):
        for name in sorted(sides, reverse=number % 2 > 0):
            found[name] += [call.sample for call in sides[name].own_calls(CALLS) if call.queued]
    return found
