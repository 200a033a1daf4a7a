"""Pure: what is implausible enough that a person should look before it ranks. A rule gives evidence, no verdict."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

HOLD_FASTER_THAN: Final = 2.0  # times the best of baseline and incumbent


@dataclass(frozen=True)
class Evidence:
    rule: str
    sentence: str
    figures: dict[str, Any]


def find_implausible(*, ratio: float, incumbent_ratio: float | None, flags: Collection[str] = ()) -> list[Evidence]:
    """`ratio` is candidate / baseline, so the baseline's own is 1; `incumbent_ratio` is the best published one's."""
    return [found for found in (_too_fast(ratio, incumbent_ratio), _not_certified(flags)) if found is not None]


def _not_certified(flags: Collection[str]) -> Evidence | None:
    """A runner that may not freeze containers cannot exclude that a kernel worked outside its calls."""
    if "not_certified" not in flags:
        return None
    return Evidence(
        rule="not_certified",
        sentence="the runner could not freeze the containers, so work outside the timed calls is not excluded",
        figures={"flags": sorted(flags)},
    )


def _too_fast(ratio: float, incumbent_ratio: float | None) -> Evidence | None:
    best = min(1.0, incumbent_ratio) if incumbent_ratio is not None else 1.0
    if ratio * HOLD_FASTER_THAN >= best:
        return None
    whom = "the best published entry" if best < 1.0 else "the baseline"
    return Evidence(
        rule="faster_than_best",
        sentence=f"{best / ratio:.2f}× faster than {whom}; more than {HOLD_FASTER_THAN:g}× waits for a person",
        figures={
            "ratio": ratio,
            "incumbent_ratio": incumbent_ratio,
            "best_ratio": best,
            "times_faster": best / ratio,
            "hold_faster_than": HOLD_FASTER_THAN,
        },
    )
