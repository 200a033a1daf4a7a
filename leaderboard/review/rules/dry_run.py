"""Effect of other thresholds: results held or released, from the stored measures of a competition's results.

Only `measured_of` queries the database: it streams the stored numbers and reads no report.

A result that was screened before measures were kept is left out; the run counts these results.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from django.db.models import QuerySet

from leaderboard.competitions.models import Competition
from leaderboard.judging.models import Result
from leaderboard.review.rules.thresholds import RULES, Thresholds

MOST_RESULTS: Final = 20_000  # the newest
MOST_LINES: Final = 200
CHUNK: Final = 500

HELD: Final = "held"
RELEASED: Final = "released"


@dataclass(frozen=True)
class Measured:
    """A current ranked pass. `values`: rule → number; None, which holds: no number."""

    submission_id: int
    who: str
    board: str
    ratio: float
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class Step:
    """Effect of a rule on a result under new thresholds."""

    rule: str
    value: float | None
    change: str  # HELD: it holds only now; RELEASED: only before; "": both times


@dataclass(frozen=True)
class Line:
    """A result that would be newly held or released, or held by different rules."""

    measured: Measured
    change: str  # HELD, RELEASED, or "": it stays held, by different rules
    steps: tuple[Step, ...]


@dataclass
class DryRun:
    looked: int = 0
    held_before: int = 0
    held_after: int = 0
    lines: list[Line] = field(default_factory=list)
    left_off: int = 0  # lines beyond MOST_LINES
    by_rule: Counter[tuple[str, str]] = field(default_factory=Counter)  # (rule, change) → results


def dry_run(results: Iterable[Measured], before: Thresholds, after: Thresholds) -> DryRun:
    run = DryRun()
    for one in results:
        was, would = holding(one.values, before), holding(one.values, after)
        run.looked += 1
        run.held_before += bool(was)
        run.held_after += bool(would)
        if was == would:
            continue
        steps = tuple(
            Step(rule, one.values[rule], HELD if rule not in was else RELEASED if rule not in would else "")
            for rule in RULES
            if rule in was | would
        )
        run.by_rule.update((step.rule, step.change) for step in steps if step.change)
        if len(run.lines) < MOST_LINES:
            run.lines.append(Line(one, HELD if not was else RELEASED if not would else "", steps))
        else:
            run.left_off += 1
    return run


def holding(values: Mapping[str, float | None], thresholds: Thresholds) -> frozenset[str]:
    """Return the rules that hold these values. A rule that no longer exists holds no value."""
    known = ((name, math.nan if value is None else value) for name, value in values.items() if name in RULES)
    return frozenset(name for name, value in known if RULES[name].holds(value, thresholds[name]))


def measured_of(competition: Competition) -> Iterator[Measured]:
    """Stream the measures of this competition's newest results."""
    rows = _current(competition).filter(measurement__isnull=False).order_by("-pk")
    told = rows.values_list(
        "attempt__submission_id",
        "attempt__submission__entrant__name",
        "attempt__submission__board__slug",
        "attempt__submission__board__hardware",
        "ratio",
        "measurement__values",
    )[:MOST_RESULTS]
    for submission_id, who, slug, hardware, ratio, values in told.iterator(chunk_size=CHUNK):
        yield Measured(submission_id, who, f"{slug} on {hardware}", ratio or 0.0, values)


def unmeasured(competition: Competition) -> int:
    return _current(competition).filter(measurement__isnull=True).count()


def _current(competition: Competition) -> QuerySet[Result]:
    return Result.objects.filter(
        attempt__is_current=True,
        attempt__submission__mode="ranked",
        attempt__submission__board__competition=competition,
        ratio__isnull=False,
    )
