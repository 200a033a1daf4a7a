"""Rules that hold a suspiciously good result until a person has decided. Pure.

Each rule reads a report's evidence and yields findings. The sentence shows a
reviewer the anomaly and where to look. No rule here rejects. Rules about an owner's history and about other people's
code belong to the site.

Thresholds are set for honest runs: noise, a faster algorithm or a disturbed machine must pass, and at most one honest
run in a hundred is held (tests/runner/evidence/test_plausible_honest.py simulates them). The rules compare bounds of
intervals, the upper bound for the candidate and the lower bounds for its rivals, so that noise alone makes no kernel
look fast. For a candidate that wavers beside a steady baseline the median counts.

estimates.py defines the times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from runner.evidence import stats, two_modes
from runner.evidence.estimates import Run, TimedCase
from runner.evidence.sample import BASELINE, CANDIDATE, INCUMBENT
from runner.evidence.schedule import BUSY
from runner.evidence.schema import Evidence, Finding
from runner.evidence.speed_of_light import CERTAIN

Pairs = Sequence[tuple[float, float]]

FASTER_THAN_BEST: Final = 2.0  # than the tuned baseline and the incumbent of this run
FASTER_THAN_EAGER: Final = 10.0  # than the reference as it is written
BEYOND_MEASURED: Final = 0.95  # of the time that our own kernels' rates allow
BELOW_LAUNCH: Final = 0.80  # of the time of an empty kernel
REPEAT_FASTER: Final = 0.70  # of its fresh twin's time, in the median, against the baseline's
TWICE: Final = {False: "came twice", True: "came again with a few elements changed"}  # by `near`
NEAR_TOO: Final = ", or for a quick way for data of a kind that a few other elements put an end to"
REPEAT_SLOWER: Final = 2.0  # than its fresh twin, in the median, against the baseline's: these calls do not count
LEAST_REPEATS: Final = 4
COLD_AS_HOT: Final = 0.02  # the most that the cache may save a candidate, if it saves the baseline
BASELINE_SAVES: Final = 0.10  # at least this much
APART: Final = 4.0  # times the gain of the next best case
AFTERMATH: Final = 0.01  # of the baseline's time, over at least this many quads:
LEAST_QUADS: Final = 8
AFTERMATH_CONFIDENCE: Final = 0.999
BUSY_QUADS: Final = 2  # voided because the device worked when it should have been idle; a single quad is any hiccup
MODES_APART: Final = 0.02  # of the time
MODES_APART_NS: Final = 2_000.0  # and some steps of a device's event clock, which may be half a microsecond wide
COLD_START: Final = 0.5  # extra time of the first call after a thaw, as a share of the later calls of its block
OF_A_PLACE: Final = 0.8  # share of slow first calls, and of later calls that are not slow, if the thaw is the cause
LATE_WRITE: Final = "late_write"  # reason of a failed check (trial.py)
STRAYS: Final = 0.05  # of the calls of a baseline: from there on the machine makes the groups


def findings(evidence: Evidence) -> list[Finding]:
    """Return all findings of this module's rules about a run, in their order."""
    return findings_of(Run(evidence))


def findings_of(run: Run) -> list[Finding]:
    return [finding for rule in RULES for finding in rule(run)]


def impossible(evidence: Evidence) -> Finding | None:
    """Return the first case whose time no kernel on this hardware could have taken. It rejects without a person."""
    for case in Run(evidence).cases:
        hard = case.limits.hard
        if case.candidate and hard and hard.forbids(case.candidate.high):
            return _finding(
                "impossible",
                case.name,
                {"time_ns": case.candidate.high, "least_ns": hard.ns, "resource": hard.resource},
                f"{_us(case.candidate.high)} at the most were measured, and this hardware cannot do the declared work "
                f"in less than {_us(hard.ns)} ({hard.resource}).",
            )
    return None


# -- against rivals and against the hardware -----------------------------------------------------------------------


def faster_than_best(run: Run) -> Iterator[Finding]:
    """Find times below half of the best tuned solution's. An untuned baseline, like the reference, does not count."""
    for case in run.cases:
        baseline = case.baseline if run.evidence.tuned else None
        known = [
            (each.low, name) for each, name in ((case.incumbent, INCUMBENT), (baseline, BASELINE)) if each is not None
        ]
        best_ns, best = min(known, default=(0.0, ""))
        if case.compared is not None and FASTER_THAN_BEST * case.compared.high < best_ns:
            yield _finding(
                "faster_than_best",
                case.name,
                {"time_ns": case.compared.high, "best_ns": best_ns, "best": best, "threshold": FASTER_THAN_BEST},
                f"{best_ns / case.compared.high:.3g} times as fast as the {best}. Look for work that is left out.",
            )


def faster_than_eager(run: Run) -> Iterator[Finding]:
    """Find times far below the reference's. A candidate no faster than a tuned baseline is exempt: the reference is
    wasteful, or was disturbed, since it is timed separately and not in turn with the sides. Where the reference was not
    timed, a baseline that is not tuned takes its place."""
    for case in run.cases:
        eager, name = case.timing.eager_ns, "the reference as it is written"
        if case.baseline is not None and not run.evidence.tuned and not eager:
            eager, name = case.baseline.low, "the baseline, which is the reference or nobody's best here"
        tuned = case.baseline if run.evidence.tuned else None
        if case.compared is not None and tuned is not None and case.compared.high >= tuned.low:
            continue
        if case.compared is not None and eager and FASTER_THAN_EAGER * case.compared.high < eager:
            yield _finding(
                "faster_than_eager",
                case.name,
                {"time_ns": case.compared.high, "eager_ns": eager, "threshold": FASTER_THAN_EAGER},
                f"{eager / case.compared.high:.3g} times as fast as {name}. Look whether the "
                "reference is wasteful or work is left out.",
            )


def beyond_measured_ceiling(run: Run) -> Iterator[Finding]:
    for case in run.cases:
        bound = case.limits.measured
        if case.compared is not None and bound and case.compared.high < BEYOND_MEASURED * bound.ns:
            yield _finding(
                "beyond_measured_ceiling",
                case.name,
                {
                    "time_ns": case.compared.high,
                    "least_ns": bound.ns,
                    "resource": bound.resource,
                    "threshold": BEYOND_MEASURED,
                },
                f"{_us(case.compared.high)}, where the best rate of this host's own kernels ({bound.resource}) allows "
                f"{_us(bound.ns)}. Either the kernel is better than the library's or it does less.",
            )


def below_launch_floor(run: Run) -> Iterator[Finding]:
    floor = run.ceilings.launch_ns if run.ceilings else None
    for case in run.cases:
        if case.compared is not None and floor and case.compared.high < BELOW_LAUNCH * floor:
            yield _finding(
                "below_launch_floor",
                case.name,
                {"time_ns": case.compared.high, "launch_ns": floor, "threshold": BELOW_LAUNCH},
                f"{_us(case.compared.high)}, less than the {_us(floor)} of a kernel that does nothing. Look for work "
                "that runs where the clock does not see it.",
            )


def too_fast_for_precision(run: Run) -> Iterator[Finding]:
    """Find times too short for any precision that the problem allows, at the hard ceiling, but long enough for a
    cheaper precision."""
    for case in run.cases:
        bound = case.limits.legal
        if case.compared is None or bound is None or case.compared.high >= CERTAIN * bound.ns:
            continue
        engines = _engines_that_fit(run, case, case.compared.high)
        if engines:
            errors = _relative_errors(run.evidence)
            seen = f" The largest relative L2 error seen is {max(errors):.2g}." if errors else ""
            yield _finding(
                "too_fast_for_precision",
                case.name,
                {
                    "time_ns": case.compared.high,
                    "legal_ns": bound.ns,
                    "fits": engines,
                    "legal": list(run.evidence.limits.legal),
                    "relative_l2": max(errors, default=None),
                },
                f"{_us(case.compared.high)} is too short for {bound.resource} (at least {_us(bound.ns)}) and fits "
                f"{', '.join(engines)}; legal are {', '.join(run.evidence.limits.legal)}.{seen} "
                "Look for a cast.",
            )


def _engines_that_fit(run: Run, case: TimedCase, high_ns: float) -> list[str]:
    operations = sum(case.limits.work.flops.values()) if case.limits.work else 0
    rates = run.ceilings.hard.flops if run.ceilings else {}
    return [engine for engine, rate in sorted(rates.items()) if operations / rate * 1e9 <= high_ns]


def _relative_errors(evidence: Evidence) -> list[float]:
    """Return the errors that comparisons saw; 0.0 is an error that was seen."""
    found = [each.get("relative_l2") for check in evidence.checks for each in check.figures]
    return [error for error in found if isinstance(error, int | float)]


# -- against itself --------------------------------------------------------------------------------------------------


def cached_results(run: Run) -> Iterator[Finding]:
    """Find repeated or nearly repeated inputs that the candidate answers faster than at first, and the baseline does
    not."""
    for case, near, pairs, ours in _repeats(run):
        ratio, usual = _ratio(pairs).high, min(1.0, _ratio(ours).value) if ours else 1.0
        if ratio < REPEAT_FASTER * usual:
            yield _finding(
                "cached_results",
                case.name,
                {"repeats": len(pairs), "again_over_fresh": ratio, "baseline": usual, "threshold": REPEAT_FASTER},
                f"Over {len(pairs)} inputs that {TWICE[near]}, the second call took at most {100 * ratio:.3g} % of the "
                "first. Look for results or intermediate values that are kept between calls.",
            )


def slow_repeats(run: Run) -> Iterator[Finding]:
    """Find repeats, which do not count, that take far longer than their fresh twins: the submission recognises them."""
    for case, near, pairs, ours in _repeats(run):
        ratio, usual = _ratio(pairs).low, max(1.0, _ratio(ours).value) if ours else 1.0
        if ratio > REPEAT_SLOWER * usual:
            yield _finding(
                "slow_repeats",
                case.name,
                {"repeats": len(pairs), "again_over_fresh": ratio, "baseline": usual, "threshold": REPEAT_SLOWER},
                f"Over {len(pairs)} inputs that {TWICE[near]}, the second call took at least {ratio:.3g} times as long "
                f"as the first. Look for code that knows calls whose time does not count{NEAR_TOO if near else ''}.",
            )


def _repeats(run: Run) -> Iterator[tuple[TimedCase, bool, Pairs, Pairs]]:
    """Yield case, whether the repeats are near, and (fresh, again) in ns of the candidate and of the baseline, if the
    candidate has enough repeats."""
    for case in run.cases:
        for near in TWICE:
            pairs, ours = (case.repeats(side, near=near) for side in (CANDIDATE, BASELINE))
            if len(pairs) >= LEAST_REPEATS:
                yield case, near, pairs, ours


def cold_as_hot(run: Run) -> Iterator[Finding]:
    """Find kernels that lose no time to the sweep of the cache, though the slower baseline does."""
    for case in run.cases:
        pairs, ours = (case.repeats(side, hot=True) for side in (CANDIDATE, BASELINE))
        if min(len(pairs), len(ours)) < LEAST_REPEATS or case.candidate is None or case.baseline is None:
            continue
        saved, usually = 1 - _ratio(pairs).low, 1 - _ratio(ours).high
        fits = run.ceilings is None or case.timing.input_bytes <= run.ceilings.cache_bytes
        if fits and saved < COLD_AS_HOT and usually > BASELINE_SAVES and case.candidate.high < case.baseline.low:
            yield _finding(
                "cold_as_hot",
                case.name,
                {"repeats": len(pairs), "saved": saved, "baseline_saves": usually, "threshold": COLD_AS_HOT},
                f"With its inputs still in the cache the baseline saves {100 * usually:.3g} % or more, this kernel "
                f"{100 * saved:.2g} % at most. Look for inputs that outlast the sweep, such as persisting lines.",
            )


def _ratio(pairs: Pairs) -> stats.Estimate:
    """Return the ratio of the second call's time to the first's: the median with its interval, as wide as the noise."""
    return stats.median_estimate([again / fresh for fresh, again in pairs])


def one_case_apart(run: Run) -> Iterator[Finding]:
    """Find a case that gains far more over the baseline than every other case."""
    gains = [
        (case, math.log(case.baseline.low / case.compared.high), math.log(case.baseline.high / case.compared.low))
        for case in run.cases
        if case.compared is not None and case.baseline is not None
    ]
    for case, least, _ in gains:
        others = [max(most, 0.0) for other, _, most in gains if other is not case]
        if others and least - max(others) > math.log(APART):
            yield _finding(
                "one_case_apart",
                case.name,
                {"gain": math.exp(least), "next_gain": math.exp(max(others)), "threshold": APART},
                f"{math.exp(least):.3g} times as fast as the baseline here, {math.exp(max(others)):.3g} times at the "
                "most in every other case. Look for a branch on this case's shape.",
            )


def active_while_idle(run: Run) -> Iterator[Finding]:
    for case in run.cases:
        busy = [quad for quad in case.timing.quads if quad.void == BUSY and quad.charged == CANDIDATE]
        if len(busy) >= BUSY_QUADS:
            slowest = max((call.probe_ns for quad in busy for block in quad.blocks for call in block.calls), default=0)
            yield _finding(
                "active_while_idle",
                case.name,
                {
                    "quads": len(busy),
                    "of": len(case.timing.quads),
                    "probe_ns": slowest,
                    "limit_ns": case.timing.probe_limit_ns,
                    "threshold": BUSY_QUADS,
                },
                f"{len(busy)} times the device was busy after this kernel's calls had returned (a probe took "
                f"{_us(slowest)}, idle is at most {_us(case.timing.probe_limit_ns)}). Look for kernels that stay.",
            )


def aftermath(run: Run) -> Iterator[Finding]:
    """Find a baseline that is slower right after the candidate than before it: the candidate leaves work or state
    behind."""
    for case in run.cases:
        pairs = [
            (stats.median([case.time_ns(call) for call in one.calls]) for one in (ours[0], ours[-1]))
            for quad in case.timing.quads
            if not quad.void and len(ours := quad.of(BASELINE)) == 2
        ]
        slower = [math.log(after / before) for before, after in pairs if min(before, after) > 0]
        if len(slower) < LEAST_QUADS:
            continue
        low = stats.median_estimate(slower, AFTERMATH_CONFIDENCE).low
        if low > AFTERMATH:
            yield _finding(
                "aftermath",
                case.name,
                {"slower": low, "quads": len(slower), "threshold": AFTERMATH},
                f"Right after this submission ran, the baseline took at least {100 * low:.2g} % longer than right "
                "before. Look for work, memory or system state that it leaves behind.",
            )


def late_work(run: Run) -> Iterator[Finding]:
    late = [check for check in run.evidence.checks if check.reason == LATE_WRITE]
    if late:
        yield _finding(
            "late_work",
            late[0].case,
            {"calls": len(late)},
            "An output changed after its call had returned. Look for threads and streams that are not waited for.",
        )


def bimodal(run: Run) -> Iterator[Finding]:
    """Find a kernel with two speeds of its own doing: its calls fall into two groups.

    Exempt are groups that the baseline's calls in the same quads show as well, groups from the machine's ups and downs,
    which stretch over quads, and groups from the thaw before each block. If the faster group is no faster than the
    baseline, the candidate gains no time and the rule is silent.
    """
    for case in run.cases:
        found = _two_speeds(case)
        if found is None or case.candidate is None or _strays(case, (found.high - found.low) / 2) > STRAYS:
            continue
        if found.low >= 0:
            continue
        apart = math.expm1(found.high - found.low)
        if apart >= MODES_APART and apart * case.candidate.low >= MODES_APART_NS:
            yield _finding(
                "bimodal",
                case.name,
                {"apart": apart, "share": found.share, "threshold": MODES_APART},
                f"Calls fall into two groups {100 * apart:.3g} % apart, {100 * found.share:.2g} % in the smaller one; "
                "the baseline's do not. Look for what some calls skip.",
            )


def _two_speeds(case: TimedCase) -> two_modes.Modes | None:
    """Return the two groups of the candidate's calls; without the first call of each block, if the first calls are
    slow.

    The first call after a thaw meets cold code, memory and caches: on a quiet processor it takes 5 to 35 % longer, the
    more different work a kernel does, the longer. That gains no time, since a block counts by its median.
    """
    blocks = case.blocks(CANDIDATE)
    found = two_modes.two_modes([call for block in blocks for call in block])
    if found is None or math.expm1(found.high - found.low) > COLD_START:
        return found
    middle = (found.low + found.high) / 2
    first = [block[0] > middle for block in blocks if block]
    others = [call for block in blocks for call in block[1:]]
    slow = sum(call > middle for call in others)
    of_the_thaw = sum(first) >= OF_A_PLACE * len(first) and slow <= (1 - OF_A_PLACE) * len(others)
    if not others or not of_the_thaw:
        return found
    return two_modes.two_modes(others)


def _strays(case: TimedCase, far: float) -> float:
    """Return the share of the baseline's calls that lie this far (in ln) from their median, in the run or in their
    quad."""
    shares = []
    for over_baseline in (True, False):
        calls = case.calls(BASELINE, over_baseline=over_baseline)
        middle = stats.median(calls)
        shares.append(sum(abs(call - middle) > far for call in calls) / len(calls))
    return max(shares)


RULES: Final[tuple[Callable[[Run], Iterator[Finding]], ...]] = (
    faster_than_best,
    faster_than_eager,
    beyond_measured_ceiling,
    below_launch_floor,
    too_fast_for_precision,
    cached_results,
    slow_repeats,
    cold_as_hot,
    one_case_apart,
    active_while_idle,
    late_work,
    aftermath,
    bimodal,
)


def _finding(rule: str, case: str, figures: dict[str, Any], sentence: str) -> Finding:
    return Finding(rule=rule, case=case, figures=figures, sentence=sentence)


def _us(ns: float) -> str:
    return f"{ns / 1e3:.4g} µs"
