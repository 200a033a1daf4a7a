"""Pure: what is implausible enough that a person should look before it ranks. A rule gives evidence, no verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

HOLD_FASTER_THAN: Final = 2.0  # times the best of baseline and incumbent


@dataclass(frozen=True)
class Evidence:
    rule: str
    sentence: str
    figures: dict[str, Any]


def find_implausible(*, ratio: float, incumbent_ratio: float | None) -> list[Evidence]:
    """`ratio` is candidate / baseline, so the baseline's own is 1; `incumbent_ratio` is the best published one's."""
    return [found for found in (_too_fast(ratio, incumbent_ratio),) if found is not None]


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
