"""Pure: a number that a rule measured on a result, with the material that a reviewer needs to judge it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from leaderboard.review.rules.thresholds import RULES, USUAL, Thresholds
from runner.evidence.estimates import TimedCase
from runner.evidence.sample import BASELINE, CANDIDATE

MOST_SAMPLES: Final = 32  # of each kind in a finding: an excerpt; the report has all samples
MOST_SENTENCE_CHARS: Final = 1_000


@dataclass(frozen=True)
class Measure:
    """A rule's measurement. `value` is compared with the rule's threshold. `sentence` describes it to a reviewer."""

    rule: str
    value: float
    sentence: str
    case: str = ""
    figures: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """The evidence that holds a result: a measure beyond its threshold."""

    rule: str
    threshold: float
    sentence: str
    figures: dict[str, Any]
    samples: dict[str, Any]


def worst(measures: Iterable[Measure]) -> dict[str, Measure]:
    """Return each rule's measure that is farthest out; without samples of its own it takes another measure's."""
    found: dict[str, Measure] = {}
    for one in measures:
        other = found.get(one.rule)
        if other is None or RULES[one.rule].worse(one.value, other.value):
            found[one.rule] = replace(one, samples=one.samples or (other.samples if other else {}))
        elif not other.samples:
            found[one.rule] = replace(other, samples=one.samples)
    return found


def held_by(measures: Iterable[Measure], thresholds: Thresholds = USUAL) -> list[Evidence]:
    """Return the measures beyond their threshold, in the order of the table of rules."""
    found = worst(measures)
    beyond = (found[name] for name in RULES if name in found and _holds(found[name], thresholds))
    return [_evidence(one, thresholds[one.rule]) for one in beyond]


def _holds(measure: Measure, thresholds: Thresholds) -> bool:
    return RULES[measure.rule].holds(measure.value, thresholds[measure.rule])


def _evidence(measure: Measure, threshold: float | None) -> Evidence:
    assert threshold is not None  # a rule that is off holds no result
    where = f"{measure.case}: " if measure.case else ""
    return Evidence(
        rule=measure.rule,
        threshold=threshold,
        sentence=f"{where}{measure.sentence} {RULES[measure.rule].look}"[:MOST_SENTENCE_CHARS],
        figures={"value": None if math.isnan(measure.value) else measure.value}
        | ({"case": measure.case} if measure.case else {})
        | measure.figures,
        samples=measure.samples,
    )


def blocks(case: TimedCase) -> dict[str, Any]:
    """Return the times of valid blocks of both sides, evenly thinned, in ns, for a plot."""
    return {
        "case": case.name,
        "clock": case.evidence.clock,
        "baseline_ns": thinned(case.blocks_ns(BASELINE)),
        "candidate_ns": thinned(case.blocks_ns(CANDIDATE)),
    }


def pairs(found: Sequence[tuple[float, float]], ours: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return the (fresh, again) times of both sides, in ns."""
    return {"candidate_pairs_ns": thinned(found), "baseline_pairs_ns": thinned(ours)}


def thinned(values: Sequence[Any]) -> list[Any]:
    """Return at most MOST_SAMPLES values, evenly spread."""
    if len(values) <= MOST_SAMPLES:
        return list(values)
    return [values[place * len(values) // MOST_SAMPLES] for place in range(MOST_SAMPLES)]


def us(ns: float) -> str:
    return f"{ns / 1e3:.4g} µs"
