"""Rules that hold a suspiciously good result until a person has decided: one function per rule. Pure.

A rule reads a run's samples and yields its measured value for each case, held or not, with a sentence and the samples
behind it. RULES has the usual threshold of each. `findings` returns the values beyond the thresholds. The judge passes
the usual thresholds, the site those of a competition, and both read the same samples with the same functions. Rules
about an owner's history, the board and other people's code belong to the site. No rule here rejects but `impossible`.

Thresholds are set for honest runs: noise, a faster algorithm or a disturbed machine must pass, and at most one honest
run in a hundred is held (tests/runner/evidence/test_plausible_honest.py simulates them). The rules compare bounds of
intervals, the upper bound for the candidate and the lower bounds for its rivals, so that noise alone makes no kernel
look fast. For a candidate that wavers beside a steady baseline the median counts.

estimates.py defines the times.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from runner.evidence import stats
from runner.evidence.estimates import Run, TimedCase, rank
from runner.evidence.sample import BASELINE, CANDIDATE, INCUMBENT
from runner.evidence.schema import Evidence, Finding
from runner.evidence.speed_of_light import CERTAIN
from runner.evidence.throttle import BUSY

Pairs = Sequence[tuple[float, float]]
Thresholds = Mapping[str, float | None]  # by rule; None: off

ABOVE: Final = "above"
MOST_SAMPLES: Final = 32  # of each kind with a value: an excerpt; the report has all samples

TWICE: Final = {False: "came twice", True: "came again with a few elements changed"}  # by `near`
LEAST_REPEATS: Final = 4
ALIKE: Final = 1.1  # quotient of two processes' times of one code: 1.06 was seen on an H200
BASELINE_SAVES: Final = 0.10  # of its time, with a warm cache: only then must the candidate save time, too
LEAST_QUADS: Final = 8
AFTERMATH_CONFIDENCE: Final = 0.999
MODES_APART_NS: Final = 2_000.0  # some steps of a device's event clock, which may be half a microsecond wide
COLD_START: Final = 0.5  # extra time of the first call after a thaw, as a share of the later calls of its block
OF_A_PLACE: Final = 0.8  # share of slow first calls, and of later calls that are not slow, if the thaw is the cause
LATE_WRITE: Final = "late_write"  # reason of a failed check (trial.py)
STRAYS: Final = 0.05  # of the calls of a baseline: from there on the machine makes the groups
NOT_FROZEN: Final = "The runner could not freeze the containers, so work outside the timed calls is not excluded."


@dataclass(frozen=True)
class Measure:
    """A rule's measurement. `value` is compared with the rule's threshold. `sentence` describes it to a reviewer."""

    rule: str
    value: float
    sentence: str
    case: str = ""
    figures: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, Any] = field(default_factory=dict)  # at most MOST_SAMPLES of each kind, in ns


@dataclass(frozen=True)
class Rule:
    """A rule with its usual threshold and the side of it on which results are held. `look`: advice to the reviewer."""

    measure: Callable[[Run], Iterator[Measure]]
    usual: float
    look: str
    held: Literal["above", "below"] = "above"

    @property
    def id(self) -> str:
        return self.measure.__name__


def measures(run: Run) -> Iterator[Measure]:
    """Yield all values that this module's rules measure on a run, in the order of RULES."""
    for rule in RULES.values():
        yield from rule.measure(run)


def findings(evidence: Evidence, thresholds: Thresholds | None = None) -> list[Finding]:
    """Return the values beyond their thresholds, the usual ones without an argument, in the order of RULES."""
    usual = {name: rule.usual for name, rule in RULES.items()}
    limits = usual | dict(thresholds or {})
    return [
        Finding(
            rule=found.rule,
            case=found.case,
            figures={
                "value": None if math.isnan(found.value) else found.value,
                **found.figures,
                "threshold": limits[found.rule],
            },
            sentence=f"{found.sentence} {RULES[found.rule].look}",
        )
        for found in measures(Run(evidence))
        if holds(RULES[found.rule].held, found.value, limits[found.rule])
    ]


def holds(held: str, value: float, threshold: float | None) -> bool:
    """Return whether the value is held. `threshold` None: the rule is off. nan is held: the value is unknown."""
    if threshold is None:
        return False
    if math.isnan(value):
        return True
    return value > threshold if held == ABOVE else value < threshold


def impossible(evidence: Evidence) -> Finding | None:
    """Return the first case whose time no kernel on this hardware could have taken. It rejects without a person."""
    for case in Run(evidence).cases:
        hard = case.limits.hard
        if case.candidate and hard and hard.forbids(case.candidate.high):
            sentence = f"{_us(case.candidate.high)} at the most were measured, and this hardware cannot do the "
            sentence += f"declared work in less than {_us(hard.ns)} ({hard.resource})."
            figures = {"time_ns": case.candidate.high, "least_ns": hard.ns, "resource": hard.resource}
            return Finding(rule="impossible", case=case.name, figures=figures, sentence=sentence)
    return None


# -- against rivals and against the hardware -----------------------------------------------------------------------


def faster_than_best(run: Run) -> Iterator[Measure]:
    """Compare with the incumbent and a tuned baseline, in each case and, as it ranks, over all cases.

    An untuned reference is not optimised, so it does not count.
    """
    if run.evidence.tuned and run.ratio:
        beside = [case.ratio_of(INCUMBENT) for case in run.cases]
        incumbents = [ratio for ratio in beside if ratio is not None]
        known = [(1.0, BASELINE)]
        if len(incumbents) == len(run.cases):
            known.append((rank(incumbents, run.evidence.ranking_by), INCUMBENT))
        best_ratio, name = min(known)
        faster = best_ratio / run.ratio
        figures = {"ratio": run.ratio, "best_ratio": best_ratio, "best": name}
        sentence = f"{faster:.3g} times as fast as the {name} beside it, over all cases."
        yield Measure("faster_than_best", faster, sentence, figures=figures)
    for case, time in _timed(run):
        baseline = case.baseline if run.evidence.tuned else None
        known = [(one.low, name) for one, name in ((case.incumbent, INCUMBENT), (baseline, BASELINE)) if one]
        if known:
            best_ns, name = min(known)
            faster = best_ns / time.high
            sentence = f"{faster:.3g} times as fast as the {name} beside it."
            figures = {"time_ns": time.high, "best_ns": best_ns, "best": name}
            yield Measure("faster_than_best", faster, sentence, case.name, figures, blocks(case))


def faster_than_eager(run: Run) -> Iterator[Measure]:
    """Compare with the reference as it is written, or with a baseline that is not tuned, whichever is faster.

    The oracle times the reference separately, not in turn with the sides, so launch gaps or a disturbance may lengthen
    its time. An untuned baseline beside the candidate bounds it. A candidate about as fast as a tuned baseline is
    exempt.
    """
    for case, time in _timed(run):
        eager, name, baseline = case.timing.eager_ns, "the reference as it is written", case.baseline
        if baseline and run.evidence.tuned and ALIKE * time.high >= baseline.low:
            continue
        if baseline and not run.evidence.tuned and (not eager or eager > baseline.low):
            eager, name = baseline.low, "the baseline, which is the reference or nobody's best here"
        if eager:
            faster, figures = eager / time.high, {"time_ns": time.high, "eager_ns": eager}
            sentence = f"{faster:.3g} times as fast as {name}."
            yield Measure("faster_than_eager", faster, sentence, case.name, figures, blocks(case))


def beyond_measured_ceiling(run: Run) -> Iterator[Measure]:
    for case, time in _timed(run):
        bound = case.limits.measured
        if bound and bound.ns > 0:
            sentence = f"{_us(time.high)}, where the best rate of this host's own kernels ({bound.resource}) allows "
            sentence += f"{_us(bound.ns)}."
            figures = {"time_ns": time.high, "least_ns": bound.ns, "resource": bound.resource}
            value = time.high / bound.ns
            yield Measure("beyond_measured_ceiling", value, sentence, case.name, figures, blocks(case))


def below_launch_floor(run: Run) -> Iterator[Measure]:
    floor = run.ceilings.launch_ns if run.ceilings else None
    for case, time in _timed(run):
        if floor:
            sentence = f"{_us(time.high)}, while a kernel that does nothing takes {_us(floor)}."
            figures = {"time_ns": time.high, "launch_ns": floor}
            yield Measure("below_launch_floor", time.high / floor, sentence, case.name, figures, blocks(case))


def too_fast_for_precision(run: Run) -> Iterator[Measure]:
    """Compare with the time of the fastest legal precision at the hard ceiling, where a cheaper precision explains it.

    A time too short for every precision is another rule's case.
    """
    legal, rates = run.evidence.limits.legal, run.ceilings.hard.flops if run.ceilings else {}
    seen = [each.get("relative_l2") for check in run.evidence.checks for each in check.figures]
    errors = [error for error in seen if isinstance(error, int | float)]  # 0.0 is an error that was seen
    for case, time in _timed(run):
        bound = case.limits.legal
        if bound is None or bound.ns <= 0:
            continue
        operations = sum(case.limits.work.flops.values()) if case.limits.work else 0
        fits = [engine for engine, rate in sorted(rates.items()) if operations / rate * 1e9 <= time.high]
        if time.high < bound.ns and not fits:
            continue
        sentence = f"{_us(time.high)}, where {bound.resource} takes {_us(bound.ns)} at least; it fits "
        sentence += f"{', '.join(fits) or 'nothing'}, legal are {', '.join(legal)}."
        sentence += f" The largest relative L2 error seen is {max(errors):.2g}." if errors else ""
        figures = {"time_ns": time.high, "legal_ns": bound.ns, "fits": fits, "legal": list(legal)}
        figures["relative_l2"] = max(errors, default=None)
        yield Measure(
            "too_fast_for_precision", time.high / bound.ns, sentence, case.name, figures, samples=blocks(case)
        )


def beyond_hard_ceiling(run: Run) -> Iterator[Measure]:
    """Find times below the hard bound that are not `impossible`, because only the median is certain to be below it."""
    for case, time in _timed(run):
        hard = case.limits.hard
        if hard and hard.forbids(time.high):
            sentence = f"{_us(time.high)}, and this hardware takes {_us(hard.ns)} at least for the declared work "
            sentence += f"({hard.resource})."
            figures = {"time_ns": time.high, "least_ns": hard.ns, "resource": hard.resource}
            yield Measure("beyond_hard_ceiling", 1.0, sentence, case.name, figures, blocks(case))


def _timed(run: Run) -> Iterator[tuple[TimedCase, stats.Estimate]]:
    for case in run.cases:
        if case.compared is not None:
            yield case, case.compared


# -- against itself --------------------------------------------------------------------------------------------------


def cached_results(run: Run) -> Iterator[Measure]:
    """Measure how much faster repeated or nearly repeated inputs are answered than at first, over the baseline's.

    A case whose repeats were given up for want of memory has no value, so a person decides.
    """
    for case in run.cases:
        if "repeats" in case.timing.given_up:
            sentence = "No input came again, for want of memory: kept results could not show."
            yield Measure("cached_results", math.nan, sentence, case.name)
    for case, which, pairs, ours in _repeats(run):
        again, usual = _ratio(pairs).high, min(1.0, _ratio(ours).value) if ours else 1.0
        sentence = f"Over {len(pairs)} inputs that {which}, the second call took at most {100 * again:.3g} % of the "
        sentence += f"first; the baseline's {100 * usual:.3g} %."
        figures = {"repeats": len(pairs), "again_over_fresh": again, "baseline": usual}
        yield Measure("cached_results", again / usual, sentence, case.name, figures, _pairs(pairs, ours))


def slow_repeats(run: Run) -> Iterator[Measure]:
    """Measure how much longer repeats, which do not count, take than their fresh twins: a submission that recognises
    them is slow there."""
    for case, which, pairs, ours in _repeats(run):
        again, usual = _ratio(pairs).low, max(1.0, _ratio(ours).value) if ours else 1.0
        sentence = f"Over {len(pairs)} inputs that {which}, the second call took at least {again:.3g} times as long "
        sentence += f"as the first; the baseline's {usual:.3g} times."
        figures = {"repeats": len(pairs), "again_over_fresh": again, "baseline": usual}
        yield Measure("slow_repeats", again / usual, sentence, case.name, figures, _pairs(pairs, ours))


def _repeats(run: Run) -> Iterator[tuple[TimedCase, str, Pairs, Pairs]]:
    """Yield case, kind of input, and (fresh, again) in ns of the candidate and of the baseline, if the candidate has
    enough repeats."""
    for case in run.cases:
        for near, which in TWICE.items():
            pairs, ours = (case.repeats(side, near=near) for side in (CANDIDATE, BASELINE))
            if len(pairs) >= LEAST_REPEATS:
                yield case, which, pairs, ours


def cold_as_hot(run: Run) -> Iterator[Measure]:
    """Measure what a warm cache saves the candidate, where the data fits and the slower baseline saves some."""
    for case in run.cases:
        pairs, ours = (case.repeats(side, hot=True) for side in (CANDIDATE, BASELINE))
        if min(len(pairs), len(ours)) < LEAST_REPEATS or case.candidate is None or case.baseline is None:
            continue
        saved, usually = 1 - _ratio(pairs).low, 1 - _ratio(ours).high
        fits = run.ceilings is None or case.timing.input_bytes <= run.ceilings.cache_bytes
        if fits and usually > BASELINE_SAVES and case.candidate.high < case.baseline.low:
            sentence = f"With its inputs still in the cache the baseline saves {100 * usually:.3g} % or more, this "
            sentence += f"kernel {100 * saved:.2g} % at most."
            figures = {"repeats": len(pairs), "saved": saved, "baseline_saves": usually}
            yield Measure("cold_as_hot", saved, sentence, case.name, figures, _pairs(pairs, ours))


def _ratio(pairs: Pairs) -> stats.Estimate:
    """Return the ratio of the second call's time to the first's: the median with its interval, as wide as the noise."""
    return stats.median_estimate([again / fresh for fresh, again in pairs])


def one_case_apart(run: Run) -> Iterator[Measure]:
    """Compare the lowest gain of a case over the baseline with the highest gains of every other case."""
    gains = [
        (case, math.log(case.baseline.low / time.high), math.log(case.baseline.high / time.low))
        for case, time in _timed(run)
        if case.baseline is not None
    ]
    for case, least, _ in gains:
        others = [max(most, 0.0) for other, _, most in gains if other is not case]
        if others:
            figures = {"gain": math.exp(least), "next_gain": math.exp(max(others))}
            sentence = f"{figures['gain']:.3g} times as fast as the baseline here, {figures['next_gain']:.3g} times at "
            sentence += "the most in every other case."
            value = math.exp(least - max(others))
            yield Measure("one_case_apart", value, sentence, case.name, figures, blocks(case))


def active_while_idle(run: Run) -> Iterator[Measure]:
    """Count quads that are void because the device worked when it should have been idle."""
    for case in run.cases:
        busy = [quad for quad in case.timing.quads if quad.void == BUSY and quad.charged == CANDIDATE]
        if busy:
            probes = [call.probe_ns for quad in busy for block in quad.blocks for call in block.calls]
            slowest, limit, count = max(probes, default=0), case.timing.probe_limit_ns, len(case.timing.quads)
            sentence = f"{len(busy)} of {count} times the device was busy after this kernel's calls had returned: a "
            sentence += f"probe took {_us(slowest)}, at most {_us(limit)} when idle."
            figures = {"quads": len(busy), "of": count, "probe_ns": slowest, "limit_ns": limit}
            samples = {"probes_ns": thinned(probes)}
            yield Measure("active_while_idle", len(busy), sentence, case.name, figures, samples)


def late_work(run: Run) -> Iterator[Measure]:
    late = [check for check in run.evidence.checks if check.reason == LATE_WRITE]
    if late:
        yield Measure("late_work", len(late), "An output changed after its call had returned.", late[0].case)


def aftermath(run: Run) -> Iterator[Measure]:
    """Measure how much slower the baseline is right after the candidate than before it: work or state left behind."""
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
        sentence = f"Right after this submission ran, the baseline took at least {100 * low:.2g} % longer than right "
        figures = {"slower": low, "quads": len(slower)}
        yield Measure("aftermath", low, f"{sentence}before.", case.name, figures, blocks(case))


def bimodal(run: Run) -> Iterator[Measure]:
    """Find a kernel with two speeds of its own doing: its calls fall into two groups.

    Exempt are groups that the baseline's calls in the same quads show as well, groups from the machine's ups and downs,
    which stretch over quads, and groups from the thaw before each block. If the faster group is no faster than the
    baseline, the candidate gains no time and the rule is silent.
    """
    for case in run.cases:
        found = _two_speeds(case)
        if found is None or case.candidate is None or found.low >= 0:
            continue
        if _strays(case, (found.high - found.low) / 2) > STRAYS:
            continue
        apart = math.expm1(found.high - found.low)
        if apart * case.candidate.low >= MODES_APART_NS:
            sentence = f"Calls fall into two groups {100 * apart:.3g} % apart, {100 * found.share:.2g} % in the "
            sentence += "smaller one; the baseline's do not."
            figures = {"apart": apart, "share": found.share}
            yield Measure("bimodal", apart, sentence, case.name, figures, blocks(case))


def _two_speeds(case: TimedCase) -> stats.Modes | None:
    """Return the two groups of the candidate's calls; without the first call of each block, if the first calls are
    slow.

    The first call after a thaw meets cold code, memory and caches: on a quiet processor it takes 5 to 35 % longer, the
    more different work a kernel does, the longer. That gains no time, since a block counts by its median
    or has one call, which is long then.
    """
    blocks = case.blocks(CANDIDATE)
    found = stats.two_modes([call for block in blocks for call in block])
    if found is None or math.expm1(found.high - found.low) > COLD_START:
        return found
    middle = (found.low + found.high) / 2
    first = [block[0] > middle for block in blocks if block]
    others = [call for block in blocks for call in block[1:]]
    slow = sum(call > middle for call in others)
    of_the_thaw = sum(first) >= OF_A_PLACE * len(first) and slow <= (1 - OF_A_PLACE) * len(others)
    if not others or not of_the_thaw:
        return found
    return stats.two_modes(others)


def _strays(case: TimedCase, far: float) -> float:
    """Return the share of the baseline's calls that lie this far (in ln) from their median, in the run or in their
    quad."""
    shares = []
    for over_baseline in (True, False):
        calls = [call for block in case.blocks(BASELINE, over_baseline=over_baseline) for call in block]
        middle = stats.median(calls)
        shares.append(sum(abs(call - middle) > far for call in calls) / len(calls))
    return max(shares)


def not_certified(run: Run) -> Iterator[Measure]:
    left_out = run.evidence.left_out[:16]
    if run.cases and (left_out or not run.evidence.certified):
        sentence = f"The judge left out {', '.join(left_out)}." if left_out else NOT_FROZEN
        yield Measure("not_certified", 1.0, sentence, figures={"left_out": left_out})


# -- the samples behind a value --------------------------------------------------------------------------------------


def blocks(case: TimedCase) -> dict[str, Any]:
    """Return the times of valid blocks of both sides, evenly thinned, in ns, for a plot."""
    return {
        "case": case.name,
        "clock": case.evidence.clock,
        "baseline_ns": thinned(case.blocks_ns(BASELINE)),
        "candidate_ns": thinned(case.blocks_ns(CANDIDATE)),
    }


def _pairs(found: Pairs, ours: Pairs) -> dict[str, Any]:
    """Return the (fresh, again) times of both sides, in ns."""
    return {"candidate_pairs_ns": thinned(found), "baseline_pairs_ns": thinned(ours)}


def thinned(values: Sequence[Any]) -> list[Any]:
    """Return at most MOST_SAMPLES values, evenly spread."""
    if len(values) <= MOST_SAMPLES:
        return list(values)
    return [values[place * len(values) // MOST_SAMPLES] for place in range(MOST_SAMPLES)]


def _us(ns: float) -> str:
    return f"{ns / 1e3:.4g} µs"


_RULES: Final = (
    Rule(faster_than_best, 2.0, "Read the code for work that is left out; compare the case with the others."),
    Rule(faster_than_eager, 10.0, "Is the reference wasteful, or does the kernel skip work?"),
    Rule(
        beyond_measured_ceiling,
        0.95,
        "Either the kernel is better than the library's or it does less: count the bytes that it must move.",
        held="below",
    ),
    Rule(below_launch_floor, 0.80, "Look for work that runs where the clock does not see it.", held="below"),
    Rule(
        too_fast_for_precision,
        CERTAIN,
        "Look for a cast to a cheaper format, and at the relative L2 error.",
        held="below",
    ),
    Rule(cached_results, 0.70, "Look for results or intermediate values that are kept between calls.", held="below"),
    Rule(slow_repeats, 2.0, "Look for code that knows calls whose time does not count: what does it do in them?"),
    Rule(
        cold_as_hot,
        0.02,
        "Look for inputs that outlast the sweep of the cache, such as persisting lines or a copy of its own.",
        held="below",
    ),
    Rule(one_case_apart, 4.0, "Look for a branch on this case's shape."),
    Rule(active_while_idle, 1.0, "Look for kernels and streams that nobody waits for."),
    Rule(late_work, 0.0, "Look for threads and streams that are not waited for."),
    Rule(aftermath, 0.01, "Look for work, memory or system state that it leaves behind."),
    Rule(bimodal, 0.02, "Look for what some calls skip: plot the samples of both clocks."),
    Rule(not_certified, 0.0, "Judge it again on a host that may freeze containers."),
    Rule(
        beyond_hard_ceiling,
        0.0,
        "The judge should have rejected it: look at the declared work, then at the runner's version.",
    ),
)
RULES: Final[Mapping[str, Rule]] = {rule.id: rule for rule in _RULES}
