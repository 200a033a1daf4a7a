"""Evidence in the form that rules.py reads: each timed case with its estimates, repeats and bounds. Pure.

Times here are the certified times, with an exception: on the judge's wall clock, the cost of a call without work is not
subtracted, on all sides. A constant that a disturbed machine made too large must not make an honest kernel look
impossible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runner.evidence import certificate, speed_of_light, stats
from runner.evidence.ceilings import Ceilings
from runner.evidence.certificate import BASELINE, CANDIDATE
from runner.evidence.schedule import I

Evidence = Mapping[str, Any]


def blocks_ns(timing: Evidence, evidence: Evidence, side: str) -> list[float]:
    """Return the times of this side's valid blocks, in ns; the module's text names the cost that is left in."""
    whole = {**timing, "idle": [[0] * 7]}
    other = CANDIDATE if side == BASELINE else side
    certified = certificate.certify(whole, clock=evidence["clock"], certified=evidence["certified"], side=other)
    places = (0, 3) if side == BASELINE else (1, 2)
    return [quad[place] for quad in certified.quads for place in places if quad[place] > 0]


@dataclass(frozen=True)
class TimedCase:
    """Timed case with the run's limits for it."""

    timing: Evidence
    evidence: Evidence
    bounds: Evidence

    @property
    def name(self) -> str:
        return str(self.timing["case"])

    @cached_property
    def candidate(self) -> stats.Estimate | None:
        return self._estimate(CANDIDATE)

    @cached_property
    def baseline(self) -> stats.Estimate | None:
        return self._estimate(BASELINE)

    @cached_property
    def incumbent(self) -> stats.Estimate | None:
        return self._estimate(I)

    def limit(self, kind: str) -> speed_of_light.Bound | None:
        """Return the bound of this kind (`hard`, `measured` or `legal`), or None."""
        found = self.bounds.get(kind)
        return speed_of_light.Bound(**found) if found else None

    def repeats(self, side: str, *, hot: bool = False, near: bool = False) -> list[tuple[float, float]]:
        """Return (fresh, again) in ns of this side's repeats.

        `hot` selects repeats before which the cache was left as it was; `near`, repeats of an input that was slightly
        changed.
        """
        found = [repeat for repeat in self.timing["repeats"] if repeat["side"] == side]
        pairs = [
            (self.time_ns(one["fresh"]), self.time_ns(one["again"]))
            for one in found
            if (one.get("hot", False), one.get("near", False)) == (hot, near)
        ]
        return [pair for pair in pairs if min(pair) > 0]

    def calls(self, side: str, *, over_baseline: bool = True) -> list[float]:
        """Return ln of each call's time over the baseline's in the same quad, which cancels slowdowns of both."""
        return [call for block in self.blocks(side, over_baseline=over_baseline) for call in block]

    def blocks(self, side: str, *, over_baseline: bool = True) -> list[list[float]]:
        """Return the values of `calls` by block, in the order of the calls: each block's first call came right after a
        thaw."""
        found = []
        for quad in self.timing["quads"]:
            ours = [block for block in quad["blocks"] if block["side"] == BASELINE]
            if quad["void"] or len(ours) != 2:
                continue
            scale = (
                stats.median([self.time_ns(call) for block in ours for call in block["calls"]])
                if over_baseline
                else 1.0
            )
            for block in (block for block in quad["blocks"] if block["side"] == side):
                times = [self.time_ns(call) for call in block["calls"]]
                found.append([math.log(time / scale) for time in times if scale > 0 and time > 0])
        return found

    def time_ns(self, sample: Sequence[float]) -> float:
        return certificate.at_once_ns(
            sample, 0.0, clock=self.evidence["clock"], certified=bool(self.evidence["certified"])
        )

    def _estimate(self, side: str) -> stats.Estimate | None:
        blocks = blocks_ns(self.timing, self.evidence, side)
        return stats.median_estimate(blocks) if len(blocks) >= 6 else None


class Run:
    """Timed cases and ceilings of an evidence."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.limits: Evidence = evidence.get("limits") or {}
        bounds = {case["case"]: case for case in self.limits.get("cases", ())}
        self.cases = [TimedCase(timing, evidence, bounds.get(timing["case"], {})) for timing in evidence["timing"]]

    @cached_property
    def ceilings(self) -> Ceilings | None:
        stored = self.limits.get("ceilings")
        return Ceilings.from_json(stored) if stored else None
