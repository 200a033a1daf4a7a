"""Verdict from stored evidence (schema.py): a pure function, to allow a replay of every verdict from its report.
certificate.py decides which times count.

`rules` in the evidence selects how noise is separated from the kernel's own effects; older reports replay as they were
decided. Rules 1: a time that is not above zero is `below_resolution`, and any disturbance by the kernel is `unsteady`.
Rules 2: `below_resolution` needs an interval that ends within the cost of handing work over; a disturbance by the
kernel is `self_disturbed`; a kernel is erratic if it scatters far more than the baseline beside it; and the
measurements of a run that cannot rank are shown. Rules 3: more of a queued call's time could be forged. Rules 4: lean
calls certify. Rules 5: under a mean of ratios, a case's noise counts by its ratio. Rules 6: all reported times are
compared with the judge's clock. Rules 7: the judge's copying counts for less (certificate.py). Rules 8: small
differences between contexts no longer count. Rules 9: under a mean of ratios, a record compares ratios, not times
(records.py). Pure.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from runner.evidence import rules, schedule, stats, throttle
from runner.evidence.certificate import Certified, certify, constant_ns, is_constant_known
from runner.evidence.estimates import LEAST_QUADS, CaseTime, case_time, context_sd, rank, tick_ns, weights
from runner.evidence.sample import CANDIDATE, EVENT
from runner.evidence.schedule import CONVERGED
from runner.evidence.schema import Evidence, Timing
from runner.evidence.starved import STARVED
from runner.evidence.throttle import BUSY

SELF_DISTURBED: Final = "self_disturbed"  # a reason of `unmeasurable`: the kernel spoilt the measurements
STOPPED_EARLY: Final = "stopped_early"  # flag: bar.py
MEAN_RULES: Final = 5
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
    if evidence.mode in ("test", "profile"):
        return Verdict("passed")
    return _timed(evidence)


def _timed(evidence: Evidence) -> Verdict:
    if evidence.set_aside:
        return _unfit(evidence)
    is_first = evidence.rules == 1
    times, refusals = list[CaseTime](), list[Verdict]()
    for timing in evidence.timing:
        if not timing.idle:  # they come first
            return Verdict("infra_error", "nothing_timed", f"Case {timing.case} was not timed: no idle calls.")
        certified = certify(timing, evidence)
        if certified.mismatch:
            why = "the device's events tell less time than the judge's clock saw pass."
            return Verdict("policy", "clock_mismatch", f"Case {timing.case}: {why}")
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
        # The submission's fault comes first: a site repeats without charge an attempt that the machine spoilt.
        refusals.sort(key=lambda refusal: (refusal.outcome != "policy", refusal.reason != SELF_DISTURBED))
        return replace(refusals[0], times=tuple(measured))
    if finding := rules.impossible(evidence):
        return Verdict("policy", "impossible", f"Case {finding.case}: {finding.sentence}")
    return _passed(evidence, times)


def _passed(evidence: Evidence, times: list[CaseTime]) -> Verdict:
    """Combine the cases. The forgeable share is of ratios, since boards rank by them, as if every case was forged as
    far as possible. The cases' noise is independent, so the squares of its half-widths add up; what the contexts make
    of a run is alike in its cases."""
    by = evidence.ranking_by
    ratio = rank([time.ratio for time in times], by)
    shares = weights(times, "geom" if by == "mean" and evidence.rules < MEAN_RULES else by)
    widths = [share * time.estimate.half_width for share, time in zip(shares, times, strict=True)]
    noise = math.sqrt(sum(width**2 for width in widths)) / sum(shares)
    return Verdict(
        "passed",
        flags=tuple(_flags(evidence, times)),
        score_us=rank([time.candidate_ns for time in times], by) / 1e3,
        ratio=ratio,
        forgeable=1 - ratio / rank([time.ratio / (1 - time.forgeable) for time in times], by),
        half_width=math.hypot(noise, stats.NORMAL_95 * context_sd(times, by)),
        times=tuple(times),
    )


def _unfit(evidence: Evidence) -> Verdict:
    why = f"The device was not fit to time anything ({evidence.set_aside}); this does not count against you."
    return Verdict("unmeasurable", "device_unfit", why)


def _unsteady(time: CaseTime, rules: int) -> Verdict:
    if math.isinf(time.estimate.half_width):
        why = f"too much of what was measured had to be thrown away for what your code did ({time.spoilt}): "
        why += "finish all work before you return, and use no more than the cores that are there."
        return Verdict("unmeasurable", SELF_DISTURBED if rules > 1 else "unsteady", f"Case {time.case}: {why}")
    why = f"the time is known to ± {100 * time.estimate.half_width:.0f} % only, too little to rank: the machine was "
    why += "disturbed." if rules > 1 else "disturbed. Submit again."
    return Verdict("unmeasurable", "unsteady", f"Case {time.case}: {why}")


def _no_time(timing: Timing, certified: Certified, evidence: Evidence) -> Verdict:
    """Return the verdict for a case most of whose blocks took no longer than the idle calls. This reflects the kernel
    only if the idle calls agree with each other and the blocks with each other."""
    if evidence.clock == EVENT:
        resolution_ns = tick_ns(timing)
    elif is_constant_known(timing.idle, certified=evidence.certified):
        resolution_ns = constant_ns(timing.idle, certified=evidence.certified)
    else:
        resolution_ns = -math.inf
    sides = [[quad[place] for quad in certified.quads for place in places] for places in ((0, 3), (1, 2))]
    is_known = len(certified.quads) >= LEAST_QUADS
    # The interval of either side's time ends within the cost of handing work over.
    is_below = is_known and min(stats.median_estimate(times).high for times in sides) <= resolution_ns
    if evidence.rules == 1 or is_below:
        why = "the work takes no longer than handing it over, so it cannot be timed here."
        return Verdict("unmeasurable", "below_resolution", f"Case {timing.case}: {why}")
    why = "the machine was so disturbed that its idle calls took longer than the work."
    return Verdict("unmeasurable", "unsteady", f"Case {timing.case}: {why}")


def _void(timing: Timing, rules: int) -> Verdict:
    """Return the verdict of a case with too many void quads. Work that a submission leaves on the device is no accident
    of the device, and buys no second try."""
    void = [quad for quad in timing.quads if quad.void]
    own = [quad for quad in void if quad.charged == CANDIDATE]
    if 2 * sum(quad.void == BUSY for quad in own) > len(void):
        why = "the device was still at work when your kernel had returned; finish first."
        return Verdict("policy", "device_busy", f"Case {timing.case}: {why}")
    is_own = rules > 1 and len(own) > MOST_OWN_VOIDS * len(void)
    blamed = " for what your code did" if is_own else ""
    why = f"too many measurements had to be thrown away{blamed} ({timing.ended_why})."
    return Verdict("unmeasurable", SELF_DISTURBED if is_own else "voids", f"Case {timing.case}: {why}")


def _flags(evidence: Evidence, times: list[CaseTime]) -> Iterator[str]:
    if any(time.erratic for time in times):
        yield "erratic"
    if any(time.noisy for time in times):
        yield "noisy"
    is_stopped = evidence.stopped_at is not None
    unfinished = {timing.case for timing in evidence.timing if timing.ended != CONVERGED and not is_stopped}
    for time in times:
        narrow = evidence.profile.narrow_at(min(time.baseline_ns, time.candidate_ns))
        if time.case in unfinished and time.estimate.half_width > max(narrow, time.resolution):
            yield "not_converged"
            break
    if is_stopped:
        yield STOPPED_EARLY
    if any(finding.rule == "bimodal" for finding in evidence.findings):
        yield "bimodal"


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
            "half_width": timed.half_width,
            "forgeable": timed.forgeable,
        }
