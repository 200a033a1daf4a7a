"""Pure: the measures of a result that hold it, beyond a competition's thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from leaderboard.review.rules.thresholds import RULES, USUAL, Thresholds
from runner.evidence.rules import Measure

MOST_SENTENCE_CHARS: Final = 1_000


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
