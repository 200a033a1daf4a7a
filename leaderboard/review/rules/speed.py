"""Pure: the speed of a run against other kernels and against the limits of the hardware, from samples, case by case.

Bounds of intervals are compared: the candidate's upper bound with the lower bounds of the rest, so that noise alone
makes no kernel look fast. A candidate that wavers beside a steady baseline causes this itself, and must not profit from
its wide interval: its median is compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

from leaderboard.review.rules.measure import Measure, blocks, us
from runner.evidence.estimates import Run, TimedCase
from runner.evidence.speed_of_light import CERTAIN
from runner.evidence.stats import Estimate


def against_best(run: Run) -> Iterator[Measure]:
    """Compare with the incumbent and a tuned baseline. An untuned reference is not optimised, so it does not count."""
    for case, time in _timed(run):
        baseline = case.baseline if run.evidence.tuned else None
        known = [(one.low, who) for one, who in ((case.incumbent, "incumbent"), (baseline, "tuned baseline")) if one]
        if known:
            best_ns, who = min(known)
            faster = best_ns / time.high
            yield Measure(
                "faster_than_best",
                faster,
                f"{faster:.3g} times as fast as the {who} beside it.",
                case.name,
                {"time_ns": time.high, "best_ns": best_ns, "best": who},
                blocks(case),
            )


def against_eager(run: Run) -> Iterator[Measure]:
    """Compare with the reference as it is written.

    Skipped where a tuned baseline is as fast: the reference is then wasteful, or was disturbed.
    """
    for case, time in _timed(run):
        eager, who = case.timing.eager_ns, "the reference as it is written"
        if run.evidence.tuned and case.baseline and time.high >= case.baseline.low:
            continue
        if not eager and not run.evidence.tuned and case.baseline:
            eager, who = case.baseline.low, "the baseline, which is the reference or nobody's best here"
        if eager:
            faster = eager / time.high
            yield Measure(
                "faster_than_eager",
                faster,
                f"{faster:.3g} times as fast as {who}.",
                case.name,
                {"time_ns": time.high, "eager_ns": eager},
                blocks(case),
            )


def against_ceilings(run: Run) -> Iterator[Measure]:
    for case, time in _timed(run):
        measured, hard = case.limits.measured, case.limits.hard
        if measured and measured.ns > 0:
            least, resource = measured.ns, measured.resource
            yield Measure(
                "beyond_measured_ceiling",
                time.high / least,
                f"{us(time.high)}, where the best rate of this host's own kernels ({resource}) allows {us(least)}.",
                case.name,
                {"time_ns": time.high, "least_ns": least, "resource": resource},
                blocks(case),
            )
        if hard and time.high < CERTAIN * hard.ns:
            yield Measure(
                "beyond_hard_ceiling",
                1.0,
                f"{us(time.high)}, and this hardware takes {us(hard.ns)} at least for the declared work "
                f"({hard.resource}).",
                case.name,
                {"time_ns": time.high, "least_ns": hard.ns, "resource": hard.resource},
                blocks(case),
            )


def against_launch(run: Run) -> Iterator[Measure]:
    ceilings = run.evidence.limits.ceilings
    floor = ceilings.launch_ns if ceilings else None
    for case, time in _timed(run):
        if floor:
            yield Measure(
                "below_launch_floor",
                time.high / floor,
                f"{us(time.high)}, while a kernel that does nothing takes {us(floor)}.",
                case.name,
                {"time_ns": time.high, "launch_ns": floor},
                blocks(case),
            )


def against_precision(run: Run) -> Iterator[Measure]:
    """Too fast at the hard ceiling for every precision that the problem allows, but not for a cheaper precision."""
    limits = run.evidence.limits
    rates = limits.ceilings.hard.flops if limits.ceilings else {}
    for case, time in _timed(run):
        legal = case.limits.legal
        if legal is None or legal.ns <= 0:
            continue
        operations = sum(case.limits.work.flops.values()) if case.limits.work else 0
        fits = [engine for engine, rate in sorted(rates.items()) if operations / rate * 1e9 <= time.high]
        if time.high < legal.ns and not fits:
            continue  # too fast for every precision: another rule's case
        errors = [
            error
            for check in run.evidence.checks
            for one in check.figures
            if isinstance(error := one.get("relative_l2"), int | float)
        ]
        seen = f" The largest relative L2 error seen is {max(errors):.2g}." if errors else ""
        yield Measure(
            "too_fast_for_precision",
            time.high / legal.ns,
            f"{us(time.high)}, where {legal.resource} takes {us(legal.ns)} at least; it fits "
            f"{', '.join(fits) or 'nothing'}, legal are {', '.join(limits.legal)}.{seen}",
            case.name,
            {
                "time_ns": time.high,
                "legal_ns": legal.ns,
                "fits": fits,
                "legal": limits.legal,
                "relative_l2": max(errors, default=None),
            },
            blocks(case),
        )


def one_apart(run: Run) -> Iterator[Measure]:
    """A case gains far more over the baseline than every other: its lowest gain against their highest."""
    gains = [
        (case, math.log(case.baseline.low / time.high), math.log(case.baseline.high / time.low))
        for case, time in _timed(run)
        if case.baseline
    ]
    for case, least, _ in gains:
        others = [max(most, 0.0) for other, _, most in gains if other is not case]
        if others:
            yield Measure(
                "one_case_apart",
                math.exp(least - max(others)),
                f"{math.exp(least):.3g} times as fast as the baseline here, {math.exp(max(others)):.3g} times at the "
                "most in every other case.",
                case.name,
                {"gain": math.exp(least), "next_gain": math.exp(max(others))},
                blocks(case),
            )


RULES: Final[tuple[Callable[[Run], Iterator[Measure]], ...]] = (
    against_best,
    against_eager,
    against_ceilings,
    against_launch,
    against_precision,
    one_apart,
)


def _timed(run: Run) -> Iterator[tuple[TimedCase, Estimate]]:
    for case in run.cases:
        if case.compared is not None:
            yield case, case.compared
