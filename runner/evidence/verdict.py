"""Verdict from stored evidence (schema.py): a pure function, to allow a replay of every verdict from its report.
certificate.py decides which times count.

`rules` in the evidence selects how noise is separated from the kernel's own effects; older reports replay as they were
decided. Rules 1: a time that is not above zero is `below_resolution`, and any disturbance by the kernel is `unsteady`.
Rules 2: `below_resolution` needs an interval that ends within the cost of handing work over; a disturbance by the
kernel is `self_disturbed`; a kernel is erratic if it scatters far more than the baseline beside it; and the
measurements of a run that cannot rank are shown. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from runner.evidence import rules, schedule, stats, throttle
from runner.evidence.certificate import Certified, certify, constant_ns, is_constant_known
from runner.evidence.estimates import LEAST_QUADS, CaseTime, case_time, rank, tick_ns
from runner.evidence.sample import CANDIDATE, EVENT
from runner.evidence.schedule import BUSY, CONVERGED, Profile
from runner.evidence.schema import Evidence, Timing
from runner.evidence.starved import STARVED

SELF_DISTURBED: Final = "self_disturbed"  # a reason of `unmeasurable`: the kernel spoilt the measurements
MOST_OWN_VOIDS: Final = 0.75  # share of the void quads charged to the candidate beyond which it is at fault


@dataclass(frozen=True)
class Verdict:
    """Verdict as a Report carries it. Only a passed, timed run has `score_us`, `ratio` and `half_width`.

    `score_us` is the run's own time: `ranking_by` over the measured times of its cases. `ratio` ranks, because the
    times of two runs are not comparable.
    """

    outcome: str
    reason: str = ""
    message: str = ""
    flags: tuple[str, ...] = ()
    score_us: float | None = None
    ratio: float | None = None
    half_width: float | None = None
    forgeable: float | None = None  # at most this share of the true score is missing
    times: tuple[CaseTime, ...] = ()


def decide(evidence: Evidence) -> Verdict:
    """Return the verdict of an attempt. The submission's errors come before failures to measure, unless the device
    broke: a broken device may have caused the errors."""
    if throttle.is_broken(evidence.set_aside):
        return _unfit(evidence)
    fault, share = evidence.fault, evidence.processor_share
    if fault:
        if share is not None and share.is_starved:
            return Verdict("unmeasurable", STARVED, share.sentence)
        return Verdict(fault.outcome, fault.reason, fault.message)
    for check in evidence.checks:
        if not check.good:
            return Verdict(check.outcome, check.reason, check.message)
    if evidence.mode == "test":
        return Verdict("passed")
    return _timed(evidence)


def _timed(evidence: Evidence) -> Verdict:
    if evidence.set_aside:
        return _unfit(evidence)
    is_first = evidence.rules == 1
    times, refusals = list[CaseTime](), list[Verdict]()
    for timing in evidence.timing:
        certified = certify(timing, evidence)
        if certified.mismatch:
            return Verdict(
                "policy",
                "clock_mismatch",
                f"Case {timing.case}: the device's events tell less time than the judge's clock saw pass.",
            )
        time = case_time(timing, certified, evidence)
        if timing.ended == schedule.VOIDS:
            refusals.append(_void(timing, evidence.rules))
        elif time is None:
            refusals.append(_no_time(timing, certified, evidence))
        if refusals and is_first:
            return refusals[0]
        times += [time] if time is not None else []
    if not times and not refusals:
        return Verdict("infra_error", "nothing_timed", "The problem has no benchmark cases.")
    steadiest = sorted(times, key=lambda time: 0.0 if time.erratic else time.estimate.half_width)
    given_up = {timing.case for timing in evidence.timing if timing.ended == schedule.VOIDS}
    wide = [
        time for time in steadiest[::-1] if time.estimate.half_width > evidence.profile.unsteady and not time.erratic
    ]
    refusals += [_unsteady(time, evidence.rules) for time in wide if time.case not in given_up]
    if refusals:
        measured = [] if is_first else [time for time in times if math.isfinite(time.estimate.half_width)]
        return replace(min(refusals, key=_excuses), times=tuple(measured))
    if finding := rules.impossible(evidence):
        return Verdict("policy", "impossible", f"Case {finding.case}: {finding.sentence}")
    return Verdict(
        "passed",
        flags=tuple(_flags(evidence, times)),
        score_us=rank([time.candidate_ns for time in times], evidence.ranking_by) / 1e3,
        ratio=rank([time.ratio for time in times], evidence.ranking_by),
        forgeable=_combined_forgeable(times, evidence.ranking_by),
        half_width=_combined_half_width([time.estimate.half_width for time in times], evidence.ranking_by),
        times=tuple(times),
    )


def _unfit(evidence: Evidence) -> Verdict:
    return Verdict(
        "unmeasurable",
        "device_unfit",
        f"The device was not fit to time anything ({evidence.set_aside}); this does not count against you.",
    )


def _excuses(refusal: Verdict) -> int:
    """Return the order of refusals: the submission's fault comes before the machine's, because a site repeats without
    charge an attempt that the machine spoilt."""
    return 0 if refusal.outcome == "policy" else 1 if refusal.reason == SELF_DISTURBED else 2


def _unsteady(time: CaseTime, rules: int) -> Verdict:
    if math.isinf(time.estimate.half_width):
        return Verdict(
            "unmeasurable",
            SELF_DISTURBED if rules > 1 else "unsteady",
            f"Case {time.case}: too much of what was measured had to be thrown away for what your code did "
            f"({time.spoilt}): finish all work before you return, and use no more than the cores that are there.",
        )
    why = f"the time is known to ± {100 * time.estimate.half_width:.0f} % only, too little to rank: the machine was "
    why += "disturbed." if rules > 1 else "disturbed. Submit again."
    return Verdict("unmeasurable", "unsteady", f"Case {time.case}: {why}")


def _no_time(timing: Timing, certified: Certified, evidence: Evidence) -> Verdict:
    """Return the verdict for a case most of whose blocks took no longer than the idle calls. This reflects the kernel
    only if the idle calls agree with each other and the blocks with each other."""
    if evidence.rules == 1 or _is_below_resolution(timing, certified, evidence):
        return Verdict(
            "unmeasurable",
            "below_resolution",
            f"Case {timing.case}: the work takes no longer than handing it over, so it cannot be timed here.",
        )
    return Verdict(
        "unmeasurable",
        "unsteady",
        f"Case {timing.case}: the machine was so disturbed that its idle calls took longer than the work.",
    )


def _is_below_resolution(timing: Timing, certified: Certified, evidence: Evidence) -> bool:
    """Return whether the interval of either side's time ends within the cost of handing work over."""
    if evidence.clock == EVENT:
        resolution_ns = tick_ns(timing)
    elif is_constant_known(timing.idle, certified=evidence.certified):
        resolution_ns = constant_ns(timing.idle, certified=evidence.certified)
    else:
        return False
    sides = [[quad[first], quad[second]] for first, second in ((0, 3), (1, 2)) for quad in certified.quads]
    count = len(certified.quads)
    ends = [
        stats.median_estimate([time for quad in side for time in quad]).high for side in (sides[:count], sides[count:])
    ]
    return count >= LEAST_QUADS and min(ends) <= resolution_ns


def _void(timing: Timing, rules: int) -> Verdict:
    """Return the verdict of a case with too many void quads. Work that a submission leaves on the device is no accident
    of the device, and buys no second try."""
    void = [quad for quad in timing.quads if quad.void]
    own = [quad for quad in void if quad.charged == CANDIDATE]
    if 2 * sum(quad.void == BUSY for quad in own) > len(void):
        return Verdict(
            "policy",
            "device_busy",
            f"Case {timing.case}: the device was still at work when your kernel had returned; finish first.",
        )
    if rules > 1 and len(own) > MOST_OWN_VOIDS * len(void):
        return Verdict(
            "unmeasurable",
            SELF_DISTURBED,
            f"Case {timing.case}: too many measurements had to be thrown away for what your code did "
            f"({timing.ended_why}).",
        )
    return Verdict(
        "unmeasurable",
        "voids",
        f"Case {timing.case}: too many measurements had to be thrown away ({timing.ended_why}).",
    )


def _flags(evidence: Evidence, times: list[CaseTime]) -> Iterator[str]:
    if any(time.erratic for time in times):
        yield "erratic"
    if any(time.noisy for time in times):
        yield "noisy"
    unfinished = {timing.case for timing in evidence.timing if timing.ended != CONVERGED}
    if any(time.case in unfinished and _is_wide(time, evidence.profile) for time in times):
        yield "not_converged"
    if any(finding.rule == "bimodal" for finding in evidence.findings):
        yield "bimodal"


def _is_wide(time: CaseTime, profile: Profile) -> bool:
    narrow = profile.narrow_at(min(time.baseline_ns, time.candidate_ns))
    return time.estimate.half_width > max(narrow, time.resolution)


def _combined_forgeable(times: list[CaseTime], ranking_by: str) -> float:
    """Return the forgeable share if every case was forged as far as possible. Of ratios, since boards rank by them."""
    true = rank([time.ratio / (1 - time.forgeable) for time in times], ranking_by)
    return 1 - rank([time.ratio for time in times], ranking_by) / true


def _combined_half_width(widths: list[float], ranking_by: str) -> float:
    """Return the half-width of independent cases: the root of the squares' sum over their number."""
    if ranking_by == "last":
        return widths[-1]
    return math.sqrt(sum(width**2 for width in widths)) / len(widths)


def shown_cases(evidence: Evidence, decided: Verdict) -> Iterator[dict[str, Any]]:
    """Return the cases of a report for people: public cases by name, secret cases by number, then the timed cases."""
    secret = 0
    for check in evidence.checks:
        secret += not check.public
        yield {
            "stage": "check",
            "name": check.case if check.public else f"secret {secret}",
            "public": check.public,
            "good": check.good,
            "reason": check.reason,
            "message": check.message,
        }
    for timed in decided.times:
        yield {
            "stage": "time",
            "name": timed.case,
            "public": True,
            "good": True,
            "measured_us": timed.candidate_ns / 1e3,
            "baseline_us": timed.baseline_ns / 1e3,
            "ratio": timed.ratio,
            "half_width": timed.estimate.half_width,
            "forgeable": timed.forgeable,
        }
