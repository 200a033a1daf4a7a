"""Pure: behaviour of a run that honest kernels do not show, at any speed; and the judge's own findings.

The judge's findings become measures with the number that their rule is about, so that a competition's thresholds apply
to them as to the site's own. A finding without a known rule, or without its number, holds by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from leaderboard.review.rules.measure import Measure, blocks, pairs, thinned, us
from leaderboard.review.rules.thresholds import RULES as KNOWN
from runner.evidence import rules, stats
from runner.evidence.estimates import Run, TimedCase
from runner.evidence.sample import BASELINE, CANDIDATE

LEAST_REPEATS: Final = 4
BASELINE_SAVES: Final = 0.10  # of its time, with a warm cache: only then must the candidate save time, too
BUSY: Final = "device_busy"
LATE_WRITE: Final = "late_write"
MOST_RELAYED: Final = 256

Figures = Mapping[str, Any]
Pairs = Sequence[tuple[float, float]]


def kept_results(run: Run) -> Iterator[Measure]:
    """A repeated or nearly repeated input is answered faster than at first; by the baseline it is not."""
    for case, which, found, ours in _repeats(run):
        again, usual = _ratio(found).high, min(1.0, _ratio(ours).value) if ours else 1.0
        said = (
            f"Over {len(found)} inputs {which}, the second call took at most {100 * again:.3g} % of the first; "
            f"the baseline's {100 * usual:.3g} %."
        )
        yield _of_repeats("cached_results", said, case, (again, usual), (found, ours))


def slow_repeats(run: Run) -> Iterator[Measure]:
    """A repeated call, which does not count, takes far longer than its fresh twin: the kernel recognised it."""
    for case, which, found, ours in _repeats(run):
        again, usual = _ratio(found).low, max(1.0, _ratio(ours).value) if ours else 1.0
        said = (
            f"Over {len(found)} inputs {which}, the second call took at least {again:.3g} times as long as the first; "
            f"the baseline's {usual:.3g} times."
        )
        yield _of_repeats("slow_repeats", said, case, (again, usual), (found, ours))


def _repeats(run: Run) -> Iterator[tuple[TimedCase, str, Pairs, Pairs]]:
    """Yield case, kind of input, and the (fresh, again) pairs of candidate and baseline, if there are enough."""
    for case in run.cases:
        for near, which in ((False, "that came twice"), (True, "that came again with a few elements changed")):
            found, ours = (case.repeats(side, near=near) for side in (CANDIDATE, BASELINE))
            if len(found) >= LEAST_REPEATS:
                yield case, which, found, ours


def _of_repeats(
    rule: str, said: str, case: TimedCase, ratios: tuple[float, float], both: tuple[Pairs, Pairs]
) -> Measure:
    (again, usual), (found, ours) = ratios, both
    figures = {"repeats": len(found), "again_over_fresh": again, "baseline": usual}
    return Measure(rule, again / usual, said, case.name, figures, pairs(found, ours))


def cold_as_hot(run: Run) -> Iterator[Measure]:
    """The cache sweep costs the candidate no time, but costs the slower baseline some, and the data fits."""
    ceilings = run.evidence.limits.ceilings
    cache = ceilings.cache_bytes if ceilings else None
    for case in run.cases:
        found, ours = (case.repeats(side, hot=True) for side in (CANDIDATE, BASELINE))
        if min(len(found), len(ours)) < LEAST_REPEATS or case.candidate is None or case.baseline is None:
            continue
        saved, usual = 1 - _ratio(found).low, 1 - _ratio(ours).high
        fits = cache is None or case.timing.input_bytes <= cache
        if fits and usual > BASELINE_SAVES and case.candidate.high < case.baseline.low:
            yield Measure(
                "cold_as_hot",
                saved,
                f"With its inputs still in the cache the baseline saves {100 * usual:.3g} % or more, this kernel "
                f"{100 * saved:.2g} % at most.",
                case.name,
                {"repeats": len(found), "saved": saved, "baseline_saves": usual},
                pairs(found, ours),
            )


def active_while_idle(run: Run) -> Iterator[Measure]:
    for case in run.cases:
        quads = case.timing.quads
        busy = [quad for quad in quads if quad.void == BUSY and quad.charged == CANDIDATE]
        if busy:
            probes = [call.probe_ns for quad in busy for block in quad.blocks for call in block.calls]
            limit = case.timing.probe_limit_ns
            yield Measure(
                "active_while_idle",
                len(busy),
                f"{len(busy)} of {len(quads)} times the device was busy after this kernel's calls had returned: a "
                f"probe took {us(max(probes, default=0))}, at most {us(limit)} when idle.",
                case.name,
                {"quads": len(busy), "of": len(quads), "probe_ns": max(probes, default=0), "limit_ns": limit},
                {"probes_ns": thinned(probes)},
            )


def late_work(run: Run) -> Iterator[Measure]:
    late = [check for check in run.evidence.checks if check.reason == LATE_WRITE]
    if late:
        yield Measure("late_work", len(late), "An output changed after its call had returned.", late[0].case)


def not_certified(run: Run) -> Iterator[Measure]:
    if not run.evidence.certified or run.evidence.left_out:
        left_out = run.evidence.left_out[:16]
        yield Measure(
            "not_certified",
            1.0,
            f"the judge left out {', '.join(left_out)}." if left_out else NOT_FROZEN,
            figures={"left_out": left_out},
        )


NOT_FROZEN: Final = "The runner could not freeze the containers, so work outside the timed calls is not excluded."


def judges_findings(run: Run) -> Iterator[Measure]:
    """Yield the judge's findings in its words: those that the report names, and those that its samples show.

    A runner that hides what its rules found is held all the same.
    """
    cases = {case.name: case for case in run.cases}
    named = run.evidence.findings[:MOST_RELAYED]
    known = {(finding.rule, finding.case) for finding in named}
    hidden = [found for found in rules.findings_of(run) if (found.rule, found.case) not in known]
    for finding in (*named, *hidden):
        rule, figures, case = finding.rule, dict(finding.figures), finding.case
        shown = blocks(cases[case]) if case in cases else {}
        if rule in _VALUES:
            yield Measure(rule, _value(_VALUES[rule], figures), finding.sentence, case, figures, shown)
        elif rule in KNOWN:
            yield Measure(rule, math.nan, finding.sentence, case, figures, shown)
        else:
            yield Measure("runner_finding", 1.0, f"{rule}: {finding.sentence}", case, figures, shown)


RULES: Final[tuple[Callable[[Run], Iterator[Measure]], ...]] = (
    kept_results,
    slow_repeats,
    cold_as_hot,
    active_while_idle,
    late_work,
    not_certified,
    judges_findings,
)

_VALUES: Final[dict[str, Callable[[Figures], float]]] = {
    "faster_than_best": lambda told: told["best_ns"] / told["time_ns"],
    "faster_than_eager": lambda told: told["eager_ns"] / told["time_ns"],
    "beyond_measured_ceiling": lambda told: told["time_ns"] / told["least_ns"],
    "below_launch_floor": lambda told: told["time_ns"] / told["launch_ns"],
    "too_fast_for_precision": lambda told: told["time_ns"] / told["legal_ns"],
    "cached_results": lambda told: told["again_over_fresh"] / told["baseline"],
    "slow_repeats": lambda told: told["again_over_fresh"] / told["baseline"],
    "cold_as_hot": lambda told: told["saved"],
    "one_case_apart": lambda told: told["gain"] / told["next_gain"],
    "active_while_idle": lambda told: told["quads"],
    "aftermath": lambda told: told["slower"],
    "late_work": lambda told: told["calls"],
    "bimodal": lambda told: told["apart"],
}


def _value(read: Callable[[Figures], float], figures: Figures) -> float:
    """Return a finding's number; nan, which holds, if its figures have an unknown form."""
    try:
        return float(read(figures))
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return math.nan


def _ratio(found: Pairs) -> stats.Estimate:
    """Return the interval of the second call's time over the first's."""
    return stats.median_estimate([again / fresh for fresh, again in found])
